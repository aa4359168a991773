//! For tests only: what a request asks for by its arguments.

use super::request::Request;
#[cfg(feature = "test-clock")]
use crate::limit::Now;
use crate::store::hooks;

/// Stops the worker inside the table's lock, or panics.
#[allow(clippy::panic, reason = "the guard is to be tested")]
pub fn run(request: Request<'_>) {
    match request.args() {
        args if args.ends_with(b"rl_hold=1") => hooks::hold_next_lock(),
        args if args.ends_with(b"rl_panic=1") => panic!("asked for by a request"),
        _ => {}
    }
}

/// The instant that a request asks to be judged at: `now=` in milliseconds, its last argument.
#[cfg(feature = "test-clock")]
pub fn virtual_now(request: Request<'_>) -> Option<Now> {
    let args = request.args();
    let start = args.windows(4).rposition(|four| four == b"now=")? + 4;
    let text = std::str::from_utf8(args.get(start..)?).ok()?;
    text.parse().ok().map(Now::at_ms)
}

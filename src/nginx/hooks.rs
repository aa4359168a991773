//! For tests only: what a request asks for by its arguments.

use super::request::Request;
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

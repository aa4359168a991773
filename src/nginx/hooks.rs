//! For tests only: what a request asks for by its arguments, and a zone by its name.

use std::sync::Mutex;

use super::request::Request;
#[cfg(feature = "test-clock")]
use crate::limit::Now;
use crate::store::hooks;

/// Stops the worker inside the table's lock, or panics: here, there, or in another callback.
#[allow(clippy::panic, reason = "the guard is to be tested")]
pub fn run(request: Request<'_>) {
    match request.args().rsplit(|byte| *byte == b'&').next().unwrap_or_default() {
        b"rl_hold=1" => hooks::hold_next_lock(),
        b"rl_panic=1" => panic!("asked for by a request"),
        b"rl_panic=lock" => hooks::panic_in_next_lock(),
        last => {
            if let Some(callback) = last.strip_prefix(b"rl_panic=") {
                ask_for_panic(callback);
            }
        }
    }
}

/// The callback that is to panic, by its name in the log, with `_` for a blank.
static ASKED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// A zone of such a name makes the callback panic that it names.
pub fn ask_by_name(zone: &[u8]) {
    if let Some(callback) = zone.strip_prefix(b"panic_") {
        ask_for_panic(callback);
    }
}

/// The next callback of that name panics, in this process and those that it forks.
fn ask_for_panic(callback: &[u8]) {
    if let Ok(mut asked) = ASKED.lock() {
        *asked = callback.to_vec();
    }
}

/// Panics if this callback has been asked for, once.
#[allow(clippy::panic, reason = "the guard is to be tested")]
pub fn panic_if_asked(callback: &str) {
    let is_asked = ASKED.lock().is_ok_and(|mut asked| {
        let is_asked = *asked == callback.replace(' ', "_").as_bytes();
        if is_asked {
            asked.clear();
        }
        is_asked
    });
    if is_asked {
        panic!("asked for in {callback}");
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

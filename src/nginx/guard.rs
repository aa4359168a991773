//! No panic may reach nginx: unwinding into C is undefined, and an abort would let one client end
//! a worker again and again. Every callback runs inside this guard.

use std::panic::{catch_unwind, AssertUnwindSafe};

use super::{log, raw};
use crate::report::Line;

/// Runs the body of a callback. A panic is logged and answered with `fallback`.
///
/// The panic message with its place in the source goes to standard error, which is the error log
/// of a running nginx; the line from here says which callback it was.
pub fn guard<T>(callback: &str, fallback: T, body: impl FnOnce() -> T) -> T {
    guard_or(callback, || fallback, body)
}

/// Runs the body of a callback after which somebody waits. A panic is logged and answered by
/// `fallback`, which must not panic.
pub fn guard_or<T>(callback: &str, fallback: impl FnOnce() -> T, body: impl FnOnce() -> T) -> T {
    let body = || {
        #[cfg(feature = "test-hooks")]
        super::hooks::panic_if_asked(callback);
        body()
    };
    // Nothing of ours is used after a panic but the shared table, whose locks are released by
    // their guards and in which any state is valid.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        say_caught(callback);
        fallback()
    })
}

/// Apart from the rest, whose stack would have to hold the line.
#[cold]
#[inline(never)]
fn say_caught(callback: &str) {
    let mut line = Line::new();
    line.put(format_args!("rl: a panic in the {callback} callback was caught"));
    log::to_cycle(raw::LOG_ALERT, &line);
}

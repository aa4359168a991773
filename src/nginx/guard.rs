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
    // Nothing of ours is used after a panic but the shared table, whose locks are released by
    // their guards and in which any state is valid.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        let mut line = Line::new();
        line.put(format_args!("rl: a panic in the {callback} callback was caught"));
        log::to_cycle(raw::LOG_ALERT, &line);
        fallback
    })
}

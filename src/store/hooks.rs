//! For tests only: makes a process stop, or panic, inside the table's lock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static HOLD: AtomicBool = AtomicBool::new(false);
static PANIC: AtomicBool = AtomicBool::new(false);

/// The next decision of this process that holds its lock never ends.
pub fn hold_next_lock() {
    HOLD.store(true, Ordering::Relaxed);
}

/// Whether something is to happen in the next lock.
pub(super) fn is_asked() -> bool {
    HOLD.load(Ordering::Relaxed) || PANIC.load(Ordering::Relaxed)
}

/// The next decision of this process that holds its lock panics.
pub fn panic_in_next_lock() {
    PANIC.store(true, Ordering::Relaxed);
}

/// Called where a lock is held.
#[allow(clippy::panic, reason = "that the lock is given back is to be tested")]
pub(super) fn hold_or_panic_if_asked() {
    while HOLD.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_secs(1));
    }
    if PANIC.swap(false, Ordering::Relaxed) {
        panic!("asked for inside a lock");
    }
}

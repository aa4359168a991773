//! For tests only: makes a process stop inside the table's lock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static HOLD: AtomicBool = AtomicBool::new(false);

/// The next decision of this process that holds its lock never ends.
pub fn hold_next_lock() {
    HOLD.store(true, Ordering::Relaxed);
}

pub(super) fn hold_if_asked() {
    while HOLD.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_secs(1));
    }
}

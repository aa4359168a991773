//! What `sliding_window` compares, read from the counts as the algorithm brings them up to date.

use crate::limit::{Algorithm, Now, SlidingState, SlidingWindow};

/// The two counts of a key at an instant, and how they are weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Admitted in the window before.
    pub previous: u32,
    /// Admitted in this one.
    pub current: u32,
    /// How much of the window before the last window's length covers, in milliseconds.
    pub covered_ms: u64,
    /// The length of a window in milliseconds.
    pub window_ms: u64,
}

impl Estimate {
    /// What a request at `now` is judged by.
    pub fn of(rule: &SlidingWindow, state: Option<&SlidingState>, now: Now) -> Self {
        let SlidingState { start_ms, previous, current } = rule.charge(state, now, 1).next;
        let window_ms = rule.window_ms.max(1);
        let elapsed_ms = now.wall_ms.saturating_sub(start_ms);
        Self {
            previous,
            // The charge has counted the request.
            current: current.saturating_sub(1),
            covered_ms: window_ms.saturating_sub(elapsed_ms),
            window_ms,
        }
    }

    /// The estimate, times the length of a window.
    pub fn times_window(&self) -> u128 {
        u128::from(self.previous) * u128::from(self.covered_ms)
            + u128::from(self.current) * u128::from(self.window_ms)
    }
}

//! What the algorithms share that count requests in a window.

use super::{Scalar, Thousandths, REQUEST};

/// A stored window further ahead of the clock than this is one that the clock has left behind by
/// stepping back; up to here it is the current one, in ms.
pub(super) const CLOCK_STEP_MS: u64 = 60_000;

/// A window and what has been admitted in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct WindowState {
    /// When the window began, in milliseconds of the algorithm's clock.
    pub start_ms: u64,
    /// Requests admitted in it.
    pub count: u32,
}

impl Scalar for WindowState {}

/// The window that counts at an instant.
#[derive(Clone, Copy)]
pub(super) struct Current<S> {
    /// What counts.
    pub state: S,
    /// When it ends, in milliseconds of the algorithm's clock. After the instant.
    pub end_ms: u64,
    /// Whether it has been moved back to the clock.
    pub is_moved: bool,
}

/// How many requests a quota leaves once all but one of a cost are taken; `None` if the cost is
/// above the quota.
pub(super) fn room_for(quota: u32, cost: u32) -> Option<u32> {
    quota.checked_sub(cost.saturating_sub(1)).filter(|room| *room > 0)
}

/// Requests above the quota had one of that cost been admitted, in 1/1000.
pub(super) fn excess(count: u64, quota: u32, cost: u32) -> Thousandths {
    let total = count.saturating_add(u64::from(cost));
    total.saturating_sub(u64::from(quota)).saturating_mul(REQUEST)
}

/// Requests in 1/1000.
pub(super) fn thousandths(requests: u64) -> Thousandths {
    requests.saturating_mul(REQUEST)
}

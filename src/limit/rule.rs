//! Any of the algorithms as one type.

use super::{AnchoredWindow, FixedWindow, Gcra, Leaky, LeakyQueue, SlidingLog, SlidingWindow};

/// A configured limit under the algorithm of its zone.
///
/// GCRA and the token bucket are one rule, since they are one algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// nginx's leaky bucket.
    Leaky(Leaky),
    /// GCRA and token bucket.
    Gcra(Gcra),
    /// The leaky bucket as a queue.
    LeakyQueue(LeakyQueue),
    /// Windows aligned to the wall clock.
    FixedWindow(FixedWindow),
    /// Windows that open at a key's first request.
    AnchoredWindow(AnchoredWindow),
    /// Two windows, interpolated.
    SlidingWindow(SlidingWindow),
    /// The times of the last admissions.
    SlidingLog(SlidingLog),
}

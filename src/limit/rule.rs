//! Any of the algorithms as one type.

use super::ahead::whole_ms;
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

impl Rule {
    /// The longest that a request may be held, in milliseconds.
    pub fn longest_wait_ms(&self) -> u64 {
        match self {
            Self::Leaky(rule) => rule.drain_ms(rule.burst.saturating_sub(rule.delay)),
            Self::Gcra(rule) => whole_ms(rule.tolerance_ns.saturating_sub(rule.undelayed_ns)),
            Self::LeakyQueue(rule) => {
                whole_ms(rule.capacity_ns.saturating_sub(rule.schedule.interval_ns))
            }
            Self::FixedWindow(_)
            | Self::AnchoredWindow(_)
            | Self::SlidingWindow(_)
            | Self::SlidingLog(_) => 0,
        }
    }
}

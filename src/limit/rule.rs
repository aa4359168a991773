//! Any of the algorithms as one type.

use super::ahead::whole_ms;
use super::{
    AnchoredWindow, FixedWindow, Gcra, Leaky, LeakyQueue, SlidingLog, SlidingWindow, NS_PER_MS,
};

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

/// Where requests are closer to each other than this, in nanoseconds, a millisecond matters.
const FINE_INTERVAL_NS: u64 = 1000 * NS_PER_MS;

impl Rule {
    /// Whether the rule needs a finer clock than one of whole milliseconds: where a millisecond is
    /// more than a thousandth of the time from one request to the next.
    pub fn needs_fine_clock(&self) -> bool {
        match self {
            Self::Gcra(Gcra { schedule, .. }) | Self::LeakyQueue(LeakyQueue { schedule, .. }) => {
                schedule.interval_ns < FINE_INTERVAL_NS
            }
            Self::Leaky(_)
            | Self::FixedWindow(_)
            | Self::AnchoredWindow(_)
            | Self::SlidingWindow(_)
            | Self::SlidingLog(_) => false,
        }
    }

    /// The longest that a request may be held, in milliseconds.
    pub fn longest_wait_ms(&self) -> u64 {
        match self {
            Self::Leaky(rule) => rule.drain_ms(rule.burst.saturating_sub(rule.delay)),
            Self::Gcra(rule) => whole_ms(rule.tolerance_ns.saturating_sub(rule.undelayed_ns)),
            // The last place is given again as soon as a part of it is free: see `queue`.
            Self::LeakyQueue(rule) => whole_ms(rule.capacity_ns.saturating_sub(1)),
            Self::FixedWindow(_)
            | Self::AnchoredWindow(_)
            | Self::SlidingWindow(_)
            | Self::SlidingLog(_) => 0,
        }
    }
}

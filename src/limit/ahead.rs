//! What the algorithms share that keep a theoretical time: how far a key is ahead of its
//! schedule.

use super::{Now, Scalar, Thousandths, NS_PER_MS, REQUEST};

/// A key that is ahead of its schedule until an instant: for `gcra` its theoretical arrival time,
/// for `leaky_queue` when the next request may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Ahead {
    /// The instant on the monotonic clock, in nanoseconds.
    pub until_ns: u64,
}

impl Scalar for Ahead {}

/// The schedule of a zone: one request every interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Nanoseconds from one request to the next. At least 1.
    pub interval_ns: u64,
    /// A key that is further ahead than this belongs to another rate, from before a reload, and
    /// would be refused for as long as that rate says.
    pub horizon_ns: u64,
}

impl Schedule {
    /// What a worker's clock may be behind the one of the worker that stored a time, on top of
    /// what a zone can owe.
    pub const SLACK_NS: u64 = 60_000 * NS_PER_MS;

    /// How far a key is ahead, in nanoseconds. What is beyond the horizon counts as
    /// `tolerance_ns`: the next request passes and rewrites it.
    #[inline]
    pub(super) fn lead_ns(&self, state: Option<&Ahead>, now: Now, tolerance_ns: u64) -> u64 {
        let lead_ns = state.map_or(0, |state| state.until_ns.saturating_sub(now.ns));
        if lead_ns > self.horizon_ns {
            tolerance_ns
        } else {
            lead_ns
        }
    }

    /// The time that requests take from the schedule, in nanoseconds.
    #[inline]
    pub(super) fn cost_ns(&self, requests: u32) -> u64 {
        self.interval_ns.saturating_mul(u64::from(requests))
    }

    /// The state of a key once a request that is so far ahead is charged. Never beyond the horizon,
    /// where workers that charge without asking again may end up together: it would be taken for
    /// another rate, and the key be let go.
    #[inline]
    pub(super) fn next(&self, now: Now, lead_ns: u64) -> Ahead {
        let lead_ns = lead_ns.saturating_add(self.interval_ns).min(self.horizon_ns);
        Ahead { until_ns: now.ns.saturating_add(lead_ns) }
    }

    /// How many whole intervals fit a span.
    #[inline]
    pub(super) fn fit(&self, span_ns: u64) -> u64 {
        span_ns / self.interval_ns.max(1)
    }

    /// A span in requests, in 1/1000, rounded down.
    #[inline]
    pub(super) fn requests(&self, span_ns: u64) -> Thousandths {
        if span_ns == 0 {
            return 0;
        }
        let thousandths = u128::from(span_ns) * u128::from(REQUEST);
        u64::try_from(thousandths / u128::from(self.interval_ns.max(1))).unwrap_or(u64::MAX)
    }
}

/// A span in whole milliseconds: what a timer of nginx can wait.
#[inline]
pub(super) fn whole_ms(span_ns: u64) -> u64 {
    span_ns / NS_PER_MS
}

/// A span in milliseconds, rounded up: a client that waits so long is not early.
#[inline]
pub(super) fn ms_up(span_ns: u64) -> u64 {
    span_ns.div_ceil(NS_PER_MS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::{Algorithm, Gcra, Verdict};

    /// Two workers charge an earlier limit of several at the same time: at one request an hour
    /// that is two hours, and not a time of another rate.
    #[test]
    fn charges_that_go_beyond_the_limit_are_kept() {
        let hour_ns = 3600 * 1000 * NS_PER_MS;
        let horizon_ns = hour_ns + Schedule::SLACK_NS;
        let schedule = Schedule { interval_ns: hour_ns, horizon_ns };
        let rule = Gcra { schedule, tolerance_ns: 0, undelayed_ns: u64::MAX };
        let mut state = None;
        for _ in 0..3 {
            state = Some(rule.charge(state.as_ref(), Now::at_ms(5), 1).next);
        }
        let verdict = rule.judge(state.as_ref(), Now::at_ms(6), 1);
        assert!(matches!(verdict, Verdict::Reject(_)), "{verdict:?}");
    }
}

//! A zone's algorithm and rate, and a directive's burst and delay, as the rule that decides.

use std::fmt;

use super::{AlgorithmName, Delay, Rate};
use crate::limit::{
    AnchoredWindow, FixedWindow, Gcra, Leaky, LeakyQueue, Rule, Schedule, SlidingLog,
    SlidingWindow, Thousandths, REQUEST,
};

/// The farthest that a zone may be ahead of its schedule, in nanoseconds: 146 years, so that no
/// sum with a clock overflows.
const LONGEST_NS: u64 = 1 << 62;

/// The largest rate of `leaky`, in 1/1000 request a second: what nginx's signed word holds.
const MOST_MILLI: Thousandths = i64::MAX.cast_unsigned();

/// What a zone limits by: an algorithm and a rate that it can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneRule {
    algorithm: AlgorithmName,
    rate: Rate,
}

impl ZoneRule {
    /// The largest rate of an algorithm that keeps a theoretical time, in requests a second. Faster,
    /// and an interval in whole nanoseconds would be wrong by more than a percent.
    pub const MOST_PER_SECOND: u64 = 10_000_000;

    /// An algorithm at a rate.
    ///
    /// # Errors
    ///
    /// The algorithm cannot compute with the rate.
    pub fn new(algorithm: AlgorithmName, rate: Rate) -> Result<Self, Unusable> {
        let rule = Self { algorithm, rate };
        match algorithm {
            AlgorithmName::Leaky => match rate.milli_per_second() {
                0 => Err(Unusable::Zero),
                1..=MOST_MILLI => Ok(rule),
                _ => Err(Unusable::TooFast(Rate::MOST_REQUESTS)),
            },
            AlgorithmName::Gcra | AlgorithmName::TokenBucket | AlgorithmName::LeakyQueue => {
                let most = u128::from(Self::MOST_PER_SECOND) * rate.period_ns() / 1_000_000_000;
                if u128::from(rate.requests()) > most {
                    Err(Unusable::TooFast(Self::MOST_PER_SECOND))
                } else if rate.period_ns() / u128::from(rate.requests()) > u128::from(LONGEST_NS) {
                    Err(Unusable::TooSlow)
                } else {
                    Ok(rule)
                }
            }
            AlgorithmName::SlidingLog => rule.with_quota_up_to(SlidingLog::MOST_QUOTA),
            AlgorithmName::FixedWindow
            | AlgorithmName::AnchoredWindow
            | AlgorithmName::SlidingWindow => rule.with_quota_up_to(u32::MAX),
        }
    }

    fn with_quota_up_to(self, most: u32) -> Result<Self, Unusable> {
        if self.rate.requests() > u64::from(most) {
            return Err(Unusable::TooMany(most));
        }
        Ok(self)
    }

    /// The algorithm.
    pub fn algorithm(&self) -> AlgorithmName {
        self.algorithm
    }

    /// The rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Requests in a window, for the algorithms that count them.
    pub fn quota(&self) -> u32 {
        u32::try_from(self.rate.requests()).unwrap_or(u32::MAX)
    }

    /// The rule of one directive on the zone; `None` is what is not written.
    ///
    /// `largest_burst` is that of all directives on the zone: what its keys can owe.
    ///
    /// # Errors
    ///
    /// A parameter that means nothing to the algorithm, or a burst that takes too long at the rate.
    pub fn rule(
        &self,
        burst: Option<u64>,
        delay: Option<Delay>,
        largest_burst: u64,
    ) -> Result<Rule, LimitError> {
        self.check_parameters(burst, delay)?;
        let (quota, window_ms) = (self.quota(), self.rate.period_ms());
        let burst = burst.unwrap_or(0);
        let delay = delay.unwrap_or(Delay::After(0));
        Ok(match self.algorithm {
            AlgorithmName::Leaky => Rule::Leaky(Leaky {
                rate: self.rate.milli_per_second(),
                burst: burst.saturating_mul(REQUEST),
                delay: delay.thousandths(),
            }),
            AlgorithmName::Gcra | AlgorithmName::TokenBucket => {
                let (schedule, capacity_ns) = self.schedule(false, burst, largest_burst)?;
                Rule::Gcra(Gcra {
                    schedule,
                    tolerance_ns: capacity_ns - schedule.interval_ns,
                    undelayed_ns: delay.requests().saturating_mul(schedule.interval_ns),
                })
            }
            AlgorithmName::LeakyQueue => {
                let (schedule, capacity_ns) = self.schedule(true, burst, largest_burst)?;
                Rule::LeakyQueue(LeakyQueue { schedule, capacity_ns })
            }
            AlgorithmName::FixedWindow => Rule::FixedWindow(FixedWindow { quota, window_ms }),
            AlgorithmName::AnchoredWindow => {
                Rule::AnchoredWindow(AnchoredWindow { quota, window_ms })
            }
            AlgorithmName::SlidingWindow => Rule::SlidingWindow(SlidingWindow { quota, window_ms }),
            AlgorithmName::SlidingLog => Rule::SlidingLog(SlidingLog { quota, window_ms }),
        })
    }

    fn check_parameters(&self, burst: Option<u64>, delay: Option<Delay>) -> Result<(), LimitError> {
        let algorithm = self.algorithm;
        match (burst, delay) {
            (Some(burst), _) if algorithm.has_quota() => Err(LimitError::Burst(algorithm, burst)),
            (_, Some(delay)) if !algorithm.has_delay() => Err(LimitError::Delay(algorithm, delay)),
            _ => Ok(()),
        }
    }

    /// The schedule of the zone and the time that `burst + 1` requests take, in nanoseconds.
    fn schedule(
        &self,
        rounds_up: bool,
        burst: u64,
        largest_burst: u64,
    ) -> Result<(Schedule, u64), LimitError> {
        let (period_ns, requests) = (self.rate.period_ns(), u128::from(self.rate.requests()));
        let interval_ns =
            if rounds_up { period_ns.div_ceil(requests) } else { period_ns / requests };
        let interval_ns = u64::try_from(interval_ns).unwrap_or(LONGEST_NS).max(1);
        let most = (LONGEST_NS / interval_ns).saturating_sub(1);
        if burst > most {
            return Err(LimitError::BurstTooLong { rule: *self, burst, most });
        }
        // A request that finds the last place of the queue partly free goes one gap beyond it.
        let most_ahead = largest_burst.saturating_add(if rounds_up { 2 } else { 1 });
        let owed = most_ahead.saturating_mul(interval_ns);
        let horizon_ns = owed.saturating_add(Schedule::SLACK_NS);
        Ok((Schedule { interval_ns, horizon_ns }, (burst + 1).saturating_mul(interval_ns)))
    }

    /// What an operator should know of the rate when nginx starts: where `leaky` truncates it.
    pub fn notice(&self) -> Option<String> {
        if self.algorithm != AlgorithmName::Leaky || !self.rate.is_truncated() {
            return None;
        }
        let (rate, effective) = (self.rate, self.rate.milli_per_second());
        Some(format!(
            "\"rate={rate}\" is {}.{:03} requests a second with \"leaky\", as in nginx's limit_req; \
             \"gcra\" does exactly {rate}",
            effective / REQUEST,
            effective % REQUEST,
        ))
    }
}

/// Why an algorithm cannot use a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It is 0 in 1/1000 request a second.
    Zero,
    /// An interval in whole nanoseconds is too coarse for it, or a word too small. Holds the largest
    /// rate, a second.
    TooFast(u64),
    /// An interval does not fit a word.
    TooSlow,
    /// Holds the largest number of requests in a window.
    TooMany(u32),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str(
                "computes in 1/1000 request a second, of which this is less than one; \
                 use \"algorithm=gcra\"",
            ),
            Self::TooFast(most) => write!(f, "takes at most {most} requests a second"),
            Self::TooSlow => f.write_str("takes at least one request in 146 years"),
            Self::TooMany(most) => write!(f, "takes at most {most} requests in a window"),
        }
    }
}

/// Why a directive does not go with the algorithm of its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitError {
    /// A burst where there is none.
    Burst(AlgorithmName, u64),
    /// A delay where there is none.
    Delay(AlgorithmName, Delay),
    /// A burst that takes longer than a word holds.
    BurstTooLong {
        /// Algorithm and rate of the zone.
        rule: ZoneRule,
        /// The burst.
        burst: u64,
        /// The largest that can be.
        most: u64,
    },
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Burst(algorithm, burst) => write!(
                f,
                "\"burst={burst}\" means nothing to \"{algorithm}\", which counts requests in a \
                 window"
            ),
            Self::Delay(algorithm, delay) => {
                let why = if algorithm.has_quota() {
                    "passes or refuses a request and never holds one"
                } else {
                    "holds every request until its turn"
                };
                write!(f, "\"{delay}\" means nothing to \"{algorithm}\", which {why}")
            }
            Self::BurstTooLong { rule: ZoneRule { algorithm, rate }, burst, most } => write!(
                f,
                "invalid burst value \"burst={burst}\", at most {most} with \"{algorithm}\" at \
                 \"rate={rate}\""
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::{Algorithm, Now, Verdict};

    /// The last place of a queue is taken again when a part of it is free, so that a request may
    /// wait for nearly one gap more than the burst says.
    #[test]
    fn the_longest_wait_is_that_of_the_latest_request() {
        for (name, burst, longest_ms) in [
            (AlgorithmName::Leaky, Some(2), 20_000),
            (AlgorithmName::Gcra, Some(2), 20_000),
            (AlgorithmName::LeakyQueue, Some(2), 29_999),
            (AlgorithmName::LeakyQueue, None, 9_999),
            (AlgorithmName::FixedWindow, None, 0),
            (AlgorithmName::SlidingLog, None, 0),
        ] {
            let zone = ZoneRule::new(name, Rate::parse(b"rate=6r/m").unwrap()).unwrap();
            let rule = zone.rule(burst, None, 2).unwrap();
            assert_eq!(rule.longest_wait_ms(), longest_ms, "{name} {burst:?}");
        }
    }

    #[test]
    fn what_a_full_queue_owes_is_no_other_rate() {
        let rate = Rate::parse(b"rate=1r/h").unwrap();
        let zone = ZoneRule::new(AlgorithmName::LeakyQueue, rate).unwrap();
        let Ok(Rule::LeakyQueue(queue)) = zone.rule(None, None, 0) else { panic!("a queue") };
        let mut state = None;
        let admitted = (0..10).filter(|ms| match queue.judge(state.as_ref(), Now::at_ms(*ms), 1) {
            Verdict::Accept(admission) => {
                state = Some(admission.next);
                true
            }
            Verdict::Reject(_) => false,
        });
        // The first leaves at once; a millisecond later its place is no longer wholly taken.
        assert_eq!(admitted.count(), 2);
    }
}

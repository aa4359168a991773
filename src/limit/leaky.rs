//! nginx's own arithmetic, bit for bit (`ngx_http_limit_req_module.c`: `lookup` and `account`).
//!
//! A key has an *excess*, the requests it is ahead of schedule in 1/1000. It leaks at the rate and
//! grows by 1000 with each admitted request; a request is refused if it would lift the excess
//! above the burst. A new key starts at 0, not at 1000: its first request is free.
//!
//! Two properties of stock are kept on purpose. The leak of an interval is truncated to whole
//! thousandths while `last` moves on, so at low rates a frequent client loses some leak. And a
//! stored time more than 60 s ahead of the clock counts as one millisecond of leak, which lasts
//! until the clock has caught up.
//!
//! Where stock's machine words would wrap, this code saturates.

use super::{Admission, Algorithm, Now, Refusal, Scalar, Standing, Thousandths, Verdict, REQUEST};

/// A stored time further ahead than this is taken for a clock that has been reset, in ms.
const CLOCK_RESET_MS: i64 = 60_000;

/// The leaky bucket of nginx's `limit_req` with the parameters of one directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaky {
    /// Leak in 1/1000 request a second. At least 1.
    pub rate: Thousandths,
    /// Excess above which a request is refused, in 1/1000 request.
    pub burst: Thousandths,
    /// Excess up to which a request is not held, in 1/1000 request.
    pub delay: Thousandths,
}

/// What `leaky` keeps for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LeakyState {
    /// When `excess` was computed, in milliseconds.
    pub last: u64,
    /// Requests ahead of schedule at `last`, in 1/1000.
    pub excess: Thousandths,
}

impl Leaky {
    /// The excess of a key if a request worth `cost` is charged now.
    ///
    /// A new key is charged for all but one request of the cost. So is one that has drained: what
    /// leaks beyond the first request must not pay for the others.
    fn excess_with(&self, state: Option<&LeakyState>, now: Now, cost: u32) -> Thousandths {
        let first = state.map_or(0, |state| {
            state.excess.saturating_add(REQUEST).saturating_sub(self.leak(state, now))
        });
        first.saturating_add(others(cost))
    }

    /// What has leaked since the state was stored, in 1/1000 request, rounded down.
    fn leak(&self, state: &LeakyState, now: Now) -> Thousandths {
        self.rate.saturating_mul(elapsed_ms(state.last, now.ms)) / 1000
    }

    /// The state and wait that follow from an excess.
    fn admit(
        &self,
        state: Option<&LeakyState>,
        now: Now,
        excess: Thousandths,
    ) -> Admission<LeakyState> {
        // Stock leaves `last` alone if no time has passed, also where the clock has stepped back:
        // the time until then has leaked already.
        let last = match state {
            Some(state) if elapsed_ms(state.last, now.ms) == 0 => state.last,
            _ => now.ms,
        };
        // As stock does: where nothing is held back, nothing is divided.
        let held = excess.saturating_sub(self.delay);
        let wait_ms = if held == 0 { 0 } else { self.drain_ms(held) };
        Admission { next: LeakyState { last, excess }, wait_ms, excess }
    }

    /// How long `excess` takes to leak away, in milliseconds rounded down, as stock computes a
    /// delay.
    pub(super) fn drain_ms(&self, excess: Thousandths) -> u64 {
        excess.saturating_mul(1000).checked_div(self.rate).unwrap_or(0)
    }

    /// How long after `now` at least `excess` has leaked from a state, in milliseconds.
    fn leak_wait_ms(&self, state: &LeakyState, now: Now, excess: Thousandths) -> u64 {
        let needed_ms = excess.saturating_mul(1000).div_ceil(self.rate.max(1));
        state.last.saturating_add(needed_ms).saturating_sub(now.ms)
    }
}

impl Scalar for LeakyState {}

impl Algorithm for Leaky {
    type State = LeakyState;

    #[inline]
    fn judge(&self, state: Option<&LeakyState>, now: Now, cost: u32) -> Verdict<LeakyState> {
        let excess = self.excess_with(state, now, cost);
        if excess <= self.burst {
            return Verdict::Accept(self.admit(state, now, excess));
        }
        // Even an empty bucket ends at this excess: waiting does not help.
        let retry_after_ms = (others(cost) <= self.burst).then(|| {
            state.map_or(0, |state| {
                let surplus = excess.saturating_add(self.leak(state, now)) - self.burst;
                self.leak_wait_ms(state, now, surplus)
            })
        });
        Verdict::Reject(Refusal { excess, retry_after_ms, moved: None })
    }

    fn charge(&self, state: Option<&LeakyState>, now: Now, cost: u32) -> Admission<LeakyState> {
        self.admit(state, now, self.excess_with(state, now, cost))
    }

    fn standing(&self, state: Option<&LeakyState>, now: Now) -> Standing {
        let limit = self.burst / REQUEST + 1;
        let Some(state) = state else {
            return Standing { limit, remaining: limit, reset_after_ms: 0 };
        };
        let first = self.excess_with(Some(state), now, 1);
        let remaining = self.burst.checked_sub(first).map_or(0, |room| room / REQUEST + 1);
        let full = state.excess.saturating_add(REQUEST);
        Standing { limit, remaining, reset_after_ms: self.leak_wait_ms(state, now, full) }
    }

    fn recovered(&self, state: &LeakyState, now: Now) -> bool {
        self.leak(state, now) >= state.excess.saturating_add(REQUEST)
    }

    fn charged(&self, state: &LeakyState, now: Now) -> Thousandths {
        state.excess.saturating_add(REQUEST).saturating_sub(self.leak(state, now))
    }
}

/// All but one request of a cost, in 1/1000.
fn others(cost: u32) -> Thousandths {
    REQUEST * u64::from(cost.saturating_sub(1))
}

/// Milliseconds that leak between two instants, by stock's rule for clocks that disagree.
fn elapsed_ms(last: u64, now: u64) -> u64 {
    // As in C: the difference of two unsigned words, read as signed.
    let elapsed = now.wrapping_sub(last).cast_signed();
    if elapsed < -CLOCK_RESET_MS {
        1
    } else {
        elapsed.max(0).cast_unsigned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Leaky = Leaky { rate: 10_000, burst: 2000, delay: 1000 };

    /// Arrival in ms, then the wait in ms, or None if refused (10 r/s, burst=2, delay=1).
    type Trace = [(u64, Option<u64>)];

    #[test]
    fn timetable() {
        let traces: &[(&str, &Trace)] = &[
            (
                "burst=2 admits three at once",
                &[(0, Some(0)), (0, Some(0)), (0, Some(100)), (0, None)],
            ),
            (
                "idle time earns no extra burst",
                &[
                    (0, Some(0)),
                    (9_000, Some(0)),
                    (9_000, Some(0)),
                    (9_000, Some(100)),
                    (9_000, None),
                ],
            ),
            ("a clock step back is no time", &[(1_000, Some(0)), (400, Some(0)), (400, Some(100))]),
        ];
        for (name, trace) in traces {
            let mut state = None;
            for (n, (at, expected)) in trace.iter().enumerate() {
                let wait = match RULE.judge(state.as_ref(), Now::at_ms(at + 100_000), 1) {
                    Verdict::Accept(admission) => {
                        state = Some(admission.next);
                        Some(admission.wait_ms)
                    }
                    Verdict::Reject(_) => None,
                };
                assert_eq!(wait, *expected, "{name}, request {n}");
            }
        }
    }

    #[test]
    fn retry_after_is_the_least_wait() {
        for rate in [16, 1000, 3333, 10_000] {
            let rule = Leaky { rate, ..RULE };
            let state = LeakyState { last: 100_000, excess: 1700 };
            let Verdict::Reject(refusal) = rule.judge(Some(&state), Now::at_ms(100_001), 1) else {
                panic!("{rate}: not refused");
            };
            let retry_after_ms = refusal.retry_after_ms.unwrap();
            let passes = |after: u64| {
                let now = Now::at_ms(100_001 + after);
                matches!(rule.judge(Some(&state), now, 1), Verdict::Accept(_))
            };
            assert!(passes(retry_after_ms), "{rate}");
            assert!(!passes(retry_after_ms - 1), "{rate}");
        }
    }

    #[test]
    fn idle_time_does_not_pay_for_a_cost() {
        let idle = LeakyState { last: 0, excess: 0 };
        for state in [None, Some(&idle)] {
            let judge = |cost| RULE.judge(state, Now::at_ms(3_600_000), cost);
            assert!(matches!(judge(3), Verdict::Accept(Admission { excess: 2000, .. })));
            let Verdict::Reject(refusal) = judge(4) else { panic!("above the burst") };
            assert_eq!(refusal, Refusal { excess: 3000, retry_after_ms: None, moved: None });
        }
    }

    #[test]
    fn a_recovered_record_is_as_good_as_none() {
        let state = LeakyState { last: 0, excess: 1500 };
        assert!(!RULE.recovered(&state, Now::at_ms(249)));
        assert_eq!(RULE.charged(&state, Now::at_ms(249)), 10);
        assert!(RULE.recovered(&state, Now::at_ms(250)));
        assert_eq!(RULE.charged(&state, Now::at_ms(250)), 0);
        let now = Now::at_ms(250);
        assert_eq!(RULE.judge(Some(&state), now, 1), RULE.judge(None, now, 1));
        assert_eq!(RULE.standing(Some(&state), now), RULE.standing(None, now));
    }

    #[test]
    fn no_bit_pattern_panics() {
        for last in [0, 1, u64::MAX, 1 << 63] {
            for excess in [0, 999, u64::MAX, 1 << 63] {
                let state = LeakyState { last, excess };
                for now in [0, 1, u64::MAX, 1 << 63] {
                    let (state, now) = (Some(&state), Now::at_ms(now));
                    let admission = RULE.charge(state, now, u32::MAX);
                    assert_eq!(admission.next.excess, admission.excess);
                    let standing = RULE.standing(state, now);
                    assert!(standing.remaining <= standing.limit);
                }
            }
        }
    }
}

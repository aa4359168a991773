//! One request against the limits of its location.
//!
//! As in nginx's `limit_req`: the limits are judged in the order of the configuration, and the
//! first refusal decides, with nothing charged anywhere. The last limit is judged and charged
//! under one lock, so that a single limit is exact over all workers. If all agree, the earlier ones
//! are charged in reverse order without being asked again, and the request waits for the longest
//! of the waits. On a tie the later limit keeps it.

mod any;
mod meter;
pub mod reload;

pub use any::{AnyMeter, AnyTable};
pub use meter::{Hold, Judgement, Meter, Metered};

use crate::limit::{Now, Thousandths};
use crate::store::{Counter, KeyHash};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No limit applies: there is none, or all keys are empty.
    Unlimited,
    /// Within all limits.
    Pass,
    /// Within all limits once it has been held for a while.
    Delay {
        /// Position of the limit that asks for the longest wait.
        limit: usize,
        /// How long to hold the request, in milliseconds. Not 0.
        wait_ms: u64,
        /// Excess of that limit, in 1/1000 request.
        excess: Thousandths,
    },
    /// Refused.
    Reject {
        /// Position of the limit that refuses.
        limit: usize,
        /// Excess of that limit, in 1/1000 request.
        excess: Thousandths,
    },
}

/// Whether an outcome is enforced. A dry run judges and charges all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Requests are delayed and refused.
    Enforce,
    /// Outcomes are only logged and counted.
    DryRun,
}

/// Decides one request against `limits`, the earliest in the configuration first.
///
/// `key` gives the hash of a limit's key, or `None` where this limit does not apply. It is asked
/// limit by limit, and no more after a refusal.
///
/// # Errors
///
/// The first error of `key`; nothing has been charged then.
#[inline]
pub fn decide<M: Meter, E>(
    limits: &[M],
    mode: Mode,
    now: Now,
    mut key: impl FnMut(&M) -> Result<Option<KeyHash>, E>,
) -> Result<Outcome, E> {
    let mut request = Request { limits, mode, now, key: &mut key };
    // One limit is what most locations have: without the call that calls itself.
    let walk = if let [only] = limits { request.last(0, only) } else { request.judge_from(0) };
    Ok(match walk? {
        Walk::Refused { limit, excess } => Outcome::Reject { limit, excess },
        Walk::Unlimited => Outcome::Unlimited,
        Walk::Charged(Longest { wait_ms: 0, .. }) => Outcome::Pass,
        Walk::Charged(Longest { limit, wait_ms, excess }) => {
            Outcome::Delay { limit, wait_ms, excess }
        }
    })
}

/// One request on its way through the limits.
struct Request<'a, M, K> {
    limits: &'a [M],
    mode: Mode,
    now: Now,
    key: &'a mut K,
}

/// What a limit and all later ones say.
enum Walk {
    /// One of them refuses; none has been charged.
    Refused { limit: usize, excess: Thousandths },
    /// None of them applies.
    Unlimited,
    /// All that apply agree and have been charged.
    Charged(Longest),
}

/// The longest wait so far and the limit that asks for it.
struct Longest {
    limit: usize,
    wait_ms: u64,
    excess: Thousandths,
}

impl<M: Meter, E, K: FnMut(&M) -> Result<Option<KeyHash>, E>> Request<'_, M, K> {
    /// Judges limit `n` and the later ones on the way in, and charges them on the way out: the
    /// last first, as nginx does. As deep as there are limits in the location.
    fn judge_from(&mut self, n: usize) -> Result<Walk, E> {
        let Some(limit) = self.limits.get(n) else {
            return Ok(Walk::Unlimited);
        };
        if n + 1 == self.limits.len() {
            return self.last(n, limit);
        }
        let Some(key) = (self.key)(limit)? else {
            return self.judge_from(n + 1);
        };
        if let Judgement::Reject { excess } = limit.judge(key, self.now) {
            return Ok(self.refuse(n, limit, excess));
        }
        let later = match self.judge_from(n + 1)? {
            refused @ Walk::Refused { .. } => return Ok(refused),
            Walk::Unlimited => None,
            Walk::Charged(longest) => Some(longest),
        };
        let hold = limit.charge(key, self.now);
        Ok(self.admit(n, limit, hold, later))
    }

    /// Judges and charges the last limit at once.
    #[inline(always)]
    fn last(&mut self, n: usize, limit: &M) -> Result<Walk, E> {
        let Some(key) = (self.key)(limit)? else {
            return Ok(Walk::Unlimited);
        };
        Ok(match limit.take(key, self.now) {
            Judgement::Reject { excess } => self.refuse(n, limit, excess),
            Judgement::Accept(hold) => self.admit(n, limit, hold, None),
        })
    }

    fn refuse(&self, n: usize, limit: &M, excess: Thousandths) -> Walk {
        limit.count(match self.mode {
            Mode::Enforce => Counter::Rejected,
            Mode::DryRun => Counter::RejectedDryRun,
        });
        Walk::Refused { limit: n, excess }
    }

    /// Counts a limit that has been charged by its own wait and keeps the longest one.
    #[inline]
    fn admit(&self, n: usize, limit: &M, hold: Hold, later: Option<Longest>) -> Walk {
        limit.count(match self.mode {
            _ if hold.wait_ms == 0 => Counter::Passed,
            Mode::Enforce => Counter::Delayed,
            Mode::DryRun => Counter::DelayedDryRun,
        });
        let own = Longest { limit: n, wait_ms: hold.wait_ms, excess: hold.excess };
        Walk::Charged(match later {
            Some(later) if later.wait_ms >= own.wait_ms => later,
            _ => own,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::store::Secret;

    /// A limit that says what it is told to, and writes down what it is asked.
    struct Scripted<'a> {
        name: &'static str,
        says: Judgement,
        diary: &'a RefCell<Vec<String>>,
    }

    impl Scripted<'_> {
        fn note(&self, what: &str) {
            self.diary.borrow_mut().push(format!("{what} {}", self.name));
        }
    }

    impl Meter for Scripted<'_> {
        fn judge(&self, _: KeyHash, _: Now) -> Judgement {
            self.note("judge");
            self.says
        }

        fn take(&self, _: KeyHash, _: Now) -> Judgement {
            self.note("take");
            self.says
        }

        fn charge(&self, _: KeyHash, _: Now) -> Hold {
            self.note("charge");
            match self.says {
                Judgement::Accept(hold) => hold,
                Judgement::Reject { .. } => Hold::default(),
            }
        }

        fn count(&self, counter: Counter) {
            self.note(&format!("{counter:?}"));
        }
    }

    fn accept(wait_ms: u64) -> Judgement {
        Judgement::Accept(Hold { wait_ms, excess: wait_ms })
    }

    /// Decides with limits a, b, c; a limit that says `None` has an empty key.
    fn run(mode: Mode, says: &[Option<Judgement>]) -> (Outcome, String) {
        let diary = RefCell::default();
        let limits: Vec<_> = ["a", "b", "c"]
            .into_iter()
            .zip(says)
            .map(|(name, says)| Scripted {
                name,
                says: says.unwrap_or(Judgement::Reject { excess: 0 }),
                diary: &diary,
            })
            .collect();
        let key = KeyHash::of(Secret::known([1, 2]), b"key");
        let outcome = decide(&limits, mode, Now::at_ms(0), |limit: &Scripted<'_>| {
            let n = limits.iter().position(|other| other.name == limit.name).unwrap();
            Ok::<_, ()>(says[n].map(|_| key))
        });
        (outcome.unwrap(), diary.take().join(", "))
    }

    #[test]
    fn the_last_is_taken_and_the_earlier_are_charged_in_reverse() {
        let says = [Some(accept(0)), Some(accept(0)), Some(accept(0))];
        let (outcome, diary) = run(Mode::Enforce, &says);
        assert_eq!(outcome, Outcome::Pass);
        assert_eq!(
            diary,
            "judge a, judge b, take c, Passed c, charge b, Passed b, charge a, Passed a"
        );
    }

    #[test]
    fn the_first_refusal_decides_and_nothing_is_charged() {
        let no = Some(Judgement::Reject { excess: 7 });
        let (outcome, diary) = run(Mode::DryRun, &[Some(accept(5)), no, no]);
        assert_eq!(outcome, Outcome::Reject { limit: 1, excess: 7 });
        assert_eq!(diary, "judge a, judge b, RejectedDryRun b");
    }

    #[test]
    fn the_longest_wait_wins_and_on_a_tie_the_later_limit() {
        let delay = |limit, wait_ms| Outcome::Delay { limit, wait_ms, excess: wait_ms };
        for (says, expected) in [
            ([3, 9, 4], delay(1, 9)),
            ([9, 9, 4], delay(1, 9)),
            ([9, 0, 9], delay(2, 9)),
            ([9, 0, 0], delay(0, 9)),
        ] {
            let (outcome, _) = run(Mode::Enforce, &says.map(|wait| Some(accept(wait))));
            assert_eq!(outcome, expected, "{says:?}");
        }
    }

    #[test]
    fn empty_keys_are_skipped() {
        assert_eq!(run(Mode::Enforce, &[None, None]), (Outcome::Unlimited, String::new()));
        assert_eq!(run(Mode::Enforce, &[]), (Outcome::Unlimited, String::new()));
        let (outcome, diary) = run(Mode::Enforce, &[Some(accept(2)), None]);
        assert_eq!(outcome, Outcome::Delay { limit: 0, wait_ms: 2, excess: 2 });
        assert_eq!(diary, "judge a, charge a, Delayed a", "although the last is skipped");
    }
}

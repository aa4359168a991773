//! One limit as the engine sees it: a rule applied to a table.

use std::rc::Rc;

use crate::limit::{Admission, Algorithm, Full, Now, Refusal, Thousandths, Verdict};
use crate::store::{Counter, KeyHash, Record, Table, Untracked, Worth};

/// A limit whose keys can be judged and charged.
///
/// A key whose record cannot be reached (a stopped process holds its lock) passes untracked; a new
/// key for which there is no room passes so or is refused, as its zone wants it. The table counts both.
pub trait Meter {
    /// Judges one request. Changes nothing and makes no record.
    fn judge(&self, key: KeyHash, now: Now) -> Judgement;

    /// Judges one request and, if it is accepted, charges it under the same lock.
    fn take(&self, key: KeyHash, now: Now) -> Judgement;

    /// Charges one request that has been judged before.
    fn charge(&self, key: KeyHash, now: Now) -> Hold;

    /// Counts one event of this limit's zone.
    fn count(&self, counter: Counter);
}

/// Several locations may share a limit.
impl<M: Meter> Meter for Rc<M> {
    fn judge(&self, key: KeyHash, now: Now) -> Judgement {
        M::judge(self, key, now)
    }

    #[inline]
    fn take(&self, key: KeyHash, now: Now) -> Judgement {
        M::take(self, key, now)
    }

    fn charge(&self, key: KeyHash, now: Now) -> Hold {
        M::charge(self, key, now)
    }

    #[inline]
    fn count(&self, counter: Counter) {
        M::count(self, counter);
    }
}

/// A verdict without the state, which stays in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Within the limit.
    Accept(Hold),
    /// Above the limit.
    Reject {
        /// Requests ahead of schedule, had this one been admitted, in 1/1000.
        excess: Thousandths,
    },
}

/// How long one limit wants an accepted request held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Hold {
    /// Wait in milliseconds.
    pub wait_ms: u64,
    /// Requests ahead of schedule, this one included, in 1/1000.
    pub excess: Thousandths,
}

impl Judgement {
    /// The verdict on a key whose record cannot be reached.
    pub const UNTRACKED: Self = Self::Accept(Hold { wait_ms: 0, excess: 0 });

    /// The refusal of a new key without room. No algorithm gives a key's first request an excess;
    /// refused for its rate, a request always has one.
    const NO_ROOM: Self = Self::Reject { excess: 0 };
}

impl Hold {
    fn of<S>(admission: &Admission<S>) -> Self {
        Self { wait_ms: admission.wait_ms, excess: admission.excess }
    }
}

/// An algorithm with its parameters over the table of its zone.
pub struct Metered<'t, A: Algorithm>
where
    A::State: Record,
{
    /// The rule of one directive.
    pub rule: &'t A,
    /// The table of its zone.
    pub table: &'t Table<A::State>,
    /// What its zone does with a new key where the table is full.
    pub full: Full,
}

/// What one request costs.
const COST: u32 = 1;

impl<A: Algorithm> Metered<'_, A>
where
    A::State: Record,
{
    /// Judges under the lock and stores what the verdict says. `charges` says whether an admission
    /// is to be stored.
    #[inline]
    fn judge_and_store(&self, key: KeyHash, now: Now, charges: bool) -> Judgement {
        self.table
            .update(key, &self.worth(now), |state| match self.rule.judge(state, now, COST) {
                Verdict::Accept(admission) => {
                    let hold = Hold::of(&admission);
                    (charges.then_some(admission.next), Judgement::Accept(hold))
                }
                Verdict::Reject(refusal) => {
                    (refusal.moved, Judgement::Reject { excess: refusal.excess })
                }
            })
            .unwrap_or_else(|why| self.without_record(why))
    }

    /// Refuses a key that has been refused just now, if that is still so and can be told without
    /// the lock of its record.
    #[inline(never)]
    fn refuse_again(&self, key: KeyHash, now: Now) -> Option<Thousandths> {
        self.table.glimpse(key, |state| match self.rule.judge(Some(state), now, COST) {
            Verdict::Reject(Refusal { moved: None, excess, .. }) => Some(excess),
            _ => None,
        })
    }

    #[inline]
    fn worth(&self, now: Now) -> Worth<'_, A> {
        Worth::new(self.rule, now).when_full(self.full)
    }

    #[cold]
    fn without_record(&self, why: Untracked) -> Judgement {
        match (why, self.full) {
            (Untracked::NoRoom, Full::Reject) => Judgement::NO_ROOM,
            _ => Judgement::UNTRACKED,
        }
    }

    /// The verdict on a key that has no record and would be admitted: only if there is room for it,
    /// where new keys are refused otherwise.
    #[cold]
    fn judge_room(&self, key: KeyHash, now: Now, judgement: Judgement) -> Judgement {
        match self.table.make_room(key, &self.worth(now)) {
            Ok(()) => judgement,
            Err(why) => self.without_record(why),
        }
    }
}

impl<A: Algorithm> Meter for Metered<'_, A>
where
    A::State: Record,
{
    fn judge(&self, key: KeyHash, now: Now) -> Judgement {
        let mut needs_room = false;
        let judged = self.table.look(key, |state| match self.rule.judge(state, now, COST) {
            Verdict::Accept(admission) => {
                needs_room = state.is_none() && self.full == Full::Reject;
                Some(Judgement::Accept(Hold::of(&admission)))
            }
            Verdict::Reject(Refusal { moved: None, excess, .. }) => {
                Some(Judgement::Reject { excess })
            }
            Verdict::Reject(Refusal { moved: Some(_), .. }) => None,
        });
        match judged {
            Ok(Some(judgement)) if needs_room => self.judge_room(key, now, judgement),
            Ok(Some(judgement)) => judgement,
            // The record has to be written although nothing is charged. Rare: the clock has been
            // stepped back.
            Ok(None) => self.judge_and_store(key, now, false),
            Err(why) => self.without_record(why),
        }
    }

    #[inline]
    fn take(&self, key: KeyHash, now: Now) -> Judgement {
        if self.table.was_refused(key) {
            if let Some(excess) = self.refuse_again(key, now) {
                return Judgement::Reject { excess };
            }
        }
        let judgement = self.judge_and_store(key, now, true);
        self.table.remember(key, matches!(judgement, Judgement::Reject { .. }));
        judgement
    }

    fn charge(&self, key: KeyHash, now: Now) -> Hold {
        // Other limits have been charged by now: it is too late to refuse.
        let worth = match self.full {
            Full::Evict => self.worth(now),
            Full::Reject | Full::Pass => self.worth(now).when_full(Full::Pass),
        };
        self.table
            .update(key, &worth, |state| {
                let admission = self.rule.charge(state, now, COST);
                let hold = Hold::of(&admission);
                (Some(admission.next), hold)
            })
            .unwrap_or_default()
    }

    fn count(&self, counter: Counter) {
        self.table.count(counter);
    }
}

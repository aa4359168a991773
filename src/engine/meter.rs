//! One limit as the engine sees it: a rule applied to a table.

use crate::limit::{Admission, Algorithm, Milli, Millis, Verdict};
use crate::store::{Counter, KeyHash, Record, Table, Worth};

/// A limit whose keys can be judged and charged.
///
/// A key whose record cannot be reached (a stopped process holds its lock) passes untracked; the
/// table counts that.
pub trait Meter {
    /// Judges one request. Changes nothing and makes no record.
    fn judge(&self, key: KeyHash, now: Millis) -> Judgement;

    /// Judges one request and, if it is accepted, charges it under the same lock.
    fn take(&self, key: KeyHash, now: Millis) -> Judgement;

    /// Charges one request that has been judged before.
    fn charge(&self, key: KeyHash, now: Millis) -> Hold;

    /// Counts one event of this limit's zone.
    fn count(&self, counter: Counter);
}

/// A verdict without the state, which stays in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Within the limit.
    Accept(Hold),
    /// Above the limit.
    Reject {
        /// Requests ahead of schedule, had this one been admitted, in 1/1000.
        excess: Milli,
    },
}

/// How long one limit wants an accepted request held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Hold {
    /// Wait in milliseconds.
    pub wait_ms: u64,
    /// Requests ahead of schedule, this one included, in 1/1000.
    pub excess: Milli,
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
    pub rule: A,
    /// The table of its zone.
    pub table: &'t Table<A::State>,
}

/// What one request costs.
const COST: u32 = 1;

impl<A: Algorithm> Meter for Metered<'_, A>
where
    A::State: Record,
{
    fn judge(&self, key: KeyHash, now: Millis) -> Judgement {
        self.table
            .look(key, |state| match self.rule.judge(state, now, COST) {
                Verdict::Accept(admission) => Judgement::Accept(Hold::of(&admission)),
                Verdict::Reject(refusal) => Judgement::Reject { excess: refusal.excess },
            })
            .unwrap_or(Judgement::Accept(Hold::default()))
    }

    fn take(&self, key: KeyHash, now: Millis) -> Judgement {
        self.table
            .update(key, &Worth::new(&self.rule, now), |state| {
                match self.rule.judge(state, now, COST) {
                    Verdict::Accept(admission) => {
                        (Some(admission.next), Judgement::Accept(Hold::of(&admission)))
                    }
                    Verdict::Reject(refusal) => {
                        (None, Judgement::Reject { excess: refusal.excess })
                    }
                }
            })
            .unwrap_or(Judgement::Accept(Hold::default()))
    }

    fn charge(&self, key: KeyHash, now: Millis) -> Hold {
        self.table
            .update(key, &Worth::new(&self.rule, now), |state| {
                let admission = self.rule.charge(state, now, COST);
                (Some(admission.next), Hold::of(&admission))
            })
            .unwrap_or_default()
    }

    fn count(&self, counter: Counter) {
        self.table.count(counter);
    }
}

//! The generic cell rate algorithm (ITU-T I.371), which is also the token bucket.
//!
//! A key has a *theoretical arrival time*, TAT: when its next request would be on schedule. A
//! request may be early by the tolerance, and moves the TAT one emission interval T further. A
//! token bucket of `burst + 1` tokens says the same in other words: what the TAT lacks to the
//! farthest it may be ahead, in units of T, are the tokens left.
//!
//! T is rounded down to whole nanoseconds, and the tolerance computed from the rounded T: at the
//! boundary this decides as exact arithmetic does.

use super::ahead::{ms_up, whole_ms, Ahead, Schedule};
use super::{Admission, Algorithm, Now, Refusal, Standing, Thousandths, Verdict};

/// GCRA with the parameters of one directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gcra {
    /// Emission interval T, how far it may be ahead and what is too far to be true.
    pub schedule: Schedule,
    /// How far ahead of schedule a request may be and still pass, in nanoseconds: burst times T.
    pub tolerance_ns: u64,
    /// How far ahead a request is not held, in nanoseconds: delay times T.
    pub undelayed_ns: u64,
}

impl Gcra {
    /// How far ahead of schedule a request of that cost would be, in nanoseconds.
    fn lead_ns(&self, state: Option<&Ahead>, now: Now, cost: u32) -> u64 {
        let lead = self.schedule.lead_ns(state, now, self.tolerance_ns);
        lead.saturating_add(self.schedule.cost_ns(cost.saturating_sub(1)))
    }

    fn admit(&self, now: Now, lead_ns: u64) -> Admission<Ahead> {
        Admission {
            next: self.schedule.next(now, lead_ns),
            wait_ms: whole_ms(lead_ns.saturating_sub(self.undelayed_ns)),
            excess: self.schedule.requests(lead_ns),
        }
    }
}

impl Algorithm for Gcra {
    type State = Ahead;

    #[inline]
    fn judge(&self, state: Option<&Ahead>, now: Now, cost: u32) -> Verdict<Ahead> {
        let lead_ns = self.lead_ns(state, now, cost);
        if lead_ns <= self.tolerance_ns {
            return Verdict::Accept(self.admit(now, lead_ns));
        }
        let can_pass = self.schedule.cost_ns(cost.saturating_sub(1)) <= self.tolerance_ns;
        let wait_ns = lead_ns - self.tolerance_ns;
        Verdict::Reject(Refusal {
            excess: self.schedule.requests(lead_ns),
            retry_after_ms: can_pass.then(|| ms_up(wait_ns)),
            moved: None,
        })
    }

    fn charge(&self, state: Option<&Ahead>, now: Now, cost: u32) -> Admission<Ahead> {
        self.admit(now, self.lead_ns(state, now, cost))
    }

    fn standing(&self, state: Option<&Ahead>, now: Now) -> Standing {
        let lead_ns = self.lead_ns(state, now, 1);
        let remaining = self.tolerance_ns.checked_sub(lead_ns);
        Standing {
            limit: self.schedule.fit(self.tolerance_ns) + 1,
            remaining: remaining.map_or(0, |left| self.schedule.fit(left) + 1),
            reset_after_ms: ms_up(lead_ns),
        }
    }

    fn recovered(&self, state: &Ahead, now: Now) -> bool {
        state.until_ns <= now.ns
    }

    fn charged(&self, state: &Ahead, now: Now) -> Thousandths {
        self.schedule.requests(self.lead_ns(Some(state), now, 1))
    }
}

//! The leaky bucket as a queue: admitted requests leave one gap apart.
//!
//! A request takes the next free release time and is held until then. It is refused if all
//! `burst + 1` places of the queue are taken, the one that is just leaving included. The gap is
//! rounded up to whole nanoseconds, so that the queue never runs faster than the rate.

use super::ahead::{ms_up, whole_ms, Ahead, Schedule};
use super::{Admission, Algorithm, Now, Refusal, Standing, Thousandths, Verdict, NS_PER_MS};

/// The leaky queue with the parameters of one directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeakyQueue {
    /// The gap between releases.
    pub schedule: Schedule,
    /// Length of the full queue in nanoseconds: `burst + 1` gaps.
    pub capacity_ns: u64,
}

impl LeakyQueue {
    /// How long a request would wait for its release, in nanoseconds.
    fn wait_ns(&self, state: Option<&Ahead>, now: Now) -> u64 {
        let last_place = self.capacity_ns.saturating_sub(self.schedule.interval_ns);
        self.schedule.lead_ns(state, now, last_place)
    }

    /// The gaps that all but one request of a cost take, in nanoseconds.
    fn others_ns(&self, cost: u32) -> u64 {
        self.schedule.cost_ns(cost.saturating_sub(1))
    }

    fn admit(&self, now: Now, wait_ns: u64, cost: u32) -> Admission<Ahead> {
        let last_ns = wait_ns.saturating_add(self.others_ns(cost));
        Admission {
            next: self.schedule.next(now, last_ns),
            wait_ms: whole_ms(wait_ns),
            excess: self.schedule.requests(last_ns),
        }
    }
}

impl Algorithm for LeakyQueue {
    type State = Ahead;

    #[inline]
    fn judge(&self, state: Option<&Ahead>, now: Now, cost: u32) -> Verdict<Ahead> {
        let wait_ns = self.wait_ns(state, now);
        let last_ns = wait_ns.saturating_add(self.others_ns(cost));
        if last_ns < self.capacity_ns {
            return Verdict::Accept(self.admit(now, wait_ns, cost));
        }
        let can_pass = self.others_ns(cost) < self.capacity_ns;
        // A place is free once the wait is below the capacity, not when it is equal.
        let retry_after_ms = (last_ns - self.capacity_ns) / NS_PER_MS + 1;
        Verdict::Reject(Refusal {
            excess: self.schedule.requests(last_ns),
            retry_after_ms: can_pass.then_some(retry_after_ms),
            moved: None,
        })
    }

    fn charge(&self, state: Option<&Ahead>, now: Now, cost: u32) -> Admission<Ahead> {
        self.admit(now, self.wait_ns(state, now), cost)
    }

    fn standing(&self, state: Option<&Ahead>, now: Now) -> Standing {
        let wait_ns = self.wait_ns(state, now);
        let left_ns = self.capacity_ns.saturating_sub(wait_ns);
        Standing {
            limit: self.schedule.fit(self.capacity_ns),
            remaining: left_ns.div_ceil(self.schedule.interval_ns.max(1)),
            reset_after_ms: ms_up(wait_ns),
        }
    }

    fn recovered(&self, state: &Ahead, now: Now) -> bool {
        state.until_ns <= now.ns
    }

    fn charged(&self, state: &Ahead, now: Now) -> Thousandths {
        self.schedule.requests(self.wait_ns(Some(state), now))
    }
}

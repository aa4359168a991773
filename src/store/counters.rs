//! Event counters of a zone.
//!
//! Each worker has a stripe of its own cache lines, claimed like a lock by the word of its process,
//! so that counting takes no atomic addition; one costs as much as a lock. Its number among the
//! workers would not do: during a reload an old and a new worker have the same. Where all are
//! taken, workers add atomically to a few shared ones.

use std::sync::atomic::Ordering;

use super::layout::{Header, Stripe, OWN_STRIPES, SHARED_STRIPES, STRIPE_COUNTERS};
use super::process::{is_dead, Owner};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Counter {
    /// Requests within the limit that were not held.
    Passed,
    /// Requests within the limit that were held.
    Delayed,
    /// Requests refused.
    Rejected,
    /// Requests that would have been held.
    DelayedDryRun,
    /// Requests that would have been refused.
    RejectedDryRun,
    /// Records dropped for a new key although something was still charged to them.
    EvictedLive,
    /// Records dropped for a new key without loss.
    EvictedRecovered,
    /// Records moved to their other bucket for a new key.
    Moved,
    /// New keys refused for want of room, `full=reject`. Each is also counted as rejected.
    RefusedForSpace,
    /// Requests of new keys that passed uncharged for want of room: `full=pass`, or with
    /// `full=reject` a room that was there when the request was judged and not when it was charged.
    PassedForSpace,
    /// Look-ups that could not reach the record in time. One limit may look twice at a request:
    /// to judge and to charge it.
    Untracked,
}

const _: () = assert!((Counter::Untracked as usize) < STRIPE_COUNTERS);

/// The counters of a zone, summed over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters([u64; STRIPE_COUNTERS]);

impl Counters {
    /// The events of one kind.
    pub fn of(&self, counter: Counter) -> u64 {
        self.0.get(counter as usize).copied().unwrap_or_default()
    }

    pub(super) fn sum(header: &Header) -> Self {
        let mut sum = Self::default();
        for Stripe(counters) in &header.stripes {
            for (total, counter) in sum.0.iter_mut().zip(counters) {
                *total = total.wrapping_add(counter.load(Ordering::Relaxed));
            }
        }
        sum
    }
}

/// The number of a shared stripe, by the number of a worker.
pub(super) fn shared(worker: usize) -> usize {
    OWN_STRIPES + worker % SHARED_STRIPES
}

/// Claims a stripe for a process: the one it has, or one that nobody has or whose owner is dead;
/// else a shared one. The process must be one thread.
pub(super) fn claim(header: &Header, Owner(owner): Owner, worker: usize) -> usize {
    let words = &header.stripe_owners;
    if let Some(own) = words.iter().position(|word| word.load(Ordering::Relaxed) == owner) {
        return own;
    }
    let free = words.iter().position(|word| {
        let holder = word.load(Ordering::Relaxed);
        (holder == 0 || is_dead(holder))
            // What the last owner counted is added to, so it must be seen.
            && word.compare_exchange(holder, owner, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    });
    free.unwrap_or_else(|| shared(worker))
}

/// Adds an event to a stripe: one that [`claim`] has given to this process, or a shared one.
#[inline]
pub(super) fn add(header: &Header, stripe: usize, counter: Counter) {
    let counters = header.stripes.get(stripe);
    let Some(count) = counters.and_then(|Stripe(counters)| counters.get(counter as usize)) else {
        return;
    };
    if stripe < OWN_STRIPES {
        count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    } else {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

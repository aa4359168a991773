//! Event counters of a zone.
//!
//! Each worker adds to a stripe of its own cache lines. The addition is atomic all the same: during
//! a reload an old and a new worker have the same number.

use std::sync::atomic::Ordering;

use super::layout::{Header, Stripe, STRIPES, STRIPE_COUNTERS};

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

/// Adds an event to the stripe of a worker.
#[inline]
pub(super) fn add(header: &Header, worker: usize, counter: Counter) {
    let stripe = header.stripes.get(worker % STRIPES);
    if let Some(counter) = stripe.and_then(|Stripe(counters)| counters.get(counter as usize)) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

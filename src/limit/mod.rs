//! The algorithms. State and time go in, a verdict and the next state come out.
//!
//! Nothing here stores, reads a clock, allocates or touches a float, so that a dry run, the two
//! phases of a decision over several limits, a replay and a fuzzer all use the same code.

mod leaky;

pub use leaky::{Leaky, LeakyState};

/// An instant of one of the clocks, in milliseconds.
///
/// For `leaky` it is nginx's cached monotonic clock (`ngx_current_msec`): the same in all workers,
/// but only as fresh as each worker's event loop, so a stored instant may lie ahead of `now`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Millis(pub u64);

/// Thousandths of a request, the unit of nginx's `limit_req`: `1r/s` is 1000 of them a second.
pub type Milli = u64;

/// What one limit says of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<S> {
    /// The request may pass; nothing is charged until `next` is stored.
    Accept(Admission<S>),
    /// The request is refused; a refusal changes no state.
    Reject(Refusal),
}

/// An accepted request: what to store for its key and how long to hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission<S> {
    /// The state of the key once the request is charged.
    pub next: S,
    /// How long to hold the request, in milliseconds.
    pub wait_ms: u64,
    /// Requests ahead of schedule, this one included, in 1/1000. Goes to the log.
    pub excess: Milli,
}

/// A refused request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Requests ahead of schedule, had this one been admitted, in 1/1000. Goes to the log.
    pub excess: Milli,
    /// The least wait after which one request of the same cost passes, in milliseconds.
    /// `None` if no wait can cure the refusal (the cost is above the capacity).
    pub retry_after_ms: Option<u64>,
}

/// How a key stands with a limit, for headers and look-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// How many requests an idle key may send at once.
    pub limit: u64,
    /// How many requests would be admitted at this very instant.
    pub remaining: u64,
    /// Milliseconds until an untouched key is as good as new.
    pub reset_after_ms: u64,
}

/// One configured limit: the rule of a zone with the burst and delay of one directive.
///
/// `state` is `None` for a key that has no record, which is not the same as a zero state.
/// Every bit pattern of a state is valid: it comes from shared memory.
pub trait Algorithm {
    /// What is kept for each key.
    type State: Copy;

    /// Judges one request worth `cost` (at least 1) requests. Stores nothing.
    fn judge(&self, state: Option<&Self::State>, now: Millis, cost: u32) -> Verdict<Self::State>;

    /// Charges one request without asking whether it is within the limit: the second phase of a
    /// decision over several limits, where the limit has agreed already. Saturates.
    fn charge(&self, state: Option<&Self::State>, now: Millis, cost: u32)
        -> Admission<Self::State>;

    /// How the key stands at `now`.
    fn standing(&self, state: Option<&Self::State>, now: Millis) -> Standing;

    /// Whether a key without a record would from now on be treated the same: such a record can
    /// be dropped without losing anything. Never depends on the burst, which differs between the
    /// directives that share a zone.
    fn recovered(&self, state: &Self::State, now: Millis) -> bool;

    /// What would be forgiven if the record were dropped, in 1/1000 request: the table evicts the
    /// record with the least of it.
    fn charged(&self, state: &Self::State, now: Millis) -> Milli;
}

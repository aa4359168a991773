//! The algorithms. State and time go in, a verdict and the next state come out.
//!
//! Nothing here stores, reads a clock, allocates or touches a float, so that a dry run, the two
//! phases of a decision over several limits, a replay and a fuzzer all use the same code.
//!
//! | file | algorithm | kept for a key |
//! |---|---|---|
//! | `leaky` | nginx's leaky bucket | excess and its time |
//! | `gcra` | GCRA, which is the token bucket told in times | theoretical arrival time |
//! | `queue` | leaky bucket as a queue | next release |
//! | `fixed` | fixed windows: by the wall clock, from the first request on | start and count |
//! | `sliding` | two fixed windows, interpolated | start and two counts |
//! | `log` | sliding log | a ring of admission times |
//!
//! `ahead` has what `gcra` and `queue` share, `window` what the windows and the log share; `rule` is
//! any of them as one type. `full` is what a zone does where no more states fit.

mod ahead;
mod fixed;
mod full;
mod gcra;
mod leaky;
mod log;
mod queue;
mod rule;
mod sliding;
mod window;

pub use ahead::{Ahead, Schedule};
pub use fixed::{AnchoredWindow, FixedWindow};
pub use full::Full;
pub use gcra::Gcra;
pub use leaky::{Leaky, LeakyState};
pub use log::{Log, LogEntries, LogView, SlidingLog};
pub use queue::LeakyQueue;
pub use rule::Rule;
pub use sliding::{SlidingState, SlidingWindow};
pub use window::WindowState;

/// One instant, as each of the clocks shows it. An algorithm reads one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Now {
    /// Monotonic clock in milliseconds, for `leaky`, `anchored_window` and `sliding_log`.
    ///
    /// It is nginx's cached clock (`ngx_current_msec`): only as fresh as each worker's event loop,
    /// so that a stored instant may lie a little ahead of it.
    pub ms: u64,
    /// The same clock in nanoseconds, for the algorithms that keep a theoretical time. Read from
    /// the system where a millisecond matters, else the cached one.
    pub ns: u64,
    /// Wall clock in milliseconds since 1970 UTC, for windows that are aligned to it. May be
    /// stepped.
    pub wall_ms: u64,
}

impl Now {
    /// An instant at which all clocks show the same: a virtual one.
    pub const fn at_ms(ms: u64) -> Self {
        Self { ms, ns: ms.saturating_mul(NS_PER_MS), wall_ms: ms }
    }
}

/// Nanoseconds in a millisecond.
pub const NS_PER_MS: u64 = 1_000_000;

/// Thousandths of a request, the unit of nginx's `limit_req`: `1r/s` is 1000 of them a second.
pub type Thousandths = u64;

/// One request in 1/1000.
pub const REQUEST: Thousandths = 1000;

/// What one limit says of one request. `N` is what is to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<N> {
    /// The request may pass; nothing is charged until `next` is stored.
    Accept(Admission<N>),
    /// The request is refused, and nothing is charged.
    Reject(Refusal<N>),
}

/// An accepted request: what to store for its key and how long to hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission<N> {
    /// The state of the key once the request is charged.
    pub next: N,
    /// How long to hold the request, in milliseconds.
    pub wait_ms: u64,
    /// Requests ahead of schedule, this one included, in 1/1000. Goes to the log.
    pub excess: Thousandths,
}

/// A refused request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal<N> {
    /// Requests ahead of schedule, had this one been admitted, in 1/1000; for windows and the log,
    /// requests above the quota. Goes to the log.
    pub excess: Thousandths,
    /// The least wait after which one request of the same cost passes, in milliseconds.
    /// `None` if no wait can cure the refusal (the cost is above the capacity).
    pub retry_after_ms: Option<u64>,
    /// A window that the clock has left behind by stepping back, moved to where the clock is, with
    /// its counts kept. To be stored although the request is refused: else the key would be
    /// moved at each request and stay refused until the clock has caught up.
    pub moved: Option<N>,
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

/// What an algorithm keeps for a key: how it is seen and how it is changed. For all algorithms
/// but the sliding log, which has to change one entry of many, these are the same.
pub trait State {
    /// The state of a key as it is judged. Every bit pattern is valid: it comes from shared memory.
    type View<'a>: Copy;
    /// What an admission stores.
    type Next: Copy;
    /// The state on the heap, for a laboratory and for tests.
    type Owned;

    /// Looks at a state on the heap.
    fn view(owned: &Self::Owned) -> Self::View<'_>;

    /// Stores what an admission says into a state on the heap; a new key has none.
    fn store(owned: &mut Option<Self::Owned>, next: Self::Next);
}

/// A state that is replaced as a whole.
pub trait Scalar: Copy {}

impl<S: Scalar> State for S {
    type View<'a> = S;
    type Next = S;
    type Owned = S;

    fn view(owned: &S) -> S {
        *owned
    }

    fn store(owned: &mut Option<S>, next: S) {
        *owned = Some(next);
    }
}

/// What is seen of a key under `A`.
pub type View<'a, A> = <<A as Algorithm>::State as State>::View<'a>;

/// What an admission under `A` stores.
pub type Next<A> = <<A as Algorithm>::State as State>::Next;

/// What is kept of a key under `A` on the heap.
pub type Owned<A> = <<A as Algorithm>::State as State>::Owned;

/// One configured limit: the rule of a zone with the burst and delay of one directive.
///
/// `state` is `None` for a key that has no record, which is not the same as a zero state.
pub trait Algorithm {
    /// What is kept for each key.
    type State: State;

    /// Judges one request worth `cost` (at least 1) requests. Stores nothing.
    fn judge(&self, state: Option<&View<'_, Self>>, now: Now, cost: u32) -> Verdict<Next<Self>>;

    /// Charges one request without asking whether it is within the limit: the second phase of a
    /// decision over several limits, where the limit has agreed already. Saturates.
    fn charge(&self, state: Option<&View<'_, Self>>, now: Now, cost: u32) -> Admission<Next<Self>>;

    /// How the key stands at `now`.
    fn standing(&self, state: Option<&View<'_, Self>>, now: Now) -> Standing;

    /// Whether a key without a record would from now on be treated the same: such a record can
    /// be dropped without losing anything. Never depends on the burst, which differs between the
    /// directives that share a zone.
    fn recovered(&self, state: &View<'_, Self>, now: Now) -> bool;

    /// What would be forgiven if the record were dropped, in 1/1000 request: the table evicts the
    /// record with the least of it.
    fn charged(&self, state: &View<'_, Self>, now: Now) -> Thousandths;

    /// Orders states that are charged the same: less for the one that recovers earlier. Always the
    /// same where equal charges also recover together, as they do where they leak.
    fn recovery_order(&self, _state: &View<'_, Self>, _now: Now) -> u64 {
        0
    }
}

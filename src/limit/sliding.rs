//! The sliding window counter: two fixed windows, interpolated.
//!
//! Of the window before, the share counts that a window ending now would still cover, as if its
//! requests had come evenly. That is close to an exact count for steady traffic and can be wrong
//! by any part of the quota for the rest. Steps of the wall clock are met as in `fixed`; after one, a
//! key waits for two windows at most.

use super::window::{room_for, thousandths, Current, CLOCK_STEP_MS};
use super::{Admission, Algorithm, Now, Refusal, Scalar, Standing, Thousandths, Verdict, REQUEST};

/// The sliding window counter with the parameters of its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingWindow {
    /// Requests in a window. At least 1.
    pub quota: u32,
    /// Length of a window in milliseconds. At least 1.
    pub window_ms: u64,
}

/// A window and what has been admitted in it and in the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SlidingState {
    /// When the window began, in milliseconds of the wall clock.
    pub start_ms: u64,
    /// Requests admitted in the window before.
    pub previous: u32,
    /// Requests admitted in it.
    pub current: u32,
}

impl Scalar for SlidingState {}

impl SlidingWindow {
    fn window_ms(&self) -> u64 {
        self.window_ms.max(1)
    }

    /// The window that counts at an instant.
    fn current(&self, state: Option<&SlidingState>, now_ms: u64) -> Current<SlidingState> {
        let aligned = |ms: u64| ms - ms % self.window_ms();
        let clock_start = aligned(now_ms);
        let Some(state) = state else {
            return self.window(clock_start, 0, 0, false);
        };
        // A division is saved where the window is the clock's, as it is nearly always.
        let is_current = state.start_ms == clock_start;
        let start_ms = if is_current { clock_start } else { aligned(state.start_ms) };
        if start_ms > now_ms.saturating_add(CLOCK_STEP_MS) {
            self.window(clock_start, state.previous, state.current, true)
        } else if start_ms >= clock_start {
            self.window(start_ms, state.previous, state.current, false)
        } else if start_ms.saturating_add(self.window_ms()) == clock_start {
            self.window(clock_start, state.current, 0, false)
        } else {
            self.window(clock_start, 0, 0, false)
        }
    }

    fn window(
        &self,
        start_ms: u64,
        previous: u32,
        current: u32,
        is_moved: bool,
    ) -> Current<SlidingState> {
        let end_ms = start_ms.saturating_add(self.window_ms());
        Current { state: SlidingState { start_ms, previous, current }, end_ms, is_moved }
    }

    /// Requests that count, times the length of a window: whole numbers decide.
    ///
    /// `elapsed_ms` is how long the window has been open.
    fn estimate(&self, state: &SlidingState, elapsed_ms: u64) -> u128 {
        let covered_ms = self.window_ms().saturating_sub(elapsed_ms);
        u128::from(state.previous) * u128::from(covered_ms) + self.times_window(state.current)
    }

    fn times_window(&self, requests: u32) -> u128 {
        u128::from(requests) * u128::from(self.window_ms())
    }

    /// How long after the start of a window the estimate falls below `room` requests, if no other
    /// request comes; `None` if not within this window.
    fn falls_below(&self, state: &SlidingState, room: u32) -> Option<u64> {
        // previous * (W - elapsed) < free * W
        let free = self.times_window(room.checked_sub(state.current).filter(|free| *free > 0)?);
        let Some(most_covered) = (free - 1).checked_div(u128::from(state.previous)) else {
            return Some(0);
        };
        let most_covered = u64::try_from(most_covered).unwrap_or(u64::MAX);
        let elapsed_ms = self.window_ms().saturating_sub(most_covered);
        (elapsed_ms < self.window_ms()).then_some(elapsed_ms)
    }

    /// The least wait until the estimate is below `room` requests.
    fn retry_after_ms(&self, window: &Current<SlidingState>, now_ms: u64, room: u32) -> u64 {
        let start_ms = window.state.start_ms;
        let next = SlidingState { previous: window.state.current, current: 0, ..window.state };
        let at_ms = match self.falls_below(&window.state, room) {
            Some(elapsed_ms) => start_ms.saturating_add(elapsed_ms),
            // In the next window, or, after a far larger quota before a reload, the one after.
            None => window
                .end_ms
                .saturating_add(self.falls_below(&next, room).unwrap_or(self.window_ms())),
        };
        at_ms.saturating_sub(now_ms).max(1)
    }

    /// The estimate plus a cost above the quota, in 1/1000 request, rounded down.
    fn excess(&self, estimate: u128, cost: u32) -> Thousandths {
        let total = estimate + self.times_window(cost);
        let above = total.saturating_sub(self.times_window(self.quota));
        if above == 0 {
            return 0;
        }
        let above = above * u128::from(REQUEST);
        match u64::try_from(above) {
            // Nearly always, and much faster.
            Ok(above) => above / self.window_ms(),
            Err(_) => u64::try_from(above / u128::from(self.window_ms())).unwrap_or(u64::MAX),
        }
    }

    /// The window with one more request in it.
    fn admit(&self, window: SlidingState, estimate: u128, cost: u32) -> Admission<SlidingState> {
        Admission {
            next: SlidingState { current: window.current.saturating_add(cost), ..window },
            wait_ms: 0,
            excess: self.excess(estimate, cost),
        }
    }
}

impl Algorithm for SlidingWindow {
    type State = SlidingState;

    #[inline]
    fn judge(&self, state: Option<&SlidingState>, now: Now, cost: u32) -> Verdict<SlidingState> {
        let now_ms = now.wall_ms;
        let window = self.current(state, now_ms);
        let estimate = self.estimate(&window.state, now_ms.saturating_sub(window.state.start_ms));
        let room = room_for(self.quota, cost);
        if room.is_some_and(|room| estimate < self.times_window(room)) {
            return Verdict::Accept(self.admit(window.state, estimate, cost));
        }
        Verdict::Reject(Refusal {
            excess: self.excess(estimate, cost),
            retry_after_ms: room.map(|room| self.retry_after_ms(&window, now_ms, room)),
            moved: window.is_moved.then_some(window.state),
        })
    }

    fn charge(&self, state: Option<&SlidingState>, now: Now, cost: u32) -> Admission<SlidingState> {
        let window = self.current(state, now.wall_ms).state;
        let estimate = self.estimate(&window, now.wall_ms.saturating_sub(window.start_ms));
        self.admit(window, estimate, cost)
    }

    fn standing(&self, state: Option<&SlidingState>, now: Now) -> Standing {
        let now_ms = now.wall_ms;
        let window = self.current(state, now_ms);
        let SlidingState { start_ms, previous, current } = window.state;
        let estimate = self.estimate(&window.state, now_ms.saturating_sub(start_ms));
        let left = self.times_window(self.quota).saturating_sub(estimate);
        let remaining = left.div_ceil(u128::from(self.window_ms()));
        let end_ms = window.end_ms.saturating_sub(now_ms);
        Standing {
            limit: u64::from(self.quota),
            remaining: u64::try_from(remaining).unwrap_or(u64::MAX),
            reset_after_ms: match (previous, current) {
                (0, 0) => 0,
                (_, 0) => end_ms,
                _ => end_ms.saturating_add(self.window_ms()),
            },
        }
    }

    fn recovered(&self, state: &SlidingState, now: Now) -> bool {
        let SlidingState { previous, current, .. } = self.current(Some(state), now.wall_ms).state;
        previous == 0 && current == 0
    }

    fn charged(&self, state: &SlidingState, now: Now) -> Thousandths {
        let SlidingState { previous, current, .. } = self.current(Some(state), now.wall_ms).state;
        thousandths(u64::from(previous) + u64::from(current))
    }

    /// With this window, or, where something has been admitted in it, with the next.
    fn recovery_order(&self, state: &SlidingState, now: Now) -> u64 {
        u64::from(self.current(Some(state), now.wall_ms).state.current.min(1))
    }
}

//! Fixed windows: so many requests in each, by the wall clock or from a key's first request on.
//!
//! A window by the clock begins where the time since 1970 UTC is a multiple of its length. Across
//! the edge of two windows twice the quota may pass.
//!
//! The wall clock may be stepped. A stored window up to 60 s ahead of it is still the current one;
//! one further ahead is moved to where the clock is, with its count kept: nothing is granted, and a
//! key waits for the end of a window at most.

use super::window::{excess, room_for, thousandths, Current, WindowState, CLOCK_STEP_MS};
use super::{Admission, Algorithm, Now, Refusal, Standing, Thousandths, Verdict};

/// Windows aligned to the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedWindow {
    /// Requests in a window. At least 1.
    pub quota: u32,
    /// Length of a window in milliseconds. At least 1.
    pub window_ms: u64,
}

/// Windows that open at the first request of a key while none is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnchoredWindow {
    /// Requests in a window. At least 1.
    pub quota: u32,
    /// Length of a window in milliseconds. At least 1.
    pub window_ms: u64,
}

/// Where the two differ: which window counts.
trait Windows {
    fn quota(&self) -> u32;

    /// What this clock shows, in milliseconds.
    fn clock_ms(now: Now) -> u64;

    /// The window that counts at `now_ms`, and what has been admitted in it.
    fn current(&self, state: Option<&WindowState>, now_ms: u64) -> Current<WindowState>;
}

impl Windows for FixedWindow {
    fn quota(&self) -> u32 {
        self.quota
    }

    fn clock_ms(now: Now) -> u64 {
        now.wall_ms
    }

    fn current(&self, state: Option<&WindowState>, now_ms: u64) -> Current<WindowState> {
        let window_ms = self.window_ms.max(1);
        let aligned = |ms: u64| ms - ms % window_ms;
        let clock_start = aligned(now_ms);
        let stored_start = match state {
            None => 0,
            // As nearly always: saves a division.
            Some(state) if state.start_ms == clock_start => clock_start,
            // Of another length before a reload, the window that its start falls into.
            Some(state) => aligned(state.start_ms),
        };
        let is_moved = stored_start > now_ms.saturating_add(CLOCK_STEP_MS);
        let start_ms = if is_moved { clock_start } else { clock_start.max(stored_start) };
        let counts = is_moved || stored_start == start_ms;
        let count = state.filter(|_| counts).map_or(0, |state| state.count);
        let end_ms = start_ms.saturating_add(window_ms);
        Current { state: WindowState { start_ms, count }, end_ms, is_moved }
    }
}

impl Windows for AnchoredWindow {
    fn quota(&self) -> u32 {
        self.quota
    }

    fn clock_ms(now: Now) -> u64 {
        now.ms
    }

    fn current(&self, state: Option<&WindowState>, now_ms: u64) -> Current<WindowState> {
        let is_open =
            |state: &&WindowState| now_ms.saturating_sub(state.start_ms) < self.window_ms.max(1);
        let (start_ms, count, is_moved) = match state.filter(is_open) {
            None => (now_ms, 0, false),
            Some(state) if state.start_ms > now_ms.saturating_add(CLOCK_STEP_MS) => {
                (now_ms, state.count, true)
            }
            Some(state) => (state.start_ms, state.count, false),
        };
        let end_ms = start_ms.saturating_add(self.window_ms.max(1));
        Current { state: WindowState { start_ms, count }, end_ms, is_moved }
    }
}

impl<W: Windows> Algorithm for W {
    type State = WindowState;

    #[inline]
    fn judge(&self, state: Option<&WindowState>, now: Now, cost: u32) -> Verdict<WindowState> {
        let now_ms = W::clock_ms(now);
        let current = self.current(state, now_ms);
        let room = room_for(self.quota(), cost);
        if room.is_some_and(|room| current.state.count < room) {
            return Verdict::Accept(self.charge(state, now, cost));
        }
        Verdict::Reject(Refusal {
            excess: excess(u64::from(current.state.count), self.quota(), cost),
            retry_after_ms: room.map(|_| current.end_ms.saturating_sub(now_ms)),
            moved: current.is_moved.then_some(current.state),
        })
    }

    fn charge(&self, state: Option<&WindowState>, now: Now, cost: u32) -> Admission<WindowState> {
        let WindowState { start_ms, count } = self.current(state, W::clock_ms(now)).state;
        Admission {
            next: WindowState { start_ms, count: count.saturating_add(cost) },
            wait_ms: 0,
            excess: excess(u64::from(count), self.quota(), cost),
        }
    }

    fn standing(&self, state: Option<&WindowState>, now: Now) -> Standing {
        let now_ms = W::clock_ms(now);
        let current = self.current(state, now_ms);
        let used = current.state.count;
        Standing {
            limit: u64::from(self.quota()),
            remaining: u64::from(self.quota().saturating_sub(used)),
            reset_after_ms: if used == 0 { 0 } else { current.end_ms.saturating_sub(now_ms) },
        }
    }

    fn recovered(&self, state: &WindowState, now: Now) -> bool {
        self.current(Some(state), W::clock_ms(now)).state.count == 0
    }

    fn charged(&self, state: &WindowState, now: Now) -> Thousandths {
        thousandths(u64::from(self.current(Some(state), W::clock_ms(now)).state.count))
    }

    fn recovery_order(&self, state: &WindowState, now: Now) -> u64 {
        self.current(Some(state), W::clock_ms(now)).end_ms
    }
}

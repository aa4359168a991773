//! Puts lines that are a little out of order into the order of their times, and spreads the
//! lines of a whole second over it.
//!
//! nginx writes a line when its request ends, and its workers write from buffers of their own, so
//! neighbours in a log may be seconds apart in the wrong direction.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The most lines held back: 24 bytes each. Beyond it the earliest is taken.
const MOST_HELD: usize = 1 << 20;

/// One request, ordered by time and then by place in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    /// Milliseconds since 1970.
    pub(super) time_ms: u64,
    /// The how-manieth line of all inputs it is.
    pub(super) line: u64,
    /// The number of its key.
    pub(super) key: u32,
}

/// Sorts within a window.
pub(super) struct Reorder {
    window_ms: u64,
    /// Lines that came in order, which is most of them.
    sorted: VecDeque<Event>,
    /// Lines that came after a later one.
    stragglers: BinaryHeap<Reverse<Event>>,
    newest_ms: u64,
    now_ms: u64,
    late: u64,
}

impl Reorder {
    /// Holds each line until one comes that is `window_ms` later.
    pub(super) fn new(window_ms: u64) -> Self {
        Self {
            window_ms,
            sorted: VecDeque::new(),
            stragglers: BinaryHeap::new(),
            newest_ms: 0,
            now_ms: 0,
            late: 0,
        }
    }

    /// Takes a line and hands out those that nothing within the window can precede any more.
    ///
    /// A line that comes later than that is handed out at once, with the current time.
    pub(super) fn push(&mut self, mut event: Event, mut out: impl FnMut(Event)) {
        if event.time_ms < self.now_ms {
            self.late += 1;
            event.time_ms = self.now_ms;
            out(event);
            return;
        }
        if event.time_ms >= self.newest_ms {
            self.newest_ms = event.time_ms;
            self.sorted.push_back(event);
        } else {
            self.stragglers.push(Reverse(event));
        }
        while let Some(first) = self.first() {
            let due = first.time_ms.saturating_add(self.window_ms) <= self.newest_ms;
            if !due && self.sorted.len() + self.stragglers.len() <= MOST_HELD {
                break;
            }
            self.pop(&mut out);
        }
    }

    /// Hands out what is left.
    pub(super) fn finish(&mut self, mut out: impl FnMut(Event)) {
        while self.first().is_some() {
            self.pop(&mut out);
        }
    }

    /// How many lines came too late to be put in their place.
    pub(super) fn late(&self) -> u64 {
        self.late
    }

    /// The earliest line held.
    fn first(&self) -> Option<Event> {
        let straggler = self.stragglers.peek().map(|Reverse(event)| *event);
        match (self.sorted.front().copied(), straggler) {
            (Some(sorted), Some(straggler)) => Some(sorted.min(straggler)),
            (sorted, straggler) => sorted.or(straggler),
        }
    }

    fn pop(&mut self, out: &mut impl FnMut(Event)) {
        let Some(first) = self.first() else { return };
        if self.sorted.front() == Some(&first) {
            self.sorted.pop_front();
        } else {
            self.stragglers.pop();
        }
        self.now_ms = first.time_ms;
        out(first);
    }
}

/// Spreads the lines of one second evenly over it, in their order. A second in which any line has
/// a finer time is left as it is.
#[derive(Default)]
pub(super) struct Spread {
    second: Vec<Event>,
}

impl Spread {
    /// Takes a line and hands out those of the second before.
    pub(super) fn push(&mut self, event: Event, out: impl FnMut(Event)) {
        let same = |held: &Event| held.time_ms / 1000 == event.time_ms / 1000;
        if !self.second.first().is_none_or(same) {
            self.finish(out);
        }
        self.second.push(event);
    }

    /// Hands out what is left.
    pub(super) fn finish(&mut self, mut out: impl FnMut(Event)) {
        let lines = self.second.len() as u64;
        let whole = self.second.iter().all(|event| event.time_ms % 1000 == 0);
        for (n, mut event) in (0..).zip(self.second.drain(..)) {
            if whole {
                event.time_ms += n * 1000 / lines;
            }
            out(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(times: &[u64]) -> impl Iterator<Item = Event> + '_ {
        (0..).zip(times).map(|(line, time_ms)| Event { time_ms: *time_ms, line, key: 0 })
    }

    fn reordered(window_ms: u64, times: &[u64]) -> (Vec<(u64, u64)>, u64) {
        let (mut reorder, mut all) = (Reorder::new(window_ms), Vec::new());
        for event in events(times) {
            reorder.push(event, |event| all.push((event.time_ms, event.line)));
        }
        reorder.finish(|event| all.push((event.time_ms, event.line)));
        (all, reorder.late())
    }

    #[test]
    fn lines_are_put_in_order_within_the_window() {
        assert_eq!(reordered(5, &[3, 1, 2]), (vec![(1, 1), (2, 2), (3, 0)], 0));
        // The line of 9 lets 4 go, the line of 3 is then too late and taken at 4.
        assert_eq!(reordered(5, &[4, 9, 3, 5]), (vec![(4, 0), (4, 2), (5, 3), (9, 1)], 1));
        assert_eq!(reordered(0, &[2, 1, 3]), (vec![(2, 0), (2, 1), (3, 2)], 1));
        assert_eq!(reordered(5, &[7, 7, 7]), (vec![(7, 0), (7, 1), (7, 2)], 0));
    }

    #[test]
    fn a_second_is_spread_evenly() {
        let (mut spread, mut times) = (Spread::default(), Vec::new());
        for event in events(&[1000, 1000, 1000, 1000, 3000, 4000, 4000, 5001, 5001]) {
            spread.push(event, |event| times.push(event.time_ms));
        }
        spread.finish(|event| times.push(event.time_ms));
        assert_eq!(times, [1000, 1250, 1500, 1750, 3000, 4000, 4500, 5001, 5001]);
    }
}

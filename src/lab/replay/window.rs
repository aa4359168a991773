//! What happened to each live key: tallies by limit, and the most requests in any sliding window.
//!
//! A window is half open: of two requests exactly a period apart only one is in it, which is how
//! `sliding_log` counts. All limits of one period share one ring a key.

use std::collections::VecDeque;
use std::hint::black_box;

use super::ledger::Tally;
use super::{bits, LimitSet, MOST_LIMITS};

/// A ring with more room than this is given back when its key is recycled.
const ROOM_KEPT: usize = 16;

/// The rings and tallies of all live keys.
pub(super) struct Windows {
    periods: Vec<Period>,
    /// Place among the periods, by limit.
    period_of: Vec<usize>,
    /// By live key and limit.
    counts: Vec<Count>,
}

/// The requests of the last period of each key.
struct Period {
    period_ms: u64,
    /// The limits that have this period.
    limits: LimitSet,
    /// By live key.
    rings: Vec<Ring>,
}

/// The requests of the last period of one key.
#[derive(Default)]
struct Ring {
    /// Each request's time in ms above its set of admitting limits.
    requests: VecDeque<u64>,
    /// The most there were.
    peak: u32,
}

/// What a limit did to a key.
#[derive(Clone, Copy, Default)]
struct Count {
    /// Admitted requests in the current window.
    admitted: u32,
    tally: Tally,
}

impl Windows {
    /// Windows for limits of these periods, in milliseconds.
    pub(super) fn new(periods_ms: &[u64]) -> Self {
        let mut periods: Vec<Period> = Vec::new();
        let mut period_of = Vec::new();
        for (limit, period_ms) in periods_ms.iter().enumerate() {
            let known = periods.iter().position(|period| period.period_ms == *period_ms);
            let place = known.unwrap_or_else(|| {
                periods.push(Period { period_ms: *period_ms, limits: 0, rings: Vec::new() });
                periods.len() - 1
            });
            if let Some(period) = periods.get_mut(place) {
                period.limits |= 1 << limit;
            }
            period_of.push(place);
        }
        Self { periods, period_of, counts: Vec::new() }
    }

    /// The place of a limit's period among the different periods.
    pub(super) fn period_of(&self, limit: usize) -> usize {
        self.period_of.get(limit).copied().unwrap_or(0)
    }

    /// Makes room for a live key.
    pub(super) fn make_room(&mut self, live: usize) {
        let counts = (live + 1) * self.period_of.len();
        if self.counts.len() < counts {
            self.counts.resize(counts, Count::default());
            for period in &mut self.periods {
                period.rings.resize_with(live + 1, Ring::default);
            }
        }
    }

    /// Reads what [`Self::note`] will need of these keys. The reads do not wait for each other, as
    /// those of `note` do, so that the memory of many keys is fetched at once.
    pub(super) fn warm(&self, keys: impl Iterator<Item = usize>) {
        let limits = self.period_of.len();
        let mut read = 0;
        for live in keys {
            for period in &self.periods {
                let ring = period.rings.get(live).map(|ring| &ring.requests);
                read ^= ring.and_then(VecDeque::front).copied().unwrap_or(0);
            }
            let count = self.counts.get(live * limits).map_or(0, |count| count.admitted);
            read ^= u64::from(count);
        }
        black_box(read);
    }

    /// Notes a request that these limits admit, delay and refuse. `peak` is told how many each
    /// admitting limit has admitted in the window that ends now.
    pub(super) fn note(
        &mut self,
        live: usize,
        now_ms: u64,
        verdict: Verdict,
        mut peak: impl FnMut(usize, u32),
    ) {
        let row = live * self.period_of.len();
        let row = row..row + self.period_of.len();
        let Some(counts) = self.counts.get_mut(row) else { return };
        for limit in bits(verdict.refused) {
            if let Some(count) = counts.get_mut(limit) {
                count.tally.refused = count.tally.refused.saturating_add(1);
            }
        }
        for limit in bits(verdict.delayed) {
            if let Some(count) = counts.get_mut(limit) {
                count.tally.delayed = count.tally.delayed.saturating_add(1);
            }
        }
        for period in &mut self.periods {
            let Some(ring) = period.rings.get_mut(live) else { continue };
            ring.forget_until(now_ms, period.period_ms, period.limits, counts);
            ring.requests.push_back(now_ms << MOST_LIMITS | u64::from(verdict.admitted));
            ring.peak = ring.peak.max(u32::try_from(ring.requests.len()).unwrap_or(u32::MAX));
            for limit in bits(verdict.admitted & period.limits) {
                if let Some(count) = counts.get_mut(limit) {
                    count.admitted += 1;
                    count.tally.peak = count.tally.peak.max(count.admitted);
                    peak(limit, count.admitted);
                }
            }
        }
    }

    /// Whether every window of the key has run out.
    pub(super) fn is_idle(&self, live: usize, now_ms: u64) -> bool {
        self.periods.iter().all(|period| {
            let newest = period.rings.get(live).and_then(|ring| ring.requests.back());
            newest.is_none_or(|newest| {
                (newest >> MOST_LIMITS).saturating_add(period.period_ms) <= now_ms
            })
        })
    }

    /// Takes the key's tallies by limit and its peaks of offered requests by period, and empties
    /// its windows for another key.
    pub(super) fn take(&mut self, live: usize, mut tally: impl FnMut(usize, Tally, u32)) {
        let limits = self.period_of.len();
        let row = self.counts.get_mut(live * limits..(live + 1) * limits).unwrap_or_default();
        for (limit, (count, period)) in row.iter_mut().zip(&self.period_of).enumerate() {
            let ring = self.periods.get(*period).and_then(|period| period.rings.get(live));
            tally(limit, std::mem::take(count).tally, ring.map_or(0, |ring| ring.peak));
        }
        for period in &mut self.periods {
            if let Some(ring) = period.rings.get_mut(live) {
                ring.peak = 0;
                ring.requests.clear();
                ring.requests.shrink_to(ROOM_KEPT);
            }
        }
    }
}

impl Ring {
    /// Drops requests that are a period old.
    fn forget_until(&mut self, now_ms: u64, period_ms: u64, limits: LimitSet, row: &mut [Count]) {
        while let Some(&oldest) = self.requests.front() {
            if (oldest >> MOST_LIMITS).saturating_add(period_ms) > now_ms {
                break;
            }
            self.requests.pop_front();
            for limit in bits(low(oldest) & limits) {
                if let Some(count) = row.get_mut(limit) {
                    count.admitted = count.admitted.saturating_sub(1);
                }
            }
        }
    }
}

/// What the limits say of one request, as sets. A delayed request is also an admitted one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) admitted: LimitSet,
    pub(super) delayed: LimitSet,
    pub(super) refused: LimitSet,
}

/// The set of limits in a ring's entry.
fn low(entry: u64) -> LimitSet {
    // Cut on purpose: the time is above.
    (entry & u64::from(LimitSet::MAX)) as LimitSet
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(admitted: LimitSet) -> Verdict {
        Verdict { admitted, ..Verdict::default() }
    }

    #[test]
    fn windows_are_half_open_and_apart() {
        let mut windows = Windows::new(&[1000, 60_000, 1000]);
        assert_eq!([0, 1, 2].map(|limit| windows.period_of(limit)), [0, 1, 0]);
        windows.make_room(4);
        let mut note = |now_ms, verdict| {
            let mut peaks = [0; 3];
            windows.note(4, now_ms, verdict, |limit, count| peaks[limit] = count);
            peaks
        };
        assert_eq!(note(0, admitted(0b111)), [1, 1, 1]);
        assert_eq!(note(500, admitted(0b011)), [2, 2, 0]);
        assert_eq!(note(999, admitted(0b111)), [3, 3, 2]);
        assert_eq!(note(1000, admitted(0b111)), [3, 4, 2]);
        assert_eq!(note(1000, Verdict { refused: 0b111, ..Verdict::default() }), [0, 0, 0]);
        assert!(!windows.is_idle(4, 60_999) && windows.is_idle(4, 61_000));
        assert!(windows.is_idle(0, 0) && windows.is_idle(99, 0));
        let mut taken = Vec::new();
        windows.take(4, |_, tally, offered| taken.push((tally.refused, tally.peak, offered)));
        assert_eq!(taken, [(1, 3, 4), (1, 4, 5), (1, 2, 4)]);
    }

    #[test]
    fn a_taken_key_is_new() {
        let mut windows = Windows::new(&[1000]);
        windows.make_room(0);
        windows.note(0, 10, admitted(1), |_, _| ());
        windows.take(0, |_, tally, offered| assert_eq!((tally.peak, offered), (1, 1)));
        assert!(windows.is_idle(0, 10));
        windows.note(0, 10, admitted(1), |_, count| assert_eq!(count, 1));
        windows.take(0, |_, tally, offered| assert_eq!((tally.peak, offered), (1, 1)));
    }
}

//! The most requests of a key in any sliding window.
//!
//! A window is half open: of two requests exactly a period apart only one is in it, which is how
//! `sliding_log` counts. All limits of one period share one ring a key.

use std::collections::VecDeque;

use super::{bits, LimitSet, MOST_LIMITS};

/// A ring with more room than this is given back when its key is recycled.
const ROOM_KEPT: usize = 16;

/// The rings of all live keys.
pub(super) struct Windows {
    periods: Vec<Period>,
    /// Place among the periods, by limit.
    period_of: Vec<usize>,
    /// Admitted requests in the current window, by live key and limit.
    admitted: Vec<u32>,
}

/// The requests of the last period of each key.
struct Period {
    period_ms: u64,
    /// The limits that have this period.
    limits: LimitSet,
    /// By live key: each request's time in ms above its set of admitting limits.
    rings: Vec<VecDeque<u64>>,
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
        Self { periods, period_of, admitted: Vec::new() }
    }

    /// The place of a limit's period among the different periods.
    pub(super) fn period_of(&self, limit: usize) -> usize {
        self.period_of.get(limit).copied().unwrap_or(0)
    }

    /// Notes a request. `peak` is told the number of requests that each admitting limit has
    /// admitted in the window that ends now, `offered` how many there were at all, by period.
    pub(super) fn note(
        &mut self,
        live: usize,
        now_ms: u64,
        admitted: LimitSet,
        mut peak: impl FnMut(usize, u32),
        mut offered: impl FnMut(usize, u32),
    ) {
        let limits = self.period_of.len();
        let row = live * limits;
        if self.admitted.len() < row + limits {
            self.admitted.resize(row + limits, 0);
        }
        let Some(counts) = self.admitted.get_mut(row..row + limits) else { return };
        for (place, period) in self.periods.iter_mut().enumerate() {
            if period.rings.len() <= live {
                period.rings.resize_with(live + 1, VecDeque::new);
            }
            let Some(ring) = period.rings.get_mut(live) else { continue };
            while let Some(&oldest) = ring.front() {
                if (oldest >> MOST_LIMITS) + period.period_ms > now_ms {
                    break;
                }
                ring.pop_front();
                for limit in bits(low(oldest) & period.limits) {
                    if let Some(count) = counts.get_mut(limit) {
                        *count -= 1;
                    }
                }
            }
            ring.push_back(now_ms << MOST_LIMITS | u64::from(admitted));
            offered(place, u32::try_from(ring.len()).unwrap_or(u32::MAX));
            for limit in bits(admitted & period.limits) {
                if let Some(count) = counts.get_mut(limit) {
                    *count += 1;
                    peak(limit, *count);
                }
            }
        }
    }

    /// Whether every window of the key has run out.
    pub(super) fn is_idle(&self, live: usize, now_ms: u64) -> bool {
        self.periods.iter().all(|period| {
            let newest = period.rings.get(live).and_then(VecDeque::back);
            newest.is_none_or(|newest| (newest >> MOST_LIMITS) + period.period_ms <= now_ms)
        })
    }

    /// Empties the key's windows, for another key.
    pub(super) fn clear(&mut self, live: usize) {
        for period in &mut self.periods {
            if let Some(ring) = period.rings.get_mut(live) {
                ring.clear();
                ring.shrink_to(ROOM_KEPT);
            }
        }
        let limits = self.period_of.len();
        if let Some(counts) = self.admitted.get_mut(live * limits..(live + 1) * limits) {
            counts.fill(0);
        }
    }
}

/// The set of limits in a ring's entry.
fn low(entry: u64) -> LimitSet {
    // Cut on purpose: the time is above.
    (entry & u64::from(LimitSet::MAX)) as LimitSet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_half_open_and_apart() {
        let mut windows = Windows::new(&[1000, 60_000, 1000]);
        assert_eq!([0, 1, 2].map(|limit| windows.period_of(limit)), [0, 1, 0]);
        let mut note = |now_ms, admitted| {
            let (mut peaks, mut offered) = ([0; 3], [0; 2]);
            let peak = |limit: usize, count| peaks[limit] = count;
            windows.note(4, now_ms, admitted, peak, |place: usize, count| offered[place] = count);
            (peaks, offered)
        };
        assert_eq!(note(0, 0b111), ([1, 1, 1], [1, 1]));
        assert_eq!(note(500, 0b011), ([2, 2, 0], [2, 2]));
        assert_eq!(note(999, 0b111), ([3, 3, 2], [3, 3]));
        assert_eq!(note(1000, 0b111), ([3, 4, 2], [3, 4]));
        assert_eq!(note(1000, 0b000), ([0, 0, 0], [4, 5]));
        assert!(!windows.is_idle(4, 60_999) && windows.is_idle(4, 61_000));
        assert!(windows.is_idle(0, 0) && windows.is_idle(99, 0));
    }

    #[test]
    fn a_cleared_key_is_new() {
        let mut windows = Windows::new(&[1000]);
        windows.note(0, 10, 1, |_, _| (), |_, _| ());
        windows.clear(0);
        assert!(windows.is_idle(0, 10));
        windows.note(0, 10, 1, |_, count| assert_eq!(count, 1), |_, count| assert_eq!(count, 1));
    }
}

//! The sliding log: the time of each of the last N admissions, N being the quota.
//!
//! A request passes exactly if the oldest of the last N admissions is at least a window old, so
//! that no span of that length ever sees more than N. Nothing has to be pruned: the new time takes
//! the place of the oldest in a ring.
//!
//! Word 0 of the ring holds, above its time, where the oldest entry is and whether the ring has
//! been filled once; so a new record need not be cleared, and a key costs eight bytes a request.

use std::sync::atomic::{AtomicU64, Ordering};

use super::window::{excess, room_for, thousandths, CLOCK_STEP_MS};
use super::{Admission, Algorithm, Now, Refusal, Standing, State, Thousandths, Verdict};

/// Bits of a time in milliseconds: 139 years.
const TIME_BITS: u32 = 42;

const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

/// Set in word 0 once every entry has been written.
const IS_FULL: u64 = 1 << TIME_BITS;

/// Where in word 0 the number of the oldest entry stands.
const OLDEST_SHIFT: u32 = TIME_BITS + 1;

/// The sliding log with the parameters of its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingLog {
    /// Requests in any window. From 1 to [`SlidingLog::MOST_QUOTA`].
    pub quota: u32,
    /// Length of a window in milliseconds. At least 1.
    pub window_ms: u64,
}

/// The state of a sliding log: a ring of as many words as the quota.
#[derive(Clone, Copy, Debug)]
pub enum Log {}

/// A ring as it is judged.
#[derive(Clone, Copy)]
pub struct LogView<'a>(pub &'a [AtomicU64]);

/// One admission to write into a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntries {
    /// Word 0, with the place of the oldest entry after the admission.
    head: u64,
    /// The first entry to write.
    first: u32,
    /// How many entries to write: one for each request of the cost.
    entries: u32,
    /// The time to write, in milliseconds.
    time_ms: u64,
    /// Words of the ring.
    quota: u32,
}

impl LogView<'_> {
    fn word(&self, index: usize) -> u64 {
        self.0.get(index).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    fn words(&self) -> usize {
        self.0.len().max(1)
    }

    /// Where the next admission goes: the oldest entry of a full ring, else the first free one.
    fn next(&self) -> usize {
        // Any bits may be in shared memory.
        wrapped((self.word(0) >> OLDEST_SHIFT) as usize, self.words())
    }

    /// How many entries have been written.
    fn filled(&self) -> usize {
        if self.word(0) & IS_FULL == 0 {
            self.next()
        } else {
            self.words()
        }
    }

    /// The time of an entry, 0 being the newest.
    fn time_ms(&self, back: usize) -> u64 {
        let words = self.words();
        self.word(wrapped(self.next() + words - 1 - wrapped(back, words), words)) & TIME_MASK
    }

    /// The times of the admissions in the ring, the newest first, in milliseconds; also of those
    /// that no longer count and wait to be overwritten. To look at, not to decide by.
    pub fn times_ms(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.filled()).map(|back| self.time_ms(back))
    }
}

/// `index % words`, which is nearly always `index`: a division takes longer than all the rest.
#[inline]
fn wrapped(index: usize, words: usize) -> usize {
    if index < words {
        index
    } else {
        index % words
    }
}

impl LogEntries {
    /// Writes the admission into a ring.
    ///
    /// The head first: a process killed in between loses the admission it was about to write, and
    /// no older one.
    pub fn write(self, ring: &[AtomicU64]) {
        let Some(head) = ring.first() else { return };
        head.store(self.head, Ordering::Release);
        for n in 0..self.entries {
            let index = wrapped(self.first as usize + n as usize, ring.len());
            if let Some(word) = ring.get(index).filter(|_| index != 0) {
                word.store(self.time_ms, Ordering::Release);
            }
        }
    }
}

impl State for Log {
    type View<'a> = LogView<'a>;
    type Next = LogEntries;
    type Owned = Box<[AtomicU64]>;

    fn view(owned: &Box<[AtomicU64]>) -> LogView<'_> {
        LogView(owned)
    }

    fn store(owned: &mut Option<Box<[AtomicU64]>>, next: LogEntries) {
        let ring =
            owned.get_or_insert_with(|| (0..next.quota).map(|_| AtomicU64::new(0)).collect());
        next.write(ring);
    }
}

impl SlidingLog {
    /// The largest quota: word 0 has so many bits left for the place of an entry.
    pub const MOST_QUOTA: u32 = 1 << (u64::BITS - OLDEST_SHIFT);

    /// Whether an entry still counts. One far ahead of the clock, which only damaged memory can
    /// hold, does not.
    fn counts(&self, time_ms: u64, now: Now) -> bool {
        let now_ms = now.ms & TIME_MASK;
        now_ms.saturating_sub(time_ms) < self.window_ms
            && time_ms <= now_ms.saturating_add(CLOCK_STEP_MS)
    }

    /// How many entries count. They are in the order of time.
    fn counted(&self, log: &LogView<'_>, now: Now) -> usize {
        let (mut low, mut high) = (0, log.filled());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.counts(log.time_ms(middle), now) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// How many entries count where a request is refused: all of them unless it costs more than
    /// one.
    fn counted_at_refusal(&self, log: Option<&LogView<'_>>, now: Now, cost: u32) -> u64 {
        match log {
            Some(_) if cost <= 1 => u64::from(self.quota),
            log => log.map_or(0, |log| self.counted(log, now) as u64),
        }
    }

    /// The time of the entry that must no longer count for `room` to be left: the one with
    /// `room - 1` newer entries. `None` if there are not so many.
    fn obstacle_ms(&self, log: Option<&LogView<'_>>, room: u32) -> Option<u64> {
        let log = log?;
        let back = room.checked_sub(1)? as usize;
        (back < log.filled()).then(|| log.time_ms(back))
    }
}

impl Algorithm for SlidingLog {
    type State = Log;

    #[inline]
    fn judge(&self, log: Option<&LogView<'_>>, now: Now, cost: u32) -> Verdict<LogEntries> {
        let room = room_for(self.quota, cost);
        let obstacle_ms = room.and_then(|room| self.obstacle_ms(log, room));
        match obstacle_ms.filter(|time_ms| self.counts(*time_ms, now)) {
            None if room.is_some() => Verdict::Accept(self.charge(log, now, cost)),
            obstacle_ms => Verdict::Reject(Refusal {
                excess: excess(self.counted_at_refusal(log, now, cost), self.quota, cost),
                retry_after_ms: obstacle_ms.map(|time_ms| {
                    time_ms.saturating_add(self.window_ms).saturating_sub(now.ms & TIME_MASK)
                }),
                moved: None,
            }),
        }
    }

    fn charge(&self, log: Option<&LogView<'_>>, now: Now, cost: u32) -> Admission<LogEntries> {
        let quota = self.quota.clamp(1, Self::MOST_QUOTA);
        let entries = cost.min(quota);
        let first = u32::try_from(log.map_or(0, LogView::next)).unwrap_or(0);
        let first = if first < quota { first } else { 0 };
        let newest_ms = log.filter(|log| log.filled() > 0).map(|log| log.time_ms(0));
        // In the order of time also where this worker's clock is behind.
        let time_ms = newest_ms
            .filter(|time_ms| self.counts(*time_ms, now))
            .map_or(now.ms & TIME_MASK, |time_ms| time_ms.max(now.ms & TIME_MASK));
        let end = u64::from(first) + u64::from(entries);
        let is_full = log.is_some_and(|log| log.word(0) & IS_FULL != 0) || end >= u64::from(quota);
        let writes_first = first == 0 || end > u64::from(quota);
        let first_ms = match log {
            Some(log) if !writes_first => log.word(0) & TIME_MASK,
            _ => time_ms,
        };
        // Less than twice the quota.
        let next = end.checked_sub(u64::from(quota)).unwrap_or(end);
        let head = first_ms | if is_full { IS_FULL } else { 0 } | next << OLDEST_SHIFT;
        Admission {
            next: LogEntries { head, first, entries, time_ms, quota },
            wait_ms: 0,
            excess: 0,
        }
    }

    fn standing(&self, log: Option<&LogView<'_>>, now: Now) -> Standing {
        let counted = log.map_or(0, |log| self.counted(log, now));
        let newest_ms = log.filter(|_| counted > 0).map(|log| log.time_ms(0));
        let until_out = |time_ms: u64| {
            time_ms.saturating_add(self.window_ms).saturating_sub(now.ms & TIME_MASK)
        };
        Standing {
            limit: u64::from(self.quota),
            remaining: u64::from(self.quota).saturating_sub(counted as u64),
            reset_after_ms: newest_ms.map_or(0, until_out),
        }
    }

    fn recovered(&self, log: &LogView<'_>, now: Now) -> bool {
        log.filled() == 0 || !self.counts(log.time_ms(0), now)
    }

    fn charged(&self, log: &LogView<'_>, now: Now) -> Thousandths {
        thousandths(self.counted(log, now) as u64)
    }

    fn recovery_order(&self, log: &LogView<'_>, _now: Now) -> u64 {
        log.time_ms(0)
    }
}

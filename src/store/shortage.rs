//! When to say that a table is too small, and how much it has lost since that was last said.
//!
//! The counters tell what has been lost; the header keeps when somebody has last spoken of it, and
//! what the counters were then. So all processes together speak once in a while, and nothing is
//! left out.

use std::sync::atomic::Ordering;

use super::counters::Counter;
use super::record::Record;
use super::table::Table;
use crate::limit::Now;

/// The least time between two reports of a table, in ms.
const INTERVAL_MS: u64 = 60_000;

/// What has been counted, in the order of [`Shortage`]'s fields.
const LOSSES: [Counter; 3] =
    [Counter::EvictedLive, Counter::RefusedForSpace, Counter::PassedForSpace];

/// What a table that is too small has lost since the report before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Records dropped although something was still charged to them.
    pub evicted: u64,
    /// New keys refused.
    pub refused: u64,
    /// Requests of new keys that passed uncharged.
    pub passed: u64,
}

impl<R: Record> Table<R> {
    /// What there is to report now, if anything: nothing for a minute after the last report,
    /// whichever process has made it. What is given back must be reported, and is given to nobody
    /// else.
    #[inline]
    pub fn shortage(&self, now: Now) -> Option<Shortage> {
        if self.short.get() {
            self.due_shortage(now.ms)
        } else {
            None
        }
    }

    /// Remembers that there was no room.
    pub(super) fn note_shortage(&self) {
        self.short.set(true);
    }

    #[cold]
    fn due_shortage(&self, now_ms: u64) -> Option<Shortage> {
        let header = self.space.header();
        let last_ms = header.reported_ms.load(Ordering::Acquire);
        // 0 is never. Another worker's clock may be ahead a little.
        if last_ms != 0 && now_ms.abs_diff(last_ms) < INTERVAL_MS {
            return None;
        }
        let counted = LOSSES.map(|counter| self.counters().of(counter));
        let reported = header.reported.each_ref().map(|total| total.load(Ordering::Relaxed));
        if counted == reported {
            // Another process has reported ours with its own.
            self.short.set(false);
            return None;
        }
        let claim = header.reported_ms.compare_exchange(
            last_ms,
            now_ms.max(1),
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        claim.ok()?;
        for (total, counted) in header.reported.iter().zip(counted) {
            total.store(counted, Ordering::Relaxed);
        }
        self.short.set(false);
        let ([a, b, c], [x, y, z]) = (counted, reported);
        Some(Shortage {
            evicted: a.saturating_sub(x),
            refused: b.saturating_sub(y),
            passed: c.saturating_sub(z),
        })
    }
}

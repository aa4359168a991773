//! Tables and limits of any algorithm, each as one type.

use super::{Hold, Judgement, Meter, Metered};
use crate::limit::{
    Ahead, AnchoredWindow, FixedWindow, Full, Gcra, Leaky, LeakyQueue, LeakyState, Log, Now, Rule,
    SlidingLog, SlidingState, SlidingWindow, WindowState,
};
use crate::store::{
    AttachError, Counter, Counters, KeyHash, Kind, Owner, Region, Secret, Shortage, Table,
};

/// The table of a zone, by what its algorithm keeps.
pub enum AnyTable {
    /// For `leaky`.
    Leaky(Table<LeakyState>),
    /// For `gcra`, `token_bucket` and `leaky_queue`.
    Ahead(Table<Ahead>),
    /// For `fixed_window` and `anchored_window`.
    Window(Table<WindowState>),
    /// For `sliding_window`.
    Sliding(Table<SlidingState>),
    /// For `sliding_log`.
    Log(Table<Log>),
}

/// Does the same with whatever a value holds.
macro_rules! each {
    ($value:expr, $held:ident => $do:expr, $($variant:path)|+) => {
        match $value {
            $($variant($held) => $do,)+
        }
    };
}

macro_rules! each_table {
    ($value:expr, $table:ident => $do:expr) => {
        each!(
            $value, $table => $do,
            AnyTable::Leaky | AnyTable::Ahead | AnyTable::Window | AnyTable::Sliding | AnyTable::Log
        )
    };
}

macro_rules! each_meter {
    ($value:expr, $meter:ident => $do:expr) => {
        each!(
            $value, $meter => $do,
            AnyMeter::Leaky | AnyMeter::Gcra | AnyMeter::LeakyQueue | AnyMeter::FixedWindow
                | AnyMeter::AnchoredWindow | AnyMeter::SlidingWindow | AnyMeter::SlidingLog
        )
    };
}

impl AnyTable {
    /// Lays out an empty table for a rule in fresh memory. See [`Table::create`].
    ///
    /// # Errors
    ///
    /// The memory does not do.
    pub fn create(
        rule: &Rule,
        region: Region,
        key: &[u8],
        secret: Secret,
    ) -> Result<Self, AttachError> {
        let kind = Kind::of(rule);
        Ok(match rule {
            Rule::Leaky(_) => Self::Leaky(Table::create(region, kind, key, secret)?),
            Rule::Gcra(_) | Rule::LeakyQueue(_) => {
                Self::Ahead(Table::create(region, kind, key, secret)?)
            }
            Rule::FixedWindow(_) | Rule::AnchoredWindow(_) => {
                Self::Window(Table::create(region, kind, key, secret)?)
            }
            Rule::SlidingWindow(_) => Self::Sliding(Table::create(region, kind, key, secret)?),
            Rule::SlidingLog(_) => Self::Log(Table::create(region, kind, key, secret)?),
        })
    }

    /// Finds the table of a rule in memory. See [`Table::attach`].
    ///
    /// # Errors
    ///
    /// The memory does not do, or holds something else.
    pub fn attach(rule: &Rule, region: Region, key: &[u8]) -> Result<Self, AttachError> {
        let kind = Kind::of(rule);
        Ok(match rule {
            Rule::Leaky(_) => Self::Leaky(Table::attach(region, kind, key)?),
            Rule::Gcra(_) | Rule::LeakyQueue(_) => Self::Ahead(Table::attach(region, kind, key)?),
            Rule::FixedWindow(_) | Rule::AnchoredWindow(_) => {
                Self::Window(Table::attach(region, kind, key)?)
            }
            Rule::SlidingWindow(_) => Self::Sliding(Table::attach(region, kind, key)?),
            Rule::SlidingLog(_) => Self::Log(Table::attach(region, kind, key)?),
        })
    }

    /// How many records of a rule fit into a region.
    pub fn capacity(rule: &Rule, region: Region) -> usize {
        let Kind { words, .. } = Kind::of(rule);
        match rule {
            Rule::Leaky(_) => Table::<LeakyState>::capacity(region, words),
            Rule::Gcra(_) | Rule::LeakyQueue(_) => Table::<Ahead>::capacity(region, words),
            Rule::FixedWindow(_) | Rule::AnchoredWindow(_) => {
                Table::<WindowState>::capacity(region, words)
            }
            Rule::SlidingWindow(_) => Table::<SlidingState>::capacity(region, words),
            Rule::SlidingLog(_) => Table::<Log>::capacity(region, words),
        }
    }

    /// Says who takes locks and counts through this view. See [`Table::adopt`].
    pub fn adopt(&self, owner: Owner, worker: usize) {
        each_table!(self, table => table.adopt(owner, worker));
    }

    /// The memory of the table.
    pub fn region(&self) -> Region {
        each_table!(self, table => table.region())
    }

    /// How many records the table can hold.
    pub fn slots(&self) -> usize {
        each_table!(self, table => table.slots())
    }

    /// The hash by which a key is known here.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> KeyHash {
        each_table!(self, table => table.hash(key))
    }

    /// The events so far, of all processes.
    pub fn counters(&self) -> Counters {
        each_table!(self, table => table.counters())
    }

    /// Writes a text into the header. See [`Table::write_label`].
    pub fn write_label(&self, text: &[u8]) -> *mut u8 {
        each_table!(self, table => table.write_label(text))
    }

    /// What there is to report of a table that was too small. See [`Table::shortage`].
    #[inline]
    pub fn shortage(&self, now: Now) -> Option<Shortage> {
        each_table!(self, table => table.shortage(now))
    }

    /// A rule over this table, which does as it is told when it is full; `None` if the table keeps
    /// something else.
    #[inline]
    pub fn meter(&self, rule: &Rule, full: Full) -> Option<AnyMeter<'_>> {
        Some(match (*rule, self) {
            (Rule::Leaky(rule), Self::Leaky(table)) => {
                AnyMeter::Leaky(Metered { rule, table, full })
            }
            (Rule::Gcra(rule), Self::Ahead(table)) => AnyMeter::Gcra(Metered { rule, table, full }),
            (Rule::LeakyQueue(rule), Self::Ahead(table)) => {
                AnyMeter::LeakyQueue(Metered { rule, table, full })
            }
            (Rule::FixedWindow(rule), Self::Window(table)) => {
                AnyMeter::FixedWindow(Metered { rule, table, full })
            }
            (Rule::AnchoredWindow(rule), Self::Window(table)) => {
                AnyMeter::AnchoredWindow(Metered { rule, table, full })
            }
            (Rule::SlidingWindow(rule), Self::Sliding(table)) => {
                AnyMeter::SlidingWindow(Metered { rule, table, full })
            }
            (Rule::SlidingLog(rule), Self::Log(table)) => {
                AnyMeter::SlidingLog(Metered { rule, table, full })
            }
            _ => return None,
        })
    }
}

/// A limit over the table of its zone.
pub enum AnyMeter<'t> {
    /// nginx's leaky bucket.
    Leaky(Metered<'t, Leaky>),
    /// GCRA and token bucket.
    Gcra(Metered<'t, Gcra>),
    /// The leaky bucket as a queue.
    LeakyQueue(Metered<'t, LeakyQueue>),
    /// Windows aligned to the wall clock.
    FixedWindow(Metered<'t, FixedWindow>),
    /// Windows that open at a key's first request.
    AnchoredWindow(Metered<'t, AnchoredWindow>),
    /// Two windows, interpolated.
    SlidingWindow(Metered<'t, SlidingWindow>),
    /// The times of the last admissions.
    SlidingLog(Metered<'t, SlidingLog>),
}

impl Meter for AnyMeter<'_> {
    #[inline]
    fn judge(&self, key: KeyHash, now: Now) -> Judgement {
        each_meter!(self, meter => meter.judge(key, now))
    }

    #[inline]
    fn take(&self, key: KeyHash, now: Now) -> Judgement {
        each_meter!(self, meter => meter.take(key, now))
    }

    #[inline]
    fn charge(&self, key: KeyHash, now: Now) -> Hold {
        each_meter!(self, meter => meter.charge(key, now))
    }

    fn count(&self, counter: Counter) {
        each_meter!(self, meter => meter.count(counter));
    }
}

//! Tables and limits of any algorithm, each as one type.

use super::{Hold, Judgement, Meter, Metered};
use crate::limit::{Ahead, Full, LeakyState, Log, Now, Rule, SlidingState, WindowState};
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

/// Hands a macro each rule and what its table keeps.
macro_rules! with_pairs {
    ($then:ident, $($arguments:tt)+) => {
        $then!(
            $($arguments)+;
            Leaky Leaky | Gcra Ahead | LeakyQueue Ahead | FixedWindow Window
                | AnchoredWindow Window | SlidingWindow Sliding | SlidingLog Log
        )
    };
}

/// What makes a table, with the type that a rule asks for.
macro_rules! table_of {
    ($rule:expr, $make:expr; $($name:ident $table:ident)|+) => {
        match $rule {
            $(Rule::$name(_) => AnyTable::$table($make),)+
        }
    };
}

/// Does something with the rule and the table of a limit, whose types go together, or something
/// else if they do not.
macro_rules! metered {
    ($limit:expr, $meter:ident => $do:expr, else $otherwise:expr; $($rule:ident $table:ident)|+) => {
        match ($limit.rule, $limit.table) {
            $((Rule::$rule(rule), AnyTable::$table(table)) => {
                let $meter = Metered { rule, table, full: $limit.full };
                $do
            })+
            _ => $otherwise,
        }
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
        Ok(with_pairs!(table_of, rule, Table::create(region, kind, key, secret)?))
    }

    /// Finds the table of a rule in memory. See [`Table::attach`].
    ///
    /// # Errors
    ///
    /// The memory does not do, or holds something else.
    pub fn attach(rule: &Rule, region: Region, key: &[u8]) -> Result<Self, AttachError> {
        let kind = Kind::of(rule);
        Ok(with_pairs!(table_of, rule, Table::attach(region, kind, key)?))
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

    /// A rule over this table, which does as it is told when it is full. If the table keeps
    /// something else, which the configuration rules out, the limit admits everything untracked.
    #[inline]
    pub fn meter<'t>(&'t self, rule: &'t Rule, full: Full) -> AnyMeter<'t> {
        AnyMeter { rule, table: self, full }
    }

    /// Counts an event. See [`Table::count`].
    #[inline]
    pub fn count(&self, counter: Counter) {
        each_table!(self, table => table.count(counter));
    }
}

/// A limit over the table of its zone.
pub struct AnyMeter<'t> {
    rule: &'t Rule,
    table: &'t AnyTable,
    full: Full,
}

impl Meter for AnyMeter<'_> {
    #[inline]
    fn judge(&self, key: KeyHash, now: Now) -> Judgement {
        with_pairs!(metered, self, meter => meter.judge(key, now), else Judgement::UNTRACKED)
    }

    #[inline]
    fn take(&self, key: KeyHash, now: Now) -> Judgement {
        with_pairs!(metered, self, meter => meter.take(key, now), else Judgement::UNTRACKED)
    }

    #[inline]
    fn charge(&self, key: KeyHash, now: Now) -> Hold {
        with_pairs!(metered, self, meter => meter.charge(key, now), else Hold::default())
    }

    #[inline]
    fn count(&self, counter: Counter) {
        self.table.count(counter);
    }
}

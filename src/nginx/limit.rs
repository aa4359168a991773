//! One `rl_req` as the engine sees it: its burst and delay, with the algorithm, rate and table of
//! its zone.

use std::cell::OnceCell;

use super::log::Place;
use super::zone::ZoneRef;
use crate::config::Delay;
use crate::engine::{AnyMeter, Hold, Judgement, Meter};
use crate::limit::{Now, Rule};
use crate::store::{Counter, KeyHash, Shortage};

/// One `rl_req`. Locations that inherit it share it.
pub struct Limit {
    /// The zone it names, which may be declared further down the file.
    pub zone: ZoneRef,
    /// `burst=`, if written.
    pub burst: Option<u64>,
    /// `nodelay` or `delay=`, if written.
    pub delay: Option<Delay>,
    /// Where the directive stands.
    pub place: Place,
    /// What decides, known once the whole http block has been read.
    pub rule: OnceCell<Rule>,
}

impl Limit {
    /// Whether the clock that nginx caches is too coarse for it.
    pub fn needs_fine_clock(&self) -> bool {
        self.rule.get().is_some_and(Rule::needs_fine_clock)
    }

    #[inline]
    fn meter(&self) -> Option<AnyMeter<'_>> {
        let zone = self.zone.declared()?;
        Some(zone.table.as_ref()?.meter(self.rule.get()?, zone.full))
    }

    /// What there is to say of a zone that was too small. See [`Table::shortage`].
    ///
    /// [`Table::shortage`]: crate::store::Table::shortage
    #[inline]
    pub fn shortage(&self, now: Now) -> Option<Shortage> {
        self.zone.declared()?.table.as_ref()?.shortage(now)
    }
}

/// Once nginx runs, every zone is declared and has a table, and every limit has a rule: the
/// configuration has been refused otherwise. A request that met one without would pass.
impl Meter for Limit {
    fn judge(&self, key: KeyHash, now: Now) -> Judgement {
        self.meter().map_or(Judgement::UNTRACKED, |meter| meter.judge(key, now))
    }

    #[inline]
    fn take(&self, key: KeyHash, now: Now) -> Judgement {
        self.meter().map_or(Judgement::UNTRACKED, |meter| meter.take(key, now))
    }

    fn charge(&self, key: KeyHash, now: Now) -> Hold {
        self.meter().map_or_else(Hold::default, |meter| meter.charge(key, now))
    }

    #[inline]
    fn count(&self, counter: Counter) {
        if let Some(meter) = self.meter() {
            meter.count(counter);
        }
    }
}

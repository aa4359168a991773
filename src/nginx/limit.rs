//! One `rl_req` as the engine sees it: its burst and delay, with the rate and table of its zone.

use super::zone::ZoneRef;
use crate::engine::{Hold, Judgement, Meter, Metered};
use crate::limit::{Leaky, Now, Thousandths};
use crate::store::{Counter, KeyHash};

/// One `rl_req`.
#[derive(Clone, Copy)]
pub struct Limit {
    /// The zone it names, which may be declared further down the file.
    pub zone: ZoneRef,
    /// Excess above which a request is refused, in 1/1000 request.
    pub burst: Thousandths,
    /// Excess up to which a request is not held, in 1/1000 request.
    pub delay: Thousandths,
}

impl Limit {
    fn metered(&self) -> Option<Metered<'_, Leaky>> {
        let zone = self.zone.declared()?;
        let rule = Leaky { rate: zone.rate, burst: self.burst, delay: self.delay };
        Some(Metered { rule, table: zone.table.as_ref()? })
    }
}

/// Once nginx runs, every zone is declared and has a table: the configuration has been refused
/// otherwise. A request that met one without would pass.
impl Meter for Limit {
    fn judge(&self, key: KeyHash, now: Now) -> Judgement {
        self.metered().map_or(Judgement::UNTRACKED, |limit| limit.judge(key, now))
    }

    fn take(&self, key: KeyHash, now: Now) -> Judgement {
        self.metered().map_or(Judgement::UNTRACKED, |limit| limit.take(key, now))
    }

    fn charge(&self, key: KeyHash, now: Now) -> Hold {
        self.metered().map_or_else(Hold::default, |limit| limit.charge(key, now))
    }

    fn count(&self, counter: Counter) {
        if let Some(limit) = self.metered() {
            limit.count(counter);
        }
    }
}

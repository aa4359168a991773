//! One `rl_req` as the engine sees it: its burst and delay, with the rate and table of its zone.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use nginx_sys::ngx_shm_zone_t;

use super::raw;
use super::zone::Zone;
use crate::engine::{Hold, Judgement, Meter, Metered};
use crate::limit::{Leaky, Milli, Millis};
use crate::store::{Counter, KeyHash};

/// One `rl_req`.
#[derive(Clone, Copy)]
pub struct Limit {
    /// The zone it names, which may be declared further down the file.
    pub shm_zone: NonNull<ngx_shm_zone_t>,
    /// Excess above which a request is refused, in 1/1000 request.
    pub burst: Milli,
    /// Excess up to which a request is not held, in 1/1000 request.
    pub delay: Milli,
}

impl Limit {
    /// The zone. Only for a configuration that nginx has accepted.
    pub fn zone(&self) -> &Zone {
        // SAFETY: nginx keeps the zone as long as the configuration. `rl_zone` has put our own
        // type behind `data`: the check after the http block refuses a zone without one, and
        // nginx itself refuses one whose tag is not ours.
        unsafe { &*self.shm_zone.as_ref().data.cast::<Zone>() }
    }

    /// The zone's name.
    pub fn zone_name(&self) -> &[u8] {
        // SAFETY: nginx keeps the zone and its name as long as the configuration.
        unsafe { raw::bytes(self.shm_zone.as_ref().shm.name) }
    }

    fn metered(&self) -> Option<Metered<'_, Leaky>> {
        let zone = self.zone();
        let rule = Leaky { rate: zone.rate, burst: self.burst, delay: self.delay };
        Some(Metered { rule, table: zone.table.as_ref()? })
    }
}

/// A zone without a table does not exist once nginx runs: its init callback has failed then. A
/// request that met one all the same would pass.
impl Meter for Limit {
    fn judge(&self, key: KeyHash, now: Millis) -> Judgement {
        self.metered().map_or(Judgement::Accept(Hold::default()), |limit| limit.judge(key, now))
    }

    fn take(&self, key: KeyHash, now: Millis) -> Judgement {
        self.metered().map_or(Judgement::Accept(Hold::default()), |limit| limit.take(key, now))
    }

    fn charge(&self, key: KeyHash, now: Millis) -> Hold {
        self.metered().map_or_else(Hold::default, |limit| limit.charge(key, now))
    }

    fn count(&self, counter: Counter) {
        if let Some(limit) = self.metered() {
            limit.count(counter);
        }
    }
}

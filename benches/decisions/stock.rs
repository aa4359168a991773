//! Stock `limit_req`: its own look-up under its own mutex, in its own slab pool.
#![allow(unsafe_code)]

use std::sync::Once;

use super::race::Side;

mod sys {
    #![allow(warnings, clippy::all, clippy::undocumented_unsafe_blocks)]
    include!(concat!(env!("OUT_DIR"), "/stock.rs"));
}

/// Zones that one request is judged by, the same key in each.
pub struct Stock {
    zones: Vec<*mut sys::stock_zone_t>,
    burst: usize,
}

impl Stock {
    /// So many zones of so many bytes. Rate and burst are in 1/1000 request (a second).
    pub fn new(zones: usize, bytes: usize, rate: u64, burst: u64) -> Self {
        static INIT: Once = Once::new();
        // SAFETY: called once, before anything else of the shim, by the only thread.
        INIT.call_once(|| unsafe { sys::stock_init() });
        // SAFETY: the shim has been initialised.
        let zone = |number| unsafe { sys::stock_zone_new(number, rate as usize, bytes) };
        Self { zones: (0..zones).map(zone).collect(), burst: burst as usize }
    }
}

impl Side for Stock {
    fn enter(&self, _: usize) {
        // SAFETY: sets two numbers of nginx's; this process has one thread.
        unsafe { sys::stock_after_fork(super::race::PROCESSORS) };
    }

    #[inline]
    fn take(&self, key: &[u8], now_ms: u64) -> bool {
        let (zones, burst, now) = (&self.zones, self.burst, now_ms as usize);
        // SAFETY: the zones are live, the key is read only during the call, and there are at most
        // four of them.
        let admitted = unsafe {
            sys::stock_take(zones.as_ptr(), zones.len(), burst, key.as_ptr(), key.len(), now)
        };
        admitted != 0
    }
}

impl Drop for Stock {
    fn drop(&mut self) {
        for zone in &self.zones {
            // SAFETY: from `stock_zone_new`, and not used any more.
            unsafe { sys::stock_zone_free(*zone) };
        }
    }
}

//! Stock `limit_req` behind the shim.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::Once;

use ngx_http_rl::limit::Leaky;

mod sys {
    #![allow(warnings, clippy::all, clippy::undocumented_unsafe_blocks)]
    include!(concat!(env!("OUT_DIR"), "/stock.rs"));
}

pub const AGAIN: isize = -2;
pub const DECLINED: isize = -5;

/// Return code of the handler, wait in ms, line of the log.
pub type Told = (isize, u64, String);

/// A zone of stock's.
pub struct Zone(*mut sys::stock_zone_t);

impl Zone {
    pub fn new(number: usize, rate: u64) -> Self {
        static INIT: Once = Once::new();
        // SAFETY: called once, before anything else of the shim.
        INIT.call_once(|| unsafe { sys::stock_init() });
        // SAFETY: the shim has been initialised.
        Self(unsafe { sys::stock_zone_new(number, rate as usize) })
    }

    /// Whether the zone has a node for a key.
    pub fn has(&self, key: &[u8]) -> bool {
        // SAFETY: the zone is live, and the key is read only during the call.
        unsafe { sys::stock_zone_has(self.0, key.as_ptr(), key.len()) != 0 }
    }
}

impl Drop for Zone {
    fn drop(&mut self) {
        // SAFETY: from `stock_zone_new`, and not used any more.
        unsafe { sys::stock_zone_free(self.0) }
    }
}

/// Lets stock decide; limit `n` is on zone `n`. At most three.
pub fn decide(zones: &[Zone], rules: &[Leaky], keys: &[&[u8]], now: u64) -> Told {
    let limits: Vec<_> = zones
        .iter()
        .zip(rules)
        .zip(keys)
        .map(|((zone, rule), key)| sys::stock_limit_t {
            zone: zone.0,
            burst: rule.burst as usize,
            delay: (rule.delay.min(i64::MAX as u64 / 1000 * 1000)) as usize,
            key: key.as_ptr(),
            key_len: key.len(),
        })
        .collect();
    assert!(limits.len() <= 3);
    // SAFETY: all-zero is a valid value of this plain struct.
    let mut told: sys::stock_outcome_t = unsafe { std::mem::zeroed() };
    // SAFETY: zones are live, keys are read only during the call, and there are at most three.
    unsafe { sys::stock_decide(limits.as_ptr(), limits.len(), now as usize, &raw mut told) };
    // SAFETY: the shim ends the line with a zero.
    let line = unsafe { CStr::from_ptr(told.line.as_ptr()) }.to_string_lossy().into_owned();
    (told.rc as isize, told.wait as u64, message(&line))
}

/// The message of a log line: between the number of the process and the end.
fn message(line: &str) -> String {
    line.split_once(": ").map_or("", |(_, message)| message).trim_end().to_owned()
}

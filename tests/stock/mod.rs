//! Stock `limit_req` behind the shim.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, CStr};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use ngx_http_rl::limit::Leaky;

mod sys {
    #![allow(warnings, clippy::all, clippy::undocumented_unsafe_blocks)]
    include!(concat!(env!("OUT_DIR"), "/stock.rs"));
}

/// What the handler returns for a delayed request, and for one that goes on.
pub const AGAIN: isize = -2;
pub const DECLINED: isize = -5;

/// What `nodelay` is to stock.
const NODELAY: u64 = i64::MAX.cast_unsigned() / 1000 * 1000;

/// Room for the keys of a test.
const ZONE_BYTES: usize = 256 * 1024;

/// Limits of one request, at most.
pub const LIMITS: usize = 3;

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Return code of the handler.
    pub code: isize,
    /// How long the request is held, in ms.
    pub wait_ms: u64,
    /// The value of the status variable, empty if there is none.
    pub status: String,
    /// Message of the line in the log, empty if there is none. Has the excess and the zone.
    pub line: String,
}

/// A zone of stock's, in a real slab pool.
pub struct Zone(*mut sys::stock_zone_t);

impl Zone {
    pub fn new(number: usize, rate: u64) -> Self {
        let _turn = turn();
        // SAFETY: the shim has been initialised by `turn`, and this thread has its turn.
        Self(unsafe { sys::stock_zone_new(number, rate as usize, ZONE_BYTES) })
    }

    /// Excess and time of a key's node. The time is 0 if nothing was charged to it.
    pub fn state(&self, key: &[u8]) -> Option<(u64, u64)> {
        let _turn = turn();
        let mut state = sys::stock_state_t { excess: 0, last: 0 };
        // SAFETY: the zone is live; key and state are used only during the call.
        let found =
            unsafe { sys::stock_zone_state(self.0, key.as_ptr(), key.len(), &raw mut state) };
        (found != 0).then_some((state.excess as u64, state.last as u64))
    }
}

impl Drop for Zone {
    fn drop(&mut self) {
        let _turn = turn();
        // SAFETY: from `stock_zone_new`, and not used any more.
        unsafe { sys::stock_zone_free(self.0) }
    }
}

/// Lets stock decide a request at `now` by limits on zones, each with the key that it has there.
pub fn decide(limits: &[(&Zone, Leaky, &[u8])], dry_run: bool, now: u64) -> Told {
    assert!(limits.len() <= LIMITS);
    let limits: Vec<_> = limits
        .iter()
        .map(|(zone, rule, key)| sys::stock_limit_t {
            zone: zone.0,
            burst: rule.burst as usize,
            delay: rule.delay.min(NODELAY) as usize,
            key: key.as_ptr(),
            key_len: key.len(),
        })
        .collect();
    let (n, dry_run, now) = (limits.len(), c_int::from(dry_run), now as usize);
    let _turn = turn();
    // SAFETY: all-zero is a valid value of this plain struct.
    let mut told: sys::stock_outcome_t = unsafe { std::mem::zeroed() };
    // SAFETY: zones are live, keys are read only during the call, and there are at most three.
    unsafe { sys::stock_decide(limits.as_ptr(), n, dry_run, now, &raw mut told) };
    Told {
        code: told.rc as isize,
        wait_ms: told.wait as u64,
        status: text(&told.status),
        line: message(&text(&told.line)),
    }
}

/// Globals of nginx are for one thread at a time; the first one initialises them.
fn turn() -> MutexGuard<'static, ()> {
    static INIT: Once = Once::new();
    static TURN: Mutex<()> = Mutex::new(());
    // A failed test leaves nothing of the shim half done.
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: called once, before anything else of the shim.
    INIT.call_once(|| unsafe { sys::stock_init() });
    turn
}

/// A text of the shim's.
fn text(text: &[c_char]) -> String {
    // SAFETY: the array was all zero, and the shim ends what it writes with a zero inside it.
    unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned()
}

/// The message of a log line: between the number of the process and the end.
fn message(line: &str) -> String {
    line.split_once(": ").map_or("", |(_, message)| message).trim_end().to_owned()
}

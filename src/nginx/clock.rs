//! The clocks.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;

use nginx_sys::{ngx_cached_time, ngx_current_msec};

use crate::limit::{Now, NS_PER_MS};

/// What the clocks show. `needs_fine` asks the system for nanoseconds; nginx caches milliseconds.
pub fn now(needs_fine: bool) -> Now {
    // SAFETY: nginx's times are written by this thread only, between events, and are set before
    // any request comes.
    let (ms, wall_ms) = unsafe {
        let wall = &*ngx_cached_time;
        (ngx_current_msec as u64, wall.sec.cast_unsigned() * 1000 + wall.msec as u64)
    };
    let cached_ns = ms.saturating_mul(NS_PER_MS);
    let ns = if needs_fine { monotonic_ns().unwrap_or(cached_ns) } else { cached_ns };
    Now { ms, ns, wall_ms }
}

/// The clock that nginx's cached one is a rounded copy of.
fn monotonic_ns() -> Option<u64> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the system fills the place it is given where it returns 0.
    let time = unsafe {
        if libc::clock_gettime(libc::CLOCK_MONOTONIC, time.as_mut_ptr()) != 0 {
            return None;
        }
        time.assume_init()
    };
    Some(time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}

//! nginx's constants and strings. The generated constants differ in type from one to the next.
#![allow(unsafe_code)]

use core::ffi::{c_char, c_void};
use core::mem::size_of;
use core::ptr::{self, NonNull};

use nginx_sys::{
    ngx_conf_t, ngx_int_t, ngx_pool_cleanup_add, ngx_pool_t, ngx_str_t, ngx_uint_t, NGX_ALIGNMENT,
};

use super::guard::guard;

/// Done, or the phase is to go on.
pub const OK: ngx_int_t = 0;
/// Failed.
pub const ERROR: ngx_int_t = -1;
/// The request is waiting; nginx is to leave it alone.
pub const AGAIN: ngx_int_t = -2;
/// Nothing to do with the request: the next handler of the phase is asked.
pub const DECLINED: ngx_int_t = -5;
/// The answer to a request that could not be judged.
pub const INTERNAL_SERVER_ERROR: ngx_int_t = 500;

/// Levels of the error log (`ngx_log.h`).
pub const LOG_EMERG: ngx_uint_t = 1;
pub const LOG_ALERT: ngx_uint_t = 2;
pub const LOG_ERR: ngx_uint_t = 4;
pub const LOG_WARN: ngx_uint_t = 5;
pub const LOG_NOTICE: ngx_uint_t = 6;
pub const LOG_INFO: ngx_uint_t = 7;

/// A directive that is fine.
pub const CONF_OK: *mut c_char = ptr::null_mut();
/// A directive whose error has been logged.
pub const CONF_ERROR: *mut c_char = ptr::without_provenance_mut(usize::MAX);

/// A string of nginx as bytes.
///
/// # Safety
///
/// The string must be empty or point at `len` bytes that stay as they are for `'a`.
pub unsafe fn bytes<'a>(text: ngx_str_t) -> &'a [u8] {
    if text.len == 0 {
        return &[];
    }
    // SAFETY: not empty, and so valid by the caller's contract.
    unsafe { core::slice::from_raw_parts(text.data, text.len) }
}

/// Bytes as a string of nginx, which must not outlive them. nginx takes it by a pointer to mutable
/// but does not write to it.
pub fn text(bytes: &[u8]) -> ngx_str_t {
    ngx_str_t { len: bytes.len(), data: bytes.as_ptr().cast_mut() }
}

/// The words of the directive that is being read, its name first.
///
/// # Safety
///
/// `cf` must be what nginx hands to the function that sets a directive.
pub unsafe fn words<'a>(cf: *mut ngx_conf_t) -> &'a [ngx_str_t] {
    // SAFETY: nginx hands over an array of strings, from the configuration's pool.
    unsafe { (*(*cf).args).as_slice() }
}

/// Moves a value into a pool, which drops it when it goes. `None` where there is no memory; nginx
/// has logged that.
///
/// # Safety
///
/// The pool must be live.
pub unsafe fn into_pool<T>(pool: *mut ngx_pool_t, value: T) -> Option<NonNull<T>> {
    const { assert!(align_of::<T>() <= NGX_ALIGNMENT) };
    // SAFETY: the pool is live, by the caller's contract. It gives a record with memory for the
    // value, aligned as asserted above, and calls the handler with that memory.
    unsafe {
        let record = ngx_pool_cleanup_add(pool, size_of::<T>()).as_mut()?;
        let place = NonNull::new(record.data.cast::<T>())?;
        place.write(value);
        record.handler = Some(drop_value::<T>);
        Some(place)
    }
}

/// Called by nginx when a pool goes.
unsafe extern "C" fn drop_value<T>(value: *mut c_void) {
    // SAFETY: handed to nginx together with the value, and called once.
    guard("clean-up", (), || unsafe { value.cast::<T>().drop_in_place() });
}

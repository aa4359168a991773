//! What is asked of a request, and the outcome that goes with it.
//!
//! nginx wipes the contexts of modules on an internal redirect. The outcome must survive that, so
//! it lies in a clean-up record of the main request's pool, where it is found again: the way of
//! nginx's realip module.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

use nginx_sys::{
    ngx_http_complex_value, ngx_http_request_t, ngx_pool_cleanup_add, ngx_pool_cleanup_t,
    ngx_str_t, ngx_uint_t,
};

use super::conf::LocConf;
use super::module::module_index;
use super::zone::Zone;
use super::{log, raw};
use crate::report::{Line, Status};

/// A request that is being handled.
#[derive(Clone, Copy)]
pub struct Request<'r>(*mut ngx_http_request_t, PhantomData<&'r ngx_http_request_t>);

/// nginx could not allocate or evaluate something; it has logged why.
pub struct Failed;

impl<'r> Request<'r> {
    /// Takes the request that nginx hands to a callback.
    ///
    /// # Safety
    ///
    /// The request must be live, and stay so for `'r`.
    pub unsafe fn new(r: *mut ngx_http_request_t) -> Self {
        Self(r, PhantomData)
    }

    /// The request for nginx's own functions.
    pub fn as_ptr(self) -> *mut ngx_http_request_t {
        self.0
    }

    /// The configuration of the request's location.
    pub fn conf(self) -> &'r LocConf {
        // SAFETY: the request is live; nginx has filled our slot with what `create_loc_conf` gave,
        // and keeps the configuration longer than any request.
        unsafe { &*(*(*self.0).loc_conf.add(module_index())).cast::<LocConf>() }
    }

    /// The arguments of the request line.
    #[cfg(feature = "test-hooks")]
    pub fn args(self) -> &'r [u8] {
        // SAFETY: the request is live, and the text is from its buffer or pool.
        unsafe { raw::bytes((*self.0).args) }
    }

    /// The value of a zone's key.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn key(self, zone: &'r Zone) -> Result<&'r [u8], Failed> {
        let mut key = ngx_str_t { len: 0, data: ptr::null_mut() };
        // nginx takes the value by a pointer to mutable but does not write to it.
        let value = ptr::from_ref(&zone.key).cast_mut();
        // SAFETY: request and value are live; the text is from the request's pool or from the
        // configuration.
        unsafe {
            if ngx_http_complex_value(self.0, value, &raw mut key) != raw::OK {
                return Err(Failed);
            }
            Ok(raw::bytes(key))
        }
    }

    /// The decision on the client's request, however often it has been redirected since and
    /// whatever subrequest asks.
    pub fn status(self) -> Option<Status> {
        // SAFETY: the request is live, and so is the main one, which is itself for a client's
        // request. Our context is null or what `remember` has put there.
        unsafe {
            let main = (*self.0).main;
            let status = (*(*main).ctx.add(module_index())).cast::<Status>();
            if let Some(status) = status.as_ref() {
                return Some(*status);
            }
            // Contexts are wiped only where nginx sets one of these two.
            if (*main).internal() == 0 && (*main).filter_finalize() == 0 {
                return None;
            }
            let mut cleanup = (*(*main).pool).cleanup;
            while let Some(record) = cleanup.as_ref() {
                if is_ours(record) {
                    return record.data.cast::<Status>().as_ref().copied();
                }
                cleanup = record.next;
            }
            None
        }
    }

    /// Keeps the decision with the client's request.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn remember(self, status: Status) -> Result<(), Failed> {
        let status = ptr::from_ref(lasting(status)).cast_mut().cast();
        // SAFETY: the main request is live, and nginx gives memory for the record that lives as
        // long as its pool. Nobody writes through the pointer.
        unsafe {
            let main = (*self.0).main;
            let record = ngx_pool_cleanup_add((*main).pool, 0).as_mut().ok_or(Failed)?;
            record.data = status;
            record.handler = Some(forget);
            *(*main).ctx.add(module_index()) = status;
        }
        Ok(())
    }

    /// Logs a line with the request's context.
    pub fn log(self, level: ngx_uint_t, line: &Line) {
        // SAFETY: the request is live, and its connection's log with it.
        unsafe { log::write((*(*self.0).connection).log, level, line) }
    }
}

/// A status to point to, so that no memory is needed for it.
fn lasting(status: Status) -> &'static Status {
    match status {
        Status::Passed => &Status::Passed,
        Status::Delayed => &Status::Delayed,
        Status::Rejected => &Status::Rejected,
        Status::DelayedDryRun => &Status::DelayedDryRun,
        Status::RejectedDryRun => &Status::RejectedDryRun,
    }
}

/// How many outcomes have been forgotten. Nothing reads it: it gives `forget` a body of its own,
/// since a linker may merge functions that are alike, and then another module's record would be
/// taken for ours.
static FORGOTTEN: AtomicUsize = AtomicUsize::new(0);

/// The handler by which our clean-up record is known. There is nothing to clean up.
unsafe extern "C" fn forget(_: *mut c_void) {
    FORGOTTEN.fetch_add(1, Ordering::Relaxed);
}

fn is_ours(record: &ngx_pool_cleanup_t) -> bool {
    record.handler.is_some_and(|handler| {
        ptr::fn_addr_eq(handler, forget as unsafe extern "C" fn(*mut c_void))
    })
}

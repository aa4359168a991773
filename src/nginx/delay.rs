//! Holding a request and letting it go on.
//!
//! A client's request is held as stock holds it (`ngx_http_limit_req_delay`): by a timer on the
//! write event of its connection. That event wakes the request that has the connection, which a
//! subrequest need not be; one in the background never is, and stock's connection hangs then. So
//! a subrequest is held by a timer of its own.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::mem::size_of;
use core::ptr;

use nginx_sys::{
    ngx_add_timer, ngx_connection_t, ngx_del_timer, ngx_event_t, ngx_handle_read_event,
    ngx_handle_write_event, ngx_http_block_reading, ngx_http_cleanup_add, ngx_http_core_run_phases,
    ngx_http_finalize_request, ngx_http_post_request, ngx_http_posted_request_t,
    ngx_http_request_t, ngx_http_run_posted_requests, ngx_http_test_reading, ngx_int_t, ngx_msec_t,
    ngx_pcalloc, ngx_post_event, ngx_posted_events,
};

use super::guard::guard_or;
use super::module::module_index;
use super::raw;
use super::request::{Failed, Request};

/// A subrequest that is being held.
#[repr(C)]
struct Held {
    /// The timer. First, so that its address is that of the whole.
    timer: ngx_event_t,
    /// nginx's entry in the queue of requests to run; here so that queueing cannot fail.
    posted: ngx_http_posted_request_t,
    request: *mut ngx_http_request_t,
}

/// Holds a request for a while. It goes on with the next handler of the phase.
///
/// # Errors
///
/// Out of memory, or the connection's event cannot be armed.
pub fn hold(request: Request<'_>, wait_ms: u64) -> Result<ngx_int_t, Failed> {
    let r = request.as_ptr();
    let wait_ms = ngx_msec_t::try_from(wait_ms).unwrap_or(ngx_msec_t::MAX);
    // SAFETY: a phase handler is called with a live request on a live connection, and a main
    // request that runs its phases has no subrequests yet but for those in the background, which
    // never get the connection's events.
    unsafe {
        if ptr::eq(r, (*r).main) {
            hold_client(r, wait_ms)?;
        } else {
            hold_subrequest(r, wait_ms)?;
        }
    }
    Ok(raw::AGAIN)
}

/// # Safety
///
/// `r` must be a live main request that runs its phases, so that its connection's events reach it.
unsafe fn hold_client(r: *mut ngx_http_request_t, wait_ms: ngx_msec_t) -> Result<(), Failed> {
    // SAFETY: by the caller's contract.
    unsafe { watch_client(r)? };
    // SAFETY: request and connection are live, by the caller's contract.
    let write = unsafe {
        (*r).write_event_handler = Some(on_client_event);
        (*(*r).connection).write
    };
    // SAFETY: the write event lives as long as its connection, and nginx takes its timer back
    // before that goes.
    unsafe {
        (*write).set_delayed(1);
        ngx_add_timer(write, wait_ms);
    }
    Ok(())
}

/// Has nginx end the request at once if the client goes away.
///
/// # Safety
///
/// `r` must be live.
unsafe fn watch_client(r: *mut ngx_http_request_t) -> Result<(), Failed> {
    // SAFETY: the request is live and its connection with it.
    unsafe {
        let read = (*(*r).connection).read;
        if (*read).ready() != 0 {
            ngx_post_event(read, &raw mut ngx_posted_events);
        } else if ngx_handle_read_event(read, 0) != raw::OK {
            return Err(Failed);
        }
        (*r).read_event_handler = Some(ngx_http_test_reading);
    }
    Ok(())
}

/// Called by nginx when the connection of a held request can be written to, or its time is up.
unsafe extern "C" fn on_client_event(r: *mut ngx_http_request_t) {
    // SAFETY: nginx calls the handler with a live request, and gets it back only by what the body
    // does last, so that it is there after a panic.
    let fail = || unsafe { ngx_http_finalize_request(r, raw::INTERNAL_SERVER_ERROR) };
    guard_or("delay", fail, || {
        // SAFETY: nginx calls the handler with a live request. It may be gone after any of the
        // calls that follow, so each is the last use of it.
        unsafe {
            let write = (*(*r).connection).write;
            if (*write).delayed() == 0 {
                go_on(r);
            } else if ngx_handle_write_event(write, 0) != raw::OK {
                ngx_http_finalize_request(r, raw::INTERNAL_SERVER_ERROR);
            }
        }
    });
}

/// Lets a held request go on with its phases.
///
/// # Safety
///
/// `r` must be live; it may be gone afterwards.
unsafe fn go_on(r: *mut ngx_http_request_t) {
    // SAFETY: the request is live and its connection with it; the last call is the last use.
    unsafe {
        if ngx_handle_read_event((*(*r).connection).read, 0) != raw::OK {
            ngx_http_finalize_request(r, raw::INTERNAL_SERVER_ERROR);
            return;
        }
        run_phases(r);
    }
}

/// # Safety
///
/// `r` must be live; it may be gone afterwards.
unsafe fn run_phases(r: *mut ngx_http_request_t) {
    // SAFETY: the request is live; the last call is the last use.
    unsafe {
        (*r).read_event_handler = Some(ngx_http_block_reading);
        (*r).write_event_handler = Some(ngx_http_core_run_phases);
        ngx_http_core_run_phases(r);
    }
}

/// # Safety
///
/// `r` must be a live subrequest that is not held.
unsafe fn hold_subrequest(r: *mut ngx_http_request_t, wait_ms: ngx_msec_t) -> Result<(), Failed> {
    // SAFETY: by the caller's contract.
    let held = unsafe { new_held(r) }?;
    // SAFETY: the record was made for this request just now.
    unsafe { held_of(r).write(held) };
    // SAFETY: the request is live; its connection is watched only where its events reach it.
    unsafe {
        if has_connection(r) {
            watch_client(r)?;
        }
        (*r).write_event_handler = Some(on_subrequest_event);
    }
    // SAFETY: the timer is not set, and the clean-up handler takes it back before its memory goes.
    unsafe { ngx_add_timer(&raw mut (*held).timer, wait_ms) };
    Ok(())
}

/// A record for a subrequest that is going to be held, with the clean-up that takes its timer back.
///
/// # Safety
///
/// `r` must be live.
unsafe fn new_held(r: *mut ngx_http_request_t) -> Result<*mut Held, Failed> {
    // SAFETY: the request is live and its connection with it; what its pool gives lives as long as
    // the client's request.
    unsafe {
        let held = ngx_pcalloc((*r).pool, size_of::<Held>()).cast::<Held>();
        let cleanup = ngx_http_cleanup_add(r, 0);
        let (Some(record), Some(cleanup)) = (held.as_mut(), cleanup.as_mut()) else {
            return Err(Failed);
        };
        record.request = r;
        // nginx prints the descriptor behind `data` of an event, taking it for a connection.
        record.timer.data = (*r).connection.cast();
        record.timer.log = (*(*r).connection).log;
        record.timer.handler = Some(on_timer);
        cleanup.handler = Some(drop_timer);
        cleanup.data = held.cast();
        Ok(held)
    }
}

/// Where a subrequest has its record while it is held, and null otherwise: our context of it.
///
/// # Safety
///
/// `r` must be live.
unsafe fn held_of(r: *mut ngx_http_request_t) -> *mut *mut Held {
    // SAFETY: the request is live, and its contexts have a place for each module.
    unsafe { (*r).ctx.add(module_index()).cast() }
}

/// Called by nginx for a held subrequest, by its timer or by whatever wakes it meanwhile.
unsafe extern "C" fn on_subrequest_event(r: *mut ngx_http_request_t) {
    // SAFETY: as in `on_client_event`.
    let fail = || unsafe { end_subrequest(r) };
    guard_or("delay", fail, || {
        // SAFETY: nginx calls the handler with a live request, and `hold_subrequest` has put its
        // record into the request's context.
        unsafe {
            let held = *held_of(r);
            if held.as_ref().is_some_and(|held| held.timer.timer_set() != 0) {
                if has_connection(r) && go_on_holding(r).is_err() {
                    end_subrequest(r);
                }
                return;
            }
            held_of(r).write(ptr::null_mut());
            if has_connection(r) {
                go_on(r);
            } else {
                run_phases(r);
            }
        }
    });
}

/// Ends a held subrequest with an error. Its timer goes first: it would wake a request that has
/// ended.
///
/// # Safety
///
/// `r` must be live, and its context what `hold_subrequest` has put there, or null; it may be gone
/// afterwards.
unsafe fn end_subrequest(r: *mut ngx_http_request_t) {
    // SAFETY: by the caller's contract. What the context points at lives in the request's pool.
    unsafe {
        let held = held_of(r).replace(ptr::null_mut());
        if !held.is_null() {
            take_timer_back(held);
        }
        ngx_http_finalize_request(r, raw::INTERNAL_SERVER_ERROR);
    }
}

/// Whether the connection's events reach the request: of the subrequests of one answer, that is
/// the one whose turn it is to send.
///
/// # Safety
///
/// `r` must be live.
unsafe fn has_connection(r: *mut ngx_http_request_t) -> bool {
    // SAFETY: the request is live and its connection with it.
    unsafe { ptr::eq((*(*r).connection).data, r.cast()) }
}

/// What an event of the connection means to a held subrequest, which may have got the connection
/// by it.
///
/// # Safety
///
/// `r` must be live and have its connection.
unsafe fn go_on_holding(r: *mut ngx_http_request_t) -> Result<(), Failed> {
    // SAFETY: the request is live and its connection with it.
    unsafe {
        watch_client(r)?;
        let write = (*(*r).connection).write;
        // `send_timeout` of what the parent has sent so far runs on while nothing is to be sent.
        // nginx would end the client by it as soon as there is.
        (*write).set_timedout(0);
        if ngx_handle_write_event(write, 0) != raw::OK {
            return Err(Failed);
        }
    }
    Ok(())
}

/// Called by nginx when the time of a held subrequest is up.
unsafe extern "C" fn on_timer(timer: *mut ngx_event_t) {
    let held = timer.cast::<Held>();
    // SAFETY: the event is the first field of a `Held`, which lives while its timer is set; nginx
    // has just taken the timer back. The request may be gone once others have run, the connection
    // is nginx's to check.
    let (r, connection): (_, *mut ngx_connection_t) =
        unsafe { ((*held).request, (*(*held).request).connection) };
    // SAFETY: as above; a subrequest that has ended lets its parent go on, which is posted too.
    let fail = || unsafe {
        end_subrequest(r);
        ngx_http_run_posted_requests(connection);
    };
    guard_or("delay timer", fail, || {
        // SAFETY: as above.
        unsafe {
            ngx_http_post_request(r, &raw mut (*held).posted);
            ngx_http_run_posted_requests(connection);
        }
    });
}

/// Called by nginx when the client's request ends, also early.
unsafe extern "C" fn drop_timer(held: *mut c_void) {
    // SAFETY: the record was handed to nginx together with this function, and its memory goes
    // only after the clean-up.
    let take_back = || unsafe { take_timer_back(held.cast()) };
    // Also after a panic: a timer must not outlive its memory.
    guard_or("delay clean-up", take_back, take_back);
}

/// # Safety
///
/// `held` must be live.
unsafe fn take_timer_back(held: *mut Held) {
    // SAFETY: by the caller's contract.
    unsafe {
        let timer = &raw mut (*held).timer;
        if (*timer).timer_set() != 0 {
            ngx_del_timer(timer);
        }
    }
}

//! What nginx finds in the `.so`: the module, its directives and its hooks.
//!
//! nginx writes into these tables when it loads the module, so they are mutable statics that no
//! code of ours touches but by their address. They must not be marked `#[used]`: every symbol of
//! nginx would then be kept alive in test binaries, which could not be linked.
#![allow(unsafe_code)]
#![allow(non_upper_case_globals)]

use core::ffi::{c_char, c_void};
use core::mem::offset_of;
use core::ptr;

use nginx_sys::{
    ngx_array_push, ngx_command_t, ngx_conf_check_num_bounds, ngx_conf_enum_t,
    ngx_conf_num_bounds_t, ngx_conf_set_enum_slot, ngx_conf_set_flag_slot, ngx_conf_set_num_slot,
    ngx_conf_t, ngx_cycle_t, ngx_http_conf_ctx_t, ngx_http_core_main_conf_t, ngx_http_core_module,
    ngx_http_handler_pt, ngx_http_module, ngx_http_module_t,
    ngx_http_phases_NGX_HTTP_PREACCESS_PHASE, ngx_http_request_t, ngx_int_t, ngx_module_t,
    ngx_str_t, ngx_uint_t, NGX_CONF_1MORE, NGX_CONF_2MORE, NGX_CONF_FLAG, NGX_CONF_TAKE1,
    NGX_HTTP_LOC_CONF, NGX_HTTP_LOC_CONF_OFFSET, NGX_HTTP_MAIN_CONF, NGX_HTTP_MAIN_CONF_OFFSET,
    NGX_HTTP_MODULE, NGX_HTTP_SRV_CONF,
};
use ngx::ngx_string;

use super::conf::{LocConf, MainConf};
use super::guard::guard;
#[cfg(feature = "test-hooks")]
use super::log;
use super::request::Request;
use super::zone::ZoneRef;
use super::{directives, handler, raw, settle, variables};
#[cfg(feature = "test-hooks")]
use crate::report::Line;

/// The module, under the name that nginx looks for.
#[no_mangle]
pub static mut ngx_http_rl_module: ngx_module_t = ngx_module_t {
    ctx: (&raw mut CONTEXT).cast(),
    commands: (&raw mut COMMANDS).cast(),
    type_: NGX_HTTP_MODULE as ngx_uint_t,
    init_process: Some(init_process),
    ..ngx_module_t::default()
};

/// The modules of this file, up to a null.
#[no_mangle]
pub static mut ngx_modules: [*const ngx_module_t; 2] = [&raw const ngx_http_rl_module, ptr::null()];

/// Their names.
#[no_mangle]
pub static mut ngx_module_names: [*const c_char; 2] = [c"ngx_http_rl_module".as_ptr(), ptr::null()];

/// Where the module goes: before the first of those named after it. Handlers of a phase run in
/// reverse order, so that ours runs after realip, which sets the address that is limited, and
/// before stock `limit_req`.
#[no_mangle]
pub static mut ngx_module_order: [*const c_char; 3] =
    [c"ngx_http_rl_module".as_ptr(), c"ngx_http_realip_module".as_ptr(), ptr::null()];

static mut CONTEXT: ngx_http_module_t = ngx_http_module_t {
    preconfiguration: Some(preconfiguration),
    postconfiguration: Some(postconfiguration),
    create_main_conf: Some(create_main_conf),
    init_main_conf: None,
    create_srv_conf: None,
    merge_srv_conf: None,
    create_loc_conf: Some(create_loc_conf),
    merge_loc_conf: Some(merge_loc_conf),
};

const ANYWHERE: u32 = NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF;

static mut COMMANDS: [ngx_command_t; 6] = [
    ngx_command_t {
        name: ngx_string!("rl_zone"),
        type_: (NGX_HTTP_MAIN_CONF | NGX_CONF_2MORE) as ngx_uint_t,
        set: Some(directives::rl_zone),
        conf: NGX_HTTP_MAIN_CONF_OFFSET,
        ..ngx_command_t::empty()
    },
    ngx_command_t {
        name: ngx_string!("rl_req"),
        type_: (ANYWHERE | NGX_CONF_1MORE) as ngx_uint_t,
        set: Some(directives::rl_req),
        conf: NGX_HTTP_LOC_CONF_OFFSET,
        ..ngx_command_t::empty()
    },
    ngx_command_t {
        name: ngx_string!("rl_req_log_level"),
        type_: (ANYWHERE | NGX_CONF_TAKE1) as ngx_uint_t,
        set: Some(ngx_conf_set_enum_slot),
        conf: NGX_HTTP_LOC_CONF_OFFSET,
        offset: offset_of!(LocConf, log_level),
        post: (&raw mut LOG_LEVELS).cast(),
    },
    ngx_command_t {
        name: ngx_string!("rl_req_status"),
        type_: (ANYWHERE | NGX_CONF_TAKE1) as ngx_uint_t,
        set: Some(ngx_conf_set_num_slot),
        conf: NGX_HTTP_LOC_CONF_OFFSET,
        offset: offset_of!(LocConf, status_code),
        post: (&raw mut STATUS_BOUNDS).cast(),
    },
    ngx_command_t {
        name: ngx_string!("rl_req_dry_run"),
        type_: (ANYWHERE | NGX_CONF_FLAG) as ngx_uint_t,
        set: Some(ngx_conf_set_flag_slot),
        conf: NGX_HTTP_LOC_CONF_OFFSET,
        offset: offset_of!(LocConf, dry_run),
        post: ptr::null_mut(),
    },
    ngx_command_t::empty(),
];

static mut LOG_LEVELS: [ngx_conf_enum_t; 5] = [
    ngx_conf_enum_t { name: ngx_string!("info"), value: raw::LOG_INFO },
    ngx_conf_enum_t { name: ngx_string!("notice"), value: raw::LOG_NOTICE },
    ngx_conf_enum_t { name: ngx_string!("warn"), value: raw::LOG_WARN },
    ngx_conf_enum_t { name: ngx_string!("error"), value: raw::LOG_ERR },
    ngx_conf_enum_t { name: ngx_str_t::empty(), value: 0 },
];

static mut STATUS_BOUNDS: ngx_conf_num_bounds_t =
    ngx_conf_num_bounds_t { post_handler: Some(ngx_conf_check_num_bounds), low: 400, high: 599 };

/// Our place in nginx's arrays of configurations and contexts.
pub fn module_index() -> usize {
    // SAFETY: nginx writes the number while it loads the module, before it calls anything of ours.
    unsafe { ngx_http_rl_module.ctx_index }
}

/// The configuration of the http block that is being read.
///
/// # Safety
///
/// `cf` must be what nginx hands to a callback of this module within the http block, and no other
/// reference to the configuration may be in use.
pub unsafe fn main_conf<'a>(cf: *mut ngx_conf_t) -> &'a mut MainConf {
    // SAFETY: within the http block the context is that of http, and nginx has filled our slot
    // with what `create_main_conf` gave.
    unsafe {
        let context = (*cf).ctx.cast::<ngx_http_conf_ctx_t>();
        &mut *(*(*context).main_conf.add(module_index())).cast::<MainConf>()
    }
}

/// A configuration in the pool of `cf`, null where there is no memory.
///
/// # Safety
///
/// `cf` must be what nginx hands to a callback.
unsafe fn new_conf<T>(cf: *mut ngx_conf_t, conf: T) -> *mut c_void {
    // SAFETY: by the caller's contract.
    let conf = unsafe { raw::into_pool((*cf).pool, conf) };
    conf.map_or(ptr::null_mut(), |conf| conf.as_ptr().cast())
}

unsafe extern "C" fn create_main_conf(cf: *mut ngx_conf_t) -> *mut c_void {
    // SAFETY: nginx hands over a live `cf` with a live pool.
    guard("create_main_conf", ptr::null_mut(), || unsafe { new_conf(cf, MainConf::default()) })
}

unsafe extern "C" fn create_loc_conf(cf: *mut ngx_conf_t) -> *mut c_void {
    // SAFETY: nginx hands over a live `cf` with a live pool.
    guard("create_loc_conf", ptr::null_mut(), || unsafe { new_conf(cf, LocConf::unset()) })
}

unsafe extern "C" fn merge_loc_conf(
    _cf: *mut ngx_conf_t,
    outer: *mut c_void,
    inner: *mut c_void,
) -> *mut c_char {
    guard("merge_loc_conf", raw::CONF_ERROR, || {
        // SAFETY: nginx hands over two different values that `create_loc_conf` has made.
        unsafe { (*inner.cast::<LocConf>()).inherit(&*outer.cast::<LocConf>()) };
        raw::CONF_OK
    })
}

unsafe extern "C" fn preconfiguration(cf: *mut ngx_conf_t) -> ngx_int_t {
    // SAFETY: nginx hands over a live `cf`.
    guard("preconfiguration", raw::ERROR, || unsafe { variables::register(cf) })
}

unsafe extern "C" fn postconfiguration(cf: *mut ngx_conf_t) -> ngx_int_t {
    guard("postconfiguration", raw::ERROR, || {
        // SAFETY: nginx hands over a live `cf` with the context of http, in which the core module
        // has its configuration too.
        unsafe {
            if !settle::settle(cf) {
                return raw::ERROR;
            }
            #[cfg(feature = "test-hooks")]
            log::write((*cf).log, raw::LOG_WARN, Line::new().push(TEST_BUILD));
            let context = (*cf).ctx.cast::<ngx_http_conf_ctx_t>();
            let core_index = ngx_http_core_module.ctx_index;
            let core = (*(*context).main_conf.add(core_index)).cast::<ngx_http_core_main_conf_t>();
            let preaccess = ngx_http_phases_NGX_HTTP_PREACCESS_PHASE as usize;
            let Some(phase) = (*core).phases.get_mut(preaccess) else {
                return raw::ERROR;
            };
            let handlers = &raw mut phase.handlers;
            let slot = ngx_array_push(handlers).cast::<ngx_http_handler_pt>();
            if slot.is_null() {
                return raw::ERROR;
            }
            slot.write(Some(on_preaccess));
        }
        raw::OK
    })
}

/// `make install` finds this text in a build that must not be installed.
#[cfg(feature = "test-hooks")]
const TEST_BUILD: &[u8] = b"ngx_http_rl: test build, a request can stop a worker";

/// Called by nginx for every request in the preaccess phase.
unsafe extern "C" fn on_preaccess(r: *mut ngx_http_request_t) -> ngx_int_t {
    guard("preaccess", raw::INTERNAL_SERVER_ERROR, || {
        // SAFETY: nginx hands a phase handler a live request and leaves it alone until the
        // handler returns.
        handler::preaccess(unsafe { Request::new(r) })
    })
}

/// Called by nginx in each new worker.
unsafe extern "C" fn init_process(cycle: *mut ngx_cycle_t) -> ngx_int_t {
    guard("init_process", raw::ERROR, || {
        // SAFETY: nginx hands over the cycle it runs; the contexts are null where the
        // configuration has no http block.
        let main_conf = unsafe {
            let http = *(*cycle).conf_ctx.add(ngx_http_module.index);
            let Some(context) = http.cast::<ngx_http_conf_ctx_t>().as_ref() else {
                return raw::OK;
            };
            &*(*context.main_conf.add(module_index())).cast::<MainConf>()
        };
        for zone in main_conf.zones.iter().filter_map(ZoneRef::declared) {
            zone.adopt();
        }
        raw::OK
    })
}

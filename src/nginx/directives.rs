//! `rl_zone` and `rl_req` as they are read.
#![allow(unsafe_code)]

use core::ffi::{c_char, c_void};
use core::mem;
use core::ptr::NonNull;
use std::cell::OnceCell;
use std::rc::Rc;

use nginx_sys::{
    ngx_command_t, ngx_conf_t, ngx_http_compile_complex_value, ngx_http_compile_complex_value_t,
    ngx_http_complex_value_t, ngx_pagesize, ngx_shared_memory_add, ngx_str_t,
};

use super::conf::{LocConf, MainConf};
use super::guard::guard;
use super::limit::Limit;
use super::log::Place;
use super::zone::{Zone, ZoneRef};
use super::{log, module, raw};
use crate::config::{LimitArgs, ZoneArgs};

/// A directive is wrong or there is no memory; it has been logged.
struct Logged;

/// Called by nginx for each `rl_zone`.
pub unsafe extern "C" fn rl_zone(
    cf: *mut ngx_conf_t,
    _command: *mut ngx_command_t,
    main_conf: *mut c_void,
) -> *mut c_char {
    guard("rl_zone", raw::CONF_ERROR, || {
        // SAFETY: nginx hands over what `create_main_conf` has made, for this module's directive.
        let main_conf = unsafe { &mut *main_conf.cast::<MainConf>() };
        // SAFETY: `cf` is what nginx hands over.
        match unsafe { declare_zone(cf) } {
            Ok(zone) => {
                main_conf.zones.push(zone);
                raw::CONF_OK
            }
            Err(Logged) => raw::CONF_ERROR,
        }
    })
}

/// # Safety
///
/// `cf` must be what nginx hands to the function that sets a directive.
unsafe fn declare_zone(cf: *mut ngx_conf_t) -> Result<ZoneRef, Logged> {
    // SAFETY: by the caller's contract; nginx has checked that there are at least two arguments.
    // The words stay as long as the configuration.
    unsafe {
        let [directive, key, arguments @ ..] = raw::words(cf) else {
            return Err(Logged);
        };
        let arguments = arguments.iter().map(|word| raw::bytes(*word));
        let args = ZoneArgs::parse(raw::bytes(*directive), arguments, ngx_pagesize as u64)
            .map_err(|error| fail(cf, format_args!("{error}")))?;
        #[cfg(feature = "test-hooks")]
        super::hooks::ask_by_name(args.name);
        let key = compile_key(cf, *key)?;
        let shm_zone = shared_zone(cf, args.name, args.size)?;
        if let Some(bound) = shm_zone.declared() {
            return Err(fail(
                cf,
                format_args!(
                    "{} \"{}\" is already bound to key \"{}\"",
                    String::from_utf8_lossy(raw::bytes(*directive)),
                    String::from_utf8_lossy(args.name),
                    String::from_utf8_lossy(bound.key_text()),
                ),
            ));
        }
        let plain =
            args.rule.rule(None, None, 0).map_err(|error| fail(cf, format_args!("{error}")))?;
        let zone = Zone {
            key,
            rule: args.rule,
            full: args.full,
            plain,
            place: Place::of(cf),
            table: None,
        };
        shm_zone.declare(raw::into_pool((*cf).pool, zone).ok_or(Logged)?);
        Ok(shm_zone)
    }
}

/// Compiles the text of a key with its variables.
///
/// # Safety
///
/// As for [`declare_zone`]; the text must stay as long as the configuration.
unsafe fn compile_key(
    cf: *mut ngx_conf_t,
    mut text: ngx_str_t,
) -> Result<ngx_http_complex_value_t, Logged> {
    // SAFETY: all-zero is what nginx's own code starts from for both.
    let (mut key, mut job): (ngx_http_complex_value_t, ngx_http_compile_complex_value_t) =
        unsafe { (mem::zeroed(), mem::zeroed()) };
    job.cf = cf;
    job.value = &raw mut text;
    job.complex_value = &raw mut key;
    // SAFETY: `cf` is live and the other pointers are valid for the call; nginx copies the text's
    // descriptor and logs what is wrong.
    if unsafe { ngx_http_compile_complex_value(&raw mut job) } != raw::OK {
        return Err(Logged);
    }
    Ok(key)
}

/// Called by nginx for each `rl_req`.
pub unsafe extern "C" fn rl_req(
    cf: *mut ngx_conf_t,
    _command: *mut ngx_command_t,
    loc_conf: *mut c_void,
) -> *mut c_char {
    guard("rl_req", raw::CONF_ERROR, || {
        // SAFETY: nginx hands over what `create_loc_conf` has made, for this module's directive.
        let loc_conf = unsafe { &mut *loc_conf.cast::<LocConf>() };
        // SAFETY: `cf` is what nginx hands over.
        let Ok(limit) = (unsafe { read_limit(cf) }) else {
            return raw::CONF_ERROR;
        };
        if loc_conf.limits.iter().any(|other| other.zone == limit.zone) {
            return c"is duplicate".as_ptr().cast_mut();
        }
        loc_conf.limits.push(limit);
        raw::CONF_OK
    })
}

/// # Safety
///
/// `cf` must be what nginx hands to the function that sets a directive.
unsafe fn read_limit(cf: *mut ngx_conf_t) -> Result<Rc<Limit>, Logged> {
    // SAFETY: by the caller's contract. The words stay as long as the configuration, and the
    // current file's name does.
    unsafe {
        let [directive, arguments @ ..] = raw::words(cf) else {
            return Err(Logged);
        };
        let arguments = arguments.iter().map(|word| raw::bytes(*word));
        let args = LimitArgs::parse(raw::bytes(*directive), arguments)
            .map_err(|error| fail(cf, format_args!("{error}")))?;
        // Size 0: the zone is only named here.
        let zone = shared_zone(cf, args.zone, 0)?;
        let limit = Rc::new(Limit {
            zone,
            burst: args.burst,
            delay: args.delay,
            place: Place::of(cf),
            rule: OnceCell::new(),
        });
        module::main_conf(cf).uses.push(Rc::clone(&limit));
        Ok(limit)
    }
}

/// Finds or adds a zone of this module by its name.
///
/// # Safety
///
/// As for [`declare_zone`]; the name must stay as long as the configuration.
unsafe fn shared_zone(cf: *mut ngx_conf_t, name: &[u8], size: u64) -> Result<ZoneRef, Logged> {
    let mut name = ngx_str_t { len: name.len(), data: name.as_ptr().cast_mut() };
    let size = usize::try_from(size).map_err(|_| Logged)?;
    let tag = (&raw mut module::ngx_http_rl_module).cast::<c_void>();
    // SAFETY: `cf` is live; nginx copies the name's descriptor and logs what is wrong.
    let zone = unsafe { ngx_shared_memory_add(cf, &raw mut name, size, tag) };
    let zone = NonNull::new(zone).ok_or(Logged)?;
    // SAFETY: added with our tag just now, and kept in the configuration that is being read.
    Ok(unsafe { ZoneRef::new(zone) })
}

/// # Safety
///
/// As for [`declare_zone`].
unsafe fn fail(cf: *mut ngx_conf_t, text: core::fmt::Arguments<'_>) -> Logged {
    // SAFETY: by the caller's contract.
    unsafe { log::directive_error(cf, text) };
    Logged
}

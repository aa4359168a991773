//! `rl_zone` and `rl_req` as they are read.
#![allow(unsafe_code)]

use core::ffi::{c_char, c_void};
use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::ptr::NonNull;
use std::cell::OnceCell;
use std::rc::Rc;

use nginx_sys::{
    ngx_command_t, ngx_conf_t, ngx_http_compile_complex_value, ngx_http_compile_complex_value_t,
    ngx_http_complex_value_t, ngx_pagesize, ngx_shared_memory_add,
};

use super::conf::{LocConf, MainConf};
use super::guard::guard;
use super::limit::Limit;
use super::log::Place;
use super::zone::{Zone, ZoneRef};
use super::{log, module, raw};
use crate::config::{ConfigError, LimitArgs, ZoneArgs};

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
        // SAFETY: `cf` is what nginx hands over, and is not used after the call.
        match declare_zone(unsafe { Reading::new(cf) }) {
            Ok(zone) => {
                main_conf.zones.push(zone);
                raw::CONF_OK
            }
            Err(Logged) => raw::CONF_ERROR,
        }
    })
}

fn declare_zone(reading: Reading<'_>) -> Result<ZoneRef, Logged> {
    let words = reading.words();
    // nginx has checked that there are at least two arguments.
    let [directive, key, arguments @ ..] = words.as_slice() else {
        return Err(Logged);
    };
    // SAFETY: nginx sets the size when it starts, before it reads any configuration.
    let page_size = unsafe { ngx_pagesize } as u64;
    let args = ZoneArgs::parse(directive, arguments.iter().copied(), page_size)
        .map_err(|error| reading.fail(error))?;
    #[cfg(feature = "test-hooks")]
    super::hooks::ask_by_name(args.name);
    let key = reading.compile_key(key)?;
    let shm_zone = reading.shared_zone(args.name, args.size)?;
    if let Some(bound) = shm_zone.declared() {
        let key = bound.key_text();
        return Err(reading.fail(ConfigError::Bound { directive, zone: args.name, key }));
    }
    let plain = args.rule.rule(None, None, 0).map_err(|error| reading.fail(error))?;
    let place = reading.place();
    let zone = Zone { key, rule: args.rule, full: args.full, plain, place, table: None };
    let zone = reading.keep(zone)?;
    // SAFETY: the pool that keeps it is that of the configuration.
    unsafe { shm_zone.declare(zone) };
    Ok(shm_zone)
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
        // SAFETY: `cf` is what nginx hands over, and is not used after the call.
        let Ok(limit) = read_limit(unsafe { Reading::new(cf) }) else {
            return raw::CONF_ERROR;
        };
        if loc_conf.limits.iter().any(|other| other.zone == limit.zone) {
            return c"is duplicate".as_ptr().cast_mut();
        }
        // SAFETY: as above; the directive may stand in the http block alone, and nobody else holds
        // a reference while it is read.
        unsafe { module::main_conf(cf) }.uses.push(Rc::clone(&limit));
        loc_conf.limits.push(limit);
        raw::CONF_OK
    })
}

fn read_limit(reading: Reading<'_>) -> Result<Rc<Limit>, Logged> {
    let words = reading.words();
    let [directive, arguments @ ..] = words.as_slice() else {
        return Err(Logged);
    };
    let args = LimitArgs::parse(directive, arguments.iter().copied())
        .map_err(|error| reading.fail(error))?;
    Ok(Rc::new(Limit {
        // Size 0: the zone is only named here.
        zone: reading.shared_zone(args.zone, 0)?,
        burst: args.burst,
        delay: args.delay,
        place: reading.place(),
        rule: OnceCell::new(),
    }))
}

/// A directive that nginx is reading.
#[derive(Clone, Copy)]
struct Reading<'c>(*mut ngx_conf_t, PhantomData<&'c ngx_conf_t>);

impl<'c> Reading<'c> {
    /// # Safety
    ///
    /// `cf` must be what nginx hands to the function that sets a directive, for as long as the value
    /// is used; `'c` must end with the configuration.
    unsafe fn new(cf: *mut ngx_conf_t) -> Self {
        Self(cf, PhantomData)
    }

    /// The words of the directive, its name first.
    fn words(self) -> Vec<&'c [u8]> {
        // SAFETY: by the contract of `new`.
        let words = unsafe { raw::words(self.0) };
        // SAFETY: the words are from the configuration's pool.
        words.iter().map(|word| unsafe { raw::bytes(*word) }).collect()
    }

    /// Where it stands.
    fn place(self) -> Place {
        // SAFETY: by the contract of `new`.
        unsafe { Place::of(self.0) }
    }

    /// Compiles the text of a key with its variables.
    fn compile_key(self, text: &'c [u8]) -> Result<ngx_http_complex_value_t, Logged> {
        let mut text = raw::text(text);
        // SAFETY: all-zero is what nginx's own code starts from for both.
        let (mut key, mut job): (ngx_http_complex_value_t, ngx_http_compile_complex_value_t) =
            unsafe { (mem::zeroed(), mem::zeroed()) };
        job.cf = self.0;
        job.value = &raw mut text;
        job.complex_value = &raw mut key;
        // SAFETY: `cf` is live by the contract of `new`, and the other pointers are valid for the
        // call; nginx copies the text's descriptor and logs what is wrong.
        if unsafe { ngx_http_compile_complex_value(&raw mut job) } != raw::OK {
            return Err(Logged);
        }
        Ok(key)
    }

    /// Finds or adds a zone of this module by its name.
    fn shared_zone(self, name: &'c [u8], size: u64) -> Result<ZoneRef, Logged> {
        let mut name = raw::text(name);
        let size = usize::try_from(size).map_err(|_| Logged)?;
        let tag = (&raw mut module::ngx_http_rl_module).cast::<c_void>();
        // SAFETY: `cf` is live by the contract of `new`; nginx copies the name's descriptor and logs
        // what is wrong.
        let zone = unsafe { ngx_shared_memory_add(self.0, &raw mut name, size, tag) };
        let zone = NonNull::new(zone).ok_or(Logged)?;
        // SAFETY: added with our tag just now, and kept in the configuration that is being read.
        Ok(unsafe { ZoneRef::new(zone) })
    }

    /// Keeps a value as long as the configuration.
    fn keep<T>(self, value: T) -> Result<NonNull<T>, Logged> {
        // SAFETY: `cf` and its pool are live by the contract of `new`.
        unsafe { raw::into_pool((*self.0).pool, value) }.ok_or(Logged)
    }

    /// Logs what is wrong with the directive.
    fn fail(self, error: impl fmt::Display) -> Logged {
        // SAFETY: by the contract of `new`.
        unsafe { log::directive_error(self.0, format_args!("{error}")) };
        Logged
    }
}

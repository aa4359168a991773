//! Lines to nginx's logs.
#![allow(unsafe_code)]

use core::fmt;

use nginx_sys::{
    ngx_conf_log_error, ngx_conf_t, ngx_cycle, ngx_log_error_core, ngx_log_t, ngx_str_t, ngx_uint_t,
};

use super::raw;
use crate::report::Line;

/// Where in the configuration a directive stands.
pub struct Place {
    file: ngx_str_t,
    line: ngx_uint_t,
}

impl Place {
    /// The place of the directive that is being read.
    ///
    /// # Safety
    ///
    /// `cf` must be what nginx hands to the function that sets a directive, and the value must not
    /// be used longer than the configuration.
    pub unsafe fn of(cf: *const ngx_conf_t) -> Self {
        // SAFETY: by the caller's contract.
        let file = unsafe { &*(*cf).conf_file };
        Self { file: file.file.name, line: file.line }
    }

    /// Adds the place to a line, as nginx ends its own of errors in directives. Names of zones may be
    /// longer than a line.
    pub fn end(&self, line: &mut Line) {
        // SAFETY: the name of a configuration file lies in the pool of the configuration.
        let file = unsafe { raw::bytes(self.file) };
        let mut place = Line::new();
        place.push(b" in ").push(file).put(format_args!(":{}", self.line));
        line.end(&place);
    }
}

/// Logs a line if the log takes the level.
///
/// # Safety
///
/// `log` must be a live log of nginx.
pub unsafe fn write(log: *mut ngx_log_t, level: ngx_uint_t, line: &Line) {
    // SAFETY: the log is live, by the caller's contract.
    if unsafe { (*log).log_level } < level {
        return;
    }
    let bytes = line.as_bytes();
    // SAFETY: as above; "%*s" takes a length of type size_t and that many bytes.
    unsafe { ngx_log_error_core(level, log, 0, c"%*s".as_ptr(), bytes.len(), bytes.as_ptr()) }
}

/// Logs an error in a directive, with the file and line that nginx is reading.
///
/// # Safety
///
/// `cf` must be what nginx hands to the function that sets a directive.
pub unsafe fn directive_error(cf: *mut ngx_conf_t, text: fmt::Arguments<'_>) {
    let mut line = Line::new();
    let bytes = line.put(text).as_bytes();
    // SAFETY: `cf` is live, by the caller's contract; "%*s" takes a length and that many bytes.
    unsafe {
        ngx_conf_log_error(raw::LOG_EMERG, cf, 0, c"%*s".as_ptr(), bytes.len(), bytes.as_ptr());
    }
}

/// Logs a line that belongs neither to a request nor to a configuration.
pub fn to_cycle(level: ngx_uint_t, line: &Line) {
    // SAFETY: nginx sets the pointer before it calls any module and changes it only between
    // events, in the one thread that runs both; the log of a cycle lives as long as the cycle.
    unsafe {
        if !ngx_cycle.is_null() && !(*ngx_cycle).log.is_null() {
            write((*ngx_cycle).log, level, line);
        }
    }
}

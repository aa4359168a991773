//! `$rl_req_status`
#![allow(unsafe_code)]

use nginx_sys::{
    ngx_conf_t, ngx_http_add_variable, ngx_http_request_t, ngx_http_variable_value_t, ngx_int_t,
    ngx_uint_t, NGX_HTTP_VAR_NOCACHEABLE,
};
use ngx::ngx_string;

use super::guard::guard;
use super::raw;
use super::request::Request;

/// Makes the variable known to nginx.
///
/// # Safety
///
/// `cf` must be what nginx hands to a module before it reads the http block.
pub unsafe fn register(cf: *mut ngx_conf_t) -> ngx_int_t {
    let mut name = ngx_string!("rl_req_status");
    // SAFETY: `cf` is live, by the caller's contract; nginx copies the name.
    let variable = unsafe {
        ngx_http_add_variable(cf, &raw mut name, NGX_HTTP_VAR_NOCACHEABLE as ngx_uint_t).as_mut()
    };
    let Some(variable) = variable else {
        return raw::ERROR;
    };
    variable.get_handler = Some(status);
    raw::OK
}

/// Called by nginx for the value.
unsafe extern "C" fn status(
    r: *mut ngx_http_request_t,
    value: *mut ngx_http_variable_value_t,
    _data: usize,
) -> ngx_int_t {
    guard("variable", raw::ERROR, || {
        // SAFETY: nginx hands over a live request and a value to fill.
        let (request, value) = unsafe { (Request::new(r), &mut *value) };
        let Some(status) = request.status() else {
            value.set_not_found(1);
            return raw::OK;
        };
        let word = status.word();
        value.set_valid(1);
        value.set_no_cacheable(0);
        value.set_not_found(0);
        value.set_len(u32::try_from(word.len()).unwrap_or_default());
        value.data = word.as_ptr().cast_mut();
        raw::OK
    })
}

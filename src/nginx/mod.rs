//! The glue to nginx. Only here does a type of nginx have a name.
//!
//! | file | concern |
//! |---|---|
//! | `module` | what nginx finds in the `.so`: the module, its directives and hooks |
//! | `directives` | `rl_zone` and `rl_req` as they are read |
//! | `conf` | the configuration of a location and of the whole, and their merge |
//! | `settle` | what can be settled only once the http block has been read |
//! | `zone` | a zone: its key, its algorithm and rate, its table in shared memory |
//! | `clock` | the clocks |
//! | `limit` | one `rl_req` as the engine sees it |
//! | `handler` | one request in the preaccess phase |
//! | `delay` | holding a request and letting it go on |
//! | `request` | what is asked of a request; the outcome that goes with it |
//! | `variables` | `$rl_req_status` |
//! | `log` | lines to nginx's logs |
//! | `guard` | no panic reaches nginx |
//! | `hooks` | for tests: a worker that stops or panics |
//! | `raw` | nginx's constants and strings with one type each |
//!
//! Glue converts and does not decide: what could be tested without nginx is in another room.

mod clock;
mod conf;
mod delay;
mod directives;
mod guard;
mod handler;
#[cfg(feature = "test-hooks")]
mod hooks;
mod limit;
mod log;
mod module;
mod raw;
mod request;
mod settle;
mod variables;
mod zone;

pub use module::{ngx_http_rl_module, ngx_module_names, ngx_module_order, ngx_modules};

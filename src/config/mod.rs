//! Directive arguments to types. Pure: no nginx type, no clock.
//!
//! The grammar and the wording of the errors are those of nginx's `limit_req_zone` and
//! `limit_req` (`ngx_http_limit_req_module.c`), so that what people search for is found. Text is
//! parsed once, here; the types stand for valid values.

mod algorithm;
mod error;
mod limit;
mod number;
mod rate;
mod rule;
mod time;
mod zone;

pub use algorithm::AlgorithmName;
pub use error::ConfigError;
pub use limit::{Delay, LimitArgs};
pub use rate::Rate;
pub use rule::{LimitError, Unusable, ZoneRule};
pub use zone::ZoneArgs;

//! Types to text: status words and the lines of the error log.
//!
//! The lines are those of nginx's `limit_req`, to the byte: fail2ban, CrowdSec and people parse
//! them.

mod line;
mod log;
mod status;

pub use line::Line;
pub use log::{delayed, key_too_long, no_room, rejected};
pub use status::Status;

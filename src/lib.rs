//! A dynamic nginx module that limits the rate of requests: a drop-in for nginx's own
//! `limit_req`, with a state table that holds more keys and that spraying keys does not flush.
//!
//! # Rooms
//!
//! | module | what lives there | may know |
//! |---|---|---|
//! | [`limit`] | the algorithms: integers in, verdict out; no clock, no memory, no unsafe | nothing |
//! | [`store`] | the shared-memory table: layout, locks, eviction, counters | `limit` |
//! | [`engine`] | one request against several limits: judge all, then charge all | `limit`, `store` |
//! | [`config`] | directive arguments to types; every error quotes the value | `limit` |
//! | [`report`] | types to text: log lines, status words | `limit`, plain values of the others |
//! | `lab` | `rl-lab`: the same algorithms on the clock of a log | `limit`, `config` |
//! | `nginx` | the glue; only here does a type of nginx have a name | everything |
//!
//! Time is always an argument: nothing outside `nginx` reads a clock, but for the bounded wait of
//! the table's lock in [`store`].

pub mod config;
pub mod engine;
#[cfg(feature = "lab")]
pub mod lab;
pub mod limit;
#[cfg(feature = "module")]
pub mod nginx;
pub mod report;
pub mod store;

//! What is fuzzed: one function for each target, from any bytes to an assertion that fails.
//!
//! They live here once. `tests/fuzz_smoke.rs` runs them on a few thousand inputs in every
//! `make test`, the targets of `fuzz/` for as long as one likes (`make fuzz`). A body returns how
//! many events of interest it has met, so that a run can tell that it has tested something.
//!
//! | file | what |
//! |---|---|
//! | `bytes` | the input as numbers, words and rules |
//! | `arena` | memory with guards around it, and bits that are put into it |
//! | `directives` | arguments of `rl_zone` and `rl_req` |
//! | `attach` | a table found in memory that holds anything |
//! | `hostile` | any bits in a table that is in use |
//! | `sequence` | operations on a small table against a map |
//! | `log` | access logs through `rl-lab` |
//!
//! Each needs `support` in the root of its crate.

pub mod arena;
pub mod attach;
pub mod bytes;
pub mod directives;
pub mod hostile;
#[cfg(feature = "lab")]
pub mod log;
pub mod sequence;

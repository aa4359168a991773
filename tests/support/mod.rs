//! What the tests of the table share.
//!
//! | file | what |
//! |---|---|
//! | `memory` | memory for a table, a shared mapping (unsafe) |
//! | `process` | forked processes, owners of locks (unsafe) |
//! | `model` | one key on the heap, judged and stored as the engine does |
//! | `keys` | keys that live in wanted buckets, the rule they are charged by |
#![allow(dead_code, reason = "every test binary uses another part")]

pub mod keys;
pub mod memory;
pub mod model;
pub mod process;

/// How much more a heavy test does if `RL_LONG` is set.
pub fn scale() -> u32 {
    if std::env::var_os("RL_LONG").is_some_and(|value| value != "0") {
        20
    } else {
        1
    }
}

/// The seed of a random test: that of `RL_SEED`, else a new one. Printed, so that a failure can be
/// replayed.
pub fn seed(test: &str) -> u64 {
    let seed = std::env::var("RL_SEED")
        .ok()
        .map_or_else(|| fastrand::u64(..), |seed| seed.parse().expect("RL_SEED is a number"));
    println!("{test}: RL_SEED={seed}");
    seed
}

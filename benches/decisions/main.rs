//! Decisions beside the unmodified C module of nginx: the same keys, the same clock, in turn.
//!
//! `cargo bench --features vendored,lab --bench decisions` (`make bench` also sends requests through
//! nginx). `RL_BENCH_QUICK=1` leaves out what takes long; sections can be named: `-- hits fill`.
//! Writes Markdown to standard output.
//!
//! A decision is hash, lock, look-up, arithmetic, store and count. What differs from a request in
//! nginx is that both sides are told the time.
//!
//! | file | what |
//! |---|---|
//! | `race` | the sides in turn, in one process or several |
//! | `stock`, `ours`, `line` | the sides |
//! | `grid` | what is measured |
//! | `fill` | keys per megabyte |
//! | `sheet` | tables |
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    dead_code,
    reason = "a benchmark; it shares files with the tests"
)]

mod fill;
mod grid;
mod line;
#[path = "../../tests/support/memory.rs"]
mod memory;
mod ours;
#[path = "../../tests/support/process.rs"]
mod process;
mod race;
mod sheet;
mod stock;

/// A section, by the name under which it can be asked for; told whether to leave out what takes
/// long.
type Section = (&'static str, fn(bool));

const SECTIONS: [Section; 7] = [
    ("hits", grid::hits),
    ("algorithms", grid::algorithms),
    ("refusals", grid::refusals),
    ("new-keys", grid::new_keys),
    ("limits", grid::several_limits),
    ("key-lengths", grid::key_lengths),
    ("fill", fill::keys_per_megabyte),
];

fn main() {
    let quick = std::env::var_os("RL_BENCH_QUICK").is_some();
    // cargo adds --bench.
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    for (name, section) in SECTIONS {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            section(quick);
        }
    }
}

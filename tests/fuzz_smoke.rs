//! The bodies of the fuzz targets on a few thousand inputs: the committed ones of `tests/data/fuzz`,
//! and what follows from them and from random bytes by fixed seeds. `make fuzz` is the long run.
//!
//! An input on which a fuzzer has found something belongs into `tests/data/fuzz/TARGET/`.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod fuzz_bodies;
mod support;

use std::fs;
use std::panic::{catch_unwind, resume_unwind};

/// Inputs of each body besides the committed ones; twenty times as many with `RL_LONG`.
const INPUTS: u32 = 3000;

/// Longest random input, and the most that a derived one grows.
const LONGEST: usize = 600;

/// Runs a body; there must be something of interest in so many of 100 inputs.
fn smoke(target: &str, body: fn(&[u8]) -> usize, percent: u32) {
    let corpus = committed(target);
    let mut random = fastrand::Rng::with_seed(0x72_6c);
    let (mut met, mut events) = (0, 0);
    let mut run = |input: &[u8]| {
        let events_here = catch_unwind(|| body(input)).unwrap_or_else(|panic| {
            println!("{target}: input b\"{}\"", input.escape_ascii());
            resume_unwind(panic)
        });
        met += u32::from(events_here > 0);
        events += events_here;
    };
    corpus.iter().for_each(|input| run(input));
    let inputs = INPUTS * support::scale();
    (0..inputs).for_each(|_| run(&derived(&corpus, &mut random)));
    println!(
        "{target}: {} committed and {inputs} more inputs, {met} of use, {events} events",
        corpus.len()
    );
    assert!(met * 100 > inputs * percent, "{met} of {inputs} inputs met anything");
}

fn committed(target: &str) -> Vec<Vec<u8>> {
    let folder = format!("{}/tests/data/fuzz/{target}", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    // The order of a folder is the machine's.
    names.sort();
    let corpus: Vec<_> = names.iter().map(|name| fs::read(name).unwrap()).collect();
    assert!(!corpus.is_empty());
    corpus
}

/// Random bytes, or a committed input with a few pieces changed, dropped or put in from others.
fn derived(corpus: &[Vec<u8>], random: &mut fastrand::Rng) -> Vec<u8> {
    let any = |random: &mut fastrand::Rng| corpus[random.usize(..corpus.len())].clone();
    if random.u8(..4) == 0 {
        return (0..random.usize(..LONGEST)).map(|_| random.u8(..)).collect();
    }
    let mut input = any(random);
    for _ in 0..random.usize(1..6) {
        let from = random.usize(..=input.len());
        let to = (from + random.usize(..12)).min(input.len());
        match random.u8(..4) {
            0 => drop(input.drain(from..to)),
            1 => input[from..to].iter_mut().for_each(|byte| *byte = random.u8(..)),
            2 => input.insert(from, random.u8(..)),
            _ => {
                let other = any(random);
                let start = random.usize(..=other.len());
                let end = (start + random.usize(..LONGEST / 6)).min(other.len());
                drop(input.splice(from..to, other[start..end].iter().copied()));
            }
        }
    }
    input
}

#[test]
fn directives() {
    smoke("directives", fuzz_bodies::directives::run, 30);
}

#[test]
fn attach() {
    smoke("attach", fuzz_bodies::attach::run, 20);
}

#[test]
fn hostile() {
    smoke("hostile", fuzz_bodies::hostile::run, 60);
}

#[test]
fn sequence() {
    smoke("sequence", fuzz_bodies::sequence::run, 60);
}

#[cfg(feature = "lab")]
#[test]
fn log() {
    smoke("log", fuzz_bodies::log::run, 20);
}

//! Two sides in turn, in one process or in several at once.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::memory::Memory;
use super::process::Forked;

/// Processors that are used, one for each process.
pub const PROCESSORS: usize = 2;

/// Rounds that count. One more goes before them, to map the memory in each process.
const ROUNDS: usize = 5;

/// Longest key.
const LONGEST_KEY: usize = 1024;

/// Something that decides.
pub trait Side {
    /// This process is worker number so-and-so from now on.
    fn enter(&self, worker: usize);

    /// Whether a request is admitted.
    fn take(&self, key: &[u8], now_ms: u64) -> bool;
}

/// What is asked of both sides.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Different keys.
    pub keys: Keys,
    /// Bytes of a key.
    pub key_bytes: usize,
    /// Decisions in a round and process.
    pub decisions: u64,
    /// Decisions of all processes in a millisecond of the clock that both sides are told.
    pub per_ms: u64,
    /// Processes that decide at once.
    pub processes: usize,
}

/// Where keys come from.
#[derive(Clone, Copy, Debug)]
pub enum Keys {
    /// So many, in random order. All of them are known before the first round.
    Known(u64),
    /// Each is a new one.
    New,
}

/// The clock when keys are made known, in milliseconds.
const START_MS: u64 = 1_000_000_000;

/// Where the clock stands: on a cache line away from the rest.
const CLOCK: usize = 128;

/// One measurement of both sides: nanoseconds for a decision.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Median over the rounds.
    pub median: f64,
    /// The fastest and the slowest round.
    pub range: (f64, f64),
}

/// Lets the sides decide the same requests in turn.
///
/// # Panics
///
/// The sides have admitted different numbers of requests.
pub fn race<const N: usize>(load: Load, sides: [&dyn Runner; N]) -> [Times; N] {
    if let Keys::Known(keys) = load.keys {
        for side in sides {
            side.fill(&load, keys);
        }
    }
    let board = Memory::zeroed(4096);
    let words = board.words();
    words[CLOCK].store(START_MS + 1, Ordering::Release);
    let workers: Vec<Forked> = (0..load.processes)
        .map(|worker| Forked::run(|| work(words, load, worker, &sides)))
        .collect();
    for mut worker in workers {
        assert!(worker.wait(), "a worker has failed");
    }
    let admitted: Vec<u64> = (0..N).map(|side| board_sum(words, load, side)).collect();
    // Processes that run at once take turns at random. One that loses its processor may do so inside a
    // lock, and then others pass untracked; or before it, and then its clock is behind.
    let spread = admitted.iter().max().unwrap() - admitted.iter().min().unwrap();
    let allowed = (load.processes as u64 - 1) * (20 + load.decisions / 200);
    assert!(spread <= allowed, "admitted: {admitted:?}, {load:?}");
    std::array::from_fn(|side| times(words, load, side))
}

/// A [`Side`] whose loop the compiler has seen.
pub trait Runner {
    /// Makes all keys known.
    fn fill(&self, load: &Load, keys: u64);
    /// Decides one round; how many were admitted, and nanoseconds for each.
    fn round(&self, load: &Load, clock: &AtomicU64, worker: usize, round: usize) -> (u64, f64);
    /// See [`Side::enter`].
    fn enter(&self, worker: usize);
}

impl<S: Side> Runner for S {
    fn fill(&self, load: &Load, keys: u64) {
        self.enter(0);
        let mut text = [b'k'; LONGEST_KEY];
        for number in 0..keys {
            assert!(self.take(key(&mut text, load.key_bytes, number), START_MS));
        }
    }

    fn round(&self, load: &Load, clock: &AtomicU64, worker: usize, round: usize) -> (u64, f64) {
        let mut text = [b'k'; LONGEST_KEY];
        let mut random = (round as u64) << 8 | worker as u64 | 1 << 40;
        let (mut admitted, mut last, mut until_next_ms) = (0, false, load.per_ms);
        let base = (round * load.processes + worker) as u64 * load.decisions;
        let begin = Instant::now();
        for n in 0..load.decisions {
            // Each key waits for the last answer, as a worker's next request does.
            random =
                random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1 + u64::from(last));
            let number = match load.keys {
                Keys::Known(keys) => ((random >> 32) * keys) >> 32,
                Keys::New => base + n,
            };
            let key = key(&mut text, load.key_bytes, number);
            last = self.take(key, clock.load(Ordering::Relaxed));
            // All processes move the same clock, so that none is ahead of another.
            until_next_ms -= 1;
            if until_next_ms == 0 {
                until_next_ms = load.per_ms;
                clock.fetch_add(1, Ordering::Relaxed);
            }
            admitted += u64::from(last);
        }
        (admitted, begin.elapsed().as_nanos() as f64 / load.decisions as f64)
    }

    fn enter(&self, worker: usize) {
        Side::enter(self, worker);
    }
}

/// A key by number: 4 bytes that differ for each, at the front of the text.
#[inline]
fn key(text: &mut [u8; LONGEST_KEY], bytes: usize, number: u64) -> &[u8] {
    let spread = (number as u32).wrapping_mul(2_654_435_769);
    text[..4].copy_from_slice(&spread.to_ne_bytes());
    &text[..bytes]
}

/// One process: all rounds, side by side, in step with the other processes.
fn work(board: &[AtomicU64], load: Load, worker: usize, sides: &[&dyn Runner]) {
    pin(worker);
    for side in sides {
        side.enter(worker);
    }
    let arrived = &board[0];
    let mut steps = 0;
    for round in 0..=ROUNDS {
        for (n, side) in sides.iter().enumerate() {
            steps += load.processes as u64;
            arrived.fetch_add(1, Ordering::AcqRel);
            while arrived.load(Ordering::Acquire) < steps {
                std::hint::spin_loop();
            }
            let (admitted, ns) = side.round(&load, &board[CLOCK], worker, round);
            if round > 0 {
                place(board, n, worker, round, 0).store(admitted, Ordering::Release);
                place(board, n, worker, round, 1).store(ns.to_bits(), Ordering::Release);
            }
        }
    }
}

/// Where a result stands.
fn place(board: &[AtomicU64], side: usize, worker: usize, round: usize, what: usize) -> &AtomicU64 {
    &board[1 + what + 2 * (round - 1 + ROUNDS * (worker + PROCESSORS * side))]
}

fn board_sum(board: &[AtomicU64], load: Load, side: usize) -> u64 {
    let places = (0..load.processes).flat_map(|worker| (1..=ROUNDS).map(move |r| (worker, r)));
    places.map(|(worker, r)| place(board, side, worker, r, 0).load(Ordering::Acquire)).sum()
}

fn times(board: &[AtomicU64], load: Load, side: usize) -> Times {
    let ns = |worker, round| {
        f64::from_bits(place(board, side, worker, round, 1).load(Ordering::Acquire))
    };
    let mean =
        |round| (0..load.processes).map(|w| ns(w, round)).sum::<f64>() / load.processes as f64;
    let mut rounds: Vec<f64> = (1..=ROUNDS).map(mean).collect();
    rounds.sort_unstable_by(f64::total_cmp);
    Times { median: rounds[ROUNDS / 2], range: (rounds[0], rounds[ROUNDS - 1]) }
}

/// Keeps this process on a processor of its own.
fn pin(worker: usize) {
    // SAFETY: all-zero is an empty set of this plain struct.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: sets a bit of the set; the number is small.
    unsafe { libc::CPU_SET(worker % PROCESSORS, &mut set) };
    // SAFETY: reads the set. A machine with one processor refuses, which changes nothing here.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
}

//! Four threads on one table, each with a view and an owner of its own. See `Namesake` for why
//! that owner is an idle process.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod support;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use ngx_http_rl::limit::LeakyState;
use ngx_http_rl::store::{Counter, KeyHash, Table};
use support::keys::{key, take, AT_ONCE, RECOVERY_MS};
use support::memory::{Memory, SLOTS};
use support::process::{alone, Namesake};

const THREADS: usize = 4;

/// Runs a body in each thread, with its view of the table, its number and its random numbers.
fn in_threads(
    memory: &Memory,
    seed: u64,
    body: impl Fn(&Table<LeakyState>, usize, &mut fastrand::Rng) + Sync,
) {
    let namesakes: Vec<Namesake> = (0..THREADS).map(|_| Namesake::new()).collect();
    thread::scope(|scope| {
        for (number, namesake) in namesakes.iter().enumerate() {
            let body = &body;
            scope.spawn(move || {
                let table = memory.attach();
                table.adopt(namesake.owner(), number);
                body(&table, number, &mut fastrand::Rng::with_seed(seed + number as u64));
            });
        }
    });
}

/// Judges and charges one request. A decision that was given up has changed nothing and is made
/// again: on a busy machine a thread may lose its processor for 50 ms inside a lock.
fn take_surely(table: &Table<LeakyState>, key: KeyHash, now: u64) -> bool {
    let since = Instant::now();
    loop {
        if let Ok(passed) = take(table, key, now) {
            return passed;
        }
        assert!(since.elapsed() < Duration::from_secs(20), "no lock in 20 s");
    }
}

/// Rounds of new keys on one table, at a time at which those of the round before have recovered.
/// Within a round nothing refills, so that each key is admitted exactly so often, whoever asks.
#[test]
fn each_key_is_admitted_exactly_what_its_burst_allows() {
    let _alone = alone();
    let seed = support::seed("each_key_is_admitted_exactly_what_its_burst_allows");
    const BUCKETS: usize = 400;
    let keys = BUCKETS * SLOTS * 84 / 100;
    let rounds = 30 * support::scale() as usize;
    let memory = Memory::for_buckets(BUCKETS);
    let first = memory.create(seed);
    let admitted: Vec<AtomicU64> = (0..rounds * keys).map(|_| AtomicU64::new(0)).collect();
    let barrier = Barrier::new(THREADS);
    in_threads(&memory, seed, |table, _, random| {
        for round in 0..rounds {
            // Three times each, in an order of their own: 12 requests for 4 places.
            let mut order: Vec<usize> = (0..keys).flat_map(|number| [number; 3]).collect();
            random.shuffle(&mut order);
            barrier.wait();
            for number in order {
                let number = round * keys + number;
                let now = (round as u64 + 1) * RECOVERY_MS;
                if take_surely(table, key(table, number as u64), now) {
                    admitted[number].fetch_add(1, Relaxed);
                }
            }
        }
    });
    let counters = first.counters();
    let [moved, recovered, live, untracked] =
        [Counter::Moved, Counter::EvictedRecovered, Counter::EvictedLive, Counter::Untracked]
            .map(|counter| counters.of(counter));
    let wrong = admitted.iter().filter(|count| count.load(Relaxed) != AT_ONCE).count();
    println!(
        "{} keys in {rounds} rounds: {moved} moves, {recovered} recovered and {live} live evicted, \
         {untracked} untracked, {wrong} wrong totals",
        admitted.len()
    );
    assert!(moved > 100 && recovered > 100, "no churn, so the test shows nothing");
    assert_eq!((memory.duplicates(), memory.held()), (0, 0));
    assert_eq!(wrong as u64, 0, "with {live} live evictions");
    assert_eq!(live, 0, "chosen so that there is room");
}

/// All threads on one key, which is the worst for the lock.
#[test]
fn one_hot_key_is_exact() {
    let _alone = alone();
    let memory = Memory::for_buckets(2);
    let table = memory.create(1);
    let requests = 50_000 * u64::from(support::scale());
    in_threads(&memory, 1, |table, _, _| {
        let key = key(table, 1);
        for _ in 0..requests {
            match take_surely(table, key, 0) {
                true => table.count(Counter::Passed),
                false => table.count(Counter::Rejected),
            }
        }
    });
    let counters = table.counters();
    assert_eq!(counters.of(Counter::Passed), AT_ONCE);
    assert_eq!(counters.of(Counter::Rejected), THREADS as u64 * requests - AT_ONCE);
    println!("one hot key: {} untracked", counters.of(Counter::Untracked));
    assert_eq!((memory.tags().len(), memory.held()), (1, 0));
}

/// More keys than fit: records are lost all the time, but never is one there twice.
#[test]
fn a_spray_by_all_threads_leaves_no_duplicates() {
    let _alone = alone();
    let memory = Memory::for_buckets(40);
    let table = memory.create(1);
    let each = 40_000 * u64::from(support::scale());
    in_threads(&memory, 7, |table, number, random| {
        for n in 0..each {
            let spray = 1_000 + number as u64 * each + n;
            // Half of it new keys, half of it a few that all threads share.
            let number = if random.bool() { spray } else { random.u64(..100) };
            take_surely(table, key(table, number), n / 100);
        }
    });
    let counters = table.counters();
    println!(
        "spray: {} live evictions, {} moves, {} untracked",
        counters.of(Counter::EvictedLive),
        counters.of(Counter::Moved),
        counters.of(Counter::Untracked)
    );
    assert!(counters.of(Counter::EvictedLive) > each / 2);
    assert!(counters.of(Counter::Moved) > 0);
    assert_eq!((memory.duplicates(), memory.held()), (0, 0));
    assert!(memory.tags().len() * 100 >= table.slots() * 99);
}

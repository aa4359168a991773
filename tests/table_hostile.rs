//! Any bits in the memory: no panic, nothing outside, an end.
//!
//! The pages before and behind the table's part stay as they are; what the table does with the
//! rubbish is its own affair.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod support;

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use ngx_http_rl::limit::{Leaky, LeakyState};
use ngx_http_rl::store::{Counter, Secret, Table};
use support::keys::{key, take, take_by};
use support::memory::{Memory, BUCKET, HEADER, KEY, LEAKY, SLOTS};
use support::process::Namesake;

const BUCKETS: usize = 7;

/// Words before and behind the table that must stay.
const GUARD: usize = 16;

/// Patterns that are more likely to hurt than random ones.
fn word(random: &mut fastrand::Rng) -> u64 {
    match random.u8(..6) {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << random.u32(..64),
        3 => u64::from(random.u8(..)),
        _ => random.u64(..),
    }
}

/// Fills the table's part of the memory, header and all, with bits; locks only from `locks`.
fn scribble(memory: &Memory, random: &mut fastrand::Rng, locks: &[u64]) {
    for (n, place) in memory.words().iter().enumerate() {
        let bytes = n * 8;
        let guard = !(GUARD * 8..GUARD * 8 + HEADER + BUCKETS * BUCKET).contains(&bytes);
        let is_lock =
            bytes >= GUARD * 8 + HEADER && (bytes - GUARD * 8 - HEADER).is_multiple_of(BUCKET);
        let word = match (guard, is_lock) {
            (true, _) => 0x6775_6172_6421_2121,
            (false, true) => locks[random.usize(..locks.len())],
            (false, false) => word(random),
        };
        place.store(word, SeqCst);
    }
}

fn guards_stand(memory: &Memory) -> bool {
    let words = memory.snapshot();
    let end = words.len() - GUARD;
    words[..GUARD].iter().chain(&words[end..]).all(|word| *word == 0x6775_6172_6421_2121)
}

/// Asks the table everything it can be asked.
fn ask_all(table: &Table<LeakyState>, random: &mut fastrand::Rng) {
    let rule = Leaky { rate: word(random).max(1), burst: word(random), delay: word(random) };
    let key = key(table, random.u64(..100));
    let now = word(random);
    let _ = take_by(table, &rule, key, now);
    let _ = table.look(key, |state| state.copied());
    let _ = take(table, key, now);
    table.count(Counter::Passed);
    let _ = table.counters().of(Counter::Untracked);
    table.write_label(b"label");
    assert_eq!(table.slots(), BUCKETS * SLOTS, "a bound that comes from the memory");
    let (first, second) = table.candidates(key);
    assert!(first < BUCKETS && second < BUCKETS);
}

/// A table with guards around it, attached before the bits change.
fn guarded() -> (Memory, Table<LeakyState>) {
    let memory = Memory::zeroed(GUARD * 16 + HEADER + BUCKETS * BUCKET);
    let region = memory.part(GUARD * 8, HEADER + BUCKETS * BUCKET);
    let secret = Secret::known([1, 2]);
    let table = Table::create(region, LEAKY, KEY, secret).expect("memory does");
    (memory, table)
}

#[test]
fn any_bits_with_free_locks() {
    let mut random = fastrand::Rng::with_seed(support::seed("any_bits_with_free_locks"));
    let (memory, table) = guarded();
    for _ in 0..2_000 * support::scale() {
        scribble(&memory, &mut random, &[0]);
        for _ in 0..40 {
            ask_all(&table, &mut random);
        }
        assert!(guards_stand(&memory));
    }
    // Cleared, it is as good as new.
    memory.words().iter().for_each(|word| word.store(0, SeqCst));
    assert_eq!(take(&table, key(&table, 1), 0), Ok(true));
}

#[test]
fn any_bits_with_locks_of_the_dead() {
    let mut random = fastrand::Rng::with_seed(support::seed("any_bits_with_locks_of_the_dead"));
    let (memory, table) = guarded();
    // No such pid; pid 0; a living pid with a start that it has not; the own word.
    let Some(own) = word_of(&memory, &table) else { panic!("no lock word was seen") };
    let dead = [0, u64::MAX, 1 << 40, own & 0x3f_ffff | 1 << 60, own];
    let since = Instant::now();
    for _ in 0..50 * support::scale() {
        scribble(&memory, &mut random, &dead);
        for _ in 0..40 {
            ask_all(&table, &mut random);
        }
        assert!(guards_stand(&memory));
    }
    println!("dead owners: {:?} for {} rounds", since.elapsed(), 50 * support::scale());
}

/// The word that this process puts into locks, seen from inside.
fn word_of(memory: &Memory, table: &Table<LeakyState>) -> Option<u64> {
    let (first, _) = table.candidates(key(table, 1));
    let lock = &memory.words()[GUARD + (HEADER + first * BUCKET) / 8];
    take(table, key(table, 1), 0).ok()?;
    table.look(key(table, 1), |_| lock.load(SeqCst)).ok().filter(|word| *word != 0)
}

/// Each lock that somebody alive holds is waited for once, 50 ms; then the table answers at once.
#[test]
fn any_bits_with_locks_of_the_living() {
    let _alone = support::process::alone();
    let mut random = fastrand::Rng::with_seed(support::seed("any_bits_with_locks_of_the_living"));
    let (memory, table) = guarded();
    let living = Namesake::new();
    let other = memory.part(GUARD * 8, HEADER + BUCKETS * BUCKET);
    let other = Table::<LeakyState>::attach(other, LEAKY, KEY).unwrap();
    other.adopt(living.owner(), 0);
    let word = word_of(&memory, &other).unwrap();
    scribble(&memory, &mut random, &[word]);
    let since = Instant::now();
    for _ in 0..2000 {
        ask_all(&table, &mut random);
    }
    let took = since.elapsed();
    println!("all locks held by somebody alive: {took:?} for 8000 decisions");
    // 7 buckets of 50 ms, then 20 us each.
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(guards_stand(&memory));
    let held = |index: usize| memory.words()[GUARD + (HEADER + index * BUCKET) / 8].load(SeqCst);
    assert!((0..BUCKETS).all(|index| held(index) == word), "somebody alive lost a lock");
}

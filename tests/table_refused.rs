//! Refusals without the lock.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::unwrap_used, reason = "a test")]

mod support;

use std::sync::atomic::Ordering;

use ngx_http_rl::engine::{Hold, Judgement, Meter, Metered};
use ngx_http_rl::limit::{Algorithm, Full, Leaky, LeakyState, Now, Verdict};
use ngx_http_rl::store::{KeyHash, Table};
use support::memory::Memory;

const RULE: Leaky = Leaky { rate: 1000, burst: 0, delay: 0 };

const REFUSED: Judgement = Judgement::Reject { excess: 1000 };

const PASSED: Judgement = Judgement::Accept(Hold { wait_ms: 0, excess: 0 });

fn take(table: &Table<LeakyState>, key: KeyHash, ms: u64) -> Judgement {
    Metered { rule: &RULE, table, full: Full::Evict }.take(key, Now::at_ms(ms))
}

/// What is said of the key without its lock.
fn glimpse(table: &Table<LeakyState>, key: KeyHash, ms: u64) -> Option<u64> {
    table.glimpse(key, |state| match RULE.judge(Some(state), Now::at_ms(ms), 1) {
        Verdict::Reject(refusal) => Some(refusal.excess),
        Verdict::Accept(_) => None,
    })
}

#[test]
fn a_flood_is_refused_and_nothing_is_written() {
    let memory = Memory::for_buckets(8);
    let table = memory.create(1);
    let key = table.hash(b"flood");
    assert_eq!(take(&table, key, 5000), PASSED);
    assert!(!table.was_refused(key));
    assert_eq!(take(&table, key, 5000), REFUSED);
    assert!(table.was_refused(key));
    let before = memory.snapshot();
    for _ in 0..1000 {
        assert_eq!(take(&table, key, 5000), REFUSED);
    }
    assert!(before == memory.snapshot());
}

#[test]
fn a_refusal_ends_with_its_reason() {
    let memory = Memory::for_buckets(8);
    let table = memory.create(1);
    let key = table.hash(b"patient");
    take(&table, key, 5000);
    for ms in [5000, 5500, 5999] {
        assert_eq!(take(&table, key, ms), Judgement::Reject { excess: 6000 - ms });
    }
    assert_eq!(take(&table, key, 6000), PASSED);
    assert!(!table.was_refused(key));
    assert_eq!(take(&table, key, 6000), REFUSED);
}

#[test]
fn nothing_is_told_without_a_record_or_while_it_is_locked() {
    let memory = Memory::for_buckets(8);
    let table = memory.create(1);
    let key = table.hash(b"locked");
    assert_eq!(glimpse(&table, key, 5000), None, "no record");
    take(&table, key, 5000);
    assert_eq!(glimpse(&table, key, 5000), Some(1000));
    let (first, _) = table.candidates(key);
    memory.lock(first).store(1, Ordering::SeqCst);
    assert_eq!(glimpse(&table, key, 5000), None, "somebody may be writing");
    memory.lock(first).store(0, Ordering::SeqCst);
    assert_eq!(glimpse(&table, key, 5000), Some(1000));
}

/// Two keys that share a place in what is remembered only forget each other.
#[test]
fn keys_that_share_a_place_are_told_apart() {
    let memory = Memory::for_buckets(64);
    let table = memory.create(1);
    let keys: Vec<KeyHash> = (0..200_u32).map(|n| table.hash(&n.to_le_bytes())).collect();
    for key in &keys {
        assert_eq!(take(&table, *key, 5000), PASSED);
        assert_eq!(take(&table, *key, 5000), REFUSED);
    }
    let known = keys.iter().filter(|key| table.was_refused(**key)).count();
    assert!((30..=64).contains(&known), "{known}");
    assert!(keys.iter().all(|key| take(&table, *key, 5000) == REFUSED));
}

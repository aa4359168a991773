//! Where a new key goes: free, recovered, one move, two moves, then the least charged.
//!
//! Every record that must not be chosen is charged, so that a wrong step shows.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod support;

use ngx_http_rl::limit::LeakyState;
use ngx_http_rl::store::{Counter, KeyHash, Table};
use support::keys::{ahead, keys_in, keys_where, put, record, take, RECOVERY_MS};
use support::memory::{Memory, SLOTS};

/// What has been counted: recovered and live evictions, moves.
fn events(table: &Table<LeakyState>) -> (u64, u64, u64) {
    let counters = table.counters();
    (
        counters.of(Counter::EvictedRecovered),
        counters.of(Counter::EvictedLive),
        counters.of(Counter::Moved),
    )
}

/// Stores charged records for some keys.
fn fill(table: &Table<LeakyState>, keys: &[KeyHash], requests: u64) {
    keys.iter().for_each(|key| put(table, *key, 0, ahead(0, requests)));
}

fn all_there(table: &Table<LeakyState>, keys: &[KeyHash]) -> bool {
    keys.iter().all(|key| record(table, *key).is_some())
}

#[test]
fn free_slots_come_first_those_of_the_first_bucket_before_all() {
    let memory = Memory::for_buckets(4);
    let table = memory.create(1);
    let keys = keys_in(&table, (1, 3), 2 * SLOTS);
    // All but one have recovered and could go.
    for (n, key) in keys.iter().enumerate() {
        put(&table, *key, RECOVERY_MS, ahead(0, 0));
        let used = |bucket: usize| memory.bucket_tags(bucket, SLOTS).len();
        assert_eq!((used(1), used(3)), ((n + 1).min(SLOTS), (n + 1).saturating_sub(SLOTS)));
    }
    assert!(all_there(&table, &keys));
    assert_eq!(events(&table), (0, 0, 0));
}

#[test]
fn a_recovered_record_goes_before_a_charged_one_of_either_bucket() {
    for recovered in 0..2 * SLOTS {
        let memory = Memory::for_buckets(4);
        let table = memory.create(1);
        let keys = keys_in(&table, (1, 3), 2 * SLOTS + 1);
        let (new, old) = keys.split_last().unwrap();
        fill(&table, old, 9);
        // Most charged of all, but long ago.
        put(&table, old[recovered], 0, ahead(0, 3));
        // The others are charged afresh.
        let later = RECOVERY_MS;
        for (n, key) in old.iter().enumerate().filter(|(n, _)| *n != recovered) {
            put(&table, *key, later, ahead(later, 1 + n as u64 % 2));
        }
        put(&table, *new, later, ahead(later, 0));
        assert_eq!(events(&table), (1, 0, 0));
        for (n, key) in keys.iter().enumerate() {
            assert_eq!(record(&table, *key).is_none(), n == recovered, "{n} of {recovered}");
        }
    }
}

/// A record that owes exactly one request has recovered when that has leaked, and not before.
#[test]
fn recovered_means_the_last_thousandth() {
    for (now, lost) in [(999, (0, 1, 0)), (1000, (1, 0, 0))] {
        let memory = Memory::for_buckets(1);
        let table = memory.create(1);
        let keys = keys_in(&table, (0, 0), SLOTS + 1);
        fill(&table, &keys[..SLOTS], 0);
        put(&table, keys[SLOTS], now, ahead(now, 0));
        assert_eq!(events(&table), lost);
    }
}

#[test]
fn a_resident_moves_one_step_for_a_new_key() {
    let memory = Memory::for_buckets(5);
    let table = memory.create(1);
    let keys = keys_in(&table, (1, 3), 2 * SLOTS);
    fill(&table, &keys[1..], 1);
    // Lives in bucket 3 by now, with a way out to a bucket that is empty.
    let mover = keys_where(&table, 1, |(a, b)| (a, b) == (3, 4));
    fill(&table, &mover, 2);
    let before = record(&table, mover[0]);
    put(&table, keys[0], 0, ahead(0, 3));
    assert_eq!(events(&table), (0, 0, 1));
    assert!(all_there(&table, &keys));
    assert_eq!(record(&table, mover[0]), before, "moved as it was");
    assert_eq!(memory.tags().len(), 11);
    assert_eq!(memory.duplicates(), 0);
}

#[test]
fn a_move_takes_a_recovered_place_and_counts_both() {
    let memory = Memory::for_buckets(5);
    let table = memory.create(1);
    let later = RECOVERY_MS;
    let gone = keys_in(&table, (4, 4), SLOTS);
    fill(&table, &gone, 0);
    let keys = keys_in(&table, (1, 3), 2 * SLOTS);
    let mover = keys_in(&table, (3, 4), 1);
    for key in keys[1..].iter().chain(&mover) {
        put(&table, *key, later, ahead(later, 1));
    }
    put(&table, keys[0], later, ahead(later, 1));
    assert_eq!(events(&table), (1, 0, 1));
    assert!(all_there(&table, &keys) && all_there(&table, &mover));
    assert_eq!(gone.iter().filter(|key| record(&table, **key).is_none()).count(), 1);
}

#[test]
fn two_residents_move_where_one_does_not_do() {
    let memory = Memory::for_buckets(6);
    let table = memory.create(1);
    let keys = keys_in(&table, (1, 3), 2 * SLOTS);
    fill(&table, &keys[1..], 1);
    // From the home to 4, which is full; from there to 5, which is empty.
    let step = keys_in(&table, (3, 4), 1);
    let others = keys_in(&table, (4, 4), SLOTS - 1);
    let far = keys_in(&table, (4, 5), 1);
    for keys in [&step, &others, &far] {
        fill(&table, keys, 2);
    }
    put(&table, keys[0], 0, ahead(0, 3));
    assert_eq!(events(&table), (0, 0, 2));
    for keys in [&keys, &step, &others, &far] {
        assert!(all_there(&table, keys));
    }
    assert_eq!(record(&table, step[0]), Some(ahead(0, 2)));
    assert_eq!(record(&table, far[0]), Some(ahead(0, 2)));
    assert_eq!(memory.duplicates(), 0);
}

#[test]
fn a_full_zone_gives_up_the_least_charged_record() {
    for least in 0..2 * SLOTS {
        let memory = Memory::for_buckets(4);
        let table = memory.create(1);
        let keys = keys_in(&table, (1, 3), 2 * SLOTS + 1);
        let (new, old) = keys.split_last().unwrap();
        fill(&table, old, 3);
        put(&table, old[least], 0, ahead(0, 2));
        put(&table, *new, 0, ahead(0, 0));
        assert_eq!(events(&table), (0, 1, 0));
        for (n, key) in keys.iter().enumerate() {
            assert_eq!(record(&table, *key).is_none(), n == least, "{n} of {least}");
        }
    }
}

/// What counts is what is still charged, not what was: leaked time is taken off.
#[test]
fn the_least_charged_is_found_at_the_present_time() {
    let memory = Memory::for_buckets(1);
    let table = memory.create(1);
    let keys = keys_in(&table, (0, 0), SLOTS + 1);
    put(&table, keys[0], 0, ahead(0, 5)); // 6 charged at 0, 1 at 5 s
    for key in &keys[1..SLOTS] {
        put(&table, *key, 5000, ahead(5000, 1)); // 2 charged at 5 s
    }
    put(&table, keys[SLOTS], 5000, ahead(5000, 0));
    assert_eq!(record(&table, keys[0]), None);
    assert!(all_there(&table, &keys[1..]));
}

#[test]
fn a_table_of_one_bucket_works() {
    let memory = Memory::for_buckets(1);
    let table = memory.create(1);
    let keys = keys_in(&table, (0, 0), SLOTS + 1);
    assert_eq!(keys.len(), SLOTS + 1, "both candidates are the one bucket");
    for key in &keys[..SLOTS] {
        assert_eq!(take(&table, *key, 0), Ok(true));
    }
    assert!(all_there(&table, &keys[..SLOTS]));
    assert_eq!(take(&table, keys[SLOTS], 0), Ok(true));
    assert_eq!(events(&table), (0, 1, 0));
    assert_eq!(memory.tags().len(), SLOTS);
    assert_eq!(memory.held(), 0);
}

/// After a search for a move that found none, 15 keys without room evict without searching. Keys
/// that could be helped by a move show it.
#[test]
fn a_vain_search_is_not_repeated_for_fifteen_keys() {
    let memory = Memory::for_buckets(5);
    let table = memory.create(1);
    fill(&table, &keys_in(&table, (1, 1), SLOTS + 1), 3);
    assert_eq!(events(&table), (0, 1, 0), "searched in vain");

    fill(&table, &keys_in(&table, (2, 4), SLOTS), 3);
    let helped = keys_in(&table, (2, 2), 16);
    // Charged less than the residents, so that each drops the one before and the first one drops a
    // resident.
    for (n, key) in helped[..15].iter().enumerate() {
        put(&table, *key, 0, ahead(0, 0));
        assert_eq!(events(&table), (0, 2 + n as u64, 0), "key {n} was searched room for");
    }
    put(&table, helped[15], 0, ahead(0, 0));
    assert_eq!(events(&table), (0, 16, 1), "searched again, and found");
}

//! The table in its memory: laid out, found again, refused; counters, label, smallest zones.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod support;

use std::ffi::CStr;
use std::sync::atomic::Ordering;

use ngx_http_rl::limit::LeakyState;
use ngx_http_rl::store::{AttachError, Counter, Owner, Region, ScalarRecord, Secret, Table};
use support::keys::{ahead, key, put, record, take, AT_ONCE};
use support::memory::{Memory, BUCKET, HEADER, KEY, LEAKY, SLOTS};
use support::process::Namesake;

#[test]
fn geometry_is_as_the_tests_assume() {
    for buckets in [1, 2, 208] {
        let memory = Memory::for_buckets(buckets);
        assert_eq!(memory.create(1).slots(), buckets * SLOTS);
        assert_eq!(memory.buckets(), buckets);
    }
    let memory = Memory::for_buckets(1);
    let table = memory.create(1);
    take(&table, key(&table, 1), 0).unwrap();
    assert_eq!(memory.tags().len(), 1, "the tags are where the tests look for them");
    assert_eq!(memory.held(), 0);
}

#[test]
fn a_record_is_made_found_and_changed() {
    let memory = Memory::for_buckets(20);
    let table = memory.create(1);
    for number in 0..50 {
        let key = key(&table, number);
        assert_eq!(record(&table, key), None);
        put(&table, key, 0, ahead(number, number));
        assert_eq!(record(&table, key), Some(ahead(number, number)));
        put(&table, key, 0, ahead(number, 7));
        assert_eq!(record(&table, key), Some(ahead(number, 7)));
    }
    assert_eq!(memory.tags().len(), 50);
    for number in 0..50 {
        assert_eq!(record(&table, key(&table, number)), Some(ahead(number, 7)));
    }
}

#[test]
fn every_bit_of_a_state_is_kept() {
    let memory = Memory::for_buckets(1);
    let table = memory.create(1);
    for (last, excess) in [(u64::MAX, 0), (0, u64::MAX), (1 << 63, 1), (0x0123_4567_89ab_cdef, 2)] {
        let state = LeakyState { last, excess };
        put(&table, key(&table, 1), 0, state);
        assert_eq!(record(&table, key(&table, 1)), Some(state));
        assert_eq!(LeakyState::from_words(state.to_words()), state);
    }
}

#[test]
fn a_look_and_a_refusal_write_no_record() {
    let memory = Memory::for_buckets(8);
    let table = memory.create(1);
    let before = memory.snapshot();
    for number in 0..100 {
        assert_eq!(record(&table, key(&table, number)), None);
    }
    assert_eq!(memory.snapshot(), before, "a look has written");

    let key = key(&table, 1);
    for _ in 0..AT_ONCE {
        assert_eq!(take(&table, key, 0), Ok(true));
    }
    let full = memory.snapshot();
    assert_eq!(take(&table, key, 0), Ok(false));
    assert_eq!(memory.snapshot(), full, "a refusal has written");
}

#[test]
fn zeroed_buckets_are_an_empty_table_and_are_not_touched() {
    let memory = Memory::for_buckets(100);
    memory.create(3);
    let buckets = &memory.snapshot()[HEADER / 8..];
    assert!(buckets.iter().all(|word| *word == 0));
}

#[test]
fn memory_filled_with_a_pattern_is_cleared() {
    for pattern in [0xa5a5_a5a5_a5a5_a5a5, 1, u64::MAX] {
        let memory = Memory::for_buckets(30);
        memory.words().iter().for_each(|word| word.store(pattern, Ordering::SeqCst));
        let table = memory.create(1);
        assert!(memory.tags().is_empty());
        assert_eq!(memory.held(), 0);
        assert_eq!(table.counters(), ngx_http_rl::store::Counters::default());
        assert_eq!(take(&table, key(&table, 1), 0), Ok(true));
        assert_eq!(memory.attach().counters(), table.counters());
    }
}

#[test]
fn what_was_created_is_found_again() {
    let memory = Memory::for_buckets(30);
    let table = memory.create(42);
    (0..50).for_each(|number| put(&table, key(&table, number), 0, ahead(9, number)));
    let before = memory.snapshot();
    let again = memory.attach();
    assert_eq!(memory.snapshot(), before, "attach has written");
    assert_eq!(again.slots(), table.slots());
    for number in 0..50 {
        assert_eq!(again.hash(&[1, 2]), table.hash(&[1, 2]), "the secret comes with the memory");
        assert_eq!(record(&again, key(&again, number)), Some(ahead(9, number)));
    }
}

#[test]
fn what_is_something_else_is_refused_by_name_and_left_alone() {
    // By `store::layout`.
    for (word, name) in [
        (0, "magic"),
        (1, "layout version"),
        (2, "algorithm"),
        (3, "record size"),
        (4, "key"),
        (5, "number of buckets"),
    ] {
        let memory = Memory::for_buckets(3);
        memory.create(1);
        for value in [0, 1 << 40, u64::MAX] {
            let word = &memory.words()[word];
            let right = word.swap(value, Ordering::SeqCst);
            assert_ne!(right, value);
            let before = memory.snapshot();
            let refused = Table::<LeakyState>::attach(memory.region(), LEAKY, KEY).err();
            assert_eq!(refused, Some(AttachError::Header(name)));
            assert!(AttachError::Header(name).to_string().contains(name));
            assert_eq!(memory.snapshot(), before, "attach has written");
            word.store(right, Ordering::SeqCst);
            memory.attach();
        }
    }
}

#[test]
fn another_key_expression_or_size_is_refused() {
    let memory = Memory::for_buckets(3);
    memory.create(1);
    let attach = |region: Region, key: &[u8]| Table::<LeakyState>::attach(region, LEAKY, key).err();
    assert_eq!(attach(memory.region(), b"$arg_k"), Some(AttachError::Header("key")));
    assert_eq!(attach(memory.region(), b""), Some(AttachError::Header("key")));
    let smaller = memory.part(0, HEADER + 2 * BUCKET);
    assert_eq!(attach(smaller, KEY), Some(AttachError::Header("number of buckets")));
}

#[test]
fn memory_that_does_not_do_is_refused() {
    let memory = Memory::zeroed(HEADER + 3 * BUCKET);
    let secret = Secret::known([1, 2]);
    for (from, bytes) in [(0, 0), (0, HEADER), (0, HEADER + BUCKET - 1), (64, HEADER + BUCKET)] {
        let region = memory.part(from, bytes);
        let create = Table::<LeakyState>::create(region, LEAKY, KEY, secret).err();
        assert_eq!(create, Some(AttachError::Memory), "{from} {bytes}");
        let attach = Table::<LeakyState>::attach(region, LEAKY, KEY).err();
        assert_eq!(attach, Some(AttachError::Memory), "{from} {bytes}");
    }
    assert!(memory.snapshot().iter().all(|word| *word == 0), "written before it was refused");
    assert!(
        Table::<LeakyState>::create(memory.part(128, HEADER + BUCKET), LEAKY, KEY, secret).is_ok()
    );
}

/// Stock's own numbers for keys of up to 48 bytes, with what its slab pool has for one allocation.
#[test]
fn the_smallest_zones_hold_what_stock_holds_in_them() {
    for (bytes, stock) in [(28_672, 191), (1_040_384, 8095)] {
        let memory = Memory::zeroed(bytes);
        let table = memory.create(1);
        (0..stock).for_each(|number| assert_eq!(take(&table, key(&table, number), 0), Ok(true)));
        let kept = (0..stock).filter(|n| record(&table, key(&table, *n)).is_some()).count();
        assert_eq!(kept as u64, stock);
        assert_eq!(table.counters().of(Counter::EvictedLive), 0);
    }
}

/// More processes than there are stripes of their own, some of which have ended.
#[test]
fn counters_are_summed_over_processes_and_views() {
    let memory = Memory::for_buckets(1);
    let tables = [memory.create(1), memory.attach(), memory.attach()];
    let living: Vec<Namesake> = (0..30).map(|_| Namesake::new()).collect();
    // A process of this pid that started at another time is dead.
    let dead = (1..40).map(|start| Owner::of(std::process::id(), start));
    let owners = dead.chain(living.iter().map(Namesake::owner)).chain([Owner::of_this_process()]);
    let mut events = 0;
    for (worker, owner) in owners.enumerate() {
        let table = &tables[worker % 3];
        table.adopt(owner, worker);
        table.count(Counter::Passed);
        (0..worker).for_each(|_| table.count(Counter::Rejected));
        events += worker as u64;
        assert_eq!(table.counters().of(Counter::Passed), worker as u64 + 1);
    }
    for table in &tables {
        let counters = table.counters();
        assert_eq!(counters.of(Counter::Rejected), events);
        assert_eq!(counters.of(Counter::Untracked), 0);
    }
}

#[test]
#[allow(unsafe_code, reason = "reads the label as C does")]
fn a_label_is_cut_and_ends_with_a_zero() {
    let memory = Memory::for_buckets(1);
    let table = memory.create(1);
    let before = memory.snapshot();
    for bytes in [0, 1, 254, 255, 256, 1000] {
        let text = vec![b'x'; bytes];
        let label = table.write_label(&text);
        // SAFETY: it points into the header, and a zero ends it before the header does: that is
        // what this test is for, and the mapping goes on with zeros anyway.
        let read = unsafe { CStr::from_ptr(label.cast()) };
        assert_eq!(read.to_bytes(), &text[..bytes.min(255)]);
        assert!((label as usize) < memory.words().as_ptr() as usize + HEADER);
    }
    table.write_label(b"");
    let changed: Vec<usize> = before
        .iter()
        .zip(memory.snapshot())
        .enumerate()
        .filter(|(_, (before, after))| **before != *after)
        .map(|(word, _)| word * 8)
        .collect();
    assert!(changed.iter().all(|byte| (128..384).contains(byte)), "outside the label: {changed:?}");
}

//! A table without room: what each policy does, what is counted, and when it is reported.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod support;

use ngx_http_rl::engine::{decide, Hold, Judgement, Meter, Metered, Mode, Outcome};
use ngx_http_rl::limit::{
    Algorithm, AnchoredWindow, Full, Leaky, LeakyState, Now, Rule, SlidingLog, SlidingWindow,
};
use ngx_http_rl::store::{
    capacity, Counter, KeyHash, Kind, Record, Secret, Shortage, Table, Untracked, Worth,
};
use support::keys::{ahead, keys_in, keys_where, put, record, RECOVERY_MS, RULE};
use support::memory::{Memory, BUCKET, HEADER, KEY, SLOTS};

/// What a key's first request is told.
const ADMITTED: Judgement = Judgement::Accept(Hold { wait_ms: 0, excess: 0 });

const POLICIES: [Full; 3] = [Full::Evict, Full::Reject, Full::Pass];

/// What has been counted: live and recovered evictions, refused and passed for space, untracked.
fn events(table: &Table<LeakyState>) -> [u64; 5] {
    [
        Counter::EvictedLive,
        Counter::EvictedRecovered,
        Counter::RefusedForSpace,
        Counter::PassedForSpace,
        Counter::Untracked,
    ]
    .map(|counter| table.counters().of(counter))
}

fn meter(table: &Table<LeakyState>, full: Full) -> Metered<'_, Leaky> {
    Metered { rule: &RULE, table, full }
}

/// A table of one bucket, full of keys that owe two requests each, and a key beyond.
fn full_bucket(memory: &Memory) -> (Table<LeakyState>, Vec<KeyHash>, KeyHash) {
    let table = memory.create(1);
    let mut keys = keys_in(&table, (0, 0), SLOTS + 1);
    let new = keys.pop().unwrap();
    keys.iter().for_each(|key| put(&table, *key, 0, ahead(0, 1)));
    (table, keys, new)
}

#[test]
fn each_policy_does_what_it_says_and_counts_it() {
    let passes = ADMITTED;
    let refuses = Judgement::Reject { excess: 0 };
    for (full, says, counted) in [
        (Full::Evict, passes, [1, 0, 0, 0, 0]),
        (Full::Reject, refuses, [0, 0, 1, 0, 0]),
        (Full::Pass, passes, [0, 0, 0, 1, 0]),
    ] {
        let memory = Memory::for_buckets(1);
        let (table, old, new) = full_bucket(&memory);
        assert_eq!(meter(&table, full).take(new, Now::at_ms(0)), says, "{full:?}");
        assert_eq!(events(&table), counted, "{full:?}");
        let lost = old.iter().filter(|key| record(&table, **key).is_none()).count();
        assert_eq!((lost, record(&table, new).is_some()), {
            let evicts = full == Full::Evict;
            (usize::from(evicts), evicts)
        });
        // Who has a record is not concerned, whatever becomes of new ones.
        let known = old.iter().find(|key| record(&table, **key).is_some()).unwrap();
        assert!(matches!(meter(&table, full).take(*known, Now::at_ms(0)), Judgement::Accept(_)));
        assert_eq!(record(&table, *known), Some(ahead(0, 2)));
        assert_eq!(events(&table), counted, "{full:?}");
        assert_eq!(memory.held(), 0);
    }
}

/// Free, recovered and movable places are taken whatever the policy is.
#[test]
fn no_policy_matters_while_there_is_room() {
    for full in POLICIES {
        let memory = Memory::for_buckets(1);
        let (table, _, new) = full_bucket(&memory);
        let later = Now::at_ms(RECOVERY_MS);
        assert_eq!(meter(&table, full).take(new, later), ADMITTED);
        assert!(record(&table, new).is_some());
        assert_eq!(events(&table), [0, 1, 0, 0, 0], "recovered, {full:?}");
        assert_eq!(table.shortage(later), None);

        let memory = Memory::for_buckets(5);
        let table = memory.create(1);
        let keys = keys_in(&table, (1, 3), 2 * SLOTS);
        let mover = keys_where(&table, 1, |home| home == (3, 4));
        for key in keys[1..].iter().chain(&mover) {
            put(&table, *key, 0, ahead(0, 1));
        }
        assert_eq!(meter(&table, full).take(keys[0], Now::at_ms(0)), ADMITTED);
        assert!(record(&table, keys[0]).is_some());
        assert_eq!(events(&table), [0; 5], "moved, {full:?}");
        assert_eq!(table.counters().of(Counter::Moved), 1);
    }
}

/// Old and new workers share a zone during a reload, with policies of their own.
#[test]
fn the_policy_is_that_of_each_operation() {
    let memory = Memory::for_buckets(1);
    let (table, _, new) = full_bucket(&memory);
    let old_worker = memory.attach();
    let now = Now::at_ms(0);
    assert_eq!(meter(&table, Full::Reject).take(new, now), Judgement::Reject { excess: 0 });
    assert_eq!(meter(&old_worker, Full::Evict).take(new, now), ADMITTED);
    assert!(record(&table, new).is_some());
    assert_eq!(events(&old_worker), [1, 0, 1, 0, 0]);
}

/// A limit that is not the last is judged before it is charged: it must refuse where it could not
/// be charged, and nothing must be charged for it anywhere.
#[test]
fn an_earlier_limit_refuses_too_and_nothing_is_charged() {
    for mode in [Mode::Enforce, Mode::DryRun] {
        let (full, roomy) = (Memory::for_buckets(1), Memory::for_buckets(1));
        let (table, old, new) = full_bucket(&full);
        let other = roomy.create(1);
        let limits = [meter(&table, Full::Reject), meter(&other, Full::Reject)];
        let ask = |key| decide(&limits, mode, Now::at_ms(0), |_| Ok::<_, ()>(Some(key)));
        assert_eq!(ask(new), Ok(Outcome::Reject { limit: 0, excess: 0 }));
        assert_eq!((events(&table), roomy.tags().len()), ([0, 0, 1, 0, 0], 0));
        let refusals = [Counter::Rejected, Counter::RejectedDryRun];
        let expected = if mode == Mode::Enforce { [1, 0] } else { [0, 1] };
        assert_eq!(refusals.map(|counter| table.counters().of(counter)), expected);

        assert!(matches!(ask(old[0]), Ok(Outcome::Pass | Outcome::Delay { .. })));
        assert_eq!((events(&table), roomy.tags().len()), ([0, 0, 1, 0, 0], 1));
    }
}

/// Room that was there at the judgement may be gone at the charge; others have been charged then.
#[test]
fn it_is_too_late_to_refuse_what_is_charged() {
    for full in [Full::Reject, Full::Pass] {
        let memory = Memory::for_buckets(1);
        let (table, old, new) = full_bucket(&memory);
        meter(&table, full).charge(new, Now::at_ms(0));
        assert!(record(&table, new).is_none() && old.iter().all(|k| record(&table, *k).is_some()));
        assert_eq!(events(&table), [0, 0, 0, 1, 0], "{full:?}");
    }
}

#[test]
fn room_is_made_without_a_record_and_without_a_loss() {
    let memory = Memory::for_buckets(1);
    let (table, old, new) = full_bucket(&memory);
    let worth = |now, full| Worth::new(&RULE, Now::at_ms(now)).when_full(full);
    assert_eq!(table.make_room(new, &worth(0, Full::Reject)), Err(Untracked::NoRoom));
    assert_eq!(table.make_room(old[0], &worth(0, Full::Reject)), Ok(()), "has a record");
    assert_eq!(table.make_room(new, &worth(RECOVERY_MS, Full::Reject)), Ok(()));
    assert!(record(&table, new).is_none() && old.iter().all(|key| record(&table, *key).is_some()));
    assert_eq!(events(&table), [0, 0, 1, 0, 0]);
}

#[test]
fn a_shortage_is_reported_once_a_minute_by_all_together() {
    let memory = Memory::for_buckets(1);
    let (table, _, new) = full_bucket(&memory);
    let other = memory.attach();
    let report = |evicted, refused, passed| Some(Shortage { evicted, refused, passed });
    let at = |ms: u64| Now::at_ms(1000 + ms);
    let lose = |table: &Table<LeakyState>, full| {
        meter(table, full).take(new, Now::at_ms(0));
    };
    assert_eq!(table.shortage(at(0)), None, "nothing has happened");
    lose(&table, Full::Reject);
    lose(&other, Full::Pass);
    assert_eq!(table.shortage(at(0)), report(0, 1, 1));
    assert_eq!((table.shortage(at(0)), other.shortage(at(0))), (None, None), "said");

    lose(&other, Full::Reject);
    for ms in [0, 1, 59_999] {
        assert_eq!((table.shortage(at(ms)), other.shortage(at(ms))), (None, None));
    }
    // A clock that is behind, that of another worker.
    assert_eq!(other.shortage(Now::at_ms(0)), None);
    assert_eq!(table.shortage(at(60_000)), None, "is not this one's");
    assert_eq!(other.shortage(at(60_000)), report(0, 1, 0));

    lose(&table, Full::Evict);
    // `other` has reported its own, `table` not.
    assert_eq!(other.shortage(at(120_000)), None);
    assert_eq!(table.shortage(at(120_000)), report(1, 0, 0));
    assert_eq!(table.shortage(at(900_000)), None, "nothing new");
}

/// A process whose losses another one has reported has nothing to say, and does not use up the
/// minute of one that has.
#[test]
fn what_another_has_said_is_not_said_again() {
    let memory = Memory::for_buckets(1);
    let (table, _, new) = full_bucket(&memory);
    let other = memory.attach();
    for table in [&table, &other] {
        meter(table, Full::Reject).take(new, Now::at_ms(0));
    }
    assert_eq!(table.shortage(Now::at_ms(0)).map(|shortage| shortage.refused), Some(2));
    assert_eq!(other.shortage(Now::at_ms(70_000)), None);
    meter(&table, Full::Reject).take(new, Now::at_ms(0));
    assert_eq!(table.shortage(Now::at_ms(70_001)).map(|shortage| shortage.refused), Some(1));
}

/// Of records that are charged the same, the one that recovers first goes.
#[test]
fn ties_go_to_the_earliest_recovery() {
    let (quota, window_ms) = (3, 600_000);
    let log = SlidingLog { quota, window_ms };
    // Recovers when its last admission is out of the window.
    earliest_goes(log, &Rule::SlidingLog(log), 512, [1000, 2000], [1000, 5000], 10_000);
    let window = AnchoredWindow { quota, window_ms };
    // When the window is over that its first admission has opened.
    earliest_goes(window, &Rule::AnchoredWindow(window), BUCKET, [1000, 6000], [2000; 2], 10_000);
    let window = SlidingWindow { quota, window_ms };
    // A window earlier if nothing has been admitted in the present one.
    let (early, late) = ([599_000; 2], [599_000, 601_000]);
    earliest_goes(window, &Rule::SlidingWindow(window), BUCKET, early, late, 602_000);
}

/// Fills a bucket with keys that are admitted at the instants `late`, but one at `early`, and puts
/// a new key into it. Once for each place where that one may be.
fn earliest_goes<A>(rule: A, any: &Rule, bytes: usize, early: [u64; 2], late: [u64; 2], now: u64)
where
    A: Algorithm<State: Record> + Copy,
{
    let kind = Kind::of(any);
    let slots = capacity(any, HEADER + bytes);
    assert!(slots >= 5);
    for earliest in 0..slots {
        let memory = Memory::zeroed(HEADER + bytes);
        let secret = Secret::known([3, 4]);
        let table = Table::<A::State>::create(memory.region(), kind, KEY, secret).unwrap();
        let keys: Vec<_> = (0..=slots).map(|n| table.hash(&n.to_le_bytes())).collect();
        let meter = Metered { rule: &rule, table: &table, full: Full::Evict };
        let take = |n: usize, ms| assert_eq!(meter.take(keys[n], Now::at_ms(ms)), ADMITTED);
        for n in 0..slots {
            let instants = if n == earliest { early } else { late };
            instants.into_iter().for_each(|ms| take(n, ms));
        }
        take(slots, now);
        let is_gone = |key: &KeyHash| table.look(*key, |state| state.is_none()).unwrap();
        let gone: Vec<_> = keys.iter().map(is_gone).collect();
        let expected: Vec<_> = (0..=slots).map(|n| n == earliest).collect();
        assert_eq!(gone, expected, "{any:?}");
    }
}

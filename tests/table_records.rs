//! Records of another size than that of `leaky`: the geometry follows from the record.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod support;

use std::sync::atomic::Ordering::SeqCst;

use ngx_http_rl::limit::{
    Admission, Algorithm, LeakyState, Now, Refusal, Scalar, Standing, Thousandths, Verdict,
};
use ngx_http_rl::store::{
    AttachError, Counter, KeyHash, Kind, Record, ScalarRecord, Secret, Table, Worth,
};
use support::memory::{Memory, BUCKET, HEADER, KEY, LEAKY};

/// A record of one word: when the key may come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due(u64);

impl Scalar for Due {}

impl ScalarRecord for Due {
    type Words = [u64; 1];

    const LEN: usize = 1;

    fn to_words(self) -> [u64; 1] {
        [self.0]
    }

    fn from_words([due]: [u64; 1]) -> Self {
        Self(due)
    }
}

/// What a table of [`Due`] holds.
const KIND: Kind = Kind { algorithm: u64::MAX, words: 1 };

/// One request, then none until [`GAP_MS`] later.
struct OneByOne;

const GAP_MS: u64 = 1000;

impl Algorithm for OneByOne {
    type State = Due;

    fn judge(&self, state: Option<&Due>, now: Now, cost: u32) -> Verdict<Due> {
        match state {
            Some(due) if !self.recovered(due, now) => {
                let retry_after_ms = Some(due.0 - now.ms);
                Verdict::Reject(Refusal { excess: 0, retry_after_ms, moved: None })
            }
            _ => Verdict::Accept(self.charge(state, now, cost)),
        }
    }

    fn charge(&self, _: Option<&Due>, now: Now, _: u32) -> Admission<Due> {
        Admission { next: Due(now.ms.saturating_add(GAP_MS)), wait_ms: 0, excess: 0 }
    }

    fn standing(&self, _: Option<&Due>, _: Now) -> Standing {
        Standing { limit: 1, remaining: 0, reset_after_ms: 0 }
    }

    fn recovered(&self, due: &Due, now: Now) -> bool {
        due.0 <= now.ms
    }

    fn charged(&self, due: &Due, now: Now) -> Thousandths {
        due.0.saturating_sub(now.ms)
    }
}

fn create(memory: &Memory, secret: u64) -> Table<Due> {
    let secret = Secret::known([secret, !secret]);
    Table::create(memory.region(), KIND, KEY, secret).expect("memory does")
}

fn key(table: &Table<Due>, number: u64) -> KeyHash {
    table.hash(&number.to_le_bytes())
}

fn put(table: &Table<Due>, key: KeyHash, due: Due) {
    let worth = Worth::new(&OneByOne, Now::at_ms(0));
    table.update(key, &worth, |_| (Some(due), ())).expect("no lock is held");
}

fn record(table: &Table<Due>, key: KeyHash) -> Option<Due> {
    table.look(key, |due| due.copied()).expect("no lock is held")
}

#[test]
fn seven_records_of_one_word_fit_a_bucket() {
    assert_eq!(Due::SLOTS, 7);
    let memory = Memory::for_buckets(3);
    assert_eq!(create(&memory, 1).slots(), 21);
}

/// Every slot is used and none shares a word with a tag, a state or the next bucket.
#[test]
fn slots_do_not_overlap() {
    let memory = Memory::for_buckets(2);
    let table =
        Table::<Due>::create(memory.part(0, HEADER + BUCKET), KIND, KEY, Secret::known([1, 2]))
            .unwrap();
    let due = |number: u64| Due(u64::MAX - number);
    for number in 0..7 {
        put(&table, key(&table, number), due(number));
    }
    for number in 0..7 {
        assert_eq!(record(&table, key(&table, number)), Some(due(number)));
    }
    assert_eq!(table.counters().of(Counter::EvictedLive), 0);
    assert!(memory.bucket(1).iter().all(|word| word.load(SeqCst) == 0), "outside the table");
}

#[test]
fn a_table_of_other_records_is_refused() {
    let memory = Memory::for_buckets(3);
    create(&memory, 1);
    let refused = Table::<LeakyState>::attach(memory.region(), LEAKY, KEY).err();
    assert_eq!(refused, Some(AttachError::Header("algorithm")));
    assert!(Table::<Due>::attach(memory.region(), KIND, KEY).is_ok());
}

/// Seven slots leave more ways out than five: the design wants 95 % at 1 MiB.
#[test]
fn a_zone_of_small_records_is_fuller_before_it_loses_a_live_one() {
    let mut shares: Vec<f64> = (0..5)
        .map(|seed| {
            let memory = Memory::zeroed(1_040_384);
            let table = create(&memory, seed);
            let slots = table.slots() as u64;
            let kept = (0..slots).find(|number| {
                put(&table, key(&table, *number), Due(GAP_MS));
                *number > slots / 2 && table.counters().of(Counter::EvictedLive) > 0
            });
            kept.unwrap_or(slots) as f64 * 100.0 / slots as f64
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    println!("records of one word at 1 MiB: median {:.1} %, lowest {:.1} %", shares[2], shares[0]);
    assert!(shares[2] >= 95.0, "{shares:?}");
}

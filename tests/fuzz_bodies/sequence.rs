//! Operations on a small table against a plain map, under every algorithm.
//!
//! As long as nothing is lost, table and map say the same of every request. A record that the
//! table has dropped is dropped from the map as soon as it is missed: it must have been recovered
//! at an instant at which the table needed room, or the table must have counted a live eviction for
//! it. So a key is never admitted more than a new one for each loss that has been counted.

use std::collections::HashMap;

use ngx_http_rl::engine::{Hold, Judgement, Meter, Metered};
use ngx_http_rl::limit::{Algorithm, Full, Now, Rule, Verdict, NS_PER_MS};
use ngx_http_rl::store::{Counter, Kind, Record, Secret, Table};

use super::bytes::Bytes;
use crate::support::memory::{Memory, HEADER, KEY};
use crate::support::model::{each_rule, Key};

/// How many requests were compared.
pub fn run(data: &[u8]) -> usize {
    let mut bytes = Bytes(data);
    let Some(rule) = bytes.rule() else { return 0 };
    each_rule!(rule, held => compare(held, &rule, &mut bytes))
}

/// A key of the map.
struct Known<A: Algorithm> {
    key: Key<A>,
    /// It has been recovered since it was written, at an instant at which something was inserted.
    may_be_gone: bool,
}

struct Pair<A: Algorithm + Copy>
where
    A::State: Record,
{
    rule: A,
    table: Table<A::State>,
    map: HashMap<u8, Known<A>>,
    now: Now,
    /// Live records that the table no longer has.
    lost: u64,
}

fn compare<A: Algorithm + Copy>(rule: A, any: &Rule, bytes: &mut Bytes<'_>) -> usize
where
    A::State: Record,
{
    let memory = Memory::on_heap(HEADER + 128 + bytes.below(2048));
    let secret = Secret::known([bytes.number(1), bytes.number(1)]);
    let Ok(table) = Table::create(memory.region(), Kind::of(any), KEY, secret) else { return 0 };
    let keys = (table.slots() * 3 / 2).clamp(1, 255);
    let now = Now::at_ms(1_000_000 + 1000 * bytes.number(1));
    let mut pair = Pair { rule, table, map: HashMap::new(), now, lost: 0 };
    let mut compared = 0;
    while !bytes.is_empty() {
        let step = bytes.byte() % 16;
        if step < 12 {
            let number = bytes.below(keys) as u8;
            pair.follow(number);
            pair.request(step, number);
            compared += 1;
        } else {
            pair.now = later(pair.now, step, bytes);
        }
    }
    (0..keys).for_each(|number| pair.follow(number as u8));
    assert_eq!(pair.count(Counter::Untracked), 0);
    if A::State::WORDS > 0 {
        assert_eq!((memory.held(), memory.duplicates_in(A::State::SLOTS)), (0, 0));
    }
    compared
}

/// Lets time pass, or steps back, on all clocks or on one.
fn later(now: Now, step: u8, bytes: &mut Bytes<'_>) -> Now {
    const JUMPS_MS: [i64; 8] =
        [1000, 60_000, 60_001, 3_600_000, -60_000, -60_001, -3_600_000, 604_800_000];
    let ms = match step {
        12 => bytes.number(1).cast_signed(),
        13 => bytes.number(2).cast_signed() * 100,
        14 => -bytes.number(1).cast_signed(),
        _ => JUMPS_MS[bytes.below(JUMPS_MS.len())],
    };
    let clocks = bytes.byte();
    let add = |clock: u64, ms: i64| clock.saturating_add_signed(ms);
    let monotonic = if clocks % 4 == 1 { 0 } else { ms };
    let wall = if clocks % 4 == 2 { 0 } else { ms };
    Now {
        ms: add(now.ms, monotonic),
        // A finer clock, now and then.
        ns: add(now.ms, monotonic) * NS_PER_MS + u64::from(clocks) * 1000,
        wall_ms: add(now.wall_ms, wall),
    }
}

impl<A: Algorithm + Copy> Pair<A>
where
    A::State: Record,
{
    fn count(&self, counter: Counter) -> u64 {
        self.table.counters().of(counter)
    }

    /// Drops a key from the map that the table has dropped.
    fn follow(&mut self, number: u8) {
        let hash = self.table.hash(&[number]);
        let is_here = self.table.look(hash, |state| state.is_some()).expect("no lock is held");
        if is_here {
            assert!(self.map.contains_key(&number), "a record of nobody");
        } else if let Some(known) = self.map.remove(&number) {
            self.lost += u64::from(!known.may_be_gone);
            let counted = self.count(Counter::EvictedLive);
            assert!(self.lost <= counted, "{} live records lost, {counted} counted", self.lost);
        }
    }

    /// One request of a key that is in both or in neither.
    fn request(&mut self, step: u8, number: u8) {
        let (now, rule) = (self.now, self.rule);
        // Whatever is inserted now may drop them.
        for known in self.map.values_mut() {
            known.may_be_gone |= known.key.is_recovered(now);
        }
        let hash = self.table.hash(&[number]);
        let meter = Metered { rule: &rule, table: &self.table, full: Full::Evict };
        let known = self.map.remove(&number);
        let (mut key, may_be_gone) =
            known.map_or((Key::new(rule), false), |known| (known.key, known.may_be_gone));
        let is_written = match step {
            0..=8 => {
                let verdict = key.judge(now, 1);
                key.store(&verdict);
                assert_eq!(meter.take(hash, now), judgement(&verdict));
                writes(&verdict)
            }
            9 => {
                let verdict = key.judge(now, 1);
                let moves = matches!(&verdict, Verdict::Reject(refusal) if refusal.moved.is_some());
                if moves {
                    key.store(&verdict);
                }
                assert_eq!(meter.judge(hash, now), judgement(&verdict));
                moves
            }
            10 => {
                let admission = rule.charge(key.view().as_ref(), now, 1);
                key.charge(now, 1);
                let hold = Hold { wait_ms: admission.wait_ms, excess: admission.excess };
                assert_eq!(meter.charge(hash, now), hold);
                true
            }
            _ => false,
        };
        let standing = self.table.look(hash, |state| rule.standing(state, now));
        assert_eq!(standing.expect("no lock is held"), key.standing(now));
        if key.view().is_some() {
            let may_be_gone = may_be_gone && !is_written;
            self.map.insert(number, Known { key, may_be_gone });
        }
    }
}

fn judgement<N>(verdict: &Verdict<N>) -> Judgement {
    match verdict {
        Verdict::Accept(admission) => {
            Judgement::Accept(Hold { wait_ms: admission.wait_ms, excess: admission.excess })
        }
        Verdict::Reject(refusal) => Judgement::Reject { excess: refusal.excess },
    }
}

fn writes<N>(verdict: &Verdict<N>) -> bool {
    match verdict {
        Verdict::Accept(_) => true,
        Verdict::Reject(refusal) => refusal.moved.is_some(),
    }
}

//! Any bits in a table that is in use: no panic, nothing outside, an end.
//!
//! What the table does with the rubbish is its own affair.

use ngx_http_rl::engine::{Hold, Judgement, Meter, Metered};
use ngx_http_rl::limit::{Algorithm, Full, Now, Rule, View};
use ngx_http_rl::store::{Counter, Kind, Record, Secret, Table, Worth};

use super::arena::{adopt, Arena};
use super::bytes::Bytes;
use crate::support::memory::{HEADER, KEY};
use crate::support::model::each_rule;

/// How often the table has been asked.
pub fn run(data: &[u8]) -> usize {
    let mut bytes = Bytes(data);
    let Some(rule) = bytes.rule() else { return 0 };
    each_rule!(rule, held => survive(held, &rule, &mut bytes))
}

fn survive<A: Algorithm + Copy>(rule: A, any: &Rule, bytes: &mut Bytes<'_>) -> usize
where
    A::State: Record,
{
    let arena = Arena::zeroed(HEADER + 128 + bytes.below(2048));
    let secret = Secret::known([bytes.number(1), bytes.number(1)]);
    let Ok(table) = Table::create(arena.region(), Kind::of(any), KEY, secret) else { return 0 };
    adopt(&table, bytes.below(20));
    let slots = table.slots();
    let mut asked = 0;
    while !bytes.is_empty() {
        match bytes.byte() % 8 {
            0 => arena.scribble(bytes),
            1..=3 => arena.poke(bytes.below(arena.words()), bytes.word()),
            _ => {
                // Nobody alive holds a lock.
                assert!(ask(rule, &table, bytes), "untracked");
                asked += 1;
            }
        }
        assert!(arena.guards_stand(), "written outside");
        assert_eq!(table.slots(), slots, "a bound that comes from the memory");
    }
    is_new_when_cleared(rule, &arena, &table);
    asked
}

/// Nothing of the rubbish stays behind, neither in the memory nor in the view.
fn is_new_when_cleared<A: Algorithm + Copy>(rule: A, arena: &Arena, table: &Table<A::State>)
where
    A::State: Record,
{
    (0..arena.words()).for_each(|index| arena.poke(index, 0));
    let now = Now::at_ms(1_000_000);
    let judgement = Metered { rule: &rule, table, full: Full::Evict }.take(table.hash(b"new"), now);
    assert!(matches!(judgement, Judgement::Accept(Hold { wait_ms: 0, .. })), "{judgement:?}");
}

/// Asks the table everything it can be asked; whether it could be looked at.
pub fn ask<A: Algorithm + Copy>(rule: A, table: &Table<A::State>, bytes: &mut Bytes<'_>) -> bool
where
    A::State: Record,
{
    let key = table.hash(&[bytes.byte() % 100]);
    let now = Now { ms: bytes.word(), ns: bytes.word(), wall_ms: bytes.word() };
    let meter = Metered { rule: &rule, table, full: Full::Evict };
    let looked = table.look(key, |state| check_standing(&rule, state, now));
    match bytes.byte() % 4 {
        0 => drop(meter.judge(key, now)),
        1 => drop(meter.charge(key, now)),
        2 => drop(meter.take(key, now)),
        _ => drop(table.update(key, &Worth::new(&rule, now), |_| (None, ()))),
    }
    meter.count(Counter::Passed);
    let _ = table.counters().of(Counter::Untracked);
    table.write_label(b"label");
    let (first, second) = table.candidates(key);
    assert!(first.max(second) < table.slots(), "a bound that comes from the memory");
    looked.is_ok()
}

fn check_standing<A: Algorithm>(rule: &A, state: Option<&View<'_, A>>, now: Now) {
    let standing = rule.standing(state, now);
    assert!(standing.remaining <= standing.limit, "{standing:?}");
    if let Some(state) = state {
        let _ = (rule.recovered(state, now), rule.charged(state, now));
    }
}

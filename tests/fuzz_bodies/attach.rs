//! A table that is looked for in memory which holds anything: found exactly if the header is the
//! right one, and nothing is written meanwhile.

use ngx_http_rl::limit::{Algorithm, Rule};
use ngx_http_rl::store::{AttachError, Kind, Record, Secret, Table};

use super::arena::{adopt, Arena};
use super::bytes::Bytes;
use super::hostile::ask;
use crate::support::memory::{HEADER, KEY};
use crate::support::model::each_rule;

/// Words of the header that must be right, in the order in which they are looked at, by
/// `store::layout`.
const CHECKED: [&str; 6] =
    ["magic", "layout version", "algorithm", "record size", "key", "number of buckets"];

/// 1 if a table has been found.
pub fn run(data: &[u8]) -> usize {
    let mut bytes = Bytes(data);
    let Some(rule) = bytes.rule() else { return 0 };
    each_rule!(rule, held => search(held, &rule, &mut bytes))
}

fn search<A: Algorithm + Copy>(rule: A, any: &Rule, bytes: &mut Bytes<'_>) -> usize
where
    A::State: Record,
{
    let kind = Kind::of(any);
    // Mostly with room for a bucket or more.
    let size = if bytes.byte().is_multiple_of(8) {
        bytes.below(HEADER + 128)
    } else {
        HEADER + bytes.below(1024)
    };
    let arena = Arena::zeroed(size);
    let secret = Secret::known([bytes.number(1), bytes.number(1)]);
    let made = Table::<A::State>::create(arena.region(), kind, KEY, secret).map(|_| ());
    let right: Vec<u64> = (0..CHECKED.len().min(arena.words())).map(|n| arena.word(n)).collect();
    if made.is_err() {
        assert_eq!(made, Err(AttachError::Memory));
        assert!(right.iter().all(|word| *word == 0), "written before it was refused");
    }
    damage(&arena, bytes);

    let before = arena.snapshot();
    let found = Table::<A::State>::attach(arena.region(), kind, KEY);
    let wrong = (0..right.len()).find(|n| arena.word(*n) != right[*n]);
    let expected = match wrong {
        _ if made.is_err() => Err(AttachError::Memory),
        Some(n) => Err(AttachError::Header(CHECKED[n])),
        None => Ok(()),
    };
    assert_eq!(found.as_ref().map(|_| ()).map_err(|error| *error), expected);
    if found.is_ok() {
        refuses_others::<A>(&arena, kind, bytes);
    }
    assert!(arena.snapshot() == before, "attach has written");

    let Ok(table) = found else { return 0 };
    adopt(&table, 0);
    for _ in 0..10 {
        ask(rule, &table, bytes);
    }
    assert!(arena.guards_stand(), "written outside");
    1
}

/// Changes some words, mostly of the header, or all.
fn damage(arena: &Arena, bytes: &mut Bytes<'_>) {
    if arena.words() == 0 {
        return;
    }
    for _ in 0..bytes.below(8) {
        match bytes.byte() % 8 {
            0 => arena.scribble(bytes),
            1..=2 => arena.poke(bytes.below(arena.words()), bytes.word()),
            3 => arena.poke(bytes.below(9).min(arena.words() - 1), bytes.word()),
            // A header that is nearly right.
            _ => {
                let index = bytes.below(9).min(arena.words() - 1);
                arena.poke(index, arena.word(index) ^ 1 << bytes.below(64));
            }
        }
    }
}

/// Another place, size, key or kind of record never does.
fn refuses_others<A: Algorithm>(arena: &Arena, kind: Kind, bytes: &mut Bytes<'_>)
where
    A::State: Record,
{
    let attach = |region, kind, key| Table::<A::State>::attach(region, kind, key).is_err();
    let from = bytes.below(arena.words() + 1) * 8;
    let (whole, rest) = (arena.region(), arena.part(from, arena.words() * 8 - from));
    assert!(from == 0 || attach(rest, kind, KEY), "found at {from}");
    assert!(attach(whole, kind, b"$another_key"));
    assert!(attach(whole, Kind { algorithm: kind.algorithm + 1, ..kind }, KEY));
    assert!(attach(whole, Kind { words: bytes.word() as usize | 1 << 40, ..kind }, KEY));
}

//! Any bits in a table of which every lock is held by somebody alive. What `fuzz_bodies` has is the
//! same with free locks, and with those of the dead.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

#[allow(dead_code, reason = "the rest is for the fuzz targets")]
#[path = "fuzz_bodies"]
mod fuzz_bodies {
    pub mod arena;
    pub mod bytes;
    pub mod hostile;
}
mod support;

use std::time::{Duration, Instant};

use fuzz_bodies::arena::Arena;
use fuzz_bodies::bytes::Bytes;
use fuzz_bodies::hostile::ask;
use ngx_http_rl::store::{Secret, Table};
use support::keys::RULE;
use support::memory::{BUCKET, HEADER, KEY, LEAKY};
use support::process::Namesake;

const BUCKETS: usize = 7;

/// Each lock is waited for once, 50 ms; then the table answers at once, and nobody loses one.
#[test]
fn any_bits_with_locks_of_the_living() {
    let _alone = support::process::alone();
    let mut random = fastrand::Rng::with_seed(support::seed("any_bits_with_locks_of_the_living"));
    let mut input = |bytes: usize| -> Vec<u8> { (0..bytes).map(|_| random.u8(..)).collect() };
    let arena = Arena::zeroed(HEADER + BUCKETS * BUCKET);
    let secret = Secret::known([1, 2]);
    let table = Table::create(arena.region(), LEAKY, KEY, secret).expect("memory does");
    arena.scribble(&mut Bytes(&input(4)));
    let living = Namesake::new();
    let word = u64::from(living.pid());
    let lock = |index: usize| (HEADER + index * BUCKET) / 8;
    (0..BUCKETS).for_each(|index| arena.put(lock(index), word));

    let since = Instant::now();
    for _ in 0..2000 {
        assert!(!ask(RULE, &table, &mut Bytes(&input(30))), "a lock of the living was taken");
    }
    let took = since.elapsed();
    println!("all locks held by somebody alive: {took:?} for 4000 decisions");
    // 7 buckets of 50 ms, then 20 us each.
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(arena.guards_stand(), "written outside");
    assert!(
        (0..BUCKETS).all(|index| arena.word(lock(index)) == word),
        "somebody alive lost a lock"
    );
}

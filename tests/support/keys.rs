//! Keys that live in wanted buckets, and the rule by which the tests charge them.

use ngx_http_rl::limit::{Algorithm, Leaky, LeakyState, Now, Verdict};
use ngx_http_rl::store::{KeyHash, Table, Untracked, Worth};

/// 1 r/s, three requests ahead: four at once.
pub const RULE: Leaky = Leaky { rate: 1000, burst: 3000, delay: 3000 };

/// What a key is admitted at once by [`RULE`].
pub const AT_ONCE: u64 = 4;

/// Long enough after `now` that any record under [`RULE`] has recovered.
pub const RECOVERY_MS: u64 = 5000;

/// The hash of a key that is a number.
pub fn key(table: &Table<LeakyState>, number: u64) -> KeyHash {
    table.hash(&number.to_le_bytes())
}

/// The first `count` numbers whose candidates are these.
pub fn keys_in(table: &Table<LeakyState>, home: (usize, usize), count: usize) -> Vec<KeyHash> {
    keys_where(table, count, |candidates| candidates == home)
}

/// The first `count` numbers whose candidates pass a test.
pub fn keys_where(
    table: &Table<LeakyState>,
    count: usize,
    is_wanted: impl Fn((usize, usize)) -> bool,
) -> Vec<KeyHash> {
    (0..10_000_000)
        .map(|number| key(table, number))
        .filter(|key| is_wanted(table.candidates(*key)))
        .take(count)
        .collect()
}

/// Judges and charges one request; whether it passes.
pub fn take(table: &Table<LeakyState>, key: KeyHash, now: u64) -> Result<bool, Untracked> {
    take_by(table, &RULE, key, now)
}

/// Judges and charges one request by a rule; whether it passes.
pub fn take_by(
    table: &Table<LeakyState>,
    rule: &Leaky,
    key: KeyHash,
    now: u64,
) -> Result<bool, Untracked> {
    let now = Now::at_ms(now);
    table.update(key, &Worth::new(rule, now), |state| match rule.judge(state, now, 1) {
        Verdict::Accept(admission) => (Some(admission.next), true),
        Verdict::Reject(_) => (None, false),
    })
}

/// Stores a state for a key.
pub fn put(table: &Table<LeakyState>, key: KeyHash, now: u64, state: LeakyState) {
    table.update(key, &Worth::new(&RULE, Now::at_ms(now)), |_| (Some(state), ())).expect("no lock");
}

/// A record that is ahead by `requests` at `now`. Charged for one more.
pub fn ahead(now: u64, requests: u64) -> LeakyState {
    LeakyState { last: now, excess: requests * 1000 }
}

/// A key's record.
pub fn record(table: &Table<LeakyState>, key: KeyHash) -> Option<LeakyState> {
    table.look(key, |state| state.copied()).expect("no lock is held")
}

//! Random operations on a small table against a plain map, as long as nothing live is lost.
//!
//! A record that the table has dropped as recovered is dropped from the map too, as soon as it is
//! missed; and it must really have been recovered.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod support;

use std::collections::HashMap;

use ngx_http_rl::limit::{Algorithm, Leaky, LeakyState, Now, Verdict};
use ngx_http_rl::store::{Counter, Table};
use proptest::prelude::*;
use support::keys::{key, record, take_by};
use support::memory::{Memory, SLOTS};

/// One step of a sequence.
#[derive(Clone, Debug)]
enum Step {
    /// Judge and charge a request of a key.
    Take(u64),
    /// Look at a key.
    Look(u64),
    /// Let time pass, or step back.
    Clock(i64),
}

struct Model {
    rule: Leaky,
    now: u64,
    states: HashMap<u64, LeakyState>,
}

impl Model {
    /// Whether a record may be gone: without loss at the present time or at an earlier one. Since
    /// the clock may have stepped back, the latest time so far counts.
    fn may_be_gone(&self, state: &LeakyState, latest: u64) -> bool {
        self.rule.recovered(state, Now::at_ms(latest))
    }

    fn take(&mut self, number: u64) -> bool {
        let now = Now::at_ms(self.now);
        match self.rule.judge(self.states.get(&number), now, 1) {
            Verdict::Accept(admission) => {
                self.states.insert(number, admission.next);
                true
            }
            Verdict::Reject(_) => false,
        }
    }
}

/// Runs a sequence; stops at the first live loss. How many steps were compared.
fn compare(
    buckets: usize,
    secret: u64,
    rule: Leaky,
    steps: &[Step],
) -> Result<usize, TestCaseError> {
    let memory = Memory::for_buckets(buckets);
    let table = memory.create(secret);
    let mut model = Model { rule, now: 1_000_000, states: HashMap::new() };
    let mut latest = model.now;
    for (n, step) in steps.iter().enumerate() {
        match *step {
            Step::Clock(ms) => model.now = model.now.saturating_add_signed(ms),
            Step::Look(number) | Step::Take(number) => {
                latest = latest.max(model.now);
                drop_what_recovered(&table, &mut model, number, latest)?;
            }
        }
        if let Step::Take(number) = *step {
            let expected = model.take(number);
            let passed = take_by(&table, &rule, key(&table, number), model.now);
            prop_assert_eq!(passed, Ok(expected), "step {}", n);
            let found = record(&table, key(&table, number));
            prop_assert_eq!(found.as_ref(), model.states.get(&number), "step {}", n);
        }
        if table.counters().of(Counter::EvictedLive) > 0 {
            return Ok(n);
        }
    }
    prop_assert_eq!(memory.held(), 0);
    prop_assert_eq!(memory.duplicates(), 0);
    for (number, state) in &model.states {
        match record(&table, key(&table, *number)) {
            Some(found) => prop_assert_eq!(&found, state),
            None => prop_assert!(model.may_be_gone(state, latest), "{} is lost", number),
        }
    }
    Ok(steps.len())
}

/// Compares one key's record with the model's, which follows where it may be gone.
fn drop_what_recovered(
    table: &Table<LeakyState>,
    model: &mut Model,
    number: u64,
    latest: u64,
) -> Result<(), TestCaseError> {
    let found = record(table, key(table, number));
    if let (None, Some(state)) = (found, model.states.get(&number)) {
        prop_assert!(model.may_be_gone(state, latest), "{} is lost", number);
        model.states.remove(&number);
    }
    prop_assert_eq!(found.as_ref(), model.states.get(&number));
    Ok(())
}

fn steps(keys: u64) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..keys).prop_map(Step::Take),
        1 => (0..keys).prop_map(Step::Look),
        1 => prop_oneof![0..50_i64, 0..2000_i64, -30..0_i64, Just(100_000), Just(-70_000)]
            .prop_map(Step::Clock),
    ];
    prop::collection::vec(step, 1..400)
}

/// `RL_SEED` replays.
#[test]
fn the_table_does_what_a_map_does() {
    let seed = support::seed("the_table_does_what_a_map_does");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let cases = 300 * support::scale();
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let source = proptest::test_runner::TestRng::from_seed(
        proptest::test_runner::RngAlgorithm::ChaCha,
        &bytes,
    );
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(config, source);
    let (compared, whole) = (std::cell::Cell::new(0), std::cell::Cell::new(0_u32));
    let case = (1..8_usize, any::<u64>(), 1..200_000_u64, 0..5_u64).prop_flat_map(
        |(buckets, secret, rate, burst)| {
            let keys = (buckets * SLOTS) as u64;
            let rule = Leaky { rate, burst: burst * 1000, delay: 0 };
            (Just((buckets, secret, rule)), steps(keys))
        },
    );
    runner
        .run(&case, |((buckets, secret, rule), steps)| {
            let n = compare(buckets, secret, rule, &steps)?;
            compared.set(compared.get() + n);
            whole.set(whole.get() + u32::from(n == steps.len()));
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    println!("{cases} sequences, {} of them to the end, {} steps", whole.get(), compared.get());
    assert!(whole.get() * 3 > cases, "too few sequences without a live loss to show anything");
}

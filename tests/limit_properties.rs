//! What every algorithm promises, for random parameters and timelines. `RL_SEED` replays a run.
//!
//! | file | what |
//! |---|---|
//! | `limit_properties/given` | random rules, clocks and requests |
//! | `limit_properties/guarantee` | never above the guarantee, in any span |
//! | `limit_properties/contract` | verdict, standing and recovery agree with what then happens |
//! | `limit_properties/hostile` | any bits, any clock, any cost |
//! | `limit_properties/clock` | uptimes, workers whose clocks differ, steps of hours |
//! | `limit_properties/wall` | the wall clock is stepped |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use std::cell::Cell;
use std::fmt::Debug;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestCaseResult, TestRng, TestRunner};

#[path = "limit_properties/clock.rs"]
mod clock;
#[path = "limit_properties/contract.rs"]
mod contract;
#[path = "limit_properties/given.rs"]
mod given;
#[path = "limit_properties/guarantee.rs"]
mod guarantee;
#[path = "limit_properties/hostile.rs"]
mod hostile;
mod support;
#[path = "limit_properties/wall.rs"]
mod wall;

/// Tries a property on random cases; `body` says how many events of interest it has met, and
/// there must be some.
fn check<S: Strategy>(
    test: &str,
    cases: u32,
    given: &S,
    body: impl Fn(S::Value) -> Result<usize, TestCaseError>,
) where
    S::Value: Debug,
{
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&support::seed(test).to_le_bytes());
    let cases = cases * support::scale();
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let source = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let met = Cell::new(0);
    let count = |value| -> TestCaseResult {
        met.set(met.get() + body(value)?);
        Ok(())
    };
    TestRunner::new_with_rng(config, source)
        .run(given, count)
        .unwrap_or_else(|error| panic!("{test}: {error}"));
    println!("{test}: {cases} cases, {} events", met.get());
    assert!(met.get() > 0, "{test}: nothing has been met");
}

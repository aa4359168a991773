//! Any bits in a record, any clock, any cost: no panic (overflow checks are on in a debug build),
//! and a standing that makes sense.

use std::sync::atomic::AtomicU64;

use ngx_http_rl::config::{AlgorithmName, LimitArgs, Rate};
use ngx_http_rl::limit::{
    Ahead, Algorithm, LeakyState, Now, Owned, Rule, SlidingState, WindowState,
};
use proptest::prelude::*;

use super::check;
use super::given::rule;
use crate::support::model::{each_rule, Key};

/// The largest ring that is filled with words.
const WORDS: usize = 12;

/// A state from words of damaged memory.
trait Bits {
    fn of(words: &[u64]) -> Self;
}

impl Bits for LeakyState {
    fn of(words: &[u64]) -> Self {
        Self { last: words[0], excess: words[1] }
    }
}

impl Bits for Ahead {
    fn of(words: &[u64]) -> Self {
        Self { until_ns: words[0] }
    }
}

impl Bits for WindowState {
    fn of(words: &[u64]) -> Self {
        Self { start_ms: words[0], count: words[1] as u32 }
    }
}

impl Bits for SlidingState {
    fn of(words: &[u64]) -> Self {
        Self { start_ms: words[0], previous: words[1] as u32, current: (words[1] >> 32) as u32 }
    }
}

impl Bits for Box<[AtomicU64]> {
    fn of(words: &[u64]) -> Self {
        words.iter().map(|word| AtomicU64::new(*word)).collect()
    }
}

#[test]
fn no_bits_do_harm() {
    for algorithm in AlgorithmName::ALL {
        let case = (
            extreme_rule(algorithm),
            prop::collection::vec(word(), WORDS),
            prop::collection::vec((instant(), cost(), any::<bool>()), 1..30),
        );
        check(&format!("any bits under {algorithm}"), 500, &case, |(rule, words, requests)| {
            let words = match rule {
                Rule::SlidingLog(rule) => &words[..rule.quota as usize],
                _ => &words[..],
            };
            each_rule!(rule, rule => survives(rule, words, &requests))
        });
    }
}

fn survives<A: Algorithm>(
    rule: A,
    words: &[u64],
    requests: &[(Now, u32, bool)],
) -> Result<usize, TestCaseError>
where
    Owned<A>: Bits,
{
    let mut key = Key::with(rule, Bits::of(words));
    for (now, cost, is_judged) in requests.iter().copied() {
        let standing = key.standing(now);
        prop_assert!(standing.remaining <= standing.limit);
        let _ = (key.is_recovered(now), key.charged(now));
        if is_judged {
            key.take(now, cost);
        } else {
            key.charge(now, cost);
        }
    }
    Ok(requests.len())
}

/// Rates and bursts up to what a configuration may say.
fn extreme_rule(algorithm: AlgorithmName) -> impl Strategy<Value = Rule> {
    // A log of any quota would need as many words.
    let most =
        if algorithm == AlgorithmName::SlidingLog { WORDS as u64 } else { Rate::MOST_REQUESTS };
    let requests = prop_oneof![1..10_u64, 1..=most, Just(u64::from(u32::MAX).min(most))];
    let period_ms = prop_oneof![1..10_u64, Just(1000), 1..1_000_000_000_u64, 1..i64::MAX as u64];
    let burst = prop_oneof![0..10_u64, 0..1_000_000_u64, 0..=LimitArgs::MOST_BURST];
    (requests, period_ms, burst).prop_filter_map("usable", move |(requests, period_ms, burst)| {
        rule(algorithm, requests, period_ms, burst)
    })
}

/// A word of memory or of a clock: small, near the edges, a real time, or anything.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..1000_u64,
        u64::MAX - 1000..=u64::MAX,
        (1 << 63) - 1000..(1_u64 << 63) + 1000,
        1_790_000_000_000..1_790_000_100_000_u64,
        (0..64_u32).prop_map(|bit| 1 << bit),
        any::<u64>(),
    ]
}

fn instant() -> impl Strategy<Value = Now> {
    let clocks = (word(), word(), word());
    prop_oneof![
        clocks.prop_map(|(ms, ns, wall_ms)| Now { ms, ns, wall_ms }),
        word().prop_map(Now::at_ms),
    ]
}

fn cost() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 1..4_u32, 1 => u32::MAX - 2..=u32::MAX, 1 => any::<u32>()]
}

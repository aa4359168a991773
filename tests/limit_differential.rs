//! `gcra` and `token_bucket` against a token bucket in exact arithmetic, row by row; and numbers
//! that the documentation states. `RL_SEED` replays a run.
//!
//! | file | what |
//! |---|---|
//! | `limit_differential/bucket` | the exact token bucket |
//! | `limit_differential/stated` | stated numbers |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use bucket::{Answer, Bucket};
use fastrand::Rng;
use ngx_http_rl::config::{AlgorithmName, Rate, ZoneRule};
use ngx_http_rl::limit::{Ahead, Algorithm, Gcra, Now, Rule, Verdict, NS_PER_MS};

#[path = "limit_differential/bucket.rs"]
mod bucket;
#[path = "limit_differential/stated.rs"]
mod stated;
mod support;

/// Rows that are compared, and of them those of one key.
const ROWS: u32 = 1_000_000;
const ROWS_OF_A_KEY: u32 = 500;

/// An instant by its nanoseconds.
fn at_ns(ns: u64) -> Now {
    Now { ns, ..Now::at_ms(ns / NS_PER_MS) }
}

/// A rule by what a configuration says.
fn rule(algorithm: AlgorithmName, rate: &str, burst: u64) -> Rule {
    let rate = Rate::parse(format!("rate={rate}").as_bytes()).unwrap();
    let burst = (!algorithm.has_quota()).then_some(burst);
    ZoneRule::new(algorithm, rate).unwrap().rule(burst, None, burst.unwrap_or(0)).unwrap()
}

fn gcra(algorithm: AlgorithmName, rate: &str, burst: u64) -> Gcra {
    match rule(algorithm, rate, burst) {
        Rule::Gcra(rule) => rule,
        _ => panic!("another rule"),
    }
}

/// One key whose interval is a whole number of nanoseconds: there nothing may be rounded.
struct Lane {
    period_ms: u64,
    requests: u64,
    burst: u64,
}

impl Lane {
    fn random(rng: &mut Rng) -> Self {
        let period_ms = match rng.u8(..5) {
            0 => 1000,
            1 => 60_000,
            2 => 3_600_000,
            3 => 7 * 86_400_000,
            _ => rng.u64(1..100_000),
        };
        let period_ns = period_ms * NS_PER_MS;
        let mut requests = 1;
        for factor in [2, 2, 2, 3, 3, 4, 5, 5, 5, 7, 10, 16, 125] {
            // As fast as an interval of 100 ns, which is the fastest that there is.
            let fits = period_ns.is_multiple_of(requests * factor)
                && period_ns / (requests * factor) >= 100;
            if fits && rng.bool() {
                requests *= factor;
            }
        }
        let burst = if rng.bool() { rng.u64(0..4) } else { rng.u64(0..100) };
        Self { period_ms, requests, burst }
    }

    fn interval_ns(&self) -> u64 {
        self.period_ms * NS_PER_MS / self.requests
    }

    /// The time to the next request: bursts, and a nanosecond around whole intervals.
    fn gap_ns(&self, rng: &mut Rng) -> u64 {
        let interval_ns = self.interval_ns();
        match rng.u8(..10) {
            0..4 => 0,
            4 => rng.u64(..2 * interval_ns),
            5 => interval_ns,
            6 => interval_ns * rng.u64(1..4) - 1,
            7 => interval_ns * rng.u64(1..4) + 1,
            8 => rng.u64(..3) * NS_PER_MS,
            _ => interval_ns * rng.u64(..=self.burst + 2),
        }
    }
}

fn answer(rule: &Gcra, state: &mut Option<Ahead>, now: Now, cost: u32) -> Answer {
    let verdict = rule.judge(state.as_ref(), now, cost);
    let (wait_ms, retry_after_ms) = match verdict {
        Verdict::Accept(admission) => {
            *state = Some(admission.next);
            (Some(admission.wait_ms), None)
        }
        Verdict::Reject(refusal) => (None, refusal.retry_after_ms),
    };
    let remaining = rule.standing(state.as_ref(), now).remaining;
    Answer { wait_ms, retry_after_ms, remaining }
}

#[test]
fn a_theoretical_time_decides_as_tokens_do() {
    let mut rng = Rng::with_seed(support::seed("a_theoretical_time_decides_as_tokens_do"));
    let keys = ROWS / ROWS_OF_A_KEY * support::scale();
    let (mut rows, mut admitted) = (0, 0);
    for _ in 0..keys {
        let lane = Lane::random(&mut rng);
        let rate = format!("{}r/{}ms", lane.requests, lane.period_ms);
        let rules = [AlgorithmName::Gcra, AlgorithmName::TokenBucket]
            .map(|algorithm| gcra(algorithm, &rate, lane.burst));
        let mut states = [None, None];
        let mut now_ns = rng.u64(..1 << 50);
        let mut bucket = Bucket::full(lane.requests, lane.period_ms, lane.burst + 1, now_ns);
        for row in 0..ROWS_OF_A_KEY {
            now_ns += lane.gap_ns(&mut rng);
            let cost = if rng.u8(..8) == 0 { rng.u32(1..6) } else { 1 };
            let expected = bucket.answer(now_ns, cost);
            for (rule, state) in rules.iter().zip(&mut states) {
                let got = answer(rule, state, at_ns(now_ns), cost);
                assert_eq!(got, expected, "{rate} burst={}, row {row}, cost {cost}", lane.burst);
            }
            rows += 1;
            admitted += u32::from(expected.wait_ms.is_some());
        }
    }
    println!("{rows} rows of {keys} keys compared, {admitted} of them admitted");
    assert!(admitted > rows / 4 && rows - admitted > rows / 10, "one-sided");
}

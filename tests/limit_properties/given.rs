//! Random rules, clocks and requests.

use ngx_http_rl::config::{AlgorithmName, Rate, ZoneRule};
use ngx_http_rl::limit::{Now, Rule, NS_PER_MS};
use proptest::prelude::*;

/// A rule and the requests of one key.
#[derive(Clone, Debug)]
pub struct Given {
    pub rule: Rule,
    pub requests: Vec<(Now, u32)>,
}

/// The time from one request to the next.
#[derive(Clone, Copy, Debug)]
enum Gap {
    None,
    Ms(u64),
    /// In 1/1000 of what one request takes at the rate.
    Interval(u64),
    /// In 1/1000 of the period of the rate.
    Period(u64),
}

/// Where a timeline begins: the clocks have nothing to do with each other.
#[derive(Clone, Copy, Debug)]
struct Start {
    ms: u64,
    wall_ms: u64,
}

/// Requests for a rule of that algorithm; costs are 1 unless `costs` says otherwise.
pub fn given(algorithm: AlgorithmName, costs: bool) -> impl Strategy<Value = Given> {
    let request = (gap(), cost(costs));
    let start = (
        prop_oneof![0..3_u64, 0..10_000_000_u64, Just(1 << 39)],
        prop_oneof![0..3_u64, 1_790_000_000_000..1_800_000_000_000_u64],
    );
    let burst = prop_oneof![0..3_u64, 0..40_u64];
    (rate(), burst, start, prop::collection::vec(request, 1..100)).prop_filter_map(
        "a rate for this algorithm",
        move |((requests, period_ms), burst, (ms, wall_ms), steps)| {
            let rule = rule(algorithm, requests, period_ms, burst)?;
            let interval_ns = period_ms * NS_PER_MS / requests;
            let mut passed_ns = 0;
            let mut at = |(gap, cost): (Gap, u32)| {
                passed_ns += match gap {
                    Gap::None => 0,
                    Gap::Ms(ms) => ms * NS_PER_MS,
                    Gap::Interval(part) => interval_ns * part / 1000,
                    Gap::Period(part) => period_ms * NS_PER_MS / 1000 * part,
                };
                (Start { ms, wall_ms }.after(passed_ns), cost)
            };
            Some(Given { rule, requests: steps.into_iter().map(&mut at).collect() })
        },
    )
}

/// A rule by what a configuration would say; `None` if the algorithm cannot use the rate.
pub fn rule(algorithm: AlgorithmName, requests: u64, period_ms: u64, burst: u64) -> Option<Rule> {
    let rate = Rate::parse(format!("rate={requests}r/{period_ms}ms").as_bytes()).ok()?;
    let burst = (!algorithm.has_quota()).then_some(burst);
    ZoneRule::new(algorithm, rate).ok()?.rule(burst, None, burst.unwrap_or(0)).ok()
}

/// The same instant on all clocks, later.
pub fn later(now: Now, ms: u64) -> Now {
    Now { ms: now.ms + ms, ns: now.ns + ms * NS_PER_MS, wall_ms: now.wall_ms + ms }
}

impl Start {
    fn after(self, ns: u64) -> Now {
        let ms = ns / NS_PER_MS;
        Now { ms: self.ms + ms, ns: self.ms * NS_PER_MS + ns, wall_ms: self.wall_ms + ms }
    }
}

/// Requests and a period in milliseconds.
pub fn rate() -> impl Strategy<Value = (u64, u64)> {
    let requests = prop_oneof![4 => 1..6_u64, 4 => 1..60_u64, 1 => 1..3000_u64];
    let period_ms = prop_oneof![
        1..20_u64,
        1..5000_u64,
        Just(1000),
        Just(60_000),
        Just(3_600_000),
        Just(7 * 86_400_000),
    ];
    (requests, period_ms)
}

fn gap() -> impl Strategy<Value = Gap> {
    prop_oneof![
        6 => Just(Gap::None),
        2 => (1..4_u64).prop_map(Gap::Ms),
        4 => (0..3000_u64).prop_map(Gap::Interval),
        2 => (1..4_u64).prop_map(|whole| Gap::Interval(whole * 1000)),
        2 => (0..2500_u64).prop_map(Gap::Period),
        1 => (1..4_u64).prop_map(|whole| Gap::Period(whole * 1000)),
    ]
}

fn cost(costs: bool) -> impl Strategy<Value = u32> {
    if costs {
        prop_oneof![10 => Just(1), 4 => 1..8_u32, 1 => 1..100_u32, 1 => 1..5000_u32].boxed()
    } else {
        Just(1).boxed()
    }
}

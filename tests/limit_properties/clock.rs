//! The clocks as they are: a start anywhere between the boot and 300 years, a worker whose cached
//! time is behind another's, steps of hours both ways. `wall` has the wall clock's steps in detail.

use ngx_http_rl::config::AlgorithmName;
use ngx_http_rl::limit::{Algorithm, Now, Rule, NS_PER_MS};
use proptest::prelude::*;

use super::check;
use super::given::{given, Given};
use crate::support::model::{each_rule, most, Key, Told};

const CASES: u32 = 50;

const HOUR_MS: u64 = 3_600_000;

const YEAR_MS: u64 = 365 * 24 * HOUR_MS;

/// A lag up to here is another worker's clock; a window, an entry and a time of nginx's further
/// ahead belong to a clock that has been stepped.
const LAG_MS: u64 = 60_000;

/// Milliseconds after the boot: none, some; where 31 and 32 bits overflow while the requests come,
/// the latter after 49 days; and 300 years.
const UPTIMES_MS: [u64; 6] = [0, 1, (1 << 31) - 500, (1 << 32) - 500, (1 << 32) + 1, 300 * YEAR_MS];

/// What is decided depends on the time between requests alone, not on how long the machine is up
/// or which year it is.
#[test]
fn a_start_in_any_year_decides_the_same() {
    for algorithm in AlgorithmName::ALL {
        let test = format!("uptimes of {algorithm}");
        check(&test, CASES, &given(algorithm, true), |Given { rule, requests }| {
            let window_ms = window_ms(&rule);
            let from = |uptime_ms: u64, wall_ms: u64| {
                let (start, _) = requests[0];
                let moved = requests.iter().map(move |(now, cost)| {
                    let (ms, ns) = (now.ms - start.ms, now.ns - start.ms * NS_PER_MS);
                    let wall_ms = now.wall_ms + wall_ms;
                    (Now { ms: uptime_ms + ms, ns: uptime_ms * NS_PER_MS + ns, wall_ms }, *cost)
                });
                let moved: Vec<_> = moved.collect();
                each_rule!(rule, rule => walk(rule, &moved))
            };
            let expected = from(10_000_000, 0);
            for uptime_ms in UPTIMES_MS {
                // Windows are aligned to the wall clock, and so must the step be.
                let wall_ms = (300 * YEAR_MS).next_multiple_of(window_ms);
                prop_assert_eq!(&from(uptime_ms, wall_ms), &expected, "{} ms", uptime_ms);
            }
            Ok(expected.iter().filter(|told| told.is_accept()).count())
        });
    }
}

fn walk<A: Algorithm>(rule: A, requests: &[(Now, u32)]) -> Vec<Told> {
    let mut key = Key::new(rule);
    requests.iter().map(|(now, cost)| key.take(*now, *cost)).collect()
}

/// The length of a window; 1 where there is none.
fn window_ms(rule: &Rule) -> u64 {
    match rule {
        Rule::FixedWindow(rule) => rule.window_ms,
        Rule::SlidingWindow(rule) => rule.window_ms,
        Rule::AnchoredWindow(rule) => rule.window_ms,
        Rule::SlidingLog(rule) => rule.window_ms,
        Rule::Leaky(_) | Rule::Gcra(_) | Rule::LeakyQueue(_) => 1,
    }
}

/// Several workers decide, and the cached time of each may be behind what another has stored. No
/// more is admitted than within the time from the earliest to the latest of these clocks.
#[test]
fn a_clock_that_lags_grants_nothing() {
    for algorithm in AlgorithmName::ALL {
        let test = format!("lags under {algorithm}");
        let lags =
            prop::collection::vec(prop_oneof![2 => Just(0), 2 => 0..20_u64, 1 => 0..=LAG_MS], 100);
        check(
            &test,
            CASES,
            &(given(algorithm, false), lags),
            |(Given { rule, requests }, lags)| {
                let lagging =
                    requests.iter().zip(lags).map(|((now, cost), lag)| (behind(*now, lag), *cost));
                let lagging: Vec<_> = lagging.collect();
                let told = each_rule!(rule, rule => walk(rule, &lagging));
                let admitted = told.iter().filter(|told| told.is_accept()).count();
                let (first, last) = span(&lagging);
                let most = most(&rule, first, last);
                prop_assert!(admitted as u64 <= most, "{} of {}", admitted, most);
                Ok(told.len() - admitted)
            },
        );
    }
}

/// The same instant as a clock shows it that is so many milliseconds behind.
fn behind(now: Now, ms: u64) -> Now {
    Now {
        ms: now.ms.saturating_sub(ms),
        ns: now.ns.saturating_sub(ms * NS_PER_MS),
        wall_ms: now.wall_ms.saturating_sub(ms),
    }
}

/// The earliest and the latest that each of the clocks has shown.
fn span(requests: &[(Now, u32)]) -> (Now, Now) {
    let (first, _) = requests[0];
    requests.iter().fold((first, first), |(from, to), (now, _)| {
        let each = |pick: fn(u64, u64) -> u64, other: Now| Now {
            ms: pick(now.ms, other.ms),
            ns: pick(now.ns, other.ns),
            wall_ms: pick(now.wall_ms, other.wall_ms),
        };
        (each(u64::min, from), each(u64::max, to))
    })
}

/// Hours later a key has what a new one has at once, and no more.
#[test]
fn hours_forward_give_back_what_a_new_key_has() {
    for algorithm in AlgorithmName::ALL {
        let test = format!("hours forward under {algorithm}");
        check(
            &test,
            100,
            &stepped(algorithm),
            |(Given { rule, requests }, hours)| each_rule!(rule, rule => forward(rule, &requests, hours)),
        );
    }
}

fn forward<A: Algorithm + Copy>(
    rule: A,
    requests: &[(Now, u32)],
    hours: u64,
) -> Result<usize, TestCaseError> {
    let mut key = Key::new(rule);
    for (now, cost) in requests {
        key.take(*now, *cost);
    }
    let last = requests.last().unwrap().0;
    let reset_ms = key.standing(last).reset_after_ms;
    let ms = (hours * HOUR_MS).max(reset_ms);
    let now = Now { ms: last.ms + ms, ns: last.ns + ms * NS_PER_MS, wall_ms: last.wall_ms + ms };
    let standing = key.standing(now);
    prop_assert_eq!(standing.remaining, standing.limit);
    let at_once = at_once(&mut key, now, standing.limit);
    prop_assert_eq!(at_once, standing.limit.min(MOST_AT_ONCE));
    Ok(requests.len())
}

/// No rule of `given` admits more at once, but for quotas, which are as large as their rate.
const MOST_AT_ONCE: u64 = 200;

/// How many are admitted of one more than `limit`.
fn at_once<A: Algorithm>(key: &mut Key<A>, now: Now, limit: u64) -> u64 {
    let asked = (limit + 1).min(MOST_AT_ONCE);
    (0..asked).filter(|_| key.take(now, 1).is_accept()).count() as u64
}

/// Hours back, as after a machine has been suspended or its clock set: what a key is admitted at
/// once is not above what a new one is, and nobody is locked out until the clock has caught up; but
/// for `leaky`, which does as nginx does.
#[test]
fn hours_back_lock_nobody_out_and_grant_no_more_than_a_new_key_has() {
    for algorithm in AlgorithmName::ALL {
        let test = format!("hours back under {algorithm}");
        check(
            &test,
            100,
            &stepped(algorithm),
            |(Given { rule, requests }, hours)| each_rule!(rule, held => back(held, &rule, &requests, hours)),
        );
    }
}

fn back<A: Algorithm + Copy>(
    rule: A,
    any: &Rule,
    requests: &[(Now, u32)],
    hours: u64,
) -> Result<usize, TestCaseError> {
    let ms = hours * HOUR_MS;
    let ahead =
        |now: Now| Now { ms: now.ms + ms, ns: now.ns + ms * NS_PER_MS, wall_ms: now.wall_ms + ms };
    let mut key = Key::new(rule);
    for (now, cost) in requests {
        key.take(ahead(*now), *cost);
    }
    let (mut now, _) = *requests.last().unwrap();
    let limit = key.standing(now).limit;
    let at_once = at_once(&mut key, now, limit);
    prop_assert!(at_once <= limit, "{} of {}", at_once, limit);
    if matches!(any, Rule::Leaky(_)) {
        return Ok(1);
    }
    // Then it waits for what any client may be told to wait for: one window, or two, or what the
    // zone can owe.
    let longest_ms = match any {
        Rule::Gcra(rule) => rule.schedule.horizon_ns.div_ceil(NS_PER_MS),
        Rule::LeakyQueue(rule) => rule.schedule.horizon_ns.div_ceil(NS_PER_MS),
        rule => 2 * window_ms(rule) + LAG_MS,
    };
    now.ms += longest_ms;
    now.ns += longest_ms * NS_PER_MS;
    now.wall_ms += longest_ms;
    prop_assert!(key.passes(now, 1), "locked out for more than {longest_ms} ms");
    Ok(1)
}

fn stepped(algorithm: AlgorithmName) -> impl Strategy<Value = (Given, u64)> {
    let hours = prop_oneof![1..10_u64, 1..10_000_u64, Just(49 * 24), Just(300 * 365 * 24)];
    (given(algorithm, false), hours)
}

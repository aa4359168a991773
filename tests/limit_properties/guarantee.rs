//! Never above the guarantee, in any span of the timeline.

use std::collections::{BTreeMap, VecDeque};

use ngx_http_rl::config::AlgorithmName;
use ngx_http_rl::limit::{Algorithm, Leaky, LeakyQueue, Now, Rule, NS_PER_MS, REQUEST};
use proptest::prelude::*;

use super::check;
use super::given::{given, Given};
use crate::support::model::{each_rule, Key, Told};

/// One admitted request: its time by the clock that matters, and its cost.
type Admitted = (u64, u64);

#[test]
fn never_above_the_guarantee() {
    for algorithm in AlgorithmName::ALL {
        let test = format!("guarantee of {algorithm}");
        check(&test, 200, &given(algorithm, true), |Given { rule, requests }| {
            let told = each_rule!(rule, rule => walk(rule, &requests));
            guaranteed(&rule, &told)?;
            Ok(told.iter().filter(|(_, _, told)| told.is_accept()).count())
        });
    }
}

fn walk<A: Algorithm>(rule: A, requests: &[(Now, u32)]) -> Vec<(Now, u32, Told)> {
    let mut key = Key::new(rule);
    requests.iter().map(|(now, cost)| (*now, *cost, key.take(*now, *cost))).collect()
}

fn guaranteed(rule: &Rule, told: &[(Now, u32, Told)]) -> Result<(), TestCaseError> {
    let by = |clock: fn(Now) -> u64| -> Vec<Admitted> {
        let accepted = told.iter().filter(|(_, _, told)| told.is_accept());
        accepted.map(|(now, cost, _)| (clock(*now), u64::from(*cost))).collect()
    };
    match rule {
        Rule::Leaky(rule) => leaky(rule, &by(|now| now.ms)),
        // In units of the emission interval as it is, in whole nanoseconds.
        Rule::Gcra(rule) => in_any_span(&by(|now| now.ns), |span_ns| {
            (rule.tolerance_ns + span_ns) / rule.schedule.interval_ns + 1
        }),
        Rule::LeakyQueue(rule) => queue(rule, told, &by(|now| now.ns)),
        Rule::FixedWindow(rule) => {
            let admitted = by(|now| now.wall_ms);
            let mut windows = BTreeMap::new();
            for (ms, cost) in &admitted {
                *windows.entry(ms / rule.window_ms).or_insert(0) += cost;
            }
            prop_assert!(windows.values().all(|sum| *sum <= u64::from(rule.quota)));
            at_most(&admitted, rule.window_ms, 2 * u64::from(rule.quota))
        }
        Rule::AnchoredWindow(rule) => {
            let admitted = by(|now| now.ms);
            anchored(&admitted, rule.window_ms, u64::from(rule.quota))?;
            at_most(&admitted, rule.window_ms, 2 * u64::from(rule.quota))
        }
        Rule::SlidingWindow(rule) => {
            estimated(told, rule.window_ms, rule.quota)?;
            at_most(&by(|now| now.wall_ms), rule.window_ms, 2 * u64::from(rule.quota))
        }
        Rule::SlidingLog(rule) => at_most(&by(|now| now.ms), rule.window_ms, u64::from(rule.quota)),
    }
}

/// From any admission to any later one, no more than `most` says of the time between them.
fn in_any_span(admitted: &[Admitted], most: impl Fn(u64) -> u64) -> Result<(), TestCaseError> {
    for (n, (first, _)) in admitted.iter().enumerate() {
        let mut sum = 0;
        for (time, cost) in &admitted[n..] {
            sum += cost;
            prop_assert!(sum <= most(time - first), "{sum} from {first} to {time}");
        }
    }
    Ok(())
}

/// In no half-open span of that length more than `most`.
fn at_most(admitted: &[Admitted], span: u64, most: u64) -> Result<(), TestCaseError> {
    in_any_span(admitted, |length| if length < span { most } else { u64::MAX })
}

/// `burst + 1` and what leaks in the meantime.
fn leaky(rule: &Leaky, admitted: &[Admitted]) -> Result<(), TestCaseError> {
    in_any_span(admitted, |span_ms| {
        let leaked = rule.rate.saturating_mul(span_ms) / 1000;
        rule.burst.saturating_add(REQUEST).saturating_add(leaked) / REQUEST
    })
}

/// A window opens at the first admission while none is open.
fn anchored(admitted: &[Admitted], window_ms: u64, quota: u64) -> Result<(), TestCaseError> {
    let mut open: Option<Admitted> = None;
    for (ms, cost) in admitted {
        let (start, count) = open.filter(|(start, _)| ms - start < window_ms).unwrap_or((*ms, 0));
        prop_assert!(count + cost <= quota, "{} in the window from {start}", count + cost);
        open = Some((start, count + cost));
    }
    Ok(())
}

/// Decides anew from the counts of two windows.
fn estimated(told: &[(Now, u32, Told)], window_ms: u64, quota: u32) -> Result<(), TestCaseError> {
    let mut counts = BTreeMap::new();
    for (now, cost, told) in told {
        let number = now.wall_ms / window_ms;
        let of = |number: u64| u128::from(counts.get(&number).copied().unwrap_or(0));
        let covered_ms = u128::from(window_ms - now.wall_ms % window_ms);
        let previous = number.checked_sub(1).map_or(0, of);
        let window = u128::from(window_ms);
        let estimate = previous * covered_ms + of(number) * window;
        let others = u128::from(cost - 1) * window;
        let is_within = estimate + others < u128::from(quota) * window;
        prop_assert_eq!(told.is_accept(), is_within, "estimate {}", estimate);
        if is_within {
            *counts.entry(number).or_insert(0_u64) += u64::from(*cost);
        }
    }
    Ok(())
}

/// Releases, decided anew: one gap apart, never early, and no more requests in the queue than it
/// has places. A request takes its place until one gap after its release.
fn queue(
    rule: &LeakyQueue,
    told: &[(Now, u32, Told)],
    admitted: &[Admitted],
) -> Result<(), TestCaseError> {
    let gap_ns = rule.schedule.interval_ns;
    let places = rule.capacity_ns / gap_ns;
    // Arrivals: a place that is just being left is taken in part, and may be taken again.
    in_any_span(admitted, |span_ns| places + span_ns.div_ceil(gap_ns))?;
    let mut releases: VecDeque<u64> = VecDeque::new();
    for (now, cost, told) in told {
        let next_ns = releases.back().map_or(0, |last| last + gap_ns).max(now.ns);
        releases.retain(|release| release + gap_ns > now.ns);
        let taken = releases.len() as u64;
        if let Told::Accept { wait_ms, .. } = told {
            // A timer of nginx has milliseconds: what it holds is rounded down.
            prop_assert_eq!(*wait_ms, (next_ns - now.ns) / NS_PER_MS);
            releases.extend((0..u64::from(*cost)).map(|n| next_ns + n * gap_ns));
            // A place that is just being left is taken in part.
            let in_part = u64::from(releases.front().is_some_and(|first| *first < now.ns));
            let all = releases.len() as u64;
            prop_assert!(all <= places + in_part, "{all} in {places} places");
        } else {
            prop_assert!(taken + u64::from(*cost) > places, "refused with {taken} taken");
        }
    }
    Ok(())
}

//! The wall clock is stepped, by up to a minute and by more, back and forth.
//!
//! A window that is left behind is moved, as the engine does, by storing what a refusal says.
//! Nothing is granted then: counts go down only where a later window than the stored one has begun.

use ngx_http_rl::config::AlgorithmName;
use ngx_http_rl::limit::{
    Algorithm, FixedWindow, Now, Rule, Scalar, SlidingState, SlidingWindow, Verdict, WindowState,
};
use proptest::prelude::*;

use super::check;
use super::given::{rate, rule};
use crate::support::model::{Key, Told};

/// Up to here a stored window ahead of the clock is the current one.
const STEP_MS: u64 = 60_000;

/// How the clock goes on before a request.
#[derive(Clone, Copy, Debug)]
enum Clock {
    /// Milliseconds.
    Forward(u64),
    Back(u64),
    /// In 1/1000 of the window.
    Part(u64),
}

type Steps = Vec<(Clock, u32)>;

/// Compares the states before and after a request; of a cost, or 0 if it was refused.
type Check<A, S> = fn(&A, Now, u32, Option<S>, S) -> Result<(), TestCaseError>;

#[test]
fn a_stepped_clock_grants_nothing() {
    for algorithm in [AlgorithmName::FixedWindow, AlgorithmName::SlidingWindow] {
        let test = format!("a stepped clock under {algorithm}");
        let moves = std::cell::Cell::new(0);
        check(&test, 500, &stepped(algorithm), |(rule, steps)| {
            let (refused, moved) = match rule {
                Rule::FixedWindow(rule) => walk(rule, rule.window_ms, &steps, fixed, 1)?,
                Rule::SlidingWindow(rule) => walk(rule, rule.window_ms, &steps, sliding, 2)?,
                _ => panic!("another rule"),
            };
            moves.set(moves.get() + moved);
            Ok(refused)
        });
        println!("{test}: {} windows moved", moves.get());
        assert!(moves.get() > 0);
    }
}

fn stepped(algorithm: AlgorithmName) -> impl Strategy<Value = (Rule, Steps)> {
    let clock = prop_oneof![
        6 => Just(Clock::Forward(0)),
        2 => (0..2000_u64).prop_map(Clock::Forward),
        4 => (0..2500_u64).prop_map(Clock::Part),
        2 => (0..=STEP_MS).prop_map(Clock::Back),
        1 => (STEP_MS - 2..STEP_MS + 3).prop_map(Clock::Back),
        1 => (0..2 * STEP_MS).prop_map(Clock::Forward),
        2 => (STEP_MS..100 * STEP_MS).prop_map(Clock::Back),
        1 => (STEP_MS..100 * STEP_MS).prop_map(Clock::Forward),
    ];
    let cost = prop_oneof![6 => Just(1), 1 => 1..6_u32];
    let steps = prop::collection::vec((clock, cost), 1..150);
    (rate(), steps).prop_map(move |((requests, period_ms), steps)| {
        (rule(algorithm, requests, period_ms, 0).expect("a quota"), steps)
    })
}

/// How many requests were refused and how many windows moved. A wait may be so many windows, and
/// longer by what the stored one may be ahead of the clock unless it is moved.
fn walk<A: Algorithm<State = S>, S: Scalar>(
    rule: A,
    window_ms: u64,
    steps: &Steps,
    check: Check<A, S>,
    windows: u64,
) -> Result<(usize, usize), TestCaseError> {
    let mut key = Key::new(rule);
    let mut now = Now { ms: 0, ns: 0, wall_ms: 1_790_000_000_000 };
    let (mut refused, mut moved) = (0, 0);
    for (clock, cost) in steps {
        now.wall_ms = match clock {
            Clock::Forward(ms) => now.wall_ms + ms,
            Clock::Back(ms) => now.wall_ms - ms,
            Clock::Part(part) => now.wall_ms + window_ms * part / 1000,
        };
        let before = key.view();
        let verdict = key.judge(now, *cost);
        key.store(&verdict);
        let is_admitted = Told::of(&verdict).is_accept();
        match key.view() {
            Some(after) => check(&key.rule, now, u32::from(is_admitted) * cost, before, after)?,
            None => prop_assert!(!is_admitted),
        }
        if let Verdict::Reject(refusal) = verdict {
            refused += 1;
            moved += usize::from(refusal.moved.is_some());
            let Some(wait_ms) = refusal.retry_after_ms else { continue };
            let ahead_ms = if refusal.moved.is_some() { 0 } else { STEP_MS };
            prop_assert!(wait_ms <= windows * window_ms + ahead_ms, "{wait_ms} ms");
            let after = |ms| Now { wall_ms: now.wall_ms + ms, ..now };
            prop_assert!(key.passes(after(wait_ms), *cost), "{wait_ms} ms: too short");
            prop_assert!(!key.passes(after(wait_ms - 1), *cost), "{wait_ms} ms: too long");
        }
    }
    Ok((refused, moved))
}

fn fixed(
    rule: &FixedWindow,
    now: Now,
    charged: u32,
    before: Option<WindowState>,
    after: WindowState,
) -> Result<(), TestCaseError> {
    prop_assert!(after.count <= rule.quota);
    prop_assert!(after.start_ms <= now.wall_ms + STEP_MS);
    let kept = match before {
        Some(before) if after.start_ms <= before.start_ms => before.count,
        _ => 0,
    };
    prop_assert_eq!(after.count, kept + charged);
    let is_older = before.is_some_and(|before| after.start_ms > before.start_ms);
    prop_assert!(!is_older || charged > 0 && after.start_ms + rule.window_ms > now.wall_ms);
    Ok(())
}

fn sliding(
    rule: &SlidingWindow,
    now: Now,
    charged: u32,
    before: Option<SlidingState>,
    after: SlidingState,
) -> Result<(), TestCaseError> {
    prop_assert!(after.start_ms <= now.wall_ms + STEP_MS);
    let kept = match before {
        Some(before) if after.start_ms <= before.start_ms => (before.previous, before.current),
        Some(before) if after.start_ms == before.start_ms + rule.window_ms => (before.current, 0),
        _ => (0, 0),
    };
    prop_assert_eq!((after.previous, after.current), (kept.0, kept.1 + charged));
    if charged > 0 {
        let elapsed_ms = now.wall_ms.saturating_sub(after.start_ms);
        let weighted = u64::from(after.previous) * (rule.window_ms - elapsed_ms);
        let others = u64::from(after.current - 1) * rule.window_ms;
        prop_assert!(weighted + others < u64::from(rule.quota) * rule.window_ms);
    }
    Ok(())
}

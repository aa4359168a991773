//! Verdict, standing and recovery agree with what then happens to the key.

use std::fmt::Debug;

use ngx_http_rl::config::AlgorithmName;
use ngx_http_rl::limit::{Algorithm, Next, Now, Verdict, REQUEST};
use proptest::prelude::*;

use super::check;
use super::given::{given, later, Given};
use crate::support::model::{each_rule, Key};

const CASES: u32 = 100;

/// A refusal says the least wait for one request of its cost, `None` exactly if no wait helps; and
/// it changes nothing.
#[test]
fn a_refusal_says_the_least_wait_and_changes_nothing() {
    for algorithm in AlgorithmName::ALL {
        for costs in [false, true] {
            let test = format!("refusals of {algorithm}, costs: {costs}");
            check(
                &test,
                CASES,
                &given(algorithm, costs),
                |Given { rule, requests }| each_rule!(rule, rule => refusals(Key::new(rule), &requests)),
            );
        }
    }
}

fn refusals<A: Algorithm>(mut key: Key<A>, requests: &[(Now, u32)]) -> Result<usize, TestCaseError>
where
    Next<A>: Debug + PartialEq,
{
    let mut met = 0;
    for (now, cost) in requests.iter().copied() {
        let capacity = key.standing(now).limit;
        let verdict = key.judge(now, cost);
        if let Verdict::Reject(refusal) = verdict {
            met += 1;
            prop_assert_eq!(refusal.moved, None, "the clock goes forward");
            prop_assert_eq!(refusal.retry_after_ms.is_none(), u64::from(cost) > capacity);
            if let Some(wait_ms) = refusal.retry_after_ms {
                prop_assert!(wait_ms >= 1);
                prop_assert!(!key.passes(later(now, wait_ms - 1), cost), "{wait_ms} ms: too long");
                prop_assert!(key.passes(later(now, wait_ms), cost), "{wait_ms} ms: too short");
            }
        }
        prop_assert_eq!(key.judge(now, cost), verdict, "judging changes nothing");
        prop_assert!(u64::from(cost) <= capacity || matches!(verdict, Verdict::Reject(_)));
        key.store(&verdict);
    }
    Ok(met)
}

/// `remaining` more requests pass at the very instant, and after `reset_after_ms`, not earlier, the
/// key is as good as new.
#[test]
fn a_standing_is_what_then_happens() {
    for algorithm in AlgorithmName::ALL {
        let test = format!("standing with {algorithm}");
        let case = (given(algorithm, true), given(algorithm, true));
        check(
            &test,
            CASES,
            &case,
            |(Given { rule, requests }, more)| each_rule!(rule, rule => standing(Key::new(rule), &requests, &more.requests)),
        );
    }
}

fn standing<A: Algorithm + Copy>(
    mut key: Key<A>,
    requests: &[(Now, u32)],
    more: &[(Now, u32)],
) -> Result<usize, TestCaseError> {
    for (now, cost) in requests.iter().copied() {
        key.take(now, cost);
    }
    let now = requests.last().unwrap().0;
    let before = key.standing(now);
    prop_assert!(before.remaining <= before.limit);
    for left in (0..before.remaining).rev() {
        prop_assert!(key.take(now, 1).is_accept(), "{} more should pass", left + 1);
        prop_assert_eq!(key.standing(now).remaining, left);
    }
    prop_assert!(!key.passes(now, 1), "no more should pass than {}", before.remaining);

    let reset_after_ms = key.standing(now).reset_after_ms;
    prop_assert!(reset_after_ms >= 1, "it has just been refused");
    prop_assert!(
        !key.is_recovered(later(now, reset_after_ms - 1)),
        "{reset_after_ms} ms: too long"
    );
    behaves_as_new(key, later(now, reset_after_ms), more)?;
    Ok(1)
}

/// A record that has recovered makes no difference from then on, and only such a one has nothing
/// charged to it.
#[test]
fn a_recovered_record_is_as_good_as_none() {
    for algorithm in AlgorithmName::ALL {
        let test = format!("recovery of {algorithm}");
        let case = (given(algorithm, true), given(algorithm, true));
        check(
            &test,
            CASES,
            &case,
            |(Given { rule, requests }, more)| each_rule!(rule, rule => recovery(rule, &requests, &more.requests)),
        );
    }
}

fn recovery<A: Algorithm + Copy>(
    rule: A,
    requests: &[(Now, u32)],
    more: &[(Now, u32)],
) -> Result<usize, TestCaseError> {
    let mut key = Key::new(rule);
    let mut met = 0;
    for (n, (now, cost)) in requests.iter().copied().enumerate() {
        let charged = key.charged(now);
        if key.is_recovered(now) {
            prop_assert_eq!(charged, 0);
            let mut copy = Key::new(rule);
            for (earlier, cost) in requests[..n].iter().copied() {
                copy.take(earlier, cost);
            }
            behaves_as_new(copy, now, more)?;
            met += usize::from(n > 0);
        } else if charged == 0 {
            // Less than 1/1000 request, as only a theoretical time can have; it is soon over.
            let soon_ms = key.standing(now).reset_after_ms;
            prop_assert!(soon_ms <= 1 + interval_ms(&rule, now) / REQUEST, "{soon_ms} ms");
        }
        key.take(now, cost);
    }
    Ok(met)
}

/// What a single request takes to recover from, in milliseconds.
fn interval_ms<A: Algorithm + Copy>(rule: &A, now: Now) -> u64 {
    let mut key = Key::new(*rule);
    key.take(now, 1);
    key.standing(now).reset_after_ms
}

/// Compares a key with one without a record, on requests from an instant on.
fn behaves_as_new<A: Algorithm + Copy>(
    mut key: Key<A>,
    from: Now,
    requests: &[(Now, u32)],
) -> Result<(), TestCaseError> {
    prop_assert!(key.is_recovered(from));
    prop_assert_eq!(key.charged(from), 0);
    let mut new = Key::new(key.rule);
    let start_ns = requests[0].0.ns;
    for (now, cost) in requests {
        // The times of another timeline, as they are apart.
        let ns = now.ns - start_ns;
        let mut now = later(from, ns / 1_000_000);
        now.ns += ns % 1_000_000;
        prop_assert_eq!(key.standing(now), new.standing(now));
        prop_assert_eq!(key.take(now, *cost), new.take(now, *cost));
        prop_assert_eq!(key.standing(now), new.standing(now));
    }
    Ok(())
}

//! What the traces' columns can be, by algorithm: each request as the pure judge sees it.

use ngx_http_rl::config::AlgorithmName;
use ngx_http_rl::limit::{
    Ahead, Algorithm, Gcra, LeakyQueue, LeakyState, LogView, Now, Rule, SlidingLog, SlidingState,
    SlidingWindow, State, Verdict, View, WindowState, NS_PER_MS, REQUEST,
};
use serde_json::{json, Value};

use super::rules::{estimate_x_window, rule, two_windows};

/// One request, and what the key looked like around it.
struct Step<S> {
    now: Now,
    is_admitted: bool,
    wait_ms: u64,
    excess: u64,
    before: S,
    after: S,
}

/// All requests of a timeline by name of column.
pub fn told(algorithm: AlgorithmName, parameters: &Value, times: &[u64]) -> Vec<Value> {
    match rule(algorithm, parameters) {
        Rule::Leaky(rule) => tell(&walk(&rule, times, |state, _| state.copied()), limit_req),
        Rule::Gcra(rule) => tell(&walk(&rule, times, |state, _| state.copied()), |past, step| {
            // The token bucket is asked at each request, so that its time is that of the last.
            merged(gcra(&rule, parameters, step), tokens(&rule, parameters, past, step))
        }),
        Rule::LeakyQueue(rule) => {
            tell(&walk(&rule, times, |state, _| state.copied()), |_, step| queue(&rule, step))
        }
        Rule::FixedWindow(rule) => {
            tell(&walk(&rule, times, |state, _| state.copied()), |_, step| {
                fixed(rule.window_ms, step)
            })
        }
        Rule::AnchoredWindow(rule) => {
            tell(&walk(&rule, times, |state, _| state.copied()), |_, step| anchored(step))
        }
        Rule::SlidingWindow(rule) => {
            tell(&walk(&rule, times, |state, _| state.copied()), |past, step| {
                sliding(&rule, past, step)
            })
        }
        Rule::SlidingLog(rule) => {
            tell(&walk(&rule, times, |log, now| entries(&rule, log, now)), log)
        }
    }
}

/// Judges requests one after the other; `look` sees the key before and after each.
fn walk<A: Algorithm, S>(
    rule: &A,
    times: &[u64],
    look: impl Fn(Option<&View<'_, A>>, Now) -> S,
) -> Vec<Step<S>> {
    let mut owned = None;
    let mut step = |time_ms: &u64| {
        let now = Now::at_ms(*time_ms);
        let view = owned.as_ref().map(A::State::view);
        let before = look(view.as_ref(), now);
        let (is_admitted, wait_ms, excess) = match rule.judge(view.as_ref(), now, 1) {
            Verdict::Accept(admission) => {
                A::State::store(&mut owned, admission.next);
                (true, admission.wait_ms, admission.excess)
            }
            Verdict::Reject(refusal) => (false, 0, refusal.excess),
        };
        let after = look(owned.as_ref().map(A::State::view).as_ref(), now);
        Step { now, is_admitted, wait_ms, excess, before, after }
    };
    times.iter().map(&mut step).collect()
}

/// The columns of all requests, each told with those before it.
fn tell<S>(steps: &[Step<S>], own: impl Fn(&[Step<S>], &Step<S>) -> Value) -> Vec<Value> {
    let common = |step: &Step<S>| json!({"t": step.now.ms, "admit": u8::from(step.is_admitted)});
    let row = |(n, step)| merged(common(step), own(&steps[..n], step));
    steps.iter().enumerate().map(row).collect()
}

fn merged(mut columns: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("no object: {more}") };
    columns.as_object_mut().expect("an object").extend(more);
    columns
}

fn limit_req(_: &[Step<Option<LeakyState>>], step: &Step<Option<LeakyState>>) -> Value {
    let after = step.after.expect("the first request is admitted");
    json!({
        "d": if step.is_admitted { json!(step.wait_ms) } else { json!(-1) },
        "excess": step.excess,
        "excess_after": after.excess,
        "state_excess": after.excess,
        "state_last": after.last,
    })
}

fn fixed(window_ms: u64, step: &Step<Option<WindowState>>) -> Value {
    let number =
        |state: Option<WindowState>| state.map_or(json!(-1), |s| json!(s.start_ms / window_ms));
    let count = |state: Option<WindowState>| state.unwrap_or_default().count;
    json!({
        "win_before": number(step.before),
        "count_before": count(step.before),
        "win_after": number(step.after),
        "count_after": count(step.after),
    })
}

fn anchored(step: &Step<Option<WindowState>>) -> Value {
    let start = |state: Option<WindowState>| state.map(|state| state.start_ms);
    let count = |state: Option<WindowState>| state.unwrap_or_default().count;
    json!({
        "start_before": start(step.before),
        "count_before": count(step.before),
        "start_after": start(step.after),
        "count_after": count(step.after),
    })
}

/// The admissions that count at an instant. The ring keeps its words to itself: each entry shows
/// by when it ceases to count.
fn entries(rule: &SlidingLog, log: Option<&LogView<'_>>, now: Now) -> Vec<u64> {
    let Some(log) = log else { return Vec::new() };
    let counted = |ms| rule.charged(log, Now::at_ms(ms)) / REQUEST;
    let gone = |ms: u64| counted(ms - 1) - counted(ms);
    (now.ms + 1..=now.ms + rule.window_ms)
        .flat_map(|ms| (0..gone(ms)).map(move |_| ms - rule.window_ms))
        .collect()
}

fn log(past: &[Step<Vec<u64>>], step: &Step<Vec<u64>>) -> Value {
    let stored = past.last().map_or(&[][..], |last| &last.after);
    let dropped: Vec<_> = stored.iter().filter(|time| !step.before.contains(time)).collect();
    json!({"dropped": dropped, "log_before": step.before, "log_after": step.after})
}

fn sliding(
    rule: &SlidingWindow,
    past: &[Step<Option<SlidingState>>],
    step: &Step<Option<SlidingState>>,
) -> Value {
    let SlidingWindow { quota, window_ms } = *rule;
    let now = step.now;
    let counts = |step: &&Step<_>| step.is_admitted && step.now.ms + window_ms > now.ms;
    let exact = past.iter().filter(counts).count();
    let error = match (step.is_admitted, exact < quota as usize) {
        (true, false) => 1,
        (false, true) => -1,
        _ => 0,
    };
    let (previous, current) = two_windows(step.before, now, window_ms);
    json!({
        "prev": previous,
        "curr_before": current,
        "estimate_x_window": estimate_x_window(step.before, now, window_ms),
        "curr_after": two_windows(step.after, now, window_ms).1,
        "exact_count_before": exact,
        "vs_exact(+1 wrongly admitted,-1 wrongly rejected)": error,
    })
}

fn queue(rule: &LeakyQueue, step: &Step<Option<Ahead>>) -> Value {
    let out_ns = until_ns(step.before).max(step.now.ns);
    let wait_ms = whole_ms(out_ns) - step.now.ms;
    if step.is_admitted {
        assert_eq!(wait_ms, step.wait_ms, "held until its turn");
        assert_eq!(until_ns(step.after), out_ns + rule.schedule.interval_ns);
    }
    json!({
        "next_out_before": whole_ms(until_ns(step.before)),
        "out": whole_ms(out_ns),
        "wait": wait_ms,
        "next_out_after": whole_ms(until_ns(step.after)),
        "leaves_at": step.is_admitted.then_some(step.now.ms + step.wait_ms),
    })
}

fn gcra(rule: &Gcra, parameters: &Value, step: &Step<Option<Ahead>>) -> Value {
    let latest_ns = until_ns(step.before).max(step.now.ns);
    let period = &parameters["period_ms"];
    json!({
        "wait": step.is_admitted.then_some(step.wait_ms),
        "tat_before": whole_ms(until_ns(step.before)),
        "max_tat_now": whole_ms(latest_ns),
        "ahead": whole_ms(latest_ns - step.now.ns),
        "tat_after": whole_ms(until_ns(step.after)),
        format!("equivalent_tokens_x{period}"): scaled_tokens(rule, parameters, step.before, step.now),
    })
}

fn tokens(
    rule: &Gcra,
    parameters: &Value,
    past: &[Step<Option<Ahead>>],
    step: &Step<Option<Ahead>>,
) -> Value {
    let last = past.last().map_or(Now::default(), |last| last.now);
    let period = &parameters["period_ms"];
    let at = |state, now| scaled_tokens(rule, parameters, state, now);
    json!({
        format!("tokens_before_x{period}"): at(step.before, last),
        "last_before": last.ms,
        format!("tokens_refilled_x{period}"): at(step.before, step.now),
        format!("tokens_after_x{period}"): at(step.after, step.now),
    })
}

/// The tokens that a theoretical arrival time leaves, times the period: what it lacks to the
/// farthest that it may be ahead.
fn scaled_tokens(rule: &Gcra, parameters: &Value, state: Option<Ahead>, now: Now) -> u64 {
    let ahead_ns = until_ns(state).saturating_sub(now.ns);
    let left_ns = rule.tolerance_ns + rule.schedule.interval_ns - ahead_ns;
    whole_ms(left_ns * parameters["limit"].as_u64().unwrap())
}

fn until_ns(state: Option<Ahead>) -> u64 {
    state.unwrap_or_default().until_ns
}

/// The traces have times in whole milliseconds.
fn whole_ms(ns: u64) -> u64 {
    assert_eq!(ns % NS_PER_MS, 0, "{ns} ns are no whole milliseconds");
    ns / NS_PER_MS
}

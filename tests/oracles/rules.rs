//! The files of all algorithms but `limit_req`: one limit, one key. Each row is decided by the pure
//! judge, which shows every number of the row, and by engine and table, which must agree.
//!
//! Times of `gcra` and `leaky_queue` are exact fractions in the files and whole nanoseconds here,
//! rounded once for each admission: their sums may be off by that much and no more.

use ngx_http_rl::config::{AlgorithmName, Delay, Rate, ZoneRule};
use ngx_http_rl::engine::{AnyTable, Judgement, Meter};
use ngx_http_rl::limit::{
    Algorithm, Full, Now, Owned, Rule, Scalar, SlidingState, State, Verdict, WindowState,
};
use ngx_http_rl::store::{KeyHash, Secret};
use serde_json::{json, Value};

use super::data::{Case, Row};
use super::support::memory::{Memory, KEY};

/// What all of these files begin with.
const COMMON: [&str; 4] = ["t", "admit", "retry_ms", "remaining"];

pub const WINDOW: [&str; 6] = with(["count", "resets_in_ms"]);
pub const LOG: [&str; 5] = with(["stored"]);
pub const SLIDING: [&str; 7] = with(["prev", "curr", "estimate_x_window"]);
pub const GCRA: [&str; 6] = with(["tat_x_limit", "tokens_x_period"]);
pub const QUEUE: [&str; 6] = with(["wait_x_limit", "next_out_x_limit"]);

const fn with<const N: usize, const M: usize>(own: [&'static str; N]) -> [&'static str; M] {
    let mut columns = [""; M];
    let mut n = 0;
    while n < M {
        columns[n] = if n < COMMON.len() { COMMON[n] } else { own[n - COMMON.len()] };
        n += 1;
    }
    columns
}

/// A limit over a table of its own, as nginx would ask it.
pub struct Engine {
    rule: Rule,
    table: AnyTable,
    key: KeyHash,
    /// Unmapped last.
    _memory: Memory,
}

impl Engine {
    pub fn new(rule: Rule) -> Self {
        let memory = Memory::zeroed(1 << 20);
        let table = AnyTable::create(&rule, memory.region(), KEY, Secret::known([7, 8]));
        let table = table.expect("memory does");
        let key = table.hash(b"the key");
        Self { rule, table, key, _memory: memory }
    }

    pub fn admits(&self, now: Now) -> bool {
        self.take(now).is_some()
    }

    /// How long a request is held, in milliseconds; `None` if it is refused.
    pub fn take(&self, now: Now) -> Option<u64> {
        let meter = self.table.meter(&self.rule, Full::Evict);
        match meter.take(self.key, now) {
            Judgement::Accept(hold) => Some(hold.wait_ms),
            Judgement::Reject { .. } => None,
        }
    }

    /// One digit for each request: 1 if it is admitted.
    pub fn decisions(&self, times_ms: impl IntoIterator<Item = u64>) -> String {
        let admits = |ms| if self.admits(Now::at_ms(ms)) { '1' } else { '0' };
        times_ms.into_iter().map(admits).collect()
    }
}

/// The algorithm that a file means by a name.
pub fn algorithm(name: &str) -> AlgorithmName {
    match name {
        "fixed_window" => AlgorithmName::FixedWindow,
        "fixed_window_anchored" => AlgorithmName::AnchoredWindow,
        "sliding_log" => AlgorithmName::SlidingLog,
        "sliding_window_counter" => AlgorithmName::SlidingWindow,
        "token_bucket" => AlgorithmName::TokenBucket,
        "gcra" => AlgorithmName::Gcra,
        "leaky_queue" => AlgorithmName::LeakyQueue,
        "limit_req" => AlgorithmName::Leaky,
        _ => panic!("unknown algorithm {name:?}"),
    }
}

/// The rule of a case, by what a configuration would say.
pub fn rule(algorithm: AlgorithmName, parameters: &Value) -> Rule {
    let number = |name: &str| parameters[name].as_u64();
    let rate = parameters["rate"].as_str().map_or_else(
        || {
            let period_ms = number("window_ms").or_else(|| number("period_ms"));
            format!("{}r/{}ms", number("limit").expect("a limit"), period_ms.expect("a period"))
        },
        str::to_owned,
    );
    let rate = Rate::parse(format!("rate={rate}").as_bytes()).expect("a rate");
    let zone = ZoneRule::new(algorithm, rate).expect("a usable rate");
    // All but `limit_req` count all requests at once, nginx those above the first.
    let at_once = |name| number(name).map(|at_once| at_once - 1);
    let (burst, delay) = match algorithm {
        AlgorithmName::Leaky => (number("burst"), number("delay").map(Delay::After)),
        AlgorithmName::LeakyQueue => (at_once("capacity"), None),
        // Theirs hold nothing.
        AlgorithmName::Gcra | AlgorithmName::TokenBucket => (at_once("burst"), Some(Delay::Never)),
        _ => (None, None),
    };
    let delay = if parameters["delay"] == "nodelay" { Some(Delay::Never) } else { delay };
    zone.rule(burst, delay, burst.unwrap_or(0)).expect("parameters of its own")
}

pub fn check_fixed(case: &Case<'_>) -> usize {
    let Rule::FixedWindow(rule) = rule(AlgorithmName::FixedWindow, case.parameter("params")) else {
        panic!("another rule");
    };
    walk(case, rule, Rule::FixedWindow(rule), |row, seen| check_window(&rule, row, seen))
}

pub fn check_anchored(case: &Case<'_>) -> usize {
    let Rule::AnchoredWindow(rule) = rule(AlgorithmName::AnchoredWindow, case.parameter("params"))
    else {
        panic!("another rule");
    };
    walk(case, rule, Rule::AnchoredWindow(rule), |row, seen| check_window(&rule, row, seen))
}

fn check_window<A: Algorithm<State = WindowState>>(
    rule: &A,
    row: &Row<'_>,
    seen: &Seen<WindowState>,
) {
    let after = seen.after.expect("the first request is admitted");
    let resets = rule.standing(Some(&after), seen.now).reset_after_ms;
    row.compare(
        "count, resets_in_ms",
        &json!([row.field(4), row.field(5)]),
        &json!([after.count, resets]),
    );
}

pub fn check_log(case: &Case<'_>) -> usize {
    let Rule::SlidingLog(rule) = rule(AlgorithmName::SlidingLog, case.parameter("params")) else {
        panic!("another rule");
    };
    let mut ring = None;
    let engine = Engine::new(Rule::SlidingLog(rule));
    let mut rows = 0;
    for (row, now) in case.rows() {
        check_common(&row, &rule, &mut ring, &engine, now);
        let remaining = row.field(3).as_u64().unwrap();
        row.compare("stored", row.field(4), &json!(u64::from(rule.quota) - remaining));
        rows += 1;
    }
    rows
}

pub fn check_sliding(case: &Case<'_>) -> usize {
    let Rule::SlidingWindow(rule) = rule(AlgorithmName::SlidingWindow, case.parameter("params"))
    else {
        panic!("another rule");
    };
    let window_ms = rule.window_ms;
    walk(case, rule, Rule::SlidingWindow(rule), |row, seen| {
        let estimate = estimate_x_window(seen.before, seen.now, window_ms);
        let (previous, current) = two_windows(seen.after, seen.now, window_ms);
        row.compare(
            "prev, curr, estimate_x_window",
            &json!([row.field(4), row.field(5), row.field(6)]),
            &json!([previous, current, estimate]),
        );
    })
}

/// What a stored state says of the window before and of the current one, by the oracle's words.
pub fn two_windows(state: Option<SlidingState>, now: Now, window_ms: u64) -> (u64, u64) {
    let state = state.unwrap_or_default();
    let (previous, current) = match now.wall_ms / window_ms - state.start_ms / window_ms {
        0 => (state.previous, state.current),
        1 => (state.current, 0),
        _ => (0, 0),
    };
    (u64::from(previous), u64::from(current))
}

/// What a request is judged by: the weighted count times the length of a window.
pub fn estimate_x_window(state: Option<SlidingState>, now: Now, window_ms: u64) -> u64 {
    let (previous, current) = two_windows(state, now, window_ms);
    previous * (window_ms - now.wall_ms % window_ms) + current * window_ms
}

pub fn check_gcra(case: &Case<'_>) -> usize {
    let parameters = case.parameter("params");
    let gcra = rule(AlgorithmName::Gcra, parameters);
    assert_eq!(gcra, rule(AlgorithmName::TokenBucket, parameters), "one set of decisions");
    let Rule::Gcra(rule) = gcra else { panic!("another rule") };
    let numbers = Fractions::of(case);
    walk(case, rule, gcra, |row, seen| {
        let tat_ns = seen.after.map_or(0, |after| after.until_ns);
        numbers.compare(row, 4, tat_ns - numbers.t0_ns, Rounded::Down);
        // Tokens are what the TAT lacks to being `burst` emission intervals ahead.
        let ahead = u128::from(tat_ns.saturating_sub(seen.now.ns)) * numbers.limit / 1_000_000;
        let burst =
            parameters["burst"].as_u64().unwrap() * parameters["period_ms"].as_u64().unwrap();
        let tokens = u128::from(row.field(5).as_u64().unwrap());
        let off = tokens.abs_diff(u128::from(burst) - ahead.min(u128::from(burst)));
        assert!(off <= numbers.slack / 1_000_000 + 1, "{tokens} tokens, off by {off}");
    })
}

pub fn check_queue(case: &Case<'_>) -> usize {
    let queue = rule(AlgorithmName::LeakyQueue, case.parameter("params"));
    let Rule::LeakyQueue(rule) = queue else { panic!("another rule") };
    let numbers = Fractions::of(case);
    walk(case, rule, queue, |row, seen| {
        let after_ns = seen.after.map_or(0, |after| after.until_ns);
        numbers.compare(row, 5, after_ns - numbers.t0_ns, Rounded::Up);
        if seen.is_admitted {
            let wait_ns = after_ns - rule.schedule.interval_ns - seen.now.ns;
            numbers.compare(row, 4, wait_ns, Rounded::Up);
        } else {
            row.compare("wait of a refusal", &json!(null), row.field(4));
        }
    })
}

/// How times of whole nanoseconds compare with exact fractions.
struct Fractions {
    t0_ns: u64,
    limit: u128,
    /// How far a sum may be off, in nanoseconds times the limit.
    slack: u128,
}

enum Rounded {
    Down,
    Up,
}

impl Fractions {
    fn of(case: &Case<'_>) -> Self {
        let limit = u128::from(case.parameter("params")["limit"].as_u64().unwrap());
        let is_exact = case.parameter("integer_ns").as_bool().unwrap();
        // Each admission rounds by less than a nanosecond.
        let slack = if is_exact { 0 } else { limit * case.rows().count() as u128 };
        Self { t0_ns: u64::try_from(case.t0()).unwrap() * 1_000_000, limit, slack }
    }

    /// A column that holds milliseconds times the limit.
    fn compare(&self, row: &Row<'_>, column: usize, ns: u64, rounded: Rounded) {
        let expected = u128::from(row.field(column).as_u64().unwrap()) * 1_000_000;
        let got = u128::from(ns) * self.limit;
        let (low, high) = match rounded {
            Rounded::Down => (got, got + self.slack),
            Rounded::Up => (got.saturating_sub(self.slack), got),
        };
        assert!(low <= expected && expected <= high, "{low} <= {expected} <= {high}");
    }
}

/// A row as the pure judge saw it.
struct Seen<S> {
    now: Now,
    is_admitted: bool,
    before: Option<S>,
    after: Option<S>,
}

fn walk<A, S>(case: &Case<'_>, rule: A, any: Rule, check: impl Fn(&Row<'_>, &Seen<S>)) -> usize
where
    A: Algorithm<State = S>,
    S: Scalar,
{
    let engine = Engine::new(any);
    let mut state = None;
    let mut rows = 0;
    for (row, now) in case.rows() {
        let before = state;
        let is_admitted = check_common(&row, &rule, &mut state, &engine, now);
        check(&row, &Seen { now, is_admitted, before, after: state });
        rows += 1;
    }
    rows
}

/// The columns that all files have.
fn check_common<A: Algorithm>(
    row: &Row<'_>,
    rule: &A,
    state: &mut Option<Owned<A>>,
    engine: &Engine,
    now: Now,
) -> bool {
    let verdict = rule.judge(state.as_ref().map(A::State::view).as_ref(), now, 1);
    let (is_admitted, retry_ms) = match verdict {
        Verdict::Accept(admission) => {
            A::State::store(state, admission.next);
            (true, 0)
        }
        Verdict::Reject(refusal) => {
            (false, refusal.retry_after_ms.expect("a request of one can pass"))
        }
    };
    let standing = rule.standing(state.as_ref().map(A::State::view).as_ref(), now);
    let expected = json!([row.field(1), row.field(2), row.field(3)]);
    let got = json!([u8::from(is_admitted), retry_ms, standing.remaining]);
    row.compare("admit, retry_ms, remaining", &expected, &got);
    row.compare("engine's admit", row.field(1), &json!(u8::from(engine.admits(now))));
    is_admitted
}

/// Timelines on which rounding matters: decided as exact arithmetic does.
pub fn check_rounding(algorithm: AlgorithmName, timeline: &Value) -> usize {
    let t0 = timeline["t0"].as_u64().unwrap();
    let times = timeline["times"].as_array().unwrap();
    let engine = Engine::new(rule(algorithm, &timeline["params"]));
    let decisions = engine.decisions(times.iter().map(|t| t0 + t.as_u64().unwrap()));
    assert_eq!(Some(decisions.as_str()), timeline["exact"].as_str(), "{}", timeline["id"]);
    times.len()
}

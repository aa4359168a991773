//! Reference decisions, row by row: every `*.json` of the folder that `RL_ORACLES` names.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::{env, fs};

use ngx_http_rl::config::Rate;
use ngx_http_rl::engine::{decide, Metered, Mode, Outcome};
use ngx_http_rl::limit::{Algorithm, Leaky, LeakyState, Millis, Verdict};
use ngx_http_rl::store::Table;
use serde_json::{json, Value};

mod support;

use support::memory::Memory;

/// Algorithms whose files are there before the algorithm is.
const NOT_YET: [&str; 6] = [
    "fixed_window",
    "fixed_window_anchored",
    "sliding_log",
    "sliding_window_counter",
    "gcra",
    "leaky_queue",
];

#[test]
fn every_row_is_decided_as_the_oracle_says() {
    let folder = env::var_os("RL_ORACLES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/oracles"),
        PathBuf::from,
    );
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    let mut rows = 0;
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let data: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        rows += check_file(&name, &data);
    }
    assert!(rows > 0, "no row was checked in {}", folder.display());
}

fn check_file(name: &str, data: &Value) -> usize {
    let check: fn(&Value, &str) -> usize = match data["algorithm"].as_str() {
        None if !data["traces"].is_null() || !data["labs"].is_null() => {
            println!("{name}: traces and labs are not read yet");
            return 0;
        }
        Some("limit_req") => check_single,
        Some("limit_req_multi") => check_multi,
        Some(other) if NOT_YET.contains(&other) => {
            println!("{name}: {other} is not implemented yet");
            return 0;
        }
        other => panic!("{name}: unknown algorithm {other:?}"),
    };
    let cases = data["cases"].as_array().unwrap();
    let rows = cases.iter().map(|case| check(case, &format!("{name} {}", case["id"]))).sum();
    println!("{name}: {} cases, {rows} rows checked", cases.len());
    rows
}

/// The rule of a limit in a zone, by the numbers that a configuration would give.
fn rule(zone: &Value, limit: &Value) -> Leaky {
    let rate = format!("rate={}", zone["rate"].as_str().unwrap());
    let rate = Rate::parse(rate.as_bytes()).unwrap().milli_per_second();
    assert_eq!(Some(rate), zone["rate_milli"].as_u64());
    let delay = match &limit["delay"] {
        Value::String(word) if word == "nodelay" => u64::MAX,
        number => number.as_u64().unwrap() * 1000,
    };
    Leaky { rate, burst: limit["burst"].as_u64().unwrap() * 1000, delay }
}

fn check_single(case: &Value, place: &str) -> usize {
    let rule = rule(&case["zone"], &case["limit"]);
    let t0 = case["t0"].as_i64().unwrap();
    let requests = case["requests"].as_array().unwrap();
    let mut state: Option<LeakyState> = None;
    for (n, row) in requests.iter().enumerate() {
        let now = millis(t0 + row[0].as_i64().unwrap());
        let (d, excess) = match rule.judge(state.as_ref(), now, 1) {
            Verdict::Accept(admission) => {
                state = Some(admission.next);
                (i64::try_from(admission.wait_ms).unwrap(), admission.excess)
            }
            Verdict::Reject(refusal) => (-1, refusal.excess),
        };
        let kept = state.unwrap();
        let last = kept.last.0.cast_signed() - t0;
        assert_eq!(
            serde_json::json!([row[0], d, excess, kept.excess, last]),
            *row,
            "{place} row {n}: got, expected"
        );
    }
    requests.len()
}

fn check_multi(case: &Value, place: &str) -> usize {
    let zones = case["zones"].as_array().unwrap();
    let memory: Vec<_> = zones.iter().map(|_| Memory::zeroed(1 << 17)).collect();
    let tables: Vec<Table<LeakyState>> = memory.iter().map(|memory| memory.create(7)).collect();
    let t0 = case["t0"].as_i64().unwrap();
    let requests = case["requests"].as_array().unwrap();
    for (n, row) in requests.iter().enumerate() {
        let limits = case["locations"][usize_of(&row[1])].as_array().unwrap();
        let limits: Vec<_> = limits
            .iter()
            .map(|limit| {
                let zone = usize_of(&limit["zone"]);
                Metered { rule: rule(&zones[zone], limit), table: &tables[zone] }
            })
            .collect();
        let now = millis(t0 + row[0].as_i64().unwrap());
        let got = decide_row(&limits, &tables, row, now, t0);
        assert_eq!(got, without_empty_nodes(row), "{place} row {n}: got, expected");
    }
    requests.len()
}

/// Decides one row and writes down what the oracle writes down.
fn decide_row(
    limits: &[Metered<'_, Leaky>],
    tables: &[Table<LeakyState>],
    row: &Value,
    now: Millis,
    t0: i64,
) -> Value {
    let hash = |zone: usize| {
        let key = row[2][zone].as_str().unwrap();
        (!key.is_empty()).then(|| tables[zone].hash(key.as_bytes()))
    };
    let outcome = decide(limits, Mode::Enforce, now, |limit| {
        let zone = tables.iter().position(|table| std::ptr::eq(table, limit.table)).unwrap();
        Ok::<_, Infallible>(hash(zone))
    });
    let (d, excess, index) = match outcome.unwrap() {
        Outcome::Unlimited => (json!(null), None, None),
        Outcome::Pass => (json!(0), None, None),
        Outcome::Delay { limit, wait_ms, excess } => (json!(wait_ms), Some(excess), Some(limit)),
        Outcome::Reject { limit, excess } => (json!(-1), Some(excess), Some(limit)),
    };
    let states: Vec<Value> = (0..tables.len())
        .map(|zone| {
            let state = hash(zone)
                .and_then(|hash| tables[zone].look(hash, |state| state.copied()).unwrap());
            state.map_or(json!(null), |s| json!([s.excess, s.last.0.cast_signed() - t0]))
        })
        .collect();
    json!([row[0], row[1], row[2], d, excess, index, states])
}

/// A row without the nodes that stock's look-up makes and nothing is charged to.
fn without_empty_nodes(row: &Value) -> Value {
    let mut row = row.clone();
    for state in row[6].as_array_mut().unwrap() {
        if *state == json!([0, null]) {
            *state = json!(null);
        }
    }
    row
}

fn millis(ms: i64) -> Millis {
    Millis(u64::try_from(ms).unwrap())
}

fn usize_of(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

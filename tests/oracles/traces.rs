//! `traces.json`: worked timelines with the state around each request, each by columns of its own.
//!
//! A row is told anew by the pure judge, with all columns that its algorithm can have; the file
//! picks some of them. Engine and table must come to the same decisions.

use serde_json::{json, Value};

use super::columns;
use super::data::{array, members, only};
use super::rules;
use super::run::{most_in_any, span_ms, Run};

/// Decisions that a trace gives without its states, and those it warns of.
const RIGHT: [&str; 2] = ["right", "exact"];
const WRONG: [&str; 2] = ["wrong_variant", "float_token_bucket"];

/// What else a trace may have, but figures.
const OTHERS: [&str; 7] = ["id", "algorithm", "params", "columns", "requests", "times", "note"];

/// Checks a file; how many timelines and requests it has.
pub fn check(name: &str, file: &Value) -> (usize, usize) {
    only(name, file, &["format", "unit", "stream", "limit", "summary", "traces"]);
    assert_eq!(file["format"], 1, "{name}");
    assert_eq!(file["unit"], "milliseconds", "{name}");
    let traces = array(&file["traces"]);
    let rows: usize = traces.iter().map(|trace| check_trace(name, trace)).sum();
    let stream = numbers(&file["stream"]);
    let summary = array(&file["summary"]);
    for line in summary {
        check_summary(&format!("{name}, summary of {}", line["algorithm"]), line, &stream, traces);
    }
    (traces.len() + summary.len(), rows + stream.len() * summary.len())
}

/// Checks a timeline by each of its algorithms; how many requests were decided.
fn check_trace(name: &str, trace: &Value) -> usize {
    let place = format!("{name} trace {}", trace["id"]);
    let names: Vec<_> = trace["algorithm"].as_str().unwrap().split('+').collect();
    let times = times(trace);
    for algorithm in &names {
        let algorithm = rules::algorithm(algorithm);
        let told = columns::told(algorithm, &trace["params"], &times);
        let run = Run::of(rules::rule(algorithm, &trace["params"]), &times);
        let judged: String = told.iter().map(|row| row["admit"].to_string()).collect();
        assert_eq!(judged, run.decisions(), "{place}: judge and engine");
        check_rows(&place, trace, &told);
        for (member, value) in members(trace) {
            check_member(&place, (member, value), &run, &told);
        }
    }
    assert!(!times.is_empty(), "{place}: no request");
    times.len() * names.len()
}

/// When the requests of a trace come: a list, or a column.
fn times(trace: &Value) -> Vec<u64> {
    if !trace["times"].is_null() {
        return numbers(&trace["times"]);
    }
    let column = array(&trace["columns"]).iter().position(|column| column == "t").unwrap();
    array(&trace["requests"]).iter().map(|row| row[column].as_u64().unwrap()).collect()
}

fn check_rows(place: &str, trace: &Value, told: &[Value]) {
    let Some(columns) = trace["columns"].as_array() else {
        assert!(RIGHT.iter().any(|name| trace[name].is_string()), "{place}: nothing to compare");
        return;
    };
    let rows = array(&trace["requests"]);
    assert_eq!(rows.len(), told.len());
    for (n, (row, told)) in rows.iter().zip(told).enumerate() {
        assert_eq!(array(row).len(), columns.len(), "{place} row {n}: fields");
        for (column, expected) in columns.iter().zip(array(row)) {
            let got = members(told).get(column.as_str().unwrap());
            let got = got.unwrap_or_else(|| panic!("{place}: unknown column {column}"));
            // Some traces leave the wait of a refusal open, some say what it would have been.
            let is_open = column == "wait" && expected.is_null() && told["admit"] == 0;
            assert!(is_open || got == expected, "{place} row {n}, {column}: {expected}, got {got}");
        }
    }
}

/// Checks one figure or line of decisions.
fn check_member(place: &str, (name, value): (&String, &Value), run: &Run, told: &[Value]) {
    if RIGHT.contains(&name.as_str()) {
        assert_eq!(*value, run.decisions(), "{place}, {name}");
    } else if WRONG.contains(&name.as_str()) {
        assert_ne!(*value, run.decisions(), "{place}, {name}");
    } else if let Some(span_ms) = span_ms(name, "max_sliding_") {
        assert_eq!(*value, run.most_in_any(span_ms), "{place}, {name}");
    } else if let Some(span_ms) = span_ms(name, "max_departures_in_") {
        let departures: Vec<_> = told.iter().filter_map(|row| row["leaves_at"].as_u64()).collect();
        assert_eq!(*value, most_in_any(&departures, span_ms), "{place}, {name}");
    } else {
        assert!(OTHERS.contains(&name.as_str()), "{place}: unknown {name:?}");
    }
}

/// Checks one line on the common stream, by the parameters that the trace of the stream has.
fn check_summary(place: &str, line: &Value, stream: &[u64], traces: &[Value]) {
    let trace = traces
        .iter()
        .find(|trace| trace["algorithm"] == line["algorithm"] && times(trace) == stream)
        .unwrap_or_else(|| panic!("{place}: no trace has its parameters"));
    let algorithm = rules::algorithm(line["algorithm"].as_str().unwrap());
    let run = Run::of(rules::rule(algorithm, &trace["params"]), stream);
    for (name, value) in members(line) {
        let got = match name.as_str() {
            "algorithm" => continue,
            "decisions" => json!(run.decisions()),
            "passed" => json!(run.passed()),
            "longest_wait_ms" => json!(run.longest_wait_ms()),
            name => match span_ms(name, "max_sliding_") {
                Some(span_ms) => json!(run.most_in_any(span_ms)),
                None => panic!("{place}: unknown {name:?}"),
            },
        };
        assert_eq!(*value, got, "{place}, {name}");
    }
}

fn numbers(list: &Value) -> Vec<u64> {
    array(list).iter().map(|number| number.as_u64().unwrap()).collect()
}

#[test]
#[should_panic(expected = "unknown column")]
fn a_column_that_nothing_reads_fails() {
    let trace = json!({
        "id": "x", "algorithm": "gcra", "params": {"limit": 1, "period_ms": 1000, "burst": 1},
        "columns": ["t", "admit", "news"], "requests": [[0, 1, 7]],
    });
    check_trace("a test", &trace);
}

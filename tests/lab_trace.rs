//! `rl-lab trace` and `rl-lab labs`: what they print, whole and figure by figure.
//!
//! | file | what |
//! |---|---|
//! | `lab_trace/program` | the program and its tables |
//! | `lab_trace/oracle` | traces and labs of the reference data |

#![cfg(feature = "lab")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use std::env;
use std::fs;
use std::path::Path;

use serde_json::Value;

use oracle::Expected;
use program::{output, row_of, run, tables, Row};

#[path = "lab_trace/oracle.rs"]
mod oracle;
#[path = "lab_trace/program.rs"]
mod program;

const ALGORITHMS: [&str; 8] = [
    "leaky",
    "gcra",
    "token_bucket",
    "leaky_queue",
    "fixed_window",
    "anchored_window",
    "sliding_window",
    "sliding_log",
];

/// Compares with `tests/data/lab/NAME.txt`, or writes it.
fn golden(name: &str, arguments: &[&str]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/lab/{name}.txt"));
    let printed = output(arguments);
    if env::var_os("RL_BLESS").is_some() {
        fs::write(&path, &printed).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let hint = "if the new text is right, write it with RL_BLESS=1 and look at the difference";
    let difference = expected.lines().zip(printed.lines()).find(|(old, new)| old != new);
    assert_eq!(difference, None, "{}: {hint}", path.display());
    assert!(expected == printed, "{}: more or fewer lines; {hint}", path.display());
}

#[test]
fn the_default_trace_is_as_it_was() {
    golden("trace", &["trace"]);
}

#[test]
fn the_trace_of_each_algorithm_is_as_it_was() {
    for algorithm in ALGORITHMS {
        golden(&format!("trace_{algorithm}"), &["trace", "--algorithm", algorithm]);
    }
}

#[test]
fn labs_are_as_they_were() {
    for lab in ["A", "B", "C", "E"] {
        golden(&format!("lab_{lab}"), &["labs", lab]);
    }
}

/// Every cell that the reference data know.
#[test]
fn traces_are_those_of_the_reference() {
    let traces = oracle::read("traces.json");
    let mut rows = 0;
    for trace in traces["traces"].as_array().unwrap() {
        let arguments = oracle::arguments(trace);
        let text = output(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let tables = tables(&text);
        let [steps, summary] = &tables[..] else { panic!("{}: {text}", trace["id"]) };
        if let Some(decisions) = trace.get("right").or(trace.get("exact")) {
            assert_eq!(summary[0]["decisions"], decisions.as_str().unwrap(), "{}", trace["id"]);
            continue;
        }
        if let Some(most) = trace.get("max_sliding_10s") {
            assert_eq!(summary[0]["max in any 10 s"], most.to_string(), "{}", trace["id"]);
        }
        rows += check_rows(trace, steps);
    }
    assert_eq!(rows, 178);
}

fn check_rows(trace: &Value, steps: &[Row]) -> usize {
    let algorithm = oracle::name(&trace["algorithm"]);
    assert_eq!(steps.len(), trace["requests"].as_array().unwrap().len(), "{}", trace["id"]);
    for (n, row) in steps.iter().enumerate() {
        let expected = Expected::new(trace, n);
        assert_eq!(oracle::passes(row), expected.is_admitted(), "{}, request {n}", trace["id"]);
        for (title, cell) in expected.cells(algorithm) {
            assert_eq!(row[title], cell, "{}, request {n}, {title}", trace["id"]);
        }
    }
    steps.len()
}

#[test]
fn the_summary_is_that_of_the_reference() {
    let tables = tables(&output(&["trace"]));
    let summary = tables.last().unwrap();
    assert_eq!(tables.len(), 9);
    for expected in oracle::read("traces.json")["summary"].as_array().unwrap() {
        let row = row_of(summary, oracle::name(&expected["algorithm"]));
        assert_eq!(row["decisions"], expected["decisions"].as_str().unwrap());
        assert_eq!(row["passed"], format!("{} of 12", expected["passed"]));
        assert_eq!(row["max in any 10 s"], expected["max_sliding_10s"].to_string());
        let longest = oracle::seconds(expected["longest_wait_ms"].as_u64().unwrap());
        assert_eq!(row["longest wait (s)"], longest);
    }
}

/// The table at the end of the article's section 3, typed from the text.
#[test]
fn the_summary_is_that_of_the_article() {
    let tables = tables(&output(&["trace"]));
    for (limit, passed, most, longest) in [
        ("fixed_window", "10 of 12", "9", "0.0"),
        ("anchored_window", "7 of 12", "5", "0.0"),
        ("sliding_log", "7 of 12", "5", "0.0"),
        ("sliding_window", "8 of 12", "6", "0.0"),
        ("token_bucket", "10 of 12", "8", "0.0"),
        ("leaky_queue", "11 of 12", "9", "9.8"),
        ("gcra", "10 of 12", "8", "0.0"),
    ] {
        let row = row_of(tables.last().unwrap(), limit);
        let printed = ["passed", "max in any 10 s", "longest wait (s)"].map(|title| &row[title]);
        assert_eq!(printed, [passed, most, longest], "{limit}");
    }
}

/// What the article says of single requests, typed from the text.
#[test]
fn single_requests_are_those_of_the_article() {
    for (algorithm, at, title, cell) in [
        ("fixed_window", "10.1", "count < quota ?", "0 < 5 ? yes"),
        ("fixed_window", "19.5", "count < quota ?", "5 < 5 ? no"),
        ("anchored_window", "15.0", "start", "15.0"),
        ("sliding_log", "19.5", "dropped", "[7.0 8.0 9.0 9.5]"),
        ("sliding_window", "10.1", "previous x share + current", "5 x 0.99 + 0 = 4.95"),
        ("sliding_window", "15.0", "against it", "passes wrongly"),
        ("token_bucket", "10.4", "now (up to 5)", "0.70"),
        ("token_bucket", "10.4", "decision", "REFUSED, retry in 0.6"),
        ("leaky_queue", "11.2", "decision", "waits 9.8"),
        ("leaky_queue", "10.7", "wait / gap < places ?", "5.15 < 5 ? no"),
        ("gcra", "10.4", "ahead of schedule <= tolerance ?", "8.6 <= 8.0 ? no"),
        ("gcra", "11.2", "tokens at t", "1.10"),
    ] {
        let tables = tables(&output(&["trace", "--algorithm", algorithm]));
        let row = tables[0].iter().find(|row| row["t (s)"] == at).unwrap();
        assert_eq!(row[title], cell, "{algorithm} at {at}");
    }
}

#[test]
fn labs_are_those_of_the_reference() {
    for lab in oracle::read("labs.json")["labs"].as_array().unwrap() {
        let table = &tables(&output(&["labs", lab["lab"].as_str().unwrap()]))[0];
        for (name, expected) in lab["results"].as_object().unwrap() {
            if name != "token_bucket_float" {
                check_lab_row(row_of(table, &limit_of(name)), expected);
            }
        }
    }
}

/// The limit, or its beginning, that a name of the reference data stands for.
fn limit_of(name: &str) -> String {
    if name.starts_with("limit_req") {
        return "leaky rate=10r/s".to_string();
    }
    let (algorithm, at_once) = name.split_once(' ').unwrap_or((name, ""));
    let algorithm = oracle::name(&Value::from(algorithm)).to_string();
    match at_once.rsplit('=').next() {
        Some("1") => format!("{algorithm} rate=10r/s nodelay"),
        Some("20") => format!("{algorithm} rate=10r/s burst=19"),
        _ => algorithm,
    }
}

fn check_lab_row(row: &Row, expected: &Value) {
    assert_eq!(row["passed"], format!("{} of {}", expected["passed"], expected["total"]));
    for (title, key) in [
        ("max in any 1 s", "max_in_any_1000ms"),
        ("2 s", "max_in_any_2000ms"),
        ("60 s", "max_in_any_60000ms"),
    ] {
        if let Some(most) = expected.get(key) {
            assert_eq!(row[title], most.to_string(), "{row:?}");
        }
    }
    let longest_s: f64 = row["longest wait (s)"].parse().unwrap();
    let expected_ms = expected.get("longest_wait_ms").and_then(Value::as_u64).unwrap_or(0);
    assert_eq!((longest_s * 1000.0).round() as u64, expected_ms, "{row:?}");
    if let Some(admitted) = expected["admitted_per_10s"].as_array() {
        let admitted: Vec<_> = admitted.iter().map(Value::to_string).collect();
        assert_eq!(row["admitted in each 10 s"], admitted.join(" "), "{row:?}");
    }
}

/// The figures of labs A, B, C and E, typed from the text.
#[test]
fn labs_are_those_of_the_article() {
    for (lab, limit, title, figure) in [
        ("A", "fixed_window", "2 s", "199"),
        ("A", "anchored_window", "2 s", "199"),
        ("A", "token_bucket", "passed", "104 of 201"),
        ("A", "gcra", "passed", "104 of 201"),
        ("A", "leaky_queue", "longest wait (s)", "59.99"),
        ("B", "token_bucket", "passed", "399 of 600"),
        ("B", "gcra", "passed", "399 of 600"),
        ("B", "leaky_queue", "longest wait (s)", "59.7"),
        ("C", "token_bucket rate=10r/s nodelay", "refused", "11"),
        ("C", "token_bucket rate=10r/s burst=19", "passed", "12 of 12"),
        ("C", "gcra rate=10r/s burst=19", "passed", "12 of 12"),
        // The article's 299 of floating-point tokens.
        ("E", "token_bucket", "passed", "300 of 1300"),
    ] {
        let table = &tables(&output(&["labs", lab]))[0];
        assert_eq!(row_of(table, limit)[title], figure, "{lab}, {limit}");
    }
    let table = &tables(&output(&["labs", "b"]))[0];
    for limit in ["fixed_window", "sliding_log"] {
        let admitted = &row_of(table, limit)["admitted in each 10 s"];
        assert!(admitted.starts_with("34 33 33 0 0 0 "), "{admitted}");
    }
    let table = &tables(&output(&["labs", "E"]))[0];
    for (limit, passed, minute, second) in [
        ("fixed_window", "300 of 1300", "200", "109"),
        ("anchored_window", "201 of 1300", "100", "100"),
        ("sliding_log", "201 of 1300", "100", "100"),
        ("sliding_window", "300 of 1300", "200", "102"),
        ("gcra", "300 of 1300", "199", "101"),
        ("leaky_queue", "300 of 1300", "200", "102"),
    ] {
        let row = row_of(table, limit);
        let printed = ["passed", "60 s", "max in any 1 s"].map(|title| &row[title]);
        assert_eq!(printed, [passed, minute, second], "{limit}");
    }
    assert!(output(&["labs", "E"]).contains("That 299 is an artefact of floating-point tokens"));
}

#[test]
fn the_random_lab_is_within_its_spread() {
    let levels = &oracle::read("labs.json")["lab_D"]["levels"];
    let columns = [
        ("requests", "requests"),
        ("admitted %", "admitted_pct"),
        ("wrongly admitted %", "wrongly_admitted_pct_of_all"),
        ("wrongly refused %", "wrongly_rejected_pct_of_all"),
        ("mean deviation %", "mean_abs_dev_pct_of_exact"),
        ("worst client's max in any 60 s", "worst_client_max_60s"),
    ];
    let table = &tables(&output(&["labs", "D"]))[0];
    let rows: Vec<_> = table.iter().filter(|row| row["run"] == "this").collect();
    assert_eq!(rows.len(), 6);
    for (row, level) in rows.iter().zip(levels.as_array().unwrap()) {
        for (title, key) in columns {
            let figure: f64 = row[title].parse().unwrap();
            let [mean, sd] = ["mean", "sd"].map(|part| level[part][key].as_f64().unwrap());
            assert!((figure - mean).abs() <= 5.0 * sd, "{title}: {figure}, not {mean} +- {sd}");
        }
    }
}

#[test]
fn the_seed_decides_the_random_lab() {
    let lab = |seed| output(&["labs", "D", "--seed", seed]);
    let default = output(&["labs", "D"]);
    assert!(default.contains("seed 20261002"));
    assert_eq!(lab("20261002"), default);
    assert_ne!(tables(&lab("1")), tables(&default));
}

/// Whatever the numbers, a comparison and its answer agree, and each line has all of its cells.
#[test]
fn comparisons_agree_with_their_answers() {
    for (rate, times) in [("7r/m", "0,0,1,8.571,8.572,17.143,59.999,60"), ("3r/1s", "0.1,0.2,1.3")]
    {
        let text = output(&["trace", "--rate", rate, "--burst", "1", "--times", times]);
        for row in tables(&text).iter().flatten() {
            let Some((_, question)) = row.iter().find(|(title, _)| title.ends_with('?')) else {
                continue;
            };
            let words: Vec<_> = question.split(' ').collect();
            let [left, operator, right, "?", answer] = words[..] else { panic!("{question}") };
            let [left, right]: [f64; 2] = [left, right].map(|number| number.parse().unwrap());
            let holds = match operator {
                "<" => left < right,
                "<=" => left <= right,
                ">=" => left >= right,
                _ => panic!("{question}"),
            };
            assert_eq!(answer, if holds { "yes" } else { "no" }, "{question}");
            assert_eq!(oracle::passes(row), holds, "{row:?}");
        }
    }
}

#[test]
fn an_algorithm_that_cannot_use_the_rate_is_left_out() {
    let text = output(&["trace", "--rate", "1r/h", "--times", "0,1"]);
    assert!(text.contains("leaky: left out: invalid rate \"rate=1r/h\": \"leaky\" computes in"));
    assert_eq!(tables(&text).last().unwrap().len(), 7);
}

#[test]
fn errors_quote_the_value_and_exit_with_2() {
    for (arguments, message) in [
        (&["trace", "--times", "1,x"][..], "invalid time \"x\" in \"--times 1,x\""),
        (&["trace", "--times", ""], "invalid time \"\" in \"--times \""),
        (&["trace", "--times", "-1"], "invalid time \"-1\" in \"--times -1\""),
        (&["trace", "--times", "0.0001"], "invalid time \"0.0001\""),
        (&["trace", "--times", "1000000001"], "invalid time \"1000000001\""),
        (&["trace", "--times", "3,2"], "invalid order in \"--times 3,2\""),
        (&["trace", "--algorithm", "fifo"], "invalid algorithm \"algorithm=fifo\", one of leaky,"),
        (&["trace", "--rate", "1r/x"], "invalid rate \"rate=1r/x\""),
        (&["trace", "--burst", "0"], "invalid burst value \"burst=0\""),
        (&["trace", "--delay", "x"], "invalid delay value \"delay=x\""),
        (
            &["trace", "--algorithm", "fixed_window", "--burst", "4"],
            "\"burst=4\" means nothing to \"fixed_window\"",
        ),
        (
            &["trace", "--algorithm", "leaky_queue", "--nodelay"],
            "\"nodelay\" means nothing to \"leaky_queue\"",
        ),
        (
            &["trace", "--algorithm", "leaky", "--rate", "1r/h"],
            "invalid rate \"rate=1r/h\": \"leaky\" computes in 1/1000",
        ),
        (&["trace", "--delay", "1", "--nodelay"], "cannot be used with"),
        (&["labs", "X"], "invalid value 'X'"),
        (&["labs", "--seed", "x"], "invalid value 'x' for '--seed"),
    ] {
        let (code, out, err) = run(arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.contains(message), "{arguments:?}: {err}");
    }
}

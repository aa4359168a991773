//! `labs.json`: long timelines of one key through all algorithms, and figures of them.

use serde_json::{json, Value};

use super::data::{array, members, only};
use super::poisson;
use super::rules;
use super::run::{span_ms, Run};

/// The token bucket in double precision: an artefact, which the file shows to explain a printed
/// figure. Nothing here decides like it; its figures only have to be those of its decisions.
const ARTEFACT: &str = "token_bucket_float";

/// Checks a file; how many runs and requests it has.
pub fn check(name: &str, file: &Value) -> (usize, usize) {
    only(name, file, &["format", "unit", "segments", "labs", "lab_D"]);
    assert_eq!(file["format"], 1, "{name}");
    assert_eq!(file["unit"], "milliseconds", "{name}");
    assert_eq!(file["segments"], "[start, step, count]", "{name}");
    let mut sum = (0, 0);
    for lab in array(&file["labs"]) {
        let (runs, requests) = check_lab(&format!("{name} lab {}", lab["lab"]), lab);
        sum = (sum.0 + runs, sum.1 + requests);
    }
    if !file["lab_D"].is_null() {
        let (runs, requests) = poisson::check(&format!("{name} lab D"), &file["lab_D"]);
        sum = (sum.0 + runs, sum.1 + requests);
    }
    sum
}

fn check_lab(place: &str, lab: &Value) -> (usize, usize) {
    let known =
        ["lab", "title", "params", "segments", "results", "reconstruction", "printed", "note"];
    only(place, lab, &known);
    let times: Vec<_> = array(&lab["segments"]).iter().flat_map(segment).collect();
    assert!(times.is_sorted(), "{place}: spans are counted in the order of time");
    let results = members(&lab["results"]);
    for (variant, result) in results {
        let place = format!("{place}, {variant}");
        let decisions = result["decisions"].as_str().unwrap();
        let run = if variant == ARTEFACT {
            Run::told(&times, decisions)
        } else {
            run(variant, &lab["params"], &times)
        };
        assert_eq!(run.decisions(), decisions, "{place}");
        check_figures(&place, result, &run);
    }
    for (variant, figures) in members(&lab["printed"]) {
        for (figure, printed) in members(figures) {
            check_printed(&format!("{place}, {variant}"), figure, printed, &results[variant]);
        }
    }
    (results.len(), results.len() * times.len())
}

/// `[start, step, count]` as instants.
fn segment(segment: &Value) -> impl Iterator<Item = u64> {
    let [start, step, count] = [0, 1, 2].map(|n| segment[n].as_u64().unwrap());
    assert_eq!(array(segment).len(), 3, "[start, step, count]");
    (0..count).map(move |n| start + n * step)
}

/// Decides a timeline by a variant: an algorithm, behind it parameters that are not the lab's.
fn run(variant: &str, parameters: &Value, times: &[u64]) -> Run {
    let stated = variant.strip_suffix(" (no burst)").unwrap_or(variant);
    let mut words = stated.split(' ');
    let algorithm = rules::algorithm(words.next().unwrap());
    let mut parameters = parameters.clone();
    if stated != variant {
        parameters["burst"] = json!(0);
    }
    for word in words {
        let (name, value) = word.split_once('=').expect("name=value");
        let number = || json!(value.parse::<u64>().unwrap());
        match name {
            "b" | "burst" => parameters["burst"] = number(),
            "capacity" => parameters["capacity"] = number(),
            "rate" => parameters["rate"] = json!(value),
            _ => panic!("{variant}: unknown parameter {name:?}"),
        }
    }
    Run::of(rules::rule(algorithm, &parameters), times)
}

fn check_figures(place: &str, result: &Value, run: &Run) {
    for (name, value) in members(result) {
        let got = match name.as_str() {
            "decisions" | "note" => continue,
            "passed" => json!(run.passed()),
            "total" => json!(run.total()),
            "longest_wait_ms" => json!(run.longest_wait_ms()),
            name => {
                let most = |span_ms| json!(run.most_in_any(span_ms));
                let counts = |span_ms| json!(run.per_span(span_ms));
                span_ms(name, "max_in_any_")
                    .map(most)
                    .or_else(|| span_ms(name, "admitted_per_").map(counts))
                    .unwrap_or_else(|| panic!("{place}: unknown {name:?}"))
            }
        };
        assert_eq!(*value, got, "{place}, {name}");
    }
}

/// Compares a printed figure with the result, whose own figures have been checked.
fn check_printed(place: &str, figure: &str, printed: &Value, result: &Value) {
    let got = match figure {
        "rejected" => {
            json!(result["total"].as_u64().unwrap() - result["passed"].as_u64().unwrap())
        }
        "longest_wait_s_1dp" => {
            let tenths = (result["longest_wait_ms"].as_u64().unwrap() + 50) / 100;
            json!(format!("{}.{}", tenths / 10, tenths % 10))
        }
        _ => match (&result[figure], printed.as_array()) {
            (Value::Null, _) => panic!("{place}: unknown {figure:?}"),
            // Printed are the first spans.
            (counts, Some(printed)) => json!(array(counts)[..printed.len()]),
            (result, None) => result.clone(),
        },
    };
    assert_eq!(*printed, got, "{place}, printed {figure}");
}

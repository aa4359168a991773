//! Tables as rows of text, the same for the terminal and the page.

use super::{instant, percent, period};
use crate::lab::input::InputSummary;
use crate::lab::replay::{LimitSummary, Summary, WorstKey};

/// A table: its columns and its rows.
pub(super) struct Sheet {
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// What each limit did.
pub(super) fn limits(summary: &Summary) -> Sheet {
    let header = [
        "limit",
        "passed",
        "delayed",
        "refused",
        "refused %",
        "keys affected",
        "wait p50",
        "p99",
        "max",
        "most in a window",
    ];
    let row = |limit: &LimitSummary| {
        vec![
            limit.limit.clone(),
            limit.passed.to_string(),
            limit.delayed.to_string(),
            limit.refused.to_string(),
            percent(limit.refused, summary.input.requests),
            format!("{} ({})", limit.keys_affected, percent(limit.keys_affected, summary.keys)),
            format!("{} ms", limit.wait_p50_ms),
            format!("{} ms", limit.wait_p99_ms),
            format!("{} ms", limit.wait_max_ms),
            format!("{} in {}", limit.peak_admitted, period(limit.period_ms)),
        ]
    };
    sheet(&header, summary.limits.iter().map(row))
}

/// Requests that one limit admits and another refuses.
pub(super) fn disagreements(summary: &Summary) -> Sheet {
    let header = ["passes under", "refused under", "requests", "of all", "first at"];
    let rows = summary.disagreements.iter().map(|pair| {
        vec![
            pair.admits.clone(),
            pair.refuses.clone(),
            pair.requests.to_string(),
            percent(pair.requests, summary.input.requests),
            pair.first.clone(),
        ]
    });
    sheet(&header, rows)
}

/// The worst keys of a limit.
pub(super) fn worst(limit: &LimitSummary) -> Sheet {
    let window = period(limit.period_ms);
    let (offered, admitted) = (format!("peak in {window}"), format!("admitted in {window}"));
    let header = ["key", "requests", "refused", "delayed", &offered, &admitted];
    let row = |key: &WorstKey| {
        let refused = match key.refused_error {
            0 => key.refused.to_string(),
            error => format!("{} (up to {error} too many)", key.refused),
        };
        vec![
            key.key.clone(),
            key.requests.to_string(),
            refused,
            key.delayed.to_string(),
            key.peak_offered.to_string(),
            key.peak_admitted.to_string(),
        ]
    };
    sheet(&header, limit.worst.iter().map(row))
}

/// What is said where a list of worst keys need not be complete.
pub(super) fn missed(limit: &LimitSummary) -> Option<String> {
    let most = limit.worst_missed;
    (most > 0).then(|| format!("A key that is missing here was refused at most {most} times."))
}

/// What was read, in one sentence. Holds text of the command line.
pub(super) fn heading(summary: &Summary) -> String {
    reading(&summary.input, summary.keys_exact, summary.keys, &summary.key)
}

/// What was read: requests, their time and the number of keys.
pub(super) fn reading(input: &InputSummary, exact: bool, keys: u64, key: &str) -> String {
    let about = if exact { "" } else { "about " };
    let span = match input.requests {
        0 => String::new(),
        _ => format!(", {} to {}", instant(input.first_ms), instant(input.last_ms)),
    };
    let (requests, lines) = (input.requests, input.lines);
    format!("{requests} requests of {lines} lines{span}; {about}{keys} keys by {key}")
}

/// A table of these columns and rows.
pub(super) fn sheet(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Sheet {
    Sheet { header: header.iter().map(|cell| cell.to_string()).collect(), rows: rows.collect() }
}

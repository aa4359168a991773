//! The result as tables for a terminal.

use std::fmt::Write;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent};

use super::{instant, percent, period};
use crate::lab::input::InputSummary;
use crate::lab::replay::{LimitSummary, Summary};

/// The whole result.
pub fn tables(summary: &Summary) -> String {
    let mut text = heading(summary);
    let mut section = |title: &str, table: Table| {
        // A String takes everything.
        let _ = write!(text, "\n{title}\n{table}\n");
    };
    section("Limits", limits(summary));
    if !summary.disagreements.is_empty() {
        section("Disagreements", disagreements(summary));
    }
    for limit in summary.limits.iter().filter(|limit| !limit.worst.is_empty()) {
        section(&format!("Worst keys under {}", limit.limit), worst(limit));
    }
    text
}

fn heading(summary: &Summary) -> String {
    let input = &summary.input;
    let mut text = format!("{} requests of {} lines", input.requests, input.lines);
    if input.requests > 0 {
        let (first, last) = (instant(input.first_ms), instant(input.last_ms));
        let _ = write!(text, ", {first} to {last}");
    }
    let about = if summary.keys_exact { "" } else { "about " };
    let _ = writeln!(text, "; {about}{} keys by {}", summary.keys, summary.key);
    bad_lines(&mut text, input);
    for note in &summary.notes {
        let _ = writeln!(text, "Note: {note}.");
    }
    text
}

fn bad_lines(text: &mut String, input: &InputSummary) {
    if input.bad == 0 {
        return;
    }
    let _ = writeln!(text, "{} lines could not be read, the first of them:", input.bad);
    for line in &input.bad_lines {
        let _ = writeln!(text, "  {}: {}: {}", line.place, line.why, line.text);
    }
}

fn limits(summary: &Summary) -> Table {
    let mut table = table(&[
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
    ]);
    for limit in &summary.limits {
        table.add_row([
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
        ]);
    }
    numbers_right(table, 1)
}

fn disagreements(summary: &Summary) -> Table {
    let mut table = table(&["passes under", "refused under", "requests", "of all", "first at"]);
    for pair in &summary.disagreements {
        table.add_row([
            pair.admits.clone(),
            pair.refuses.clone(),
            pair.requests.to_string(),
            percent(pair.requests, summary.input.requests),
            pair.first.clone(),
        ]);
    }
    table
}

fn worst(limit: &LimitSummary) -> Table {
    let window = period(limit.period_ms);
    let offered = format!("peak in {window}");
    let admitted = format!("admitted in {window}");
    let mut table =
        table(&["key", "requests", "refused", "delayed", offered.as_str(), admitted.as_str()]);
    for key in &limit.worst {
        let refused = match key.refused_error {
            0 => key.refused.to_string(),
            error => format!("{} (up to {error} too many)", key.refused),
        };
        table.add_row([
            key.key.clone(),
            key.requests.to_string(),
            refused,
            key.delayed.to_string(),
            key.peak_offered.to_string(),
            key.peak_admitted.to_string(),
        ]);
    }
    if limit.worst_missed > 0 {
        table.add_row([format!("(a missing key: refused up to {})", limit.worst_missed)]);
    }
    numbers_right(table, 1)
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(UTF8_HORIZONTAL_ONLY)
        .remove_style(TableComponent::HorizontalLines)
        .remove_style(TableComponent::MiddleIntersections)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header.iter().copied());
    table
}

/// Sets the columns from this one on flush right.
fn numbers_right(mut table: Table, from: usize) -> Table {
    for column in table.column_iter_mut().skip(from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

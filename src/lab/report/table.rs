//! The result as tables for a terminal.

use std::fmt::Write;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent};

use super::sheet::{self, Sheet};
use crate::lab::input::InputSummary;
use crate::lab::replay::Summary;

/// The whole result.
pub fn tables(summary: &Summary) -> String {
    let mut text = head(&summary.input, &sheet::heading(summary), &summary.notes);
    section(&mut text, "Limits", &sheet::limits(summary));
    if !summary.disagreements.is_empty() {
        section(&mut text, "Disagreements", &sheet::disagreements(summary));
    }
    for limit in summary.limits.iter().filter(|limit| !limit.worst.is_empty()) {
        section(&mut text, &format!("Worst keys under {}", limit.limit), &sheet::worst(limit));
        if let Some(missed) = sheet::missed(limit) {
            text.push_str(&missed);
            text.push('\n');
        }
    }
    text
}

/// What was read, what could not be read, and what one should know about it.
pub(super) fn head(input: &InputSummary, heading: &str, notes: &[String]) -> String {
    let mut text = format!("{heading}\n");
    // Writing to a String cannot fail.
    if input.bad > 0 {
        let _ = writeln!(text, "{} lines could not be read, the first of them:", input.bad);
    }
    for line in &input.bad_lines {
        let _ = writeln!(text, "  {}: {}: {}", line.place, line.why, line.text);
    }
    for note in notes {
        let _ = writeln!(text, "Note: {note}.");
    }
    text
}

/// One table below its title; all columns but the first flush right.
pub(super) fn section(text: &mut String, title: &str, sheet: &Sheet) {
    let mut table = Table::new();
    table
        .load_preset(UTF8_HORIZONTAL_ONLY)
        .remove_style(TableComponent::HorizontalLines)
        .remove_style(TableComponent::MiddleIntersections)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(&sheet.header)
        .add_rows(&sheet.rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let _ = write!(text, "\n{title}\n{}\n", table.trim_fmt());
}

//! Suggestions as a table and as lines for nginx.

use super::sheet::{self, Sheet};
use super::{percent, table};
use crate::lab::suggest::{Suggestion, Suggestions};

/// The whole answer for a terminal.
pub fn suggestions(answer: &Suggestions) -> String {
    let heading = sheet::reading(&answer.input, true, answer.keys, &answer.key);
    let mut notes = answer.input.notes();
    notes.extend(answer.impossible.iter().cloned());
    let mut text = table::head(&answer.input, &heading, &notes);
    let title = format!("Smallest that refuse at most {} of the requests", answer.refused_at_most);
    table::section(&mut text, &title, &rows(answer));
    for suggestion in &answer.suggestions {
        text.push('\n');
        for line in &suggestion.directives {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

fn rows(answer: &Suggestions) -> Sheet {
    let header = ["algorithm", "smallest", "refused", "refused %", "longest wait if delayed"];
    let row = |suggestion: &Suggestion| {
        let (smallest, wait) = if suggestion.is_burst {
            (format!("burst={}", suggestion.smallest), format!("{} ms", suggestion.drain_ms))
        } else {
            let rate = suggestion.limit.rsplit(' ').next().unwrap_or_default();
            (rate.to_string(), "-".to_string())
        };
        vec![
            suggestion.algorithm.clone(),
            smallest,
            suggestion.refused.to_string(),
            percent(suggestion.refused, answer.input.requests),
            wait,
        ]
    };
    sheet::sheet(&header, answer.suggestions.iter().map(row))
}

//! The program as a user runs it, and its tables as they can be compared.

use std::collections::BTreeMap;
use std::process::Command;

/// A row of a table by the titles of its columns.
pub type Row = BTreeMap<String, String>;

/// What the program prints if it ends well.
pub fn output(arguments: &[&str]) -> String {
    let (code, out, err) = run(arguments);
    assert_eq!((code, err.as_str()), (Some(0), ""), "rl-lab {arguments:?}");
    out
}

/// Exit code, standard output and standard error.
pub fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_rl-lab")).args(arguments).output().expect("rl-lab runs");
    let text = |bytes| String::from_utf8(bytes).expect("the program prints UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// The tables of a text, in their order.
pub fn tables(text: &str) -> Vec<Vec<Row>> {
    let mut tables = Vec::new();
    let mut titles: Option<Vec<String>> = None;
    for line in text.lines() {
        let cells = cells(line);
        match (&titles, cells) {
            (_, None) => titles = None,
            (None, Some(cells)) => {
                titles = Some(cells);
                tables.push(Vec::new());
            }
            (Some(_), Some(cells)) if cells[0].chars().all(|c| c == '-') => (),
            (Some(titles), Some(cells)) => {
                let row = titles.iter().cloned().zip(cells).collect();
                tables.last_mut().expect("a table has begun").push(row);
            }
        }
    }
    tables
}

fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(|cell| cell.trim().to_string()).collect())
}

/// The row of a limit: the one whose text begins so.
pub fn row_of<'a>(table: &'a [Row], limit: &str) -> &'a Row {
    let is_it = |row: &&Row| {
        let rest = row["limit"].strip_prefix(limit);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    table.iter().find(is_it).unwrap_or_else(|| panic!("no row of {limit:?} in {table:?}"))
}

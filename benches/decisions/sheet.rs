//! Results as tables in Markdown, which read well on a terminal too.

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

use super::race::Times;

/// One section with its table.
pub struct Sheet(Table);

impl Sheet {
    /// Begins a section.
    pub fn new(title: &str, text: &str, columns: &[&str]) -> Self {
        println!("\n## {title}\n\n{text}\n");
        let mut table = Table::new();
        table.load_preset(ASCII_MARKDOWN).set_header(columns);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        Self(table)
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        eprintln!("{}", cells.join("  "));
        self.0.add_row(cells);
    }

    /// Prints the table.
    pub fn print(self) {
        println!("{}", self.0);
    }
}

/// Median and range, in nanoseconds.
pub fn ns(times: &Times) -> String {
    let (low, high) = times.range;
    format!("{:.1} ({low:.1} to {high:.1})", times.median)
}

/// How many times as fast.
pub fn ratio(stock: &Times, ours: &Times) -> String {
    format!("**{:.2}x**", stock.median / ours.median)
}

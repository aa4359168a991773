//! Tables of plain text: the same on a terminal, in a file and in a mail.

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};

/// A column of numbers or of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    title: String,
    is_number: bool,
}

impl Column {
    /// A column that is aligned to the right.
    pub fn number(title: impl Into<String>) -> Self {
        Self { title: title.into(), is_number: true }
    }

    /// A column that is aligned to the left.
    pub fn text(title: impl Into<String>) -> Self {
        Self { title: title.into(), is_number: false }
    }
}

/// A table with a row of titles. Its width does not depend on the terminal: a line can be
/// compared and searched.
pub fn sheet(columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
    let aligned = |column: &Column, text: String| {
        Cell::new(text).set_alignment(if column.is_number {
            CellAlignment::Right
        } else {
            CellAlignment::Left
        })
    };
    table.set_header(columns.iter().map(|column| aligned(column, column.title.clone())));
    for row in rows {
        table.add_row(columns.iter().zip(row).map(|(column, text)| aligned(column, text)));
    }
    table
}

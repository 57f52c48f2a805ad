//! Lays out tables.

use super::wrap::{Span, TextRow, both, width, wrap};
use crate::terminal::{BOLD, DIM};
use pulldown_cmark::Alignment;

/// Stands between two columns.
const BAR: &str = " │ ";
const CROSS: &str = "─┼─";
/// The columns of either.
const BAR_COLUMNS: usize = 3;

/// The least width of a column of a table that does not fit. A table with more columns than that
/// leaves space for is shown as a list.
const MIN_COLUMN: usize = 6;

/// A table: rows of cells of lines. The first row is the header.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    pub(super) rows: Vec<Vec<TextRow>>,
}

impl Table {
    /// Adds a row.
    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell to the last row.
    pub(super) fn push(&mut self, cell: TextRow) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// Renders the table into rows of at most `columns` columns.
    pub(super) fn render(mut self, columns: usize) -> Vec<TextRow> {
        for cell in self.rows.first_mut().into_iter().flatten() {
            for span in cell {
                span.style = both(span.style, BOLD);
            }
        }
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let bars = count.saturating_sub(1) * BAR_COLUMNS;
        let natural = self.natural(count);
        let needed = natural.iter().sum::<usize>().min(count * MIN_COLUMN);
        if columns < bars + needed {
            return self.as_list(columns);
        }
        let widths = shrunk(natural, columns.saturating_sub(bars));
        let mut out = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            out.extend(self.line(row, &widths));
            if number == 0 {
                let dashes: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                out.push(vec![Span::dim(dashes.join(CROSS))]);
            }
        }
        out
    }

    /// Returns the width of each column that no cell needs to be wrapped for.
    fn natural(&self, count: usize) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| width(cell)).max().unwrap_or(0).max(1)
        };
        (0..count).map(widest).collect()
    }

    /// Renders a row of cells, each wrapped to the width of its column.
    fn line(&self, row: &[TextRow], widths: &[usize]) -> Vec<TextRow> {
        let cells: Vec<Vec<TextRow>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| match row.get(column) {
                Some(cell) => wrap(cell, *width),
                None => Vec::new(),
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |number: usize| {
            let mut line = TextRow::new();
            for (column, (cell, available)) in cells.iter().zip(widths).enumerate() {
                if column > 0 {
                    line.push(Span::dim(BAR));
                }
                let text = cell.get(number).cloned().unwrap_or_default();
                let is_last = column + 1 == widths.len();
                let free = available.saturating_sub(width(&text));
                let before = match self.alignments.get(column) {
                    Some(Alignment::Right) => free,
                    Some(Alignment::Center) => free / 2,
                    Some(Alignment::Left | Alignment::None) | None => 0,
                };
                line.push(Span::plain(" ".repeat(before)));
                line.extend(text);
                let behind = if is_last { 0 } else { free - before };
                line.push(Span::plain(" ".repeat(behind)));
            }
            line
        };
        (0..height).map(line).collect()
    }

    /// Renders each row below the header as lines of a column's name and its cell.
    fn as_list(&self, columns: usize) -> Vec<TextRow> {
        let mut rows = self.rows.iter();
        let header = rows.next().map(Vec::as_slice).unwrap_or_default();
        let mut out: Vec<TextRow> = Vec::new();
        for row in rows.clone() {
            if !out.is_empty() {
                out.push(vec![Span::styled("─".repeat(MIN_COLUMN), DIM)]);
            }
            for (column, cell) in row.iter().enumerate() {
                let mut line = header.get(column).cloned().unwrap_or_default();
                line.push(Span::dim(": "));
                line.extend(cell.iter().cloned());
                out.extend(wrap(&line, columns));
            }
        }
        if rows.len() == 0 {
            out.extend(header.iter().flat_map(|cell| wrap(cell, columns)));
        }
        out
    }
}

/// Makes the widest columns narrower until all fit into `columns` columns.
fn shrunk(mut widths: Vec<usize>, columns: usize) -> Vec<usize> {
    let mut excess = widths.iter().sum::<usize>().saturating_sub(columns);
    while excess > 0 {
        let widest = widths.iter().copied().max().unwrap_or(0);
        let next = widths.iter().copied().filter(|width| *width < widest).max();
        let next = next.unwrap_or(0).max(1);
        if widest <= next {
            // All are as narrow as can be.
            break;
        }
        let count = widths.iter().filter(|width| **width == widest).count();
        let step = (widest - next).min(excess.div_ceil(count));
        for width in widths.iter_mut().filter(|width| **width == widest) {
            let cut = step.min(excess);
            *width -= cut;
            excess -= cut;
        }
    }
    widths
}

//! Tables of data, as GitHub's Markdown has them.

/// The most columns of a table.
const MAX_COLUMNS: usize = 200;

/// A table so far.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn start_row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell that spans `span` columns.
    pub(crate) fn add(&mut self, cell: String, span: usize) {
        if self.rows.is_empty() {
            self.start_row();
        }
        if let Some(row) = self.rows.last_mut() {
            let free = MAX_COLUMNS.saturating_sub(row.len());
            row.extend(
                std::iter::once(cell)
                    .chain(std::iter::repeat_n(String::new(), span.max(1) - 1))
                    .take(free),
            );
        }
    }

    /// The lines; `None` for a table without a text. The first row is the header: the format needs
    /// one.
    pub(crate) fn lines(mut self) -> Option<String> {
        self.rows
            .retain(|row| row.iter().any(|cell| !cell.is_empty()));
        let width = self.rows.iter().map(Vec::len).max()?;
        let line = |row: &Vec<String>| {
            let cells = row.iter().map(String::as_str);
            let padded = cells.chain(std::iter::repeat("")).take(width);
            format!("| {} |", padded.collect::<Vec<_>>().join(" | "))
        };
        let mut lines: Vec<String> = self.rows.iter().map(line).collect();
        lines.insert(1, format!("|{}", " --- |".repeat(width)));
        Some(lines.join("\n"))
    }
}

//! The composer on the screen: rows of its text, the cursor, and what stands below. Pure.

#[cfg(test)]
mod tests;

use crate::terminal::{DIM, Size, escape};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// The beginning of the first row of a text.
const MARKER: &str = "> ";

/// The beginning of every other row of a text.
const INDENT: &str = "  ";

/// The narrowest terminal that is drawn for, in columns.
const MIN_COLUMNS: usize = 10;

/// A text to draw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) text: &'a str,
    /// The position of the cursor in the text, in bytes.
    pub(super) cursor: usize,
    /// Lines below the text, of which each is cut at the end of its row.
    pub(super) below: &'a [String],
    /// The size of the terminal.
    pub(super) size: Size,
}

/// Draws frames over each other.
#[derive(Debug, Default)]
pub(super) struct Screen {
    /// The rows of the last frame and the row of its cursor, counted from its first row.
    drawn: Vec<String>,
    cursor_row: usize,
    /// True if the cursor may not be at the beginning of an empty row.
    is_dirty: bool,
}

/// The rows of a text, and the place of the cursor in them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rows {
    rows: Vec<String>,
    cursor: (usize, usize),
}

impl Screen {
    /// Returns what draws a frame over the last one.
    pub(super) fn draw(&mut self, frame: &Frame<'_>) -> String {
        let columns = frame.size.columns.max(MIN_COLUMNS);
        let below = frame.below.iter().map(|line| cut(line, columns - 1));
        let mut below: Vec<String> = below.collect();
        below.truncate(frame.size.rows.saturating_sub(2));
        let height = frame.size.rows.saturating_sub(below.len()).max(1);
        let Rows { rows, cursor } = window(lay_out(frame, columns), height);
        let mut out = self.to_first_row(columns);
        if std::mem::replace(&mut self.is_dirty, true) {
            out.push_str("\r\x1b[J");
        }
        out.push_str(&rows.join("\r\n"));
        for line in &below {
            out.push_str(&format!("\r\n{DIM}{line}{DIM:#}"));
        }
        let last = rows.len() + below.len() - 1;
        up(&mut out, last - cursor.0);
        out.push('\r');
        if cursor.1 > 0 {
            out.push_str(&format!("\x1b[{}C", cursor.1));
        }
        self.drawn = rows;
        self.cursor_row = cursor.0;
        out
    }

    /// Returns what puts the cursor below the last frame, and forgets it.
    pub(super) fn leave(&mut self) -> String {
        let rows = self.drawn.len().saturating_sub(1);
        let down = rows.saturating_sub(self.cursor_row);
        *self = Self::default();
        match down {
            0 => "\r\n".to_owned(),
            down => format!("\x1b[{down}B\r\n"),
        }
    }

    /// Forgets the last frame: the screen shows something else.
    pub(super) fn forget(&mut self) {
        *self = Self {
            is_dirty: true,
            ..Self::default()
        };
    }

    /// Returns what moves the cursor to the first row of the last frame, which a terminal that
    /// became narrower has wrapped.
    fn to_first_row(&self, columns: usize) -> String {
        let above = self.drawn.iter().take(self.cursor_row);
        let rows = above.map(|row| row.width().div_ceil(columns).max(1)).sum();
        let mut out = String::new();
        up(&mut out, rows);
        out
    }
}

fn up(out: &mut String, rows: usize) {
    if rows > 0 {
        out.push_str(&format!("\x1b[{rows}A"));
    }
}

/// Returns the part of the rows that fits a terminal, around the cursor.
fn window(all: Rows, height: usize) -> Rows {
    let (row, column) = all.cursor;
    if all.rows.len() <= height {
        return all;
    }
    let first = (row + 1).saturating_sub(height);
    let rows = all.rows.into_iter().skip(first).take(height);
    Rows {
        rows: rows.collect(),
        cursor: (row - first, column),
    }
}

/// Breaks a text into rows. The last column stays free, since terminals differ in where the cursor
/// is behind it.
fn lay_out(frame: &Frame<'_>, columns: usize) -> Rows {
    let mut rows = Vec::new();
    let (mut row, mut width) = (MARKER.to_owned(), MARKER.width());
    let mut cursor = None;
    for (at, character) in frame.text.grapheme_indices(true) {
        let shown = match character {
            "\n" => String::new(),
            "\t" => "    ".to_owned(),
            character => escape(character),
        };
        let needed = shown.width();
        if width + needed >= columns && width > INDENT.width() {
            rows.push(std::mem::replace(&mut row, INDENT.to_owned()));
            width = INDENT.width();
        }
        if cursor.is_none() && at >= frame.cursor {
            cursor = Some((rows.len(), width));
        }
        if character == "\n" {
            rows.push(std::mem::replace(&mut row, INDENT.to_owned()));
            width = INDENT.width();
        } else {
            row.push_str(&shown);
            width += needed;
        }
    }
    if width + 1 > columns {
        rows.push(std::mem::replace(&mut row, INDENT.to_owned()));
        width = INDENT.width();
    }
    let cursor = cursor.unwrap_or((rows.len(), width));
    rows.push(row);
    Rows { rows, cursor }
}

/// Returns the beginning of a line that fits into columns.
fn cut(line: &str, columns: usize) -> String {
    let mut row = String::new();
    for character in escape(line).graphemes(true) {
        if row.width() + character.width() > columns {
            break;
        }
        row.push_str(character);
    }
    row
}

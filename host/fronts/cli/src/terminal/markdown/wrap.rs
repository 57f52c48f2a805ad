//! Styled text, and its wrapping into rows.

use crate::terminal::DIM;
use anstyle::Style;
use unicode_width::UnicodeWidthChar as _;

/// The distance of tab stops in code, in columns.
const TAB_COLUMNS: usize = 4;

/// Text of one style, without control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) text: String,
    pub(super) style: Style,
}

/// Text on one line.
pub(super) type TextRow = Vec<Span>;

impl Span {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self::styled(text, Style::new())
    }

    pub(super) fn dim(text: impl Into<String>) -> Self {
        Self::styled(text, DIM)
    }

    pub(super) fn styled(text: impl Into<String>, style: Style) -> Self {
        let text = text.into();
        Self { text, style }
    }
}

/// Returns a style with the effects of both and the colour of the second, if it has one.
pub(super) fn both(first: Style, second: Style) -> Style {
    Style::new()
        .effects(first.get_effects() | second.get_effects())
        .fg_color(second.get_fg_color().or(first.get_fg_color()))
}

/// Returns the number of columns of a row.
pub(super) fn width(row: &[Span]) -> usize {
    let characters = row.iter().flat_map(|span| span.text.chars());
    characters.map(columns_of).sum()
}

/// Returns the row as it is written to a terminal.
pub(super) fn ansi(row: &[Span]) -> String {
    let spans = row
        .iter()
        .map(|Span { text, style }| format!("{style}{text}{style:#}"));
    spans.collect()
}

/// Wraps a line at words into at least one row of at most `columns` columns. A word that is longer
/// than a row is broken, and wide characters (of Chinese, Japanese and Korean) are words of their
/// own.
pub(super) fn wrap(line: &[Span], columns: usize) -> Vec<TextRow> {
    let mut wrapper = Wrapper {
        columns,
        ..Wrapper::default()
    };
    for span in line {
        for character in span.text.chars() {
            wrapper.push(character, span.style);
        }
    }
    wrapper.finish()
}

/// Breaks a line of code into at least one row of at most `columns` columns. No space is lost.
pub(super) fn wrap_code(line: &[Span], columns: usize) -> Vec<TextRow> {
    let mut rows = vec![RowPiece::default()];
    let mut column = 0;
    for span in line {
        for character in span.text.chars() {
            let (shown, count) = match character {
                '\t' => (' ', TAB_COLUMNS - column % TAB_COLUMNS),
                other => (other, 1),
            };
            for _ in 0..count {
                let wide = columns_of(shown);
                let is_full = rows.last().is_some_and(|row| row.width + wide > columns);
                if is_full {
                    rows.push(RowPiece::default());
                }
                if let Some(row) = rows.last_mut() {
                    row.push(shown, span.style);
                }
                column += wide;
            }
        }
    }
    rows.into_iter().map(|row| row.spans).collect()
}

fn columns_of(character: char) -> usize {
    character.width().unwrap_or(0)
}

/// A part of a row.
#[derive(Debug, Default)]
struct RowPiece {
    spans: TextRow,
    width: usize,
}

impl RowPiece {
    fn push(&mut self, character: char, style: Style) {
        match self.spans.last_mut() {
            Some(span) if span.style == style => span.text.push(character),
            _ => self.spans.push(Span::styled(character, style)),
        }
        self.width += columns_of(character);
    }

    fn append(&mut self, other: Self) {
        self.width += other.width;
        for span in other.spans {
            match self.spans.last_mut() {
                Some(last) if last.style == span.style => last.text.push_str(&span.text),
                _ => self.spans.push(span),
            }
        }
    }
}

#[derive(Debug, Default)]
struct Wrapper {
    columns: usize,
    rows: Vec<TextRow>,
    row: RowPiece,
    /// The spaces behind the row, which are dropped where it ends.
    spaces: RowPiece,
    word: RowPiece,
    /// True if the word may end behind its last character.
    may_end: bool,
}

impl Wrapper {
    fn push(&mut self, character: char, style: Style) {
        if character == ' ' {
            self.end_word();
            self.spaces.push(character, style);
            return;
        }
        let wide = columns_of(character);
        let is_own_word = wide == 2 || (wide > 0 && self.may_end);
        if is_own_word || self.word.width + wide > self.columns {
            self.end_word();
        }
        self.word.push(character, style);
        if wide > 0 {
            self.may_end = wide == 2;
        }
    }

    fn end_word(&mut self) {
        if self.word.spans.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let spaces = std::mem::take(&mut self.spaces);
        self.may_end = false;
        if self.row.width + spaces.width + word.width <= self.columns {
            self.row.append(spaces);
        } else if !self.row.spans.is_empty() {
            let row = std::mem::take(&mut self.row);
            self.rows.push(row.spans);
        }
        self.row.append(word);
    }

    fn finish(mut self) -> Vec<TextRow> {
        self.end_word();
        self.rows.push(self.row.spans);
        self.rows
    }
}

//! Renders Markdown on a terminal while it arrives.
//!
//! A block is printed in its final form once no further text can change it, and is never touched
//! again. The rows below it show the unfinished block as it is written; only these are redrawn, and
//! they are never more than fit the screen, so that nothing is redrawn that has scrolled away.
//!
//! The text is hostile: every character that a terminal obeys, reorders or hides is escaped before
//! the text is parsed, and again in what the parser returns, since an entity such as `&#27;` makes
//! one. The final form of a block holds no control character but the line breaks and colours that
//! this module writes. It depends on the lines of the text alone, not on how they arrived.

mod blocks;
mod code;
mod render;
mod table;
#[cfg(test)]
mod tests;
mod wrap;

use super::{Size, escape};
use blocks::{BlockSplitter, FinishedBlock};
use code::Highlighter;
use pulldown_cmark::Options;
use wrap::{Span, TextRow, ansi, wrap, wrap_code};

/// The extensions of Markdown that models write.
const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS);

/// The least number of columns that text is wrapped to.
const MIN_COLUMNS: usize = 10;

/// The rows of the screen that the unfinished block leaves to others.
const SPARE_ROWS: usize = 4;

/// Begins and ends an update that terminals show at once (mode 2026); others ignore both.
const BEGIN_UPDATE: &str = "\u{1b}[?2026h";
const END_UPDATE: &str = "\u{1b}[?2026l";

/// Clears the screen from the cursor on.
const CLEAR_BELOW: &str = "\u{1b}[J";

impl Size {
    /// Returns the width of text. The last column stays free: terminals differ in what a line break
    /// does behind a full row.
    fn text_columns(self) -> usize {
        self.columns.saturating_sub(1).max(MIN_COLUMNS)
    }
}

/// A text that arrives in parts.
#[derive(Debug)]
pub(crate) struct MarkdownStream {
    splitter: BlockSplitter,
    /// The open code block.
    code: Option<Highlighter>,
    /// The rows of the unfinished block on the screen; the cursor is behind the last one.
    shown: Vec<String>,
}

impl Default for MarkdownStream {
    fn default() -> Self {
        Self {
            splitter: BlockSplitter::default(),
            code: None,
            shown: vec![String::new()],
        }
    }
}

impl MarkdownStream {
    /// True if the cursor is not at the start of a line, or rows above it are to be redrawn.
    pub(crate) fn is_open(&self) -> bool {
        self.shown.iter().any(|row| !row.is_empty()) || self.shown.len() > 1
    }

    /// Adds text, and returns what to write to the terminal.
    pub(crate) fn push(&mut self, text: &str, size: Size) -> String {
        let pieces = self.splitter.push(&escape(text));
        self.update(pieces, size)
    }

    /// Ends the text, and returns what to write to the terminal. The next text is a new one.
    pub(crate) fn finish(&mut self, size: Size) -> String {
        let pieces = self.splitter.finish();
        let update = self.update(pieces, size);
        *self = Self::default();
        update
    }

    /// Returns the update that adds finished pieces above the unfinished block.
    fn update(&mut self, pieces: Vec<FinishedBlock>, size: Size) -> String {
        let columns = size.text_columns();
        let mut rows = Vec::new();
        for piece in pieces {
            rows.extend(self.finished(piece, columns).iter().map(|row| ansi(row)));
        }
        let mut live = unfinished(self.splitter.unfinished(), columns);
        if self.splitter.has_gap() && !self.splitter.unfinished().trim().is_empty() {
            live.insert(0, String::new());
        }
        let spare = size.rows.saturating_sub(SPARE_ROWS).max(1);
        live.drain(..live.len().saturating_sub(spare));
        rows.extend(live.iter().cloned());
        let update = repaint(&self.shown, &rows);
        self.shown = live;
        update
    }

    /// Renders a finished piece.
    fn finished(&mut self, piece: FinishedBlock, columns: usize) -> Vec<TextRow> {
        match piece {
            FinishedBlock::Blank => vec![TextRow::new()],
            FinishedBlock::Block { source, number } => render::block(&source, number, columns),
            FinishedBlock::CodeStart(fence) => {
                self.code = Some(Highlighter::new(code::language(&fence)));
                wrap_code(&[Span::dim(fence)], columns)
            }
            FinishedBlock::Code(line) => {
                let code = self.code.get_or_insert_with(|| Highlighter::new(""));
                wrap_code(&code.line(&line), columns)
            }
            FinishedBlock::CodeEnd(fence) => {
                self.code = None;
                wrap_code(&[Span::dim(fence)], columns)
            }
        }
    }
}

/// Renders a whole text to lines, each with its line break.
pub(crate) fn markdown(text: &str, columns: usize) -> String {
    let size = Size { columns, rows: 0 };
    let mut stream = MarkdownStream::default();
    let mut pieces = stream.splitter.push(&escape(text));
    pieces.extend(stream.splitter.finish());
    let mut out = String::new();
    for piece in pieces {
        for row in stream.finished(piece, size.text_columns()) {
            out.push_str(&ansi(&row));
            out.push('\n');
        }
    }
    out
}

/// Wraps the unfinished block as it is written. The last row is the one that text is added to.
fn unfinished(text: &str, columns: usize) -> Vec<String> {
    let lines = text.split('\n');
    lines
        .flat_map(|line| wrap(&[Span::plain(line.replace('\t', "    "))], columns))
        .map(|row| ansi(&row))
        .collect()
}

/// Returns the update from rows on the screen, the cursor behind the last one, to others. Both have
/// at least one row.
fn repaint(shown: &[String], wanted: &[String]) -> String {
    let same = shown.iter().zip(wanted).take_while(|(a, b)| a == b).count();
    // The row of the cursor can be continued where it is.
    let kept = same.min(shown.len().min(wanted.len()).saturating_sub(1));
    let (Some(first), Some(last)) = (wanted.get(kept), shown.last()) else {
        return String::new();
    };
    let up = shown.len() - 1 - kept;
    let rest: String = wanted
        .iter()
        .skip(kept + 1)
        .map(|row| format!("\n{row}"))
        .collect();
    if let (0, Some(more)) = (up, first.strip_prefix(last.as_str())) {
        return format!("{more}{rest}");
    }
    let up = match up {
        0 => String::new(),
        up => format!("\u{1b}[{up}A"),
    };
    format!("{BEGIN_UPDATE}\r{up}{CLEAR_BELOW}{first}{rest}{END_UPDATE}")
}

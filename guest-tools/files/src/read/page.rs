//! One page of a text: as many whole lines as fit, or a part of one line, with a last line in
//! brackets where that is not the whole text.

use super::Lines;
use crate::budget::MAX_RESULT_BYTES;
use crate::failure::Failure;
use crate::text::Encoding;

/// The place of a page's first line in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Counted from 1.
    FromStart(usize),
    /// Counted from 1, which is the last line.
    FromEnd(usize),
    /// The end of a line that is longer than a page, counted from the end.
    EndOfLine(usize),
}

/// The size of a file, as far as it is known.
#[derive(Clone, Copy)]
pub(super) enum Size {
    Lines(usize),
    Bytes(u64),
}

/// The text from a place of a file on.
pub(super) struct Page<'a> {
    pub(super) text: &'a str,
    /// True if the file ends with the text.
    pub(super) is_end: bool,
    pub(super) position: Position,
    pub(super) lines: Lines,
    pub(super) size: Size,
    pub(super) encoding: Encoding,
}

pub(super) fn no_such_line(total: usize, line: usize) -> Failure {
    Failure::new(format!(
        "the file has {total} lines, so there is none from line {line} on"
    ))
}

pub(super) fn no_such_column(position: Position, length: usize, column: usize) -> Failure {
    Failure::new(format!(
        "line {} has {length} characters, so there is none from column {column} on",
        position.number(0)
    ))
}

impl Position {
    /// The number, as `offset_line` takes it, of the line that is `after` lines below the first.
    fn number(self, after: usize) -> String {
        match self {
            Self::FromStart(first) => (first + after).to_string(),
            Self::FromEnd(first) | Self::EndOfLine(first) if first > after => {
                format!("-{}", first - after)
            }
            Self::FromEnd(_) | Self::EndOfLine(_) => "1".to_owned(),
        }
    }
}

/// The lines from `lines` on of a whole text.
pub(super) fn page_of(text: &str, lines: Lines, encoding: Encoding) -> Result<String, Failure> {
    let total = text.lines().count();
    let first = match usize::try_from(lines.offset_line) {
        Ok(number) => number.max(1),
        Err(_) => {
            let last = usize::try_from(lines.offset_line.unsigned_abs()).unwrap_or(usize::MAX);
            (total + 1).saturating_sub(last).max(1)
        }
    };
    if first > total.max(1) {
        return Err(no_such_line(total, first));
    }
    let position = Position::FromStart(first);
    let start: usize = text
        .split_inclusive('\n')
        .take(first - 1)
        .map(str::len)
        .sum();
    let rest = text.get(start..).unwrap_or_default();
    let skipped = match lines.offset_column {
        0 | 1 => 0,
        column => {
            let line = rest.lines().next().unwrap_or_default();
            let (index, _) = line
                .char_indices()
                .nth(column - 1)
                .ok_or_else(|| no_such_column(position, line.chars().count(), column))?;
            index
        }
    };
    Ok(cut_page(&Page {
        text: rest.get(skipped..).unwrap_or_default(),
        is_end: true,
        position,
        lines,
        size: Size::Lines(total),
        encoding,
    }))
}

/// Cuts a page, and says what is left out and how to get it.
pub(super) fn cut_page(page: &Page<'_>) -> String {
    let mut notes = Vec::new();
    let is_part = page.lines.offset_column > 1 || matches!(page.position, Position::EndOfLine(_));
    let (mut text, shown, mut is_rest) = if is_part {
        (String::new(), 0, false)
    } else {
        whole_lines(page)
    };
    if shown == 0 && !page.text.is_empty() {
        text = part_of_line(page, &mut notes);
    } else {
        let is_whole = match (page.position, page.size) {
            (Position::FromStart(1), Size::Lines(total)) => shown == total,
            (Position::FromStart(_), Size::Lines(total)) => {
                is_rest = first_of(page.position) + shown > total;
                false
            }
            _ => false,
        };
        if !is_whole {
            notes.push(describe_lines(page, shown, is_rest));
        }
    }
    if page.encoding != Encoding::Utf8 {
        notes.push(format!("the file is {} text", page.encoding.name()));
    }
    if !notes.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{}]", notes.join("; ")));
    }
    text
}

fn first_of(position: Position) -> usize {
    match position {
        Position::FromStart(first) | Position::FromEnd(first) | Position::EndOfLine(first) => first,
    }
}

/// The whole lines that fit, their number, and true if the file ends with them.
fn whole_lines(page: &Page<'_>) -> (String, usize, bool) {
    let (mut text, mut shown) = (String::new(), 0);
    for line in page
        .text
        .split_inclusive('\n')
        .take(page.lines.max_lines.max(1))
    {
        let is_whole = line.ends_with('\n') || page.is_end;
        if !is_whole || text.len() + line.len() > MAX_RESULT_BYTES {
            break;
        }
        text.push_str(line);
        shown += 1;
    }
    let is_rest = page.is_end && text.len() == page.text.len();
    (text, shown, is_rest)
}

fn describe_lines(page: &Page<'_>, shown: usize, is_rest: bool) -> String {
    let last = page.position.number(shown.saturating_sub(1));
    let of = match page.size {
        Size::Lines(total) => format!("of {total}"),
        Size::Bytes(size) => format!("of a file of {size} bytes"),
    };
    let range = format!("lines {} to {last} {of}", page.position.number(0));
    if is_rest {
        range
    } else {
        format!(
            "{range}; offset_line {} continues",
            page.position.number(shown)
        )
    }
}

/// The part of the first line that fits.
fn part_of_line(page: &Page<'_>, notes: &mut Vec<String>) -> String {
    let line = page.text.lines().next().unwrap_or_default();
    let is_ended = line.len() < page.text.len() || page.is_end;
    let shown = line
        .get(..line.floor_char_boundary(MAX_RESULT_BYTES))
        .unwrap_or_default();
    let number = page.position.number(0);
    if let Position::EndOfLine(_) = page.position {
        notes.push(format!("line {number} is cut: only its end is shown"));
        return shown.to_owned();
    }
    let first = page.lines.offset_column.max(1);
    let next_column = first + shown.chars().count();
    let is_whole = is_ended && shown.len() == line.len();
    let of = match page.size {
        Size::Lines(total) => format!(" of {total}"),
        Size::Bytes(_) => String::new(),
    };
    let mut note = format!("line {number}{of}, columns {first} to {}", next_column - 1);
    if is_ended {
        note.push_str(&format!(" of {}", first - 1 + line.chars().count()));
    }
    if !is_whole {
        note.push_str(&format!("; offset_column {next_column} continues"));
    }
    let is_last = match page.size {
        Size::Lines(total) => first_of(page.position) >= total,
        Size::Bytes(_) => is_ended && page.is_end && line.len() + 2 > page.text.len(),
    };
    if !is_last {
        note.push_str(&format!(
            "; offset_line {} is the next line",
            page.position.number(1)
        ));
    }
    notes.push(note);
    shown.to_owned()
}

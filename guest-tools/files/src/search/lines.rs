//! The lines of one file that match. A file is read in chunks, so that memory does not grow with
//! it, and a line is only tried where the text that every match has in it was found.

use std::borrow::Cow;
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter, memrchr};
use regex_lite::Regex;

use super::literal::{Literal, required};
use crate::disk::OpenFile;
use crate::text::{Encoding, latin_text};

/// The longest line that is searched as a whole, in bytes; a longer one is searched in pieces.
const MAX_LINE_BYTES: usize = 1024 * 1024;

/// The end of a piece that is searched again with the next one.
const OVERLAP_BYTES: usize = 4 * 1024;

/// The most bytes that one search reads: with a text to look for, and for an expression without
/// one, which is tried on each line.
const MAX_BYTES: u64 = 4 << 30;
const MAX_BYTES_TRIED: u64 = 256 << 20;

/// The longest time of a search. A host ends a call after 30 seconds, and then nothing of what was
/// found is left.
const MAX_TIME: Duration = Duration::from_secs(20);

/// A regular expression, with what makes it fast.
pub(super) struct Matcher {
    regex: Regex,
    literal: Option<(Literal, Finder<'static>)>,
    /// The bytes that may still be read.
    left: u64,
    /// The time at which a search ends.
    end: Instant,
}

/// A line that matches.
pub(super) struct FoundLine<'a> {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) text: &'a str,
    /// The offset of the match in the text.
    pub(super) start: usize,
    /// The characters of the line before the text, which is a piece of it.
    pub(super) before: usize,
}

/// The end of a search in one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Searched {
    Whole,
    NotText,
    /// The bytes or the time of one search are used up.
    Exhausted,
    /// The visitor has enough.
    Stopped,
}

/// The position in a file.
struct Position {
    line: usize,
    /// The characters of the present line that were searched before.
    before: usize,
    /// The present line has matched already.
    is_found: bool,
}

type Visit<'a> = &'a mut dyn FnMut(FoundLine<'_>) -> ControlFlow<()>;

impl Matcher {
    pub(super) fn new(pattern: &str, regex: Regex) -> Self {
        let literal = required(pattern).map(|literal| {
            let finder = Finder::new(literal.text.as_bytes()).into_owned();
            (literal, finder)
        });
        Self {
            left: if literal.is_some() {
                MAX_BYTES
            } else {
                MAX_BYTES_TRIED
            },
            regex,
            literal,
            end: Instant::now() + MAX_TIME,
        }
    }

    /// Visits the lines of a file that match.
    pub(super) fn search(&mut self, file: &OpenFile, visit: Visit<'_>) -> io::Result<Searched> {
        let (chunk, mut is_end) = file.read_at(0)?;
        let mut offset = chunk.len() as u64;
        let wide = Encoding::marked(&chunk);
        if chunk.starts_with(b"%PDF-") {
            return Ok(Searched::NotText);
        }
        let mut raw = chunk;
        if raw.starts_with(b"\xef\xbb\xbf") {
            raw.drain(..3);
        }
        let mut pending = Vec::new();
        let mut position = Position {
            line: 1,
            before: 0,
            is_found: false,
        };
        loop {
            match self.left.checked_sub(raw.len() as u64) {
                Some(left) if Instant::now() < self.end => self.left = left,
                _ => return Ok(Searched::Exhausted),
            }
            let mut rest = Vec::new();
            let mut chunk = match wide {
                Some(encoding) => narrow(raw, encoding, is_end, &mut rest),
                None => raw,
            };
            if memchr(0, &chunk).is_some() {
                return Ok(Searched::NotText);
            }
            let mut block = if pending.is_empty() {
                chunk
            } else {
                pending.append(&mut chunk);
                std::mem::take(&mut pending)
            };
            let ended = if is_end {
                block.len()
            } else {
                memrchr(b'\n', &block).map_or(0, |index| index + 1)
            };
            let lines = block.get(..ended).unwrap_or_default();
            if self
                .search_lines(lines, !is_end, &mut position, visit)
                .is_break()
            {
                return Ok(Searched::Stopped);
            }
            if is_end {
                return Ok(Searched::Whole);
            }
            pending = block.split_off(ended);
            if pending.len() >= MAX_LINE_BYTES {
                if self.search_piece(&pending, &mut position, visit).is_break() {
                    return Ok(Searched::Stopped);
                }
                pending = keep_overlap(&pending, &mut position);
            }
            let (mut chunk, ends) = file.read_at(offset)?;
            (offset, is_end) = (offset + chunk.len() as u64, ends);
            rest.append(&mut chunk);
            raw = rest;
        }
    }

    /// Searches whole lines, of which the first may have been searched in part. The lines are
    /// counted to the end only where more follow.
    fn search_lines(
        &self,
        block: &[u8],
        has_more: bool,
        position: &mut Position,
        visit: Visit<'_>,
    ) -> ControlFlow<()> {
        let finder = self.finder_for(block);
        let (mut at, mut counted) = (0, 0);
        while let Some(rest) = block.get(at..)
            && !rest.is_empty()
        {
            let found = match finder {
                Some(finder) => match finder.find(rest) {
                    Some(index) => at + index,
                    None => break,
                },
                None => at,
            };
            let start = memrchr(b'\n', block.get(at..found).unwrap_or_default())
                .map_or(at, |index| at + index + 1);
            let length = memchr(b'\n', block.get(found..).unwrap_or_default());
            let end = length.map_or(block.len(), |length| found + length);
            let line = block.get(start..end).unwrap_or_default();
            if start > counted {
                position.pass(block.get(counted..start).unwrap_or_default());
                counted = start;
            }
            self.try_line(line, position, visit)?;
            at = end + 1;
        }
        if has_more {
            position.pass(block.get(counted..).unwrap_or_default());
        }
        ControlFlow::Continue(())
    }

    /// Searches a part of a line that is too long to wait for its end.
    fn search_piece(
        &self,
        piece: &[u8],
        position: &mut Position,
        visit: Visit<'_>,
    ) -> ControlFlow<()> {
        match self.finder_for(piece) {
            Some(finder) if finder.find(piece).is_none() => ControlFlow::Continue(()),
            _ => self.try_line(piece, position, visit),
        }
    }

    /// The search for the text in every match. In Windows-1252 only ASCII has the same bytes.
    fn finder_for(&self, block: &[u8]) -> Option<&Finder<'static>> {
        let (literal, finder) = self.literal.as_ref()?;
        (literal.text.is_ascii() || str::from_utf8(block).is_ok()).then_some(finder)
    }

    fn try_line(&self, line: &[u8], position: &mut Position, visit: Visit<'_>) -> ControlFlow<()> {
        if position.is_found {
            return ControlFlow::Continue(());
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = match str::from_utf8(line) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(latin_text(line)),
        };
        let start = match &self.literal {
            Some((literal, _)) if literal.is_whole => text.find(&literal.text),
            _ => self.regex.find(&text).map(|found| found.start()),
        };
        let Some(start) = start else {
            return ControlFlow::Continue(());
        };
        position.is_found = true;
        visit(FoundLine {
            number: position.line,
            text: &text,
            start,
            before: position.before,
        })
    }
}

impl Position {
    /// Counts lines that were searched.
    fn pass(&mut self, lines: &[u8]) {
        let count = memchr_iter(b'\n', lines).count();
        if count > 0 {
            self.line += count;
            (self.before, self.is_found) = (0, false);
        }
    }
}

/// The end of a piece, to be searched with what follows it.
fn keep_overlap(piece: &[u8], position: &mut Position) -> Vec<u8> {
    let mut from = piece.len().saturating_sub(OVERLAP_BYTES);
    while from > 0 && piece.get(from).is_some_and(|byte| byte & 0xc0 == 0x80) {
        from -= 1;
    }
    let (passed, kept) = piece.split_at(from);
    position.before += match str::from_utf8(passed) {
        Ok(text) => text.chars().count(),
        Err(_) => passed.len(),
    };
    kept.to_vec()
}

/// UTF-16 as UTF-8, without its mark. What may continue in the next chunk is put into `rest`.
fn narrow(raw: Vec<u8>, encoding: Encoding, is_end: bool, rest: &mut Vec<u8>) -> Vec<u8> {
    let unit = match encoding {
        Encoding::Utf16Be => u16::from_be_bytes,
        _ => u16::from_le_bytes,
    };
    let mut raw = raw;
    if !is_end {
        let mut whole = raw.len() - raw.len() % 2;
        let last = raw.get(whole.saturating_sub(2)..whole);
        if let Some([first, second]) = last
            && unit([*first, *second]) & 0xfc00 == 0xd800
        {
            whole -= 2;
        }
        *rest = raw.split_off(whole);
    }
    let units: Vec<u16> = raw
        .as_chunks::<2>()
        .0
        .iter()
        .map(|pair| unit(*pair))
        .collect();
    let text = String::from_utf16_lossy(&units);
    text.strip_prefix('\u{feff}')
        .unwrap_or(&text)
        .as_bytes()
        .to_vec()
}

#[cfg(test)]
mod tests;

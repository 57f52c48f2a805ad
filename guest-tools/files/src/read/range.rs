//! Ranges of files that are too large to read as a whole: the place of a line is found by its line
//! ends, from the start or from the end of the file, and one page is read there. Memory is bounded
//! by a page; the cost is linear in the bytes between the start, or the end, and the range.

use std::io::{self, Read, Seek, SeekFrom};

use super::Lines;
use super::page::{Page, Position, cut_page};
use crate::budget::MAX_RESULT_BYTES;
use crate::failure::Failure;
use crate::text::{Encoding, is_latin, latin_text};

/// The bytes that are read at once. It is even, so that no unit of UTF-16 is cut.
const CHUNK_BYTES: usize = 64 * 1024;

/// A file whose lines are found by their ends.
struct LineFile<'a, F> {
    file: &'a mut F,
    size: u64,
    encoding: Encoding,
    buffer: Vec<u8>,
}

/// Reads a range of the text of a large file.
pub(super) fn read_range<F: Read + Seek>(
    file: &mut F,
    size: u64,
    lines: Lines,
    path: &str,
) -> Result<String, Failure> {
    let failure = |error: io::Error| Failure::io(&error, "read", path);
    let mut file = LineFile::open(file, size).map_err(failure)?;
    let (start, position) = match usize::try_from(lines.offset_line) {
        Ok(number) => {
            let number = number.max(1);
            match file.start_of_line(number).map_err(failure)? {
                Ok(start) => (start, Position::FromStart(number)),
                Err(total) => return Err(super::page::no_such_line(total, number)),
            }
        }
        Err(_) => {
            let last = usize::try_from(lines.offset_line.unsigned_abs()).unwrap_or(usize::MAX);
            let is_bounded = lines.offset_column <= 1;
            let (start, found, is_cut) = file.start_of_last(last, is_bounded).map_err(failure)?;
            let position = if is_cut {
                Position::EndOfLine(found)
            } else {
                Position::FromEnd(found)
            };
            (start, position)
        }
    };
    let start = start.max(file.mark_bytes());
    let start = match lines.offset_column {
        0 | 1 => start,
        column => file
            .column_of(start, column)
            .map_err(failure)?
            .map_err(|length| super::page::no_such_column(position, length, column))?,
    };
    let (text, encoding, is_end) = file.text_at(start).map_err(failure)?.ok_or_else(|| {
        Failure::new(format!(
            "`{path}` is application/octet-stream of {size} bytes, and has no text there"
        ))
    })?;
    Ok(cut_page(&Page {
        text: &text,
        is_end,
        position,
        lines,
        size: super::page::Size::Bytes(size),
        encoding,
    }))
}

impl<'a, F: Read + Seek> LineFile<'a, F> {
    fn open(file: &'a mut F, size: u64) -> io::Result<Self> {
        let mut opened = Self {
            file,
            size,
            encoding: Encoding::Utf8,
            buffer: vec![0; CHUNK_BYTES],
        };
        let head = opened.chunk(0, CHUNK_BYTES)?;
        opened.encoding = match Encoding::marked(head) {
            Some(wide) => wide,
            None if !is_utf8(head) && is_latin(head) => Encoding::Windows1252,
            None => Encoding::Utf8,
        };
        Ok(opened)
    }

    /// The bytes of a line feed.
    fn unit(&self) -> usize {
        match self.encoding {
            Encoding::Utf16Le | Encoding::Utf16Be => 2,
            Encoding::Utf8 | Encoding::Windows1252 => 1,
        }
    }

    /// The length of the byte order mark, which is not text.
    fn mark_bytes(&self) -> u64 {
        match self.encoding {
            Encoding::Utf16Le | Encoding::Utf16Be => 2,
            Encoding::Utf8 | Encoding::Windows1252 => 0,
        }
    }

    /// The bytes at an offset, at most as many as wanted and fewer only at the end.
    fn chunk(&mut self, offset: u64, wanted: usize) -> io::Result<&[u8]> {
        self.file.seek(SeekFrom::Start(offset))?;
        let mut count = 0;
        while let Some(rest) = self.buffer.get_mut(count..wanted)
            && !rest.is_empty()
        {
            match self.file.read(rest) {
                Ok(0) => break,
                Ok(more) => count += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.buffer.get(..count).unwrap_or_default())
    }

    /// The offset of a line's first byte; the inner error is the number of lines.
    fn start_of_line(&mut self, number: usize) -> io::Result<Result<u64, usize>> {
        let (mut missing, mut offset) = (number - 1, 0);
        let mut is_ended = true;
        if missing == 0 {
            return Ok(Ok(0));
        }
        let encoding = self.encoding;
        loop {
            let chunk = self.chunk(offset, CHUNK_BYTES)?;
            if chunk.is_empty() {
                return Ok(Err(number - missing - usize::from(is_ended)));
            }
            let count = count_feeds(chunk, encoding);
            if count >= missing {
                let end = feeds(chunk, encoding).nth(missing - 1).unwrap_or_default();
                let start = offset + end as u64;
                // The last line end begins no line.
                let is_last = self.chunk(start, 1)?.is_empty();
                return Ok(if is_last { Err(number - 1) } else { Ok(start) });
            }
            missing -= count;
            is_ended = feeds(chunk, encoding).next_back() == Some(chunk.len());
            offset += chunk.len() as u64;
        }
    }

    /// The offset of the first byte of a line counted from the end, or of the first line if there
    /// are fewer; its number from the end; and true if that line is longer than a page, so that the
    /// offset is one of its end. That is not looked for unless `is_bounded`.
    fn start_of_last(&mut self, number: usize, is_bounded: bool) -> io::Result<(u64, usize, bool)> {
        let (encoding, unit) = (self.encoding, self.unit() as u64);
        let page = if is_bounded {
            (MAX_RESULT_BYTES / 2) as u64
        } else {
            u64::MAX
        };
        // The end of the last line is no line by itself.
        let mut end = self.size - self.size % unit;
        let tail = self.chunk(end.saturating_sub(unit), usize::try_from(unit).unwrap_or(1))?;
        if count_feeds(tail, encoding) > 0 {
            end -= unit;
        }
        let (mut found, mut line_end) = (1, end);
        while end > 0 {
            let from = end.saturating_sub(CHUNK_BYTES as u64);
            let length = usize::try_from(end - from).unwrap_or(CHUNK_BYTES);
            let chunk = self.chunk(from, length)?;
            for feed in feeds(chunk, encoding).rev() {
                let start = from + feed as u64;
                if found == number {
                    if line_end - start > page {
                        return Ok((line_end - page, found, true));
                    }
                    return Ok((start, found, false));
                }
                (found, line_end) = (found + 1, start - unit);
            }
            if found == number && line_end - from > page {
                return Ok((line_end - page, found, true));
            }
            end = from;
        }
        Ok((0, found, false))
    }

    /// The offset of a character of the line that starts at an offset; the inner error is the
    /// number of characters in it.
    fn column_of(&mut self, start: u64, column: usize) -> io::Result<Result<u64, usize>> {
        let (encoding, unit) = (self.encoding, self.unit());
        let (mut offset, mut seen) = (start, 0);
        loop {
            let chunk = self.chunk(offset, CHUNK_BYTES)?;
            let line_end = feeds(chunk, encoding).next().map(|end| end - unit);
            let line = chunk
                .get(..line_end.unwrap_or(chunk.len()))
                .unwrap_or_default();
            for (index, units) in line.chunks_exact(unit).enumerate() {
                if !is_continued(units, encoding) {
                    seen += 1;
                    if seen == column {
                        return Ok(Ok(offset + (index * unit) as u64));
                    }
                }
            }
            if line_end.is_some() || chunk.len() < CHUNK_BYTES {
                return Ok(Err(seen));
            }
            offset += chunk.len() as u64;
        }
    }

    /// The text of a page at an offset, its encoding, and true if the file ends with it; `None` if
    /// there is no text.
    fn text_at(&mut self, offset: u64) -> io::Result<Option<(String, Encoding, bool)>> {
        let encoding = self.encoding;
        // One character more than a page, so that a full page is known to be one.
        let wanted = (MAX_RESULT_BYTES + 4) * self.unit();
        let bytes = self.chunk(offset, wanted.min(CHUNK_BYTES))?;
        let is_end = bytes.len() < wanted.min(CHUNK_BYTES);
        let units = || {
            let unit = match encoding {
                Encoding::Utf16Be => u16::from_be_bytes,
                _ => u16::from_le_bytes,
            };
            let pairs = bytes.as_chunks::<2>().0.iter();
            pairs.map(|pair| unit(*pair)).collect::<Vec<u16>>()
        };
        let (text, encoding) = match encoding {
            Encoding::Utf16Le | Encoding::Utf16Be => (String::from_utf16_lossy(&units()), encoding),
            Encoding::Utf8 => match whole_characters(bytes) {
                Some(text) => (text.to_owned(), encoding),
                None if is_latin(&without_zeros(bytes)) => {
                    (latin_text(bytes), Encoding::Windows1252)
                }
                None => return Ok(None),
            },
            Encoding::Windows1252 => (latin_text(bytes), encoding),
        };
        Ok(Some((zeros_as_text(&text), encoding, is_end)))
    }
}

/// The offsets after each line feed of a chunk.
fn feeds(chunk: &[u8], encoding: Encoding) -> Box<dyn DoubleEndedIterator<Item = usize> + '_> {
    let wide = |feed: [u8; 2]| {
        let pairs = chunk.as_chunks::<2>().0.iter().enumerate();
        pairs.filter_map(move |(index, pair)| (*pair == feed).then_some(index * 2 + 2))
    };
    match encoding {
        Encoding::Utf16Le => Box::new(wide([b'\n', 0])),
        Encoding::Utf16Be => Box::new(wide([0, b'\n'])),
        Encoding::Utf8 | Encoding::Windows1252 => {
            Box::new(memchr::memchr_iter(b'\n', chunk).map(|index| index + 1))
        }
    }
}

fn count_feeds(chunk: &[u8], encoding: Encoding) -> usize {
    match encoding {
        Encoding::Utf8 | Encoding::Windows1252 => memchr::memchr_iter(b'\n', chunk).count(),
        Encoding::Utf16Le | Encoding::Utf16Be => feeds(chunk, encoding).count(),
    }
}

/// True for a unit that continues a character.
fn is_continued(units: &[u8], encoding: Encoding) -> bool {
    match (encoding, units) {
        (Encoding::Utf8, [unit]) => unit & 0xc0 == 0x80,
        (Encoding::Utf16Le, [_, high]) | (Encoding::Utf16Be, [high, _]) => high & 0xfc == 0xdc,
        _ => false,
    }
}

/// True for UTF-8 that may be cut in its last character.
fn is_utf8(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// The UTF-8 text without the parts of characters that are cut at its start and end.
fn whole_characters(bytes: &[u8]) -> Option<&str> {
    let continued = bytes
        .iter()
        .take(3)
        .take_while(|byte| **byte & 0xc0 == 0x80);
    let bytes = bytes.get(continued.count()..)?;
    match str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => {
            str::from_utf8(bytes.get(..error.valid_up_to())?).ok()
        }
        Err(_) => None,
    }
}

fn without_zeros(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(|byte| *byte != 0).collect()
}

/// Writes each run of zero bytes, as sparse files have them, as its length.
fn zeros_as_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(index) = rest.find('\0') {
        let (before, from) = rest.split_at(index);
        let after = from.trim_start_matches('\0');
        shown.push_str(before);
        shown.push_str(&format!("[{} zero bytes]", from.len() - after.len()));
        rest = after;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests;

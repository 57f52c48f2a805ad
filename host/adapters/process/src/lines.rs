//! A codec for lines of bounded length.

#[cfg(test)]
mod tests;

use bytes::{Bytes, BytesMut};
use std::io;
use tokio_util::codec::Decoder;

/// Free bytes of the buffer before each read; consumed lines alone would leave too few.
const MIN_READ_BYTES: usize = 16 * 1024;

/// A line of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line, without its end.
    Complete(Bytes),
    /// A line longer than the maximum, which is discarded.
    Oversized,
}

/// Splits the input at each `\n`. The last line may lack it.
///
/// Unlike `tokio_util`'s own line codecs it searches with `memchr`, keeps invalid UTF-8 for the
/// caller's error response, reports an oversized line as soon as it is one, and frees the buffer of
/// a long line.
#[derive(Debug)]
pub struct LineDecoder {
    max_bytes: usize,
    /// Bytes of the buffer that are known to contain no `\n`.
    searched: usize,
    /// True while the rest of an oversized line is discarded.
    is_skipping: bool,
}

impl LineDecoder {
    /// The initial capacity of the read buffer in bytes: the capacity of a Linux pipe.
    pub const BUFFER_BYTES: usize = 64 * 1024;

    /// Creates a decoder of lines of at most `max_bytes` bytes.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            searched: 0,
            is_skipping: false,
        }
    }

    /// Takes a line of `length` bytes out of the buffer; none if it is the rest of an oversized
    /// one.
    fn take(&mut self, buffer: &mut BytesMut, length: usize) -> Option<Line> {
        self.searched = 0;
        let line = buffer.split_to(length).freeze();
        if length > Self::BUFFER_BYTES {
            // The line keeps the allocation; the rest moves to a small one.
            let mut rest = BytesMut::with_capacity(Self::BUFFER_BYTES.max(buffer.len()));
            rest.extend_from_slice(buffer);
            *buffer = rest;
        }
        if std::mem::take(&mut self.is_skipping) {
            None
        } else if line.len() > self.max_bytes {
            Some(Line::Oversized)
        } else {
            Some(Line::Complete(line))
        }
    }
}

impl Decoder for LineDecoder {
    type Item = Line;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Line>> {
        loop {
            let unsearched = buffer.get(self.searched..).unwrap_or_default();
            let Some(offset) = memchr::memchr(b'\n', unsearched) else {
                break;
            };
            let line = self.take(buffer, self.searched + offset);
            let _ = buffer.split_to(1);
            if line.is_some() {
                return Ok(line);
            }
        }
        let is_oversized = !self.is_skipping && buffer.len() > self.max_bytes;
        if is_oversized {
            self.is_skipping = true;
            *buffer = BytesMut::with_capacity(Self::BUFFER_BYTES);
        } else if self.is_skipping {
            buffer.clear();
        }
        self.searched = buffer.len();
        buffer.reserve(MIN_READ_BYTES);
        Ok(is_oversized.then_some(Line::Oversized))
    }

    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Line>> {
        if let Some(line) = self.decode(buffer)? {
            return Ok(Some(line));
        }
        let length = buffer.len();
        Ok(if length > 0 {
            self.take(buffer, length)
        } else {
            None
        })
    }
}

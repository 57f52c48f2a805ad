//! A codec for lines of bounded length.

use bytes::{Bytes, BytesMut};
use std::io;
use tokio_util::codec::Decoder;

/// Bytes of the longest line. The longest body over HTTP has as many, so a call that one transport
/// accepts, the other accepts.
pub(crate) const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// Initial capacity of the read buffer in bytes: the capacity of a Linux pipe.
pub(super) const BUFFER_BYTES: usize = 64 * 1024;

/// Free bytes of the buffer before each read; consumed lines alone would leave too few.
const MIN_READ_BYTES: usize = 16 * 1024;

/// A line of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without its end.
    Complete(Bytes),
    /// A line longer than [`MAX_LINE_BYTES`], which was discarded.
    Oversized,
}

/// Splits the input at each `\n`. The last line may lack it.
///
/// Unlike `tokio_util`'s own line codecs it searches with `memchr`, keeps invalid UTF-8 for the
/// error response, reports an oversized line once it has been skipped, and frees the buffer of a
/// long line.
#[derive(Debug, Default)]
pub(super) struct LineDecoder {
    /// Bytes of the buffer that are known to contain no `\n`.
    searched: usize,
    /// True while the rest of an oversized line is discarded.
    is_oversized: bool,
}

impl LineDecoder {
    /// Takes a line of `length` bytes out of the buffer.
    fn take(&mut self, buffer: &mut BytesMut, length: usize) -> Line {
        self.searched = 0;
        let line = buffer.split_to(length).freeze();
        if length > BUFFER_BYTES {
            // The line keeps the allocation; the rest moves to a small one.
            let mut rest = BytesMut::with_capacity(BUFFER_BYTES.max(buffer.len()));
            rest.extend_from_slice(buffer);
            *buffer = rest;
        }
        if std::mem::take(&mut self.is_oversized) || line.len() > MAX_LINE_BYTES {
            return Line::Oversized;
        }
        Line::Complete(line)
    }
}

impl Decoder for LineDecoder {
    type Item = Line;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Line>> {
        let unsearched = buffer.get(self.searched..).unwrap_or_default();
        if let Some(offset) = memchr::memchr(b'\n', unsearched) {
            let line = self.take(buffer, self.searched + offset);
            let _ = buffer.split_to(1);
            return Ok(Some(line));
        }
        if self.is_oversized {
            buffer.clear();
        } else if buffer.len() > MAX_LINE_BYTES {
            self.is_oversized = true;
            *buffer = BytesMut::with_capacity(BUFFER_BYTES);
        }
        self.searched = buffer.len();
        buffer.reserve(MIN_READ_BYTES);
        Ok(None)
    }

    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Line>> {
        if let Some(line) = self.decode(buffer)? {
            return Ok(Some(line));
        }
        let is_end = buffer.is_empty() && !self.is_oversized;
        let length = buffer.len();
        Ok((!is_end).then(|| self.take(buffer, length)))
    }
}

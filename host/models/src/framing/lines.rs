//! One JSON value in each line, decoded as its bytes arrive. Memory is bounded, and work is linear however the bytes are cut.

#[cfg(test)]
mod tests;

use super::TooLong;

/// The longest line, in bytes. A whole reply that a server sends as one line still fits.
pub(crate) const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

/// The state between two pieces of a stream.
#[derive(Debug)]
pub(crate) struct Decoder {
    max_line_bytes: usize,
    line: Vec<u8>,
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub(crate) fn new() -> Self {
        Self::with_limit(MAX_LINE_BYTES)
    }

    fn with_limit(max_line_bytes: usize) -> Self {
        Self {
            max_line_bytes,
            line: Vec::new(),
        }
    }

    /// Takes the next bytes and returns the lines that they complete, empty ones left out.
    ///
    /// # Errors
    /// A line is too long. The decoder is of no use after that.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ended) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            if self.line.len() + text.len() > self.max_line_bytes {
                return Err(TooLong {
                    limit: self.max_line_bytes,
                });
            }
            self.line.extend_from_slice(text);
            if ended {
                lines.extend(self.end_line());
            }
        }
        Ok(lines)
    }

    /// The last line, where it has no end.
    pub(crate) fn finish(mut self) -> Option<String> {
        self.end_line()
    }

    fn end_line(&mut self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.line);
        let text = text.trim();
        let line = (!text.is_empty()).then(|| text.to_owned());
        self.line.clear();
        line
    }
}

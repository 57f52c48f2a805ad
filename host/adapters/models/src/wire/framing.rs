//! Splits the bytes of a streamed response into frames, each of which is one JSON value:
//! server-sent events (WHATWG HTML, section 9.2.6) or lines. Work is linear in the bytes however
//! they are split, and memory is bounded.

#[cfg(test)]
mod tests;

/// The longest line, in bytes. A reply that a server sends as one event or one line still fits.
pub(crate) const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

/// The longest event, all its lines together, in bytes.
pub(crate) const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// How the frames of a response are delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events. Only the `data` field is read: every provider repeats the others in it.
    Events,
    /// One JSON value per line (NDJSON).
    Lines,
}

/// A line or an event exceeds its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it sent an event of more than {limit} bytes")]
pub(crate) struct FrameTooLong {
    limit: usize,
}

/// An incremental frame decoder. Lines end in CR, LF or CRLF; a leading byte order mark is dropped.
#[derive(Debug)]
pub(crate) struct FrameDecoder {
    framing: Framing,
    max_line_bytes: usize,
    max_event_bytes: usize,
    /// The start of a line whose end has not arrived.
    line: Vec<u8>,
    /// The data lines of the current event, each with a newline.
    data: String,
    /// The last byte was a CR: an LF right after it belongs to the same line end.
    after_cr: bool,
    first_line: bool,
}

impl FrameDecoder {
    /// Creates a decoder for the start of a stream.
    pub(crate) fn new(framing: Framing) -> Self {
        Self::with_limits(framing, MAX_LINE_BYTES, MAX_EVENT_BYTES)
    }

    fn with_limits(framing: Framing, max_line_bytes: usize, max_event_bytes: usize) -> Self {
        Self {
            framing,
            max_line_bytes,
            max_event_bytes,
            line: Vec::new(),
            data: String::new(),
            after_cr: false,
            first_line: true,
        }
    }

    /// Takes the next bytes and returns the frames that they complete.
    ///
    /// # Errors
    /// A line or an event is too long. The decoder is unusable afterwards.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, FrameTooLong> {
        let mut frames = Vec::new();
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', rest);
            let (line, after) = rest.split_at(end.unwrap_or(rest.len()));
            if self.line.len() + line.len() > self.max_line_bytes {
                return Err(FrameTooLong {
                    limit: self.max_line_bytes,
                });
            }
            let Some((end, next)) = after.split_first() else {
                self.line.extend_from_slice(line);
                break;
            };
            self.after_cr = *end == b'\r';
            rest = next;
            frames.extend(self.end_line(line)?);
        }
        Ok(frames)
    }

    /// Returns the frame that the end of the stream cut off. The standard drops it, but some
    /// servers omit the last blank line; the caller notices a truncated frame by its truncated
    /// JSON.
    ///
    /// # Errors
    /// The event is too long.
    pub(crate) fn end(&mut self) -> Result<Option<String>, FrameTooLong> {
        let last = self.end_line(&[])?;
        Ok(last.or_else(|| self.end_event()))
    }

    /// Takes the end of a line. Most lines arrive whole and are read in place.
    fn end_line(&mut self, end: &[u8]) -> Result<Option<String>, FrameTooLong> {
        if self.line.is_empty() {
            return self.take_line(end);
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(end);
        let frame = self.take_line(&line);
        // The allocation is reused for the next line.
        line.clear();
        self.line = line;
        frame
    }

    fn take_line(&mut self, line: &[u8]) -> Result<Option<String>, FrameTooLong> {
        let line = match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) if self.first_line => rest,
            Some(_) | None => line,
        };
        self.first_line = false;
        if self.framing == Framing::Lines {
            let text = String::from_utf8_lossy(line);
            let text = text.trim();
            return Ok((!text.is_empty()).then(|| text.to_owned()));
        }
        if line.is_empty() {
            return Ok(self.end_event());
        }
        let value = match line.strip_prefix(b"data") {
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            Some([]) => &[],
            Some(_) | None => return Ok(None),
        };
        if self.data.len() + value.len() >= self.max_event_bytes {
            return Err(FrameTooLong {
                limit: self.max_event_bytes,
            });
        }
        self.data.reserve(value.len() + 1);
        self.data.push_str(&String::from_utf8_lossy(value));
        self.data.push('\n');
        Ok(None)
    }

    /// Returns the data of the current event without its last newline; none if it has no data.
    fn end_event(&mut self) -> Option<String> {
        let mut data = std::mem::take(&mut self.data);
        data.pop();
        (!data.is_empty()).then_some(data)
    }
}

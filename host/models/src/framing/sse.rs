//! Server-sent events, decoded as their bytes arrive (WHATWG HTML, section 9.2.6). Only the `data` field is read: every
//! provider repeats in it what the other fields say. Work is linear in the bytes however they are cut, and memory is bounded.

#[cfg(test)]
mod tests;

use super::TooLong;

/// The longest line, in bytes. A whole reply that a server sends as one event still fits.
pub(crate) const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

/// The longest event, its lines together, in bytes.
pub(crate) const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// The state between two pieces of a stream.
#[derive(Debug)]
pub(crate) struct Decoder {
    max_line_bytes: usize,
    max_event_bytes: usize,
    line: Vec<u8>,
    data: String,
    /// The last byte was a carriage return: a newline right after it belongs to it.
    after_return: bool,
    first_line: bool,
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub(crate) fn new() -> Self {
        Self::with_limits(MAX_LINE_BYTES, MAX_EVENT_BYTES)
    }

    fn with_limits(max_line_bytes: usize, max_event_bytes: usize) -> Self {
        Self {
            max_line_bytes,
            max_event_bytes,
            line: Vec::new(),
            data: String::new(),
            after_return: false,
            first_line: true,
        }
    }

    /// Takes the next bytes and returns the data of the events that they complete.
    ///
    /// # Errors
    /// A line or an event is too long. The decoder is of no use after that.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', rest);
            let (line, after) = rest.split_at(end.unwrap_or(rest.len()));
            if self.line.len() + line.len() > self.max_line_bytes {
                return Err(TooLong {
                    limit: self.max_line_bytes,
                });
            }
            let Some((end, next)) = after.split_first() else {
                self.line.extend_from_slice(line);
                break;
            };
            self.after_return = *end == b'\r';
            rest = next;
            events.extend(self.end_line(line)?);
        }
        Ok(events)
    }

    /// The data of an event that the end of the stream cut off. The standard drops it, but servers exist that leave out the
    /// last blank line; a caller that wants whole events notices a cut one because its JSON is not whole.
    ///
    /// # Errors
    /// As [`Decoder::push`].
    pub(crate) fn finish(mut self) -> Result<Option<String>, TooLong> {
        let last = self.end_line(&[])?;
        Ok(last.or_else(|| self.dispatch()))
    }

    /// Takes a line whose end has come. Most come whole, and are read where they are.
    fn end_line(&mut self, end: &[u8]) -> Result<Option<String>, TooLong> {
        if self.line.is_empty() {
            return self.take_line(end);
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(end);
        let ended = self.take_line(&line);
        // Its memory serves for the next one.
        line.clear();
        self.line = line;
        ended
    }

    fn take_line(&mut self, line: &[u8]) -> Result<Option<String>, TooLong> {
        let line = match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) if self.first_line => rest,
            Some(_) | None => line,
        };
        self.first_line = false;
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let value = match line.strip_prefix(b"data") {
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            Some([]) => &[],
            Some(_) | None => return Ok(None),
        };
        if self.data.len() + value.len() >= self.max_event_bytes {
            return Err(TooLong {
                limit: self.max_event_bytes,
            });
        }
        self.data.reserve(value.len() + 1);
        self.data.push_str(&String::from_utf8_lossy(value));
        self.data.push('\n');
        Ok(None)
    }

    /// Every data line has left a newline; the last one goes. An event without data is none.
    fn dispatch(&mut self) -> Option<String> {
        let mut data = std::mem::take(&mut self.data);
        data.pop();
        (!data.is_empty()).then_some(data)
    }
}

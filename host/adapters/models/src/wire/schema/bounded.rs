//! Bounded copies of the values in a schema.

use serde::Serialize;
use std::io;

/// The longest value in a sentence, in bytes of JSON.
const MAX_QUOTED_BYTES: usize = 300;

/// A buffer that keeps the first bytes and fails on more.
struct Head {
    bytes: Vec<u8>,
    limit: usize,
}

impl io::Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.limit.saturating_sub(self.bytes.len());
        let taken = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.bytes.extend_from_slice(taken);
        if taken.len() < bytes.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Counts bytes and fails beyond a limit.
struct Counter {
    count: usize,
    limit: usize,
}

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.count += bytes.len();
        if self.count > self.limit {
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a value as JSON for a sentence: a long one is cut.
pub(super) fn quoted(value: &impl Serialize) -> String {
    let mut head = Head {
        bytes: Vec::new(),
        limit: MAX_QUOTED_BYTES,
    };
    let whole = serde_json::to_writer(&mut head, value).is_ok();
    let text = String::from_utf8_lossy(&head.bytes);
    let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
    if whole {
        text.to_owned()
    } else {
        format!("{text} [cut]")
    }
}

/// Returns the size of a value in bytes of JSON; none if it is above the limit.
pub(super) fn size(value: &impl Serialize, limit: usize) -> Option<usize> {
    let mut counter = Counter { count: 0, limit };
    serde_json::to_writer(&mut counter, value).ok()?;
    Some(counter.count)
}

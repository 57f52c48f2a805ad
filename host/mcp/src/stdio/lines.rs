//! Lines of a bounded length.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// The longest line, in bytes. It is also the longest body over HTTP, so that a call which one transport takes, the other takes.
pub(crate) const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// What is read at once, in bytes; what a pipe holds on Linux.
const BUFFER_BYTES: usize = 64 * 1024;

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// A line, which [`Lines::line`] gives.
    Line,
    /// The end of a line that was too long. It was not kept.
    Oversized,
    /// Nothing more will come.
    End,
}

/// Reads lines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Whether `line` was told of, so that the next read begins a new one.
    is_whole: bool,
    /// Whether the line that is being read is too long to be kept.
    is_oversized: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(read: R) -> Self {
        Self {
            read: BufReader::with_capacity(BUFFER_BYTES, read),
            line: Vec::new(),
            is_whole: false,
            is_oversized: false,
        }
    }

    /// The line that was read last, without its end.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// Reads a line. One that the end of the input cuts short counts: it may be whole but for its end. Nothing is lost when this
    /// is dropped before it is ready.
    pub(super) async fn next(&mut self) -> Read {
        if std::mem::take(&mut self.is_whole) {
            self.line.clear();
            self.line.shrink_to(BUFFER_BYTES);
        }
        loop {
            let available = match self.read.fill_buf().await {
                Ok(available) => available,
                Err(error) => {
                    tracing::debug!("the input cannot be read: {error}");
                    return Read::End;
                }
            };
            if available.is_empty() {
                return match (std::mem::take(&mut self.is_oversized), self.line.is_empty()) {
                    (true, _) => Read::Oversized,
                    (false, true) => Read::End,
                    (false, false) => self.whole(),
                };
            }
            let end = memchr::memchr(b'\n', available);
            let part = available
                .get(..end.unwrap_or(available.len()))
                .unwrap_or_default();
            if self.line.len() + part.len() > MAX_LINE_BYTES {
                self.is_oversized = true;
                self.line = Vec::new();
            }
            if !self.is_oversized {
                self.line.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(end.is_some());
            self.read.consume(taken);
            if end.is_some() {
                return match std::mem::take(&mut self.is_oversized) {
                    true => Read::Oversized,
                    false => self.whole(),
                };
            }
        }
    }

    fn whole(&mut self) -> Read {
        self.is_whole = true;
        Read::Line
    }
}

//! The stdout and stderr of a guest: the last bytes are kept in memory for users, the rest is
//! dropped. The last lines are shown while the guest runs. They never reach the host's own streams,
//! nor the model, which gets the message of a crash alone (`instance/crash.rs`).

#[cfg(test)]
mod tests;

use crate::{caps::telemetry::Telemetry, mutex::lock, text};
use agent_host_engine::secrets::{Redaction, Secrets};
use bytes::Bytes;
use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};
use tokio::io::AsyncWrite;
use wasmtime_wasi::{
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamResult},
};

/// The most bytes of one write, which bounds the host's copy.
const WRITE_BYTES: usize = 64 * 1024;

/// The most bytes of a stream that are shown at once while a guest runs.
const SHOWN_BYTES: usize = 1024;

/// The last `capacity` bytes of a stream.
pub(crate) struct Tail {
    bytes: Mutex<VecDeque<u8>>,
    capacity: usize,
}

impl Tail {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            bytes: Mutex::default(),
            capacity,
        }
    }

    /// Appends bytes, and drops the oldest beyond the capacity.
    pub(crate) fn push(&self, new: &[u8]) {
        let kept = new
            .get(new.len().saturating_sub(self.capacity)..)
            .unwrap_or_default();
        let mut bytes = lock(&self.bytes);
        let excess = (bytes.len() + kept.len()).saturating_sub(self.capacity);
        bytes.drain(..excess);
        bytes.extend(kept);
    }

    pub(crate) fn text(&self) -> String {
        let mut bytes = lock(&self.bytes);
        String::from_utf8_lossy(bytes.make_contiguous()).into_owned()
    }

    fn has_line(&self) -> bool {
        lock(&self.bytes)
            .iter()
            .any(|byte| LINE_ENDS.contains(byte))
    }

    /// Takes the lines that are whole.
    fn take_lines(&self) -> Vec<u8> {
        let mut bytes = lock(&self.bytes);
        let end = bytes.iter().rposition(|byte| LINE_ENDS.contains(byte));
        bytes.drain(..end.map_or(0, |end| end + 1)).collect()
    }
}

/// The bytes that end a line: also a carriage return, after which a program writes over its line.
const LINE_ENDS: [u8; 2] = *b"\n\r";

/// One stream of a guest.
pub(crate) struct GuestStream {
    /// Its last bytes, which are redacted when the call ends.
    tail: Tail,
    redaction: Mutex<Redaction>,
    /// The redacted bytes that were not shown yet, at most [`SHOWN_BYTES`].
    unseen: Tail,
}

impl GuestStream {
    pub(crate) fn new(capacity: usize, secrets: &Arc<Secrets>) -> Self {
        Self {
            tail: Tail::new(capacity),
            redaction: Mutex::new(Redaction::new(Arc::clone(secrets))),
            unseen: Tail::new(SHOWN_BYTES),
        }
    }

    pub(crate) fn text(&self) -> String {
        self.tail.text()
    }

    /// Appends bytes; returns whether a line ended that can be shown.
    pub(crate) fn push(&self, new: &[u8]) -> bool {
        self.tail.push(new);
        self.show(new)
    }

    /// Shows bytes that are not kept; returns whether a line ended.
    fn show(&self, new: &[u8]) -> bool {
        // What was redacted is in order, whichever copy of the stream wrote it.
        let mut redaction = lock(&self.redaction);
        let redacted = redaction.push(new);
        self.unseen.push(&redacted);
        LINE_ENDS.iter().any(|end| redacted.contains(end))
    }
}

/// Returns the last lines of both streams that were not shown; `None` if there are none.
pub(crate) fn take_lines(telemetry: &Telemetry) -> Option<String> {
    let lines = [&telemetry.stdout, &telemetry.stderr].map(|stream| stream.unseen.take_lines());
    let lines = lines.concat();
    let lines = String::from_utf8_lossy(&lines).replace('\r', "\n");
    // An invalid byte takes three.
    (!lines.is_empty()).then(|| text::sanitize(&lines, 2 * 3 * SHOWN_BYTES))
}

/// Whether there are lines that were not shown.
pub(crate) fn has_lines(telemetry: &Telemetry) -> bool {
    telemetry.stdout.unseen.has_line() || telemetry.stderr.unseen.has_line()
}

/// Shows bytes of an answer that comes while the guest runs, among the lines of its stdout.
pub(crate) fn show(telemetry: &Telemetry, bytes: &[u8]) {
    if telemetry.stdout.show(bytes) {
        telemetry.printed.notify_one();
    }
}

/// Returns both streams as one text for users.
pub(crate) fn combined(telemetry: &Telemetry) -> String {
    let (out, err) = (telemetry.stdout.text(), telemetry.stderr.text());
    match (out.is_empty(), err.is_empty()) {
        (_, true) => out,
        (true, false) => err,
        (false, false) => format!("{out}\n[stderr]\n{err}"),
    }
}

/// The guest's side of one stream.
#[derive(Clone)]
pub(crate) struct StdioStream {
    telemetry: Arc<Telemetry>,
    stream: fn(&Telemetry) -> &GuestStream,
}

impl StdioStream {
    pub(crate) fn new(telemetry: &Arc<Telemetry>, stream: fn(&Telemetry) -> &GuestStream) -> Self {
        Self {
            telemetry: Arc::clone(telemetry),
            stream,
        }
    }

    fn print(&self, bytes: &[u8]) {
        if (self.stream)(&self.telemetry).push(bytes) {
            self.telemetry.printed.notify_one();
        }
    }
}

impl IsTerminal for StdioStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for StdioStream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl AsyncWrite for StdioStream {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.print(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[wasmtime_wasi::async_trait]
impl OutputStream for StdioStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.print(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for StdioStream {
    async fn ready(&mut self) {}
}

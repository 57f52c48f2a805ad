//! The stdout and stderr of a guest: the last bytes are kept in memory for users, the rest is
//! dropped. They never reach the host's own streams, nor the model, which gets the message of a
//! crash alone (`instance/crash.rs`).

#[cfg(test)]
mod tests;

use crate::{caps::telemetry::Telemetry, mutex::lock};
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
    tail: fn(&Telemetry) -> &Tail,
}

impl StdioStream {
    pub(crate) fn new(telemetry: &Arc<Telemetry>, tail: fn(&Telemetry) -> &Tail) -> Self {
        Self {
            telemetry: Arc::clone(telemetry),
            tail,
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
        (self.tail)(&self.telemetry).push(bytes);
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
        (self.tail)(&self.telemetry).push(&bytes);
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

//! What goes to the client: messages in the order in which they were queued, written by whoever comes first.

use bytes::{BufMut as _, Bytes, BytesMut};
use serde::Serialize;
use std::{
    fmt, io,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    sync::{Mutex as AsyncMutex, Notify},
};

/// With so many bytes unwritten, nothing more is read from the client. The answers to what runs then still come on top.
pub(super) const MAX_UNWRITTEN_BYTES: usize = 1024 * 1024;

/// See the module.
pub(super) struct Outbox<W> {
    queued: Mutex<BytesMut>,
    writer: AsyncMutex<Writer<W>>,
    /// The bytes that were queued and are not written.
    unwritten: AtomicUsize,
    /// Told when bytes were written, or when no more can be.
    changed: Notify,
    /// The first failed write: nothing more reaches the client.
    error: OnceLock<io::Error>,
}

struct Writer<W> {
    out: W,
    /// What was taken from the queue and is not written. A write that is dropped half-way goes on from here.
    taken: Bytes,
}

impl<W> fmt::Debug for Outbox<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox")
            .field("unwritten", &self.unwritten)
            .finish_non_exhaustive()
    }
}

impl<W: AsyncWrite + Unpin> Outbox<W> {
    pub(super) fn new(out: W) -> Self {
        Self {
            queued: Mutex::default(),
            writer: AsyncMutex::new(Writer {
                out,
                taken: Bytes::new(),
            }),
            unwritten: AtomicUsize::new(0),
            changed: Notify::new(),
            error: OnceLock::new(),
        }
    }

    /// Adds a message. It is written by the next flush.
    ///
    /// # Errors
    /// When it has no JSON form.
    pub(super) fn queue(&self, message: &impl Serialize) -> io::Result<()> {
        let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
        let before = queued.len();
        if let Err(error) = serde_json::to_writer((&mut *queued).writer(), message) {
            // Half a message would spoil the next one.
            queued.truncate(before);
            return Err(error.into());
        }
        queued.put_u8(b'\n');
        self.unwritten
            .fetch_add(queued.len() - before, Ordering::Relaxed);
        Ok(())
    }

    /// Writes a message. Where the client reads no more, the next [`Self::room`] says so.
    pub(super) async fn send(&self, message: &impl Serialize) {
        if self.queue(message).is_ok() {
            let _ = self.flush().await;
        }
    }

    /// Writes all that is queued.
    ///
    /// # Errors
    /// When the client reads no more.
    pub(super) async fn flush(&self) -> io::Result<()> {
        let mut writer = self.writer.lock().await;
        loop {
            if writer.taken.is_empty() {
                let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
                writer.taken = queued.split().freeze();
            }
            if writer.taken.is_empty() {
                return Ok(());
            }
            let count = writer.taken.len();
            let Writer { out, taken } = &mut *writer;
            let written = write(out, taken).await;
            self.unwritten
                .fetch_sub(count - writer.taken.len(), Ordering::Relaxed);
            let written = written.map_err(|error| {
                let kind = error.kind();
                let _ = self.error.set(error);
                kind
            });
            self.changed.notify_waiters();
            written?;
        }
    }

    /// Returns the write error that is no client's doing, such as a full disk behind a redirection.
    pub(super) fn fault(&self) -> Option<&io::Error> {
        use io::ErrorKind::{BrokenPipe, ConnectionReset};
        let error = self.error.get();
        error.filter(|error| !matches!(error.kind(), BrokenPipe | ConnectionReset))
    }

    /// Waits until the client has read enough to be read from; nothing when it reads no more.
    pub(super) async fn room(&self) -> Option<()> {
        loop {
            let changed = self.changed.notified();
            if self.error.get().is_some() {
                return None;
            }
            if self.unwritten.load(Ordering::Relaxed) < MAX_UNWRITTEN_BYTES {
                return Some(());
            }
            changed.await;
        }
    }
}

/// Writes some bytes, as many as go at once.
async fn write<W: AsyncWrite + Unpin>(out: &mut W, bytes: &mut Bytes) -> io::Result<()> {
    if out.write_buf(bytes).await? == 0 {
        return Err(io::ErrorKind::WriteZero.into());
    }
    // Standard output that is no pipe has a buffer of its own.
    out.flush().await
}

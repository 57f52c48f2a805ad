//! The queue of outgoing messages. The first task that flushes writes the messages of all.

use bytes::{BufMut as _, Bytes, BytesMut};
use serde::Serialize;
use std::{
    fmt, io,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    sync::{Mutex as AsyncMutex, Notify},
};

/// Unwritten bytes from which on nothing more is read from the client. Responses to running
/// requests are queued beyond it.
pub(super) const MAX_UNWRITTEN_BYTES: usize = 1024 * 1024;

pub(super) struct Outbox<W> {
    queued: Mutex<BytesMut>,
    writer: AsyncMutex<OutboxWriter<W>>,
    /// Bytes that are queued and not written.
    unwritten: AtomicUsize,
    /// Notified after each write, failed or not.
    changed: Notify,
    /// The error of the first failed write, after which nothing reaches the client.
    error: OnceLock<Arc<io::Error>>,
}

struct OutboxWriter<W> {
    out: W,
    /// Bytes taken from the queue and not yet written, from which a cancelled flush is resumed.
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
            writer: AsyncMutex::new(OutboxWriter {
                out,
                taken: Bytes::new(),
            }),
            unwritten: AtomicUsize::new(0),
            changed: Notify::new(),
            error: OnceLock::new(),
        }
    }

    /// Adds a message, which the next flush writes; with the JSON text `structured` in place of its
    /// `structuredContent`, a placeholder.
    ///
    /// # Errors
    /// Fails when the message has no JSON form.
    pub(super) fn queue(
        &self,
        message: &impl Serialize,
        structured: Option<&str>,
    ) -> io::Result<()> {
        let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
        let before = queued.len();
        if let Err(error) = serde_json::to_writer((&mut *queued).writer(), message) {
            // Part of a message would corrupt the next one.
            queued.truncate(before);
            return Err(error.into());
        }
        if let Some(text) = structured {
            fill_placeholder(&mut queued, before, text);
        }
        queued.put_u8(b'\n');
        self.unwritten
            .fetch_add(queued.len() - before, Ordering::Relaxed);
        Ok(())
    }

    /// Writes a message. A failed write is reported by the next [`Self::ready`].
    pub(super) async fn send(&self, message: &impl Serialize) {
        if self.queue(message, None).is_ok() {
            let _ = self.flush().await;
        }
    }

    /// Writes all queued messages.
    ///
    /// # Errors
    /// Fails when the output cannot be written.
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
            let OutboxWriter { out, taken } = &mut *writer;
            let written = write(out, taken).await;
            self.unwritten
                .fetch_sub(count - writer.taken.len(), Ordering::Relaxed);
            let written = written.map_err(|error| {
                let kind = error.kind();
                let _ = self.error.set(Arc::new(error));
                kind
            });
            self.changed.notify_waiters();
            written?;
        }
    }

    /// Returns the write error if the client did not cause it by closing its side, such as a full
    /// disk behind a redirection.
    pub(super) fn fault(&self) -> Option<Arc<io::Error>> {
        use io::ErrorKind::{BrokenPipe, ConnectionReset};
        let error = self.error.get().cloned();
        error.filter(|error| !matches!(error.kind(), BrokenPipe | ConnectionReset))
    }

    /// Waits until less than [`MAX_UNWRITTEN_BYTES`] are unwritten; returns `None` after a failed
    /// write.
    pub(super) async fn ready(&self) -> Option<()> {
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

/// Writes `text` in place of the placeholder of the message that starts at `from`.
fn fill_placeholder(queued: &mut BytesMut, from: usize, text: &str) {
    // Not inside of a string, whose quotation marks would be escaped.
    const FIELD: &[u8] = b"\"structuredContent\":null";
    let message = queued.get(from..).unwrap_or_default();
    // From the end, because the content before it is long.
    let mut windows = message.windows(FIELD.len());
    let Some(at) = windows.rposition(|window| window == FIELD) else {
        return;
    };
    let end = queued.split_off(from + at + FIELD.len());
    queued.truncate(queued.len() - b"null".len());
    queued.reserve(text.len() + end.len() + 1);
    queued.put(text.as_bytes());
    queued.put(end);
}

/// Writes as many bytes as one call takes.
async fn write<W: AsyncWrite + Unpin>(out: &mut W, bytes: &mut Bytes) -> io::Result<()> {
    if out.write_buf(bytes).await? == 0 {
        return Err(io::ErrorKind::WriteZero.into());
    }
    // Standard output other than a pipe or socket is buffered.
    out.flush().await
}

#[cfg(test)]
mod tests {
    use super::Outbox;
    use crate::result::{Structured, StructuredAs, call_result, structured_text};
    use agent_host_types::output::ToolResultOutput;
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    #[tokio::test]
    async fn placeholder_is_written_as_the_value() {
        let field = r#""structuredContent":null"#;
        for value in [
            json!({}),
            json!({"structuredContent": null, "n": [1.5, "\u{e9}\n\""]}),
            json!([{"content": [], "isError": field}, null]),
            json!(field),
            json!(null),
        ] {
            for output in [
                ToolResultOutput::json(value.clone()),
                ToolResultOutput::error_json(value.clone()),
            ] {
                for structured in [Structured::Objects, Structured::Any] {
                    let result = |form| call_result(output.clone(), structured, form);
                    let placeholder = result(StructuredAs::Placeholder);
                    let outbox = Outbox::new(Vec::new());
                    // A message before it is not changed.
                    outbox
                        .queue(&json!({"structuredContent": null}), None)
                        .unwrap();
                    outbox
                        .queue(&placeholder, structured_text(&placeholder))
                        .unwrap();
                    outbox.flush().await.unwrap();
                    let written = outbox.writer.into_inner().out;
                    let lines: Vec<Value> = written
                        .split(|byte| *byte == b'\n')
                        .filter(|line| !line.is_empty())
                        .map(|line| serde_json::from_slice(line).unwrap())
                        .collect();
                    let expected = json!(result(StructuredAs::Value));
                    assert_eq!(lines, [json!({"structuredContent": null}), expected]);
                }
            }
        }
    }
}

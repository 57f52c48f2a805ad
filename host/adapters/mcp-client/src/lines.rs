//! The stdio transport: one JSON message per line, with bounds. A line that is too long or
//! unreadable ends the calls that it may answer; while [`MAX_UNANSWERED`] requests of the server
//! are unanswered, nothing more is read; a server that reads nothing is disconnected. Responses to
//! no pending request are dropped.

#[cfg(test)]
mod tests;

use crate::handler::Signals;
use agent_host_process::{Line, LineDecoder};
use futures_util::StreamExt as _;
use rmcp::{
    ErrorData, RoleClient,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, CustomResult, ErrorCode,
        JsonRpcError, JsonRpcMessage, JsonRpcResponse, RequestId, ServerJsonRpcMessage,
        ServerNotification, ServerRequest, ServerResult,
    },
    transport::Transport,
};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::{HashSet, VecDeque},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::{codec::FramedRead, sync::CancellationToken};

/// The maximum size of a message in bytes: enough for the largest accepted result in base64.
pub(crate) const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// The maximum of unanswered requests of the server. Reading pauses at this number.
const MAX_UNANSWERED: usize = 32;

/// The time the server may leave a message unread.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// The error code of a call whose response may have been an oversized message; from the range that
/// JSON-RPC leaves to implementations.
pub(crate) const TOO_LARGE: ErrorCode = ErrorCode(-32_090);

/// The error code of a call whose response is malformed.
pub(crate) const MALFORMED: ErrorCode = ErrorCode(-32_091);

pub(crate) struct Lines<R, W> {
    lines: FramedRead<R, LineDecoder>,
    /// The permit for a request of the server, taken before the next message is read.
    permit: Option<OwnedSemaphorePermit>,
    /// The calls to fail because of an oversized message.
    failed: VecDeque<RequestId>,
    signals: Arc<Signals>,
    shared: Arc<SharedWriter<W>>,
}

/// The state shared with pending writes.
struct SharedWriter<W> {
    /// `None` once closed.
    write: tokio::sync::Mutex<Option<W>>,
    /// The client's unanswered requests.
    pending: Mutex<HashSet<RequestId>>,
    /// The server's unanswered requests; each holds a permit.
    unanswered: Mutex<HashSet<RequestId>>,
    permits: Arc<Semaphore>,
    /// Cancelled when a write fails, which may leave half a line behind.
    broken: CancellationToken,
}

/// The part of a message that is read when the whole cannot be.
#[derive(Deserialize)]
struct Envelope {
    id: Option<RequestId>,
    method: Option<String>,
}

/// The part of a response that is read again where the library's type has not all of it.
#[derive(Deserialize)]
struct RawResponse {
    result: Value,
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
    pub(crate) fn new(read: R, write: W, signals: Arc<Signals>) -> Self {
        Self {
            lines: FramedRead::new(read, LineDecoder::new(MAX_MESSAGE_BYTES)),
            permit: None,
            failed: VecDeque::new(),
            signals,
            shared: Arc::new(SharedWriter {
                write: tokio::sync::Mutex::new(Some(write)),
                pending: Mutex::default(),
                unanswered: Mutex::default(),
                permits: Arc::new(Semaphore::new(MAX_UNANSWERED)),
                broken: CancellationToken::new(),
            }),
        }
    }

    /// Fails every pending call: the oversized message may have answered any of them.
    fn fail_pending(&mut self) {
        let mut pending = self.shared.pending();
        self.failed.extend(pending.drain());
    }

    async fn next(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(id) = self.failed.pop_front() {
                return Some(error(id, TOO_LARGE, too_large()));
            }
            if self.permit.is_none() {
                let permit = Arc::clone(&self.shared.permits);
                self.permit = Some(permit.acquire_owned().await.ok()?);
            }
            let message = match self.lines.next().await? {
                Err(error) => {
                    tracing::warn!(target: "agent_host::mcp", "cannot read from a server any more: {error}");
                    return None;
                }
                Ok(Line::Complete(line)) => parse(&line),
                Ok(Line::Oversized) => {
                    self.fail_pending();
                    None
                }
            };
            let Some(message) = message else {
                continue;
            };
            match &message {
                JsonRpcMessage::Request(request) => {
                    if let ServerRequest::ListRootsRequest(_) = &request.request {
                        // In the order of messages; the handler runs in a task of its own.
                        self.signals.set_roots_asked();
                    }
                    if self.shared.unanswered().insert(request.id.clone()) {
                        // Returned by `Shared::release`.
                        if let Some(permit) = self.permit.take() {
                            permit.forget();
                        }
                    }
                }
                JsonRpcMessage::Response(JsonRpcResponse { id, .. })
                | JsonRpcMessage::Error(JsonRpcError { id: Some(id), .. }) => {
                    if !self.shared.pending().remove(&as_sent(id)) {
                        continue;
                    }
                }
                JsonRpcMessage::Notification(notification) => {
                    if let ServerNotification::CancelledNotification(cancelled) =
                        &notification.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        self.shared.release(id);
                    }
                }
                JsonRpcMessage::Error(_) => {}
            }
            return Some(message);
        }
    }
}

impl<W> SharedWriter<W> {
    fn pending(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unanswered(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.unanswered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the permit of a request of the server, once.
    fn release(&self, id: &RequestId) {
        if self.unanswered().remove(id) {
            self.permits.add_permits(1);
        }
    }
}

impl<W: AsyncWrite + Unpin> SharedWriter<W> {
    async fn write(&self, message: &ClientJsonRpcMessage) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let written = tokio::time::timeout(WRITE_TIMEOUT, async {
            let mut write = self.write.lock().await;
            let write = write
                .as_mut()
                .ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?;
            write.write_all(&line).await?;
            write.flush().await
        });
        let written = written.await.unwrap_or_else(|_| {
            Err(io::Error::other(format!(
                "it read nothing for {} seconds",
                WRITE_TIMEOUT.as_secs()
            )))
        });
        if written.is_err() {
            self.broken.cancel();
        }
        written
    }
}

impl<R, W> Transport<RoleClient> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let shared = Arc::clone(&self.shared);
        let mut answered = None;
        match &message {
            JsonRpcMessage::Request(request) => {
                let mut pending = shared.pending();
                if let ClientRequest::InitializeRequest(_) = &request.request {
                    // `initialize` follows an abandoned `server/discover`. A server that started
                    // slowly still answers the latter, which must not pass for the response to
                    // this.
                    pending.clear();
                }
                pending.insert(request.id.clone());
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    shared.pending().remove(id);
                }
            }
            JsonRpcMessage::Response(response) => answered = Some(response.id.clone()),
            JsonRpcMessage::Error(error) => answered = error.id.clone(),
        }
        async move {
            let written = shared.write(&message).await;
            if let Some(id) = answered {
                shared.release(&id);
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let broken = self.shared.broken.clone();
        tokio::select! {
            biased;
            () = broken.cancelled() => None,
            message = self.next() => message,
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.shared.write.lock().await.take();
        Ok(())
    }
}

/// Parses a line. Anything but a message is skipped, as the protocol's own libraries do, since
/// servers write all sorts of things to stdout. A malformed response becomes an error response,
/// which ends its call.
fn parse(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    let why = match serde_json::from_slice(line) {
        Ok(message) => return Some(keep_tools(message, line)),
        Err(error) => error,
    };
    tracing::debug!(target: "agent_host::mcp", "a line that is not a message: {why}");
    // Ignoring values does not recurse, so this reads what nests too deep for the first attempt.
    let envelope: Envelope = serde_json::from_slice(line).ok()?;
    match envelope {
        Envelope {
            id: Some(id),
            method: None,
        } => Some(error(
            id,
            MALFORMED,
            format!("cannot read its answer: {why}"),
        )),
        Envelope { .. } => None,
    }
}

/// Keeps a list of tools as it was sent: the library's type of a tool has no `execution`.
fn keep_tools(mut message: ServerJsonRpcMessage, line: &[u8]) -> ServerJsonRpcMessage {
    if let JsonRpcMessage::Response(response) = &mut message
        && let ServerResult::ListToolsResult(_) = &response.result
        && let Ok(raw) = serde_json::from_slice::<RawResponse>(line)
    {
        response.result = ServerResult::CustomResult(CustomResult(raw.result));
    }
    message
}

/// Returns the reason of [`TOO_LARGE`], as a clause.
pub(crate) fn too_large() -> String {
    format!("it sent a message of more than {MAX_MESSAGE_BYTES} bytes")
}

/// Returns the id as it was sent: a number, which some servers return as a string.
pub(crate) fn as_sent(id: &RequestId) -> RequestId {
    match id {
        RequestId::Number(_) => id.clone(),
        RequestId::String(text) => text.parse().map_or_else(|_| id.clone(), RequestId::Number),
    }
}

pub(crate) fn error(id: RequestId, code: ErrorCode, why: String) -> ServerJsonRpcMessage {
    JsonRpcMessage::Error(JsonRpcError::new(Some(id), ErrorData::new(code, why, None)))
}

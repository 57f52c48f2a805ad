//! Messages as lines on the streams of a child process. A line is bounded; one that is too long or cannot be read ends the
//! calls that it may have been for; a server that asks without end is read no faster than it is answered; and one that reads
//! nothing is given up. An answer that nobody waits for is left out.

#[cfg(test)]
mod tests;

use rmcp::{
    ErrorData, RoleClient,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, JsonRpcError,
        JsonRpcMessage, JsonRpcResponse, RequestId, ServerJsonRpcMessage, ServerNotification,
    },
    transport::Transport,
};
use serde::Deserialize;
use std::{
    collections::{HashSet, VecDeque},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::sync::CancellationToken;

/// The longest message, in bytes: room for the largest result that is taken, in base64.
pub(crate) const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// What is kept of the buffer between two messages, in bytes.
const KEPT_BUFFER: usize = 64 * 1024;

/// The requests of the server that wait for their answers. With more, it is not read until some are answered.
const MAX_OWED: usize = 32;

/// How long the server may leave a message unread.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// What a call gets in place of its answer while a message came that was too long to be read. The code is one that the
/// protocol leaves to implementations.
pub(crate) const TOO_LARGE: ErrorCode = ErrorCode(-32_090);

/// What a call gets whose answer has a form that cannot be read.
pub(crate) const UNREADABLE: ErrorCode = ErrorCode(-32_091);

/// The two streams of a server.
pub(crate) struct Lines<R, W> {
    read: BufReader<R>,
    /// The line so far. Reading may be broken off at any time, and goes on here.
    line: Vec<u8>,
    /// Whether the rest of a line is skipped that was too long.
    skipping: bool,
    /// The room for a request of the server, taken before its next message is read.
    room: Option<OwnedSemaphorePermit>,
    /// The calls that are told that a message was too long.
    lost: VecDeque<RequestId>,
    shared: Arc<Shared<W>>,
}

/// What those who write need.
struct Shared<W> {
    /// Absent once it is closed.
    write: tokio::sync::Mutex<Option<W>>,
    /// Our requests that have no answer yet.
    waiting: Mutex<HashSet<RequestId>>,
    /// The server's requests that have no answer yet; each has its room.
    asked: Mutex<HashSet<RequestId>>,
    room: Arc<Semaphore>,
    /// Cancelled when a write failed, which may have left half a line behind.
    broken: CancellationToken,
}

/// How a read ended.
enum Read {
    Line,
    TooLong,
    End,
}

/// What is read of a message that cannot be read whole.
#[derive(Deserialize)]
struct Envelope {
    id: Option<RequestId>,
    method: Option<String>,
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
    pub(crate) fn new(read: R, write: W) -> Self {
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            skipping: false,
            room: None,
            lost: VecDeque::new(),
            shared: Arc::new(Shared {
                write: tokio::sync::Mutex::new(Some(write)),
                waiting: Mutex::default(),
                asked: Mutex::default(),
                room: Arc::new(Semaphore::new(MAX_OWED)),
                broken: CancellationToken::new(),
            }),
        }
    }

    /// Reads to the end of a line, and holds no more of it than a message may have.
    async fn read_line(&mut self) -> Read {
        loop {
            let Ok(available) = self.read.fill_buf().await else {
                return Read::End;
            };
            if available.is_empty() {
                // What has no line end is no message.
                return Read::End;
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let count = end.map_or(available.len(), |end| end + 1);
            let piece = available.get(..count).unwrap_or_default();
            let too_long = !self.skipping && self.line.len() + piece.len() > MAX_MESSAGE_BYTES;
            if too_long {
                self.line = Vec::new();
            } else if !self.skipping {
                self.line.extend_from_slice(piece);
            }
            self.read.consume(count);
            let skipped = self.skipping;
            self.skipping = (skipped || too_long) && end.is_none();
            if too_long {
                return Read::TooLong;
            }
            if end.is_some() && !skipped {
                return Read::Line;
            }
        }
    }

    /// The message in the line, which is empty then.
    fn take_message(&mut self) -> Option<ServerJsonRpcMessage> {
        let message = parse(&self.line);
        self.line.clear();
        self.line.shrink_to(KEPT_BUFFER);
        message
    }

    /// Every call that waits is told that a message was too long: it cannot be known for which of them it was.
    fn lose_waiting(&mut self) {
        let mut waiting = self.shared.waiting();
        self.lost.extend(waiting.drain());
    }

    async fn next(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(id) = self.lost.pop_front() {
                let why = format!("it sent a message of more than {MAX_MESSAGE_BYTES} bytes");
                return Some(error(id, TOO_LARGE, why));
            }
            if self.room.is_none() {
                let room = Arc::clone(&self.shared.room);
                self.room = Some(room.acquire_owned().await.ok()?);
            }
            match self.read_line().await {
                Read::Line => {}
                Read::TooLong => {
                    self.lose_waiting();
                    continue;
                }
                Read::End => return None,
            }
            let Some(message) = self.take_message() else {
                continue;
            };
            match &message {
                JsonRpcMessage::Request(request) => {
                    if self.shared.asked().insert(request.id.clone()) {
                        // Given back when the request needs no answer any more.
                        if let Some(room) = self.room.take() {
                            room.forget();
                        }
                    }
                }
                JsonRpcMessage::Response(JsonRpcResponse { id, .. })
                | JsonRpcMessage::Error(JsonRpcError { id: Some(id), .. }) => {
                    if !self.shared.waiting().remove(&as_asked(id)) {
                        continue;
                    }
                }
                JsonRpcMessage::Notification(notification) => {
                    if let ServerNotification::CancelledNotification(cancelled) =
                        &notification.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        self.shared.owes_no_more(id);
                    }
                }
                JsonRpcMessage::Error(_) => {}
            }
            return Some(message);
        }
    }
}

impl<W> Shared<W> {
    fn waiting(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asked(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives back the room of a request of the server, once.
    fn owes_no_more(&self, id: &RequestId) {
        if self.asked().remove(id) {
            self.room.add_permits(1);
        }
    }
}

impl<W: AsyncWrite + Unpin> Shared<W> {
    async fn write(&self, message: &ClientJsonRpcMessage) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let written = tokio::time::timeout(WRITE_PATIENCE, async {
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
                WRITE_PATIENCE.as_secs()
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
                let mut waiting = shared.waiting();
                if let ClientRequest::InitializeRequest(_) = &request.request {
                    // Whoever greets a server so has given up on an answer to `server/discover`. One that took long to start
                    // gives it all the same, and it must not pass for the answer to this.
                    waiting.clear();
                }
                waiting.insert(request.id.clone());
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    shared.waiting().remove(id);
                }
            }
            JsonRpcMessage::Response(response) => answered = Some(response.id.clone()),
            JsonRpcMessage::Error(error) => answered = error.id.clone(),
        }
        async move {
            let written = shared.write(&message).await;
            if let Some(id) = answered {
                shared.owes_no_more(&id);
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

/// The message in a line. What is none is left out, as the protocol's own libraries do: servers write all sorts of things to
/// their standard output. An answer of a form that cannot be read ends its call.
fn parse(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    let why = match serde_json::from_slice(line) {
        Ok(message) => return Some(message),
        Err(error) => error,
    };
    tracing::debug!(target: "agent_host::mcp", "a line that is no message: {why}");
    // Skipping values takes no stack, so this reads what nests too deep for the reading above.
    let envelope: Envelope = serde_json::from_slice(line).ok()?;
    match envelope {
        Envelope {
            id: Some(id),
            method: None,
        } => Some(error(
            id,
            UNREADABLE,
            format!("its answer cannot be read: {why}"),
        )),
        Envelope { .. } => None,
    }
}

/// The id of a request as it was sent: a number, which some servers send back as text.
fn as_asked(id: &RequestId) -> RequestId {
    match id {
        RequestId::Number(_) => id.clone(),
        RequestId::String(text) => text.parse().map_or_else(|_| id.clone(), RequestId::Number),
    }
}

fn error(id: RequestId, code: ErrorCode, why: String) -> ServerJsonRpcMessage {
    JsonRpcMessage::Error(JsonRpcError::new(Some(id), ErrorData::new(code, why, None)))
}

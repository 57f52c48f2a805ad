//! The transport over standard input and output: one message per line. Whatever a client writes or
//! does not read, memory is bounded and the connection stays open: a line that is no message is
//! answered or skipped, calls beyond a bound are queued, and while the client does not read its
//! output, its input is not read.

mod outbox;
mod refusal;
mod streams;
#[cfg(test)]
mod tests;

pub use streams::{Input, Output, standard_streams};

use crate::server::Server;
use agent_host_process::{Line, LineDecoder};
use bytes::Bytes;
use futures_util::StreamExt as _;
use outbox::Outbox;
use refusal::{oversized, refusal};
use rmcp::{
    RoleServer,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions as _, GetMeta as _,
        JsonRpcRequest, ProtocolVersion, RequestId,
    },
    service::{ServerInitializeError, TxJsonRpcMessage, serve_server_with_ct},
    transport::Transport,
};
use std::{collections::VecDeque, io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinError,
    time::{Instant, timeout_at},
};
use tokio_util::{codec::FramedRead, sync::CancellationToken};

/// Bytes of the longest line. The longest body over HTTP has as many, so a call that one transport
/// accepts, the other accepts.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// Calls that run at once. The sandbox admits fewer of most tools and queues the others.
const MAX_CALLS: usize = 64;

/// Other requests that run at once. None of them waits for anything.
const MAX_OTHERS: usize = 64;

/// Calls in the queue. When it is full, nothing is read, so cancellations wait as well.
const MAX_QUEUED: usize = 1024;

/// Bytes of the lines of the queued calls.
const MAX_QUEUED_BYTES: usize = 16 * 1024 * 1024;

/// Time that running requests get at the end of the input before rmcp is told of it. rmcp then
/// gives them 5 s more, but acknowledges no notification in that time, so a request that waits for
/// an acknowledgement gets no response.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Why serving over stdio failed.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The output cannot be written, and not because the client closed it.
    #[error("could not write to the client: {0}")]
    Write(#[source] Arc<io::Error>),
    /// The client's first message does not start a lifecycle of the protocol.
    #[error("the connection broke: {0}")]
    Initialize(#[source] Box<ServerInitializeError>),
    /// The task that serves the connection failed.
    #[error("the connection broke: {0}")]
    Service(#[source] JoinError),
}

/// Serves one client over two streams until its input ends or `stop` is cancelled. Running calls
/// then have 7 s to end.
///
/// # Errors
/// Fails when the connection breaks for another reason than that the client closed it.
pub async fn serve_stdio<R, W>(
    server: &Server,
    input: R,
    output: W,
    stop: CancellationToken,
) -> Result<(), StdioError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let transport = StdioTransport::new(input, output);
    let mut handler = server.handler();
    handler.end = transport.end.clone();
    let out = Arc::clone(&transport.out);
    let served = match serve_server_with_ct(handler, transport, stop).await {
        Ok(running) => running
            .waiting()
            .await
            .map(drop)
            .map_err(StdioError::Service),
        // The client closed the connection before the handshake, or `stop` was cancelled.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(error) => Err(StdioError::Initialize(Box::new(error))),
    };
    match out.fault() {
        Some(error) => Err(StdioError::Write(error)),
        None => served,
    }
}

type Request = JsonRpcRequest<ClientRequest>;

/// Held by a request's extensions until its response is sent.
#[derive(Clone)]
struct RequestPermit {
    _permit: Arc<OwnedSemaphorePermit>,
}

/// The transport.
#[derive(Debug)]
pub(crate) struct StdioTransport<R, W> {
    lines: FramedRead<R, LineDecoder>,
    out: Arc<Outbox<W>>,
    calls: Arc<Semaphore>,
    others: Arc<Semaphore>,
    /// Calls beyond [`MAX_CALLS`], in order, with the bytes of their lines.
    queued: VecDeque<(Request, usize)>,
    queued_bytes: usize,
    /// A request other than a call that came when [`MAX_OTHERS`] ran.
    held: Option<Request>,
    /// True after a request that starts one of the protocol's two lifecycles.
    is_open: bool,
    /// The deadline of running requests, set at the end of the input.
    drain_until: Option<Instant>,
    /// Cancelled at the end of the input, when requests may still run.
    end: CancellationToken,
}

impl<R, W> StdioTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(crate) fn new(input: R, output: W) -> Self {
        Self {
            lines: FramedRead::with_capacity(
                input,
                LineDecoder::new(MAX_LINE_BYTES),
                LineDecoder::BUFFER_BYTES,
            ),
            out: Arc::new(Outbox::new(output)),
            calls: Arc::new(Semaphore::new(MAX_CALLS)),
            others: Arc::new(Semaphore::new(MAX_OTHERS)),
            queued: VecDeque::new(),
            queued_bytes: 0,
            held: None,
            is_open: false,
            drain_until: None,
            end: CancellationToken::new(),
        }
    }

    /// Returns true if another line can be taken.
    fn can_read(&self) -> bool {
        self.drain_until.is_none()
            && self.held.is_none()
            && self.queued.len() < MAX_QUEUED
            && self.queued_bytes < MAX_QUEUED_BYTES
    }

    /// Returns a message that can be handled now. A request that cannot is queued.
    fn admit(
        &mut self,
        message: ClientJsonRpcMessage,
        bytes: usize,
    ) -> Option<ClientJsonRpcMessage> {
        match message {
            ClientJsonRpcMessage::Request(request) => self.admit_request(request, bytes),
            // rmcp ends the service at any other message before a lifecycle has started.
            _ if !self.is_open => None,
            ClientJsonRpcMessage::Notification(notification) => {
                match cancels(&notification.notification) {
                    Some(id) if self.unqueue(id) => None,
                    _ => Some(ClientJsonRpcMessage::Notification(notification)),
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => Some(message),
        }
    }

    fn admit_request(&mut self, request: Request, bytes: usize) -> Option<ClientJsonRpcMessage> {
        self.is_open |= starts_lifecycle(&request.request);
        if !is_long_running(&request.request) {
            return match Arc::clone(&self.others).try_acquire_owned() {
                Ok(permit) => Some(in_flight(request, permit)),
                Err(_) => {
                    self.held = Some(request);
                    None
                }
            };
        }
        let permit = Arc::clone(&self.calls).try_acquire_owned().ok();
        match permit.filter(|_| self.queued.is_empty()) {
            Some(permit) => Some(in_flight(request, permit)),
            None => {
                self.queued_bytes += bytes;
                self.queued.push_back((request, bytes));
                None
            }
        }
    }

    /// Waits until every running request has its response.
    fn all_answered(&self) -> impl Future<Output = ()> + Send + 'static {
        let (calls, others) = (Arc::clone(&self.calls), Arc::clone(&self.others));
        async move {
            // The semaphores are never closed.
            let _ = calls.acquire_many(MAX_CALLS as u32).await;
            let _ = others.acquire_many(MAX_OTHERS as u32).await;
        }
    }

    /// Returns the first call in the queue, which runs now.
    fn next_queued(&mut self, permit: OwnedSemaphorePermit) -> Option<ClientJsonRpcMessage> {
        let (request, bytes) = self.queued.pop_front()?;
        self.queued_bytes -= bytes;
        Some(in_flight(request, permit))
    }

    /// Removes a cancelled call from the queue. The protocol wants no response to it.
    fn unqueue(&mut self, id: &RequestId) -> bool {
        let mut queued = self.queued.iter();
        let index = queued.position(|(request, _)| request.id == *id);
        let Some((_, bytes)) = index.and_then(|index| self.queued.remove(index)) else {
            return false;
        };
        self.queued_bytes -= bytes;
        true
    }

    /// Returns the message of a line if it can be handled now. Answers a line that is no message.
    async fn take(&mut self, line: Bytes) -> Option<ClientJsonRpcMessage> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        match serde_json::from_slice::<ClientJsonRpcMessage>(&line) {
            Ok(message) => self.admit(message, line.len()),
            Err(_) => {
                self.out.send(&refusal(&line)?).await;
                None
            }
        }
    }
}

impl<R, W> Transport<RoleServer> for StdioTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let out = Arc::clone(&self.out);
        let queued = out.queue(&item);
        async move {
            queued?;
            out.flush().await
        }
    }

    /// Cancel safe: input that was read is kept in `self`.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(until) = self.drain_until
                && self.held.is_none()
                && self.queued.is_empty()
            {
                self.end.cancel();
                let answered = self.all_answered();
                let _ = timeout_at(until, answered).await;
                return None;
            }
            let can_read = self.can_read();
            let (calls, others) = (Arc::clone(&self.calls), Arc::clone(&self.others));
            let out = Arc::clone(&self.out);
            let lines = &mut self.lines;
            let read = tokio::select! {
                biased;
                permit = calls.acquire_owned(), if !self.queued.is_empty() => {
                    return self.next_queued(permit.ok()?);
                }
                permit = others.acquire_owned(), if self.held.is_some() => {
                    return Some(in_flight(self.held.take()?, permit.ok()?));
                }
                read = async move {
                    out.ready().await?;
                    Some(lines.next().await)
                }, if can_read => read?,
            };
            let message = match read {
                Some(Ok(Line::Complete(line))) => self.take(line).await,
                Some(Ok(Line::Oversized)) => {
                    self.out.send(&oversized()).await;
                    None
                }
                end => {
                    if let Some(Err(error)) = end {
                        tracing::debug!("the input cannot be read: {error}");
                    }
                    self.drain_until = Some(Instant::now() + DRAIN_TIMEOUT);
                    None
                }
            };
            if message.is_some() {
                return message;
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.out.flush().await
    }
}

fn in_flight(mut request: Request, permit: OwnedSemaphorePermit) -> ClientJsonRpcMessage {
    request.request.extensions_mut().insert(RequestPermit {
        _permit: Arc::new(permit),
    });
    ClientJsonRpcMessage::Request(request)
}

/// Returns true for requests that may run for long.
fn is_long_running(request: &ClientRequest) -> bool {
    matches!(
        request,
        ClientRequest::CallToolRequest(_) | ClientRequest::SubscriptionsListenRequest(_)
    )
}

/// Returns true if a request starts a lifecycle: by a handshake, or by the `_meta` that every
/// request of the stateless lifecycle has.
fn starts_lifecycle(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let version = meta.protocol_version();
            version.is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
                && meta
                    .missing_required_keys(&ProtocolVersion::V_2026_07_28)
                    .is_empty()
        }
    }
}

/// Returns the request that a notification cancels.
fn cancels(notification: &ClientNotification) -> Option<&RequestId> {
    match notification {
        ClientNotification::CancelledNotification(cancelled) => {
            cancelled.params.request_id.as_ref()
        }
        _ => None,
    }
}

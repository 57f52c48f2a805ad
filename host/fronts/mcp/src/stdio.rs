//! The transport over standard input and output: one message per line. Whatever a client writes or
//! does not read, memory is bounded and the connection stays open: a line that is no message is
//! answered or skipped, a call beyond its tool's share is answered as `busy`, and while the client
//! does not read its output, its input is not read.

mod message;
mod outbox;
mod refusal;
mod streams;
#[cfg(test)]
mod tests;

pub use streams::{Input, Output, standard_streams};

use crate::{
    in_flight::{InFlight, long_running},
    result::{StructuredAs, structured_text},
    server::Server,
};
use agent_host_process::{Line, LineDecoder};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::LocalBoxFuture;
use message::parse;
use outbox::Outbox;
use refusal::{oversized, refusal};
use rmcp::{
    RoleServer,
    model::{
        ClientJsonRpcMessage, ClientRequest, GetExtensions as _, GetMeta as _, JsonRpcRequest,
        JsonRpcResponse, ProtocolVersion, ServerResult,
    },
    service::{ServerInitializeError, TxJsonRpcMessage, serve_server_with_ct},
    transport::Transport,
};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Semaphore,
    task::{JoinError, yield_now},
    time::{Instant, timeout_at},
};
use tokio_util::{codec::FramedRead, sync::CancellationToken};

/// Bytes of the longest line. The longest body over HTTP has as many, so a call that one transport
/// accepts, the other accepts.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// Calls and subscriptions in flight. The sandbox runs and queues fewer of one tool than its half.
const MAX_CALLS: usize = 512;

/// Other requests that run at once. None of them waits for anything.
const MAX_OTHERS: usize = 64;

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
    #[error("the connection was lost: {0}")]
    Initialize(#[source] Box<ServerInitializeError>),
    /// The task that serves the connection failed.
    #[error("the connection was lost: {0}")]
    Service(#[source] JoinError),
}

/// Serves one client over two streams until its input ends or `stop` is cancelled. Running calls
/// then have 7 s to end.
///
/// # Errors
/// Fails when the connection breaks for another reason than that the client closed it.
pub fn serve_stdio(
    server: &Server,
    input: Input,
    output: Output,
    stop: CancellationToken,
) -> LocalBoxFuture<'_, Result<(), StdioError>> {
    Box::pin(async move {
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
    })
}

type ClientRpcRequest = JsonRpcRequest<ClientRequest>;

/// The transport.
#[derive(Debug)]
pub(crate) struct StdioTransport<R, W> {
    lines: FramedRead<R, LineDecoder>,
    out: Arc<Outbox<W>>,
    calls: Arc<InFlight>,
    others: Arc<Semaphore>,
    /// A request other than a call that came when [`MAX_OTHERS`] ran.
    held: Option<ClientRpcRequest>,
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
            calls: InFlight::new(MAX_CALLS),
            others: Arc::new(Semaphore::new(MAX_OTHERS)),
            held: None,
            is_open: false,
            drain_until: None,
            end: CancellationToken::new(),
        }
    }

    /// Returns a message that can be handled now.
    async fn admit(
        &mut self,
        message: ClientJsonRpcMessage,
        bytes: usize,
    ) -> Option<ClientJsonRpcMessage> {
        match message {
            ClientJsonRpcMessage::Request(request) => self.admit_request(request, bytes).await,
            // rmcp ends the service at any other message before a lifecycle has started.
            other => self.is_open.then_some(other),
        }
    }

    /// Admits a request. A call beyond its tool's share is answered, another request is held.
    async fn admit_request(
        &mut self,
        request: ClientRpcRequest,
        bytes: usize,
    ) -> Option<ClientJsonRpcMessage> {
        self.is_open |= starts_lifecycle(&request.request);
        let Some(name) = long_running(&request.request) else {
            return match Arc::clone(&self.others).try_acquire_owned() {
                Ok(permit) => Some(with_permit(request, Arc::new(permit))),
                Err(_) => {
                    self.held = Some(request);
                    None
                }
            };
        };
        match self.calls.admit(name, bytes) {
            Ok(permit) => Some(with_permit(request, permit)),
            Err(busy) => {
                let response = busy.response(&request.request, request.id.clone());
                self.out.send(&response).await;
                None
            }
        }
    }

    /// Waits until every running request has its response.
    fn all_answered(&self) -> impl Future<Output = ()> + Send + 'static {
        let (calls, others) = (Arc::clone(&self.calls), Arc::clone(&self.others));
        async move {
            calls.idle().await;
            // The semaphore is never closed.
            let _ = others.acquire_many(MAX_OTHERS as u32).await;
        }
    }

    /// Returns the message of a line if it can be handled now. Answers a line that is no message.
    async fn take(&mut self, line: Bytes) -> Option<ClientJsonRpcMessage> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        match parse(&line) {
            Ok(message) => self.admit(message, line.len()).await,
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
        let structured = match &item {
            TxJsonRpcMessage::<RoleServer>::Response(JsonRpcResponse {
                result: ServerResult::CallToolResult(result),
                ..
            }) => structured_text(result),
            _ => None,
        };
        let queued = out.queue(&item, structured);
        async move {
            queued?;
            // Calls that have ended add their responses, and one write takes all of them.
            yield_now().await;
            out.flush().await
        }
    }

    /// Cancel safe: input that was read is kept in `self`.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(until) = self.drain_until
                && self.held.is_none()
            {
                self.end.cancel();
                let answered = self.all_answered();
                let _ = timeout_at(until, answered).await;
                return None;
            }
            let others = Arc::clone(&self.others);
            let out = Arc::clone(&self.out);
            let lines = &mut self.lines;
            let read = tokio::select! {
                biased;
                permit = others.acquire_owned(), if self.held.is_some() => {
                    return Some(with_permit(self.held.take()?, Arc::new(permit.ok()?)));
                }
                read = async move {
                    out.ready().await?;
                    Some(lines.next().await)
                }, if self.held.is_none() => read?,
            };
            let message = match read {
                Some(Ok(Line::Complete(line))) => self.take(line).await,
                Some(Ok(Line::Oversized)) => {
                    self.out.send(&oversized()).await;
                    None
                }
                end => {
                    if let Some(Err(error)) = end {
                        tracing::debug!("cannot read the input: {error}");
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

/// Adds to a request its permit, which it holds until its handler has ended, and the form of its
/// result that [`Outbox::queue`] takes.
fn with_permit(
    mut request: ClientRpcRequest,
    permit: impl Clone + Send + Sync + 'static,
) -> ClientJsonRpcMessage {
    let extensions = request.request.extensions_mut();
    extensions.insert(permit);
    extensions.insert(StructuredAs::Placeholder);
    ClientJsonRpcMessage::Request(request)
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

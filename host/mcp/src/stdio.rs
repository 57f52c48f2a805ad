//! The protocol over standard input and output: one message a line. Whatever a client writes or does not read, memory is bounded and
//! the connection lives: a line that is no message is answered or passed over, calls beyond a number wait, and where the client does
//! not read, nothing more is read from it. Nothing here knows what a message means beyond that.

mod lines;
mod outbox;
mod refusal;
mod streams;
#[cfg(test)]
mod tests;

pub use streams::{Input, Output, standard_streams};

use crate::server::Server;
use agent_host_app::HostError;
use lines::{Lines, Read};
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
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

/// How many calls run at once. The sandbox admits fewer of most tools; what it does not admit waits there.
const MAX_CALLS: usize = 64;

/// How many other requests are being answered at once. None of them waits for anything.
const MAX_OTHERS: usize = 64;

/// How many calls wait for one of those that run to end. Behind so many, also a cancellation waits.
const MAX_WAITING: usize = 1024;

/// How many bytes of lines the waiting calls may have had.
const MAX_WAITING_BYTES: usize = 16 * 1024 * 1024;

/// How long requests that run at the end of the input keep the service as it is. Then rmcp gives them 5 s more, in which it
/// acknowledges no notification: one that waits for that has no answer.
const LAST_REQUESTS: Duration = Duration::from_secs(2);

/// Serves one client over two streams until it closes its side, or `stop` is cancelled. What runs then has a few seconds to end.
///
/// # Errors
/// When the service itself fails, or `output` does for another reason than that the client closed it.
pub async fn serve_stdio<R, W>(
    server: &Server,
    input: R,
    output: W,
    stop: CancellationToken,
) -> Result<(), HostError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let transport = Stdio::new(input, output);
    let handler = server.handler().until(transport.end());
    let out = Arc::clone(&transport.out);
    let served = match serve_server_with_ct(handler, transport, stop).await {
        Ok(running) => running
            .waiting()
            .await
            .map(drop)
            .map_err(|error| error.to_string()),
        // The client left before it began, or nobody waits for it any more.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    };
    if let Some(error) = out.fault() {
        let why = format!("could not write to the client: {error}");
        return Err(HostError::Connection(io::Error::other(why)));
    }
    served.map_err(|why| {
        HostError::Connection(io::Error::other(format!("the connection broke: {why}")))
    })
}

type Request = JsonRpcRequest<ClientRequest>;

/// Held by a request until it has its answer; it goes with the request, and comes back when that is dropped.
#[derive(Clone)]
struct InFlight {
    _permit: Arc<OwnedSemaphorePermit>,
}

/// The transport.
#[derive(Debug)]
pub struct Stdio<R, W> {
    lines: Lines<R>,
    out: Arc<Outbox<W>>,
    calls: Arc<Semaphore>,
    others: Arc<Semaphore>,
    /// Calls that came when too many ran, in their order, with the bytes of their lines.
    waiting: VecDeque<(Request, usize)>,
    waiting_bytes: usize,
    /// A request that is no call, and came when too many were being answered.
    held: Option<Request>,
    /// Whether a request has come that begins one of the protocol's two lifecycles.
    is_open: bool,
    /// Until when requests are waited for, once the client has closed its side.
    over_until: Option<Instant>,
    /// Cancelled when nothing more comes from the client, for what would wait for ever.
    end: CancellationToken,
}

impl<R, W> Stdio<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Speaks over any two streams.
    pub fn new(input: R, output: W) -> Self {
        Self {
            lines: Lines::new(input),
            out: Arc::new(Outbox::new(output)),
            calls: Arc::new(Semaphore::new(MAX_CALLS)),
            others: Arc::new(Semaphore::new(MAX_OTHERS)),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            held: None,
            is_open: false,
            over_until: None,
            end: CancellationToken::new(),
        }
    }

    /// Is cancelled when nothing more comes from the client. What it sent before may still run.
    #[must_use]
    pub fn end(&self) -> CancellationToken {
        self.end.clone()
    }

    fn reads(&self) -> bool {
        self.over_until.is_none()
            && self.held.is_none()
            && self.waiting.len() < MAX_WAITING
            && self.waiting_bytes < MAX_WAITING_BYTES
    }

    /// A message that can be handed on now; a request that has to wait is kept.
    fn admit(
        &mut self,
        message: ClientJsonRpcMessage,
        bytes: usize,
    ) -> Option<ClientJsonRpcMessage> {
        match message {
            ClientJsonRpcMessage::Request(request) => self.admit_request(request, bytes),
            // Before its request for a lifecycle a client has nothing to tell, and the service would end.
            _ if !self.is_open => None,
            ClientJsonRpcMessage::Notification(notification) => {
                match cancels(&notification.notification) {
                    Some(id) if self.forget(id) => None,
                    _ => Some(ClientJsonRpcMessage::Notification(notification)),
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => Some(message),
        }
    }

    fn admit_request(&mut self, request: Request, bytes: usize) -> Option<ClientJsonRpcMessage> {
        self.is_open |= opens(&request.request);
        if !takes_time(&request.request) {
            return match Arc::clone(&self.others).try_acquire_owned() {
                Ok(permit) => Some(in_flight(request, permit)),
                Err(_) => {
                    self.held = Some(request);
                    None
                }
            };
        }
        // Whoever came before goes before.
        let permit = Arc::clone(&self.calls).try_acquire_owned().ok();
        match permit.filter(|_| self.waiting.is_empty()) {
            Some(permit) => Some(in_flight(request, permit)),
            None => {
                self.waiting_bytes += bytes;
                self.waiting.push_back((request, bytes));
                None
            }
        }
    }

    /// Waits until each request that was handed on has its answer.
    fn all_answered(&self) -> impl Future<Output = ()> + Send + 'static {
        let (calls, others) = (Arc::clone(&self.calls), Arc::clone(&self.others));
        async move {
            // The semaphores are never closed.
            let _ = calls.acquire_many(MAX_CALLS as u32).await;
            let _ = others.acquire_many(MAX_OTHERS as u32).await;
        }
    }

    /// The call that has waited longest, which runs now.
    fn next_waiting(&mut self, permit: OwnedSemaphorePermit) -> Option<ClientJsonRpcMessage> {
        let (request, bytes) = self.waiting.pop_front()?;
        self.waiting_bytes -= bytes;
        Some(in_flight(request, permit))
    }

    /// Drops a call that has not begun; the protocol wants no answer to it.
    fn forget(&mut self, id: &RequestId) -> bool {
        let place = self
            .waiting
            .iter()
            .position(|(request, _)| request.id == *id);
        let Some((_, bytes)) = place.and_then(|place| self.waiting.remove(place)) else {
            return false;
        };
        self.waiting_bytes -= bytes;
        true
    }

    /// What is handed on of the line that was just read.
    async fn take(&mut self) -> Option<ClientJsonRpcMessage> {
        let line = self.lines.line();
        if line.trim_ascii().is_empty() {
            return None;
        }
        let bytes = line.len();
        match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
            Ok(message) => self.admit(message, bytes),
            Err(_) => {
                let answer = refusal(line)?;
                self.out.send(&answer).await;
                None
            }
        }
    }
}

impl<R, W> Transport<RoleServer> for Stdio<R, W>
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

    /// Nothing is lost when this is dropped before it is ready: what was read is in `self`.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(until) = self.over_until
                && self.held.is_none()
                && self.waiting.is_empty()
            {
                self.end.cancel();
                let answered = self.all_answered();
                let _ = timeout_at(until, answered).await;
                return None;
            }
            let reads = self.reads();
            let (calls, others) = (Arc::clone(&self.calls), Arc::clone(&self.others));
            let out = Arc::clone(&self.out);
            let lines = &mut self.lines;
            let read = tokio::select! {
                biased;
                permit = calls.acquire_owned(), if !self.waiting.is_empty() => {
                    return self.next_waiting(permit.ok()?);
                }
                permit = others.acquire_owned(), if self.held.is_some() => {
                    return Some(in_flight(self.held.take()?, permit.ok()?));
                }
                read = async move {
                    out.room().await?;
                    Some(lines.next().await)
                }, if reads => read?,
            };
            let message = match read {
                Read::Line => self.take().await,
                Read::Oversized => {
                    self.out.send(&oversized()).await;
                    None
                }
                Read::End => {
                    self.over_until = Some(Instant::now() + LAST_REQUESTS);
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
    request.request.extensions_mut().insert(InFlight {
        _permit: Arc::new(permit),
    });
    ClientJsonRpcMessage::Request(request)
}

/// Whether the answer may be long in coming.
fn takes_time(request: &ClientRequest) -> bool {
    matches!(
        request,
        ClientRequest::CallToolRequest(_) | ClientRequest::SubscriptionsListenRequest(_)
    )
}

/// Whether the request begins a lifecycle: the handshake's, or the stateless one's with what that wants in every request.
fn opens(request: &ClientRequest) -> bool {
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

fn cancels(notification: &ClientNotification) -> Option<&RequestId> {
    match notification {
        ClientNotification::CancelledNotification(cancelled) => {
            cancelled.params.request_id.as_ref()
        }
        _ => None,
    }
}

//! The requests that a program answers as a handler of HTTP, from the host to its instance. They
//! wait in a queue; no socket is involved.

#[cfg(test)]
mod tests;

use crate::{
    instance::store::{CallSetup, CallState, configure_store},
    mutex::lock,
    schedule::activity::Activity,
};
use bytes::Bytes;
use futures_util::{
    StreamExt as _,
    stream::{self, FuturesUnordered},
};
use http::{Request, Response};
use http_body_util::{BodyDataStream, BodyExt as _, Full};
use std::{
    convert::Infallible,
    fmt::Debug,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    io::AsyncRead,
    sync::{mpsc, oneshot},
};
use tokio_util::io::StreamReader;
use wasmtime::{Store, component::Accessor};
use wasmtime_wasi_http::{
    Error, WasiBody,
    p2::bindings::{Proxy, ProxyPre, http::types::Scheme},
    p3::{
        self,
        bindings::{Service, ServicePre},
    },
};

/// The most requests that wait for a program.
const MAX_WAITING: usize = 64;

/// The body of a response. Its error is [`io::ErrorKind::BrokenPipe`] if the program ended before
/// the body did.
pub type ResponseBody = Box<dyn AsyncRead + Send + Unpin>;

/// Why a program gave no response to a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestFailure {
    /// It has ended.
    #[error("it ended")]
    Ended,
    /// It did not answer, for this reason.
    #[error("{0}")]
    Unanswered(String),
}

type Reply = Result<Response<WasiBody>, RequestFailure>;

/// A request, with the place for its response.
struct PendingRequest {
    request: Request<Vec<u8>>,
    reply: oneshot::Sender<Reply>,
}

/// The host's end of the requests of a program. Dropping it ends the program.
pub struct ProgramRequests {
    queue: mpsc::Sender<PendingRequest>,
    activity: Arc<Activity>,
}

/// The guest's end.
pub(crate) struct RequestQueue {
    queue: mpsc::Receiver<PendingRequest>,
    answering: Arc<AtomicUsize>,
    activity: Arc<Activity>,
}

/// Counts the requests that a program answers now.
pub(crate) struct Answering(Arc<AtomicUsize>);

impl Answering {
    pub(crate) fn is_none(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// Returns both ends of the requests of a program, and the number of those that it answers.
pub(crate) fn requests(activity: &Arc<Activity>) -> (ProgramRequests, RequestQueue, Answering) {
    let (sender, queue) = mpsc::channel(MAX_WAITING);
    let answering = Arc::new(AtomicUsize::new(0));
    let requests = ProgramRequests {
        queue: sender,
        activity: Arc::clone(activity),
    };
    let guest = RequestQueue {
        queue,
        answering: Arc::clone(&answering),
        activity: Arc::clone(activity),
    };
    (requests, guest, Answering(answering))
}

impl ProgramRequests {
    /// Sends a request, which waits its turn when this returns. The future is that of the response;
    /// dropping it, or the body of the response, gives the request up.
    pub fn send(
        &self,
        request: Request<Vec<u8>>,
    ) -> impl Future<Output = Result<Response<ResponseBody>, RequestFailure>> + Send + 'static {
        let (reply, answer) = oneshot::channel();
        let queued = self.queue.try_send(PendingRequest { request, reply });
        let activity = Arc::clone(&self.activity);
        async move {
            queued.map_err(|error| match error {
                mpsc::error::TrySendError::Closed(_) => RequestFailure::Ended,
                mpsc::error::TrySendError::Full(_) => RequestFailure::Unanswered(format!(
                    "{MAX_WAITING} requests wait for it already"
                )),
            })?;
            let response = answer.await.map_err(|_| RequestFailure::Ended)??;
            Ok(response.map(|body| reader(body, activity)))
        }
    }
}

/// Converts the body of a response. A program that ends leaves a body that seems complete.
fn reader(body: WasiBody, activity: Arc<Activity>) -> ResponseBody {
    let ended = Arc::clone(&activity);
    let pieces = BodyDataStream::new(body).map(move |piece| {
        activity.sent();
        piece.map_err(io::Error::other)
    });
    let end = stream::once(async move { ended.has_ended() })
        .filter(|has_ended| std::future::ready(*has_ended))
        .map(|_| Err(io::ErrorKind::BrokenPipe.into()));
    Box::new(StreamReader::new(pieces.chain(end).boxed()))
}

impl RequestQueue {
    /// Waits for a request that is not given up yet; `None` when none can come any more.
    async fn next(&mut self) -> Option<PendingRequest> {
        loop {
            let pending = self.queue.recv().await?;
            if !pending.reply.is_closed() {
                self.activity.received();
                return Some(pending);
            }
        }
    }

    /// Instantiates a component, and has it answer each request in turn: an instance of WASI 0.2
    /// runs one function at a time.
    ///
    /// One instance answers all requests, if it can: some toolchains make components that answer one.
    /// So a second request that is left without a response runs again in a new instance, unless the
    /// first instance changed the world. If that helped, each later request has an instance, too.
    pub(super) async fn answer(
        mut self,
        pre: &ProxyPre<CallState>,
        store: &mut Store<CallState>,
        setup: &CallSetup,
    ) -> wasmtime::Result<()> {
        let mut proxy = pre.instantiate_async(&mut *store).await?;
        // The requests that the instance has answered.
        let (mut answered, mut is_for_one) = (0_u64, false);
        while let Some(PendingRequest { request, reply }) = self.next().await {
            self.answering.store(1, Ordering::Relaxed);
            let reply = ReplySlot(Arc::new(Mutex::new(Some(reply))));
            if answered > 0 && is_for_one {
                proxy = renew(pre, store, setup).await?;
                answered = 0;
            }
            let again = (answered == 1).then(|| request.clone());
            let mut handled = hand_over(&proxy, store, request, &reply).await;
            if let (Some(request), false, false) =
                (again, reply.is_settled(), setup.gate.is_dirty())
            {
                proxy = renew(pre, store, setup).await?;
                answered = 0;
                handled = hand_over(&proxy, store, request, &reply).await;
                is_for_one = reply.is_settled();
            }
            handled?;
            answered = answered.saturating_add(reply.is_settled().into());
            let unanswered = "its handler returned without a response".to_owned();
            reply.settle(Err(RequestFailure::Unanswered(unanswered)));
            self.answering.store(0, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Instantiates a component once, and has it answer requests as they come.
    pub(super) async fn answer_at_once(
        mut self,
        pre: &ServicePre<CallState>,
        store: &mut Store<CallState>,
    ) -> wasmtime::Result<()> {
        let service = pre.instantiate_async(&mut *store).await?;
        let service = &service;
        let answer = async |store: &Accessor<CallState>| {
            let mut answers = FuturesUnordered::new();
            loop {
                self.answering.store(answers.len(), Ordering::Relaxed);
                tokio::select! {
                    Some(answered) = answers.next(), if !answers.is_empty() => answered?,
                    pending = self.next(), if answers.len() < MAX_WAITING => match pending {
                        Some(pending) => answers.push(handle(store, service, pending)),
                        None => return Ok(()),
                    }
                }
            }
        };
        store.run_concurrent(answer).await?
    }
}

/// The place for a response, until there is one.
#[derive(Clone)]
struct ReplySlot(Arc<Mutex<Option<oneshot::Sender<Reply>>>>);

impl ReplySlot {
    fn settle(&self, answer: Reply) {
        if let Some(reply) = lock(&self.0).take() {
            // The host may have given it up.
            let _ = reply.send(answer);
        }
    }

    fn is_settled(&self) -> bool {
        lock(&self.0).is_none()
    }
}

/// Replaces an instance by a new one, in a store of its own.
async fn renew(
    pre: &ProxyPre<CallState>,
    store: &mut Store<CallState>,
    setup: &CallSetup,
) -> wasmtime::Result<Proxy> {
    let renewed = configure_store(pre.engine(), setup.clone()).await;
    *store = renewed.map_err(|failure| wasmtime::format_err!("{}", failure.message()))?;
    pre.instantiate_async(store).await
}

/// Has a handler of WASI 0.2 answer a request.
async fn hand_over(
    proxy: &Proxy,
    store: &mut Store<CallState>,
    request: Request<Vec<u8>>,
    reply: &ReplySlot,
) -> wasmtime::Result<()> {
    let mut http = store.data_mut().http();
    let request = http.new_incoming_request(Scheme::Http, request.map(body))?;
    let reply = reply.clone();
    let place = http.new_response_outparam_from_callback(move |answer| {
        reply.settle(answer.map_err(|error| refused(&error)));
    })?;
    let handler = proxy.wasi_http_incoming_handler();
    handler.call_handle(store, request, place).await
}

/// Has a handler of WASI 0.3 answer a request.
async fn handle(
    store: &Accessor<CallState>,
    service: &Service,
    pending: PendingRequest,
) -> wasmtime::Result<()> {
    let request = store.with(|mut store| {
        let http = store.data_mut().http();
        let (request, _) = p3::Request::from_http(http.hooks, pending.request.map(body));
        http.table.push(request)
    })?;
    let handler = service.wasi_http_handler();
    let reply = match handler.call_handle(store, request).await? {
        Ok(response) => store
            .with(|mut store| {
                let response = store.data_mut().http().table.delete(response)?;
                let sent = std::future::ready(Ok(()));
                response.into_http_with_getter(&mut store, sent, CallState::http)
            })
            .map(Ok)?,
        Err(error) => Err(refused(&error)),
    };
    // The host may have given it up.
    let _ = pending.reply.send(reply);
    Ok(())
}

fn body(bytes: Vec<u8>) -> WasiBody {
    let body =
        Full::new(Bytes::from(bytes)).map_err(|never: Infallible| -> Error { match never {} });
    body.boxed_unsync()
}

/// Returns the failure of a request that the handler answered with this error code.
fn refused(error: &impl Debug) -> RequestFailure {
    let error = format!("{error:?}");
    let error = error.trim_start_matches("ErrorCode::");
    RequestFailure::Unanswered(format!("its handler returned an error: {error}"))
}

//! A connection to a server: handshake, requests, subscription. Responses are returned as received;
//! `server.rs` interprets them.

use crate::{
    child::ServerProcess,
    config::{Reach, ServerConfig},
    error::ConnectError,
    handler::{Handler, ProgressUpdate, Signals},
    http,
    lines::Lines,
    listing::Listing,
};
use agent_host_engine::{secrets::Secrets, text, tool::ProgressSink};
use futures_util::FutureExt as _;
use rmcp::{
    RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
        ClientRequest, ErrorCode, ErrorData, JsonObject, ListToolsRequest, PaginatedRequestParams,
        ProtocolVersion, RequestId, ServerResult, SubscriptionFilter,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, Peer, PeerRequestOptions, RunningService,
        serve_client_with_lifecycle,
    },
};
use serde_json::Value;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{task::JoinHandle, time::timeout};

/// The maximum of bytes shown of a protocol error: some quote the message in question.
const SHOWN_BYTES: usize = 500;

/// An open connection. Dropping it ends the child process or the HTTP session.
pub(crate) struct Connection {
    service: RunningService<RoleClient, Handler>,
    signals: Arc<Signals>,
    /// The secrets to redact in what the server sends.
    secrets: Arc<Secrets>,
    /// `None` for a web server.
    child: Option<tokio::sync::Mutex<ServerProcess>>,
    /// The task that receives changes of the tools, in protocol versions that need a subscription.
    subscription: Option<JoinHandle<()>>,
}

/// The reason for a missing response.
pub(crate) enum RequestError {
    /// The server ended or cannot be reached.
    Closed(String),
    /// The server returned a protocol error, or `lines.rs` stands in with one.
    Protocol(ErrorData),
    /// The server requires a feature that this client does not declare.
    Unsupported(&'static str),
}

impl Connection {
    /// Starts the server, if it is a child process, and negotiates the protocol version.
    pub(crate) async fn open(config: &ServerConfig) -> Result<Self, ConnectError> {
        // Tries `server/discover` first and `initialize` if the server does not know it.
        let lifecycle = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        };
        let began = Instant::now();
        let first = Self::handshake(config, lifecycle, config.connect_timeout).await;
        // A server takes one of the two at most, so the other needs a new connection.
        let lifecycle = match &first {
            Err(HandshakeError::UnexpectedResult(_)) => ClientLifecycleMode::Initialize,
            Err(HandshakeError::NoInitialize(_)) => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
            Ok(_) | Err(HandshakeError::Other(_)) => return first.map_err(ConnectError::from),
        };
        let left = config.connect_timeout.saturating_sub(began.elapsed());
        let second = Self::handshake(config, lifecycle, left).await;
        second.map_err(ConnectError::from)
    }

    async fn handshake(
        config: &ServerConfig,
        lifecycle: ClientLifecycleMode,
        limit: Duration,
    ) -> Result<Self, HandshakeError> {
        let signals = Arc::<Signals>::default();
        let handler = Handler(Arc::clone(&signals));
        let fault = |why: String| ConnectError::Start {
            server: config.name.clone(),
            why,
        };
        let (connected, mut child) = match &config.reach {
            Reach::Command(command) => {
                let started = ServerProcess::start(command, Arc::clone(&config.secrets)).await;
                let (child, streams) = started.map_err(|error| fault(error.to_string()))?;
                let lines = Lines::new(streams.output, streams.input);
                let handshake = serve_client_with_lifecycle(handler, lines, lifecycle);
                (timeout(limit, Box::pin(handshake)).await, Some(child))
            }
            Reach::Http { url, token } => {
                let transport = http::transport(url, token.as_ref(), config.concurrent_calls);
                let transport = transport.map_err(fault)?;
                let handshake = serve_client_with_lifecycle(handler, transport, lifecycle);
                (timeout(limit, Box::pin(handshake)).await, None)
            }
        };
        let service = match (connected, &mut child) {
            (Ok(Ok(service)), _) => service,
            (Ok(Err(error)), Some(child)) => {
                let detail = child.exit_clause().await;
                return Err(handshake_error(config, &error, &detail));
            }
            (Ok(Err(error)), None) => {
                if let Reach::Http { url, token } = &config.reach
                    && http::speaks_http_sse(url, token.as_ref()).await
                {
                    let server = config.name.clone();
                    return Err(ConnectError::HttpSse { server }.into());
                }
                return Err(handshake_error(config, &error, ""));
            }
            (Err(_), child) => {
                let detail = child.as_ref().map(ServerProcess::exit_clause_so_far);
                return Err(timeout_error(config, &detail.unwrap_or_default()).into());
            }
        };
        Ok(Self {
            subscription: subscribe(&service, &signals),
            service,
            signals,
            secrets: Arc::clone(&config.secrets),
            child: child.map(tokio::sync::Mutex::new),
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_transport_closed()
    }

    /// Returns the server's notifications.
    pub(crate) fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Returns the negotiated protocol version.
    pub(crate) fn version(&self) -> Option<String> {
        let info = self.service.peer_info()?;
        Some(info.protocol_version.to_string())
    }

    /// Lists the server's tools, redacted.
    ///
    /// # Errors
    /// The reason, as a fragment.
    pub(crate) async fn list(&self) -> Result<Listing, String> {
        let mut listing = Listing::default();
        let mut cursor = None;
        loop {
            let from =
                cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let request = ListToolsRequest {
                params: from,
                ..ListToolsRequest::default()
            };
            let page = match self
                .ask(ClientRequest::ListToolsRequest(request), &|_, _| {})
                .await
            {
                Ok(mut page) => {
                    self.secrets.json(&mut page);
                    page
                }
                Err(RequestError::Closed(why)) => return Err(why),
                Err(RequestError::Protocol(error)) => {
                    return Err(text::sanitize(&error.message, SHOWN_BYTES));
                }
                Err(RequestError::Unsupported(what)) => return Err(what.to_owned()),
            };
            cursor = listing.take(page)?;
            if cursor.is_none() {
                return Ok(listing);
            }
        }
    }

    /// Calls a tool by the server's own name. Dropping the future cancels the call at the server.
    /// The result is redacted except for base64 in it.
    pub(crate) async fn call(
        &self,
        tool: &str,
        input: JsonObject,
        progress: ProgressSink<'_>,
    ) -> Result<Value, RequestError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(input);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let mut result = self.ask(request, progress).await?;
        redact(&mut result, &self.secrets);
        Ok(result)
    }

    async fn ask(
        &self,
        request: ClientRequest,
        progress: ProgressSink<'_>,
    ) -> Result<Value, RequestError> {
        let options = PeerRequestOptions::no_options();
        let sent = self.service.send_request_with_option(request, options);
        let mut handle = match sent.await {
            Ok(handle) => handle,
            Err(error) => return Err(self.request_error(error).await),
        };
        let mut cancel = CancelOnDrop {
            peer: handle.peer.clone(),
            id: Some(handle.id.clone()),
        };
        let progress = |update: &ProgressUpdate| {
            progress(&self.secrets.text(&update.message), update.fraction);
        };
        let mut updates = self.signals.updates(handle.progress_token.clone());
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => break answer,
                Some(update) = updates.receiver.recv() => progress(&update),
            }
        };
        cancel.id = None;
        while let Ok(update) = updates.receiver.try_recv() {
            progress(&update);
        }
        let answer = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(self.request_error(error).await),
            Err(_) => return Err(self.request_error(ServiceError::TransportClosed).await),
        };
        match answer {
            ServerResult::InputRequiredResult(_) => Err(RequestError::Unsupported(
                "it asks for input first, and this host answers no questions of MCP servers",
            )),
            ServerResult::CreateTaskResult(_) => Err(RequestError::Unsupported(
                "it made a task of the call, and this host follows no tasks",
            )),
            // Serialized again, because the library rejects a result with an unknown kind of
            // content.
            answer => serde_json::to_value(answer)
                .map_err(|error| RequestError::Closed(error.to_string())),
        }
    }

    async fn request_error(&self, error: ServiceError) -> RequestError {
        let why = match error {
            ServiceError::McpError(mut error) => {
                error.message = self.secrets.text(&error.message).into_owned().into();
                return RequestError::Protocol(error);
            }
            ServiceError::TransportClosed => "it closed the connection".to_owned(),
            error => text::sanitize(&self.secrets.text(&with_sources(&error)), SHOWN_BYTES),
        };
        let detail = match &self.child {
            Some(child) => child.lock().await.exit_clause().await,
            None => String::new(),
        };
        RequestError::Closed(format!("{why}{}", text::sanitize(&detail, SHOWN_BYTES)))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(subscription) = &self.subscription {
            subscription.abort();
        }
    }
}

/// Subscribes to changes of the tools if the protocol version has subscriptions and the server
/// offers this one.
fn subscribe(
    service: &RunningService<RoleClient, Handler>,
    signals: &Arc<Signals>,
) -> Option<JoinHandle<()>> {
    let info = service.peer_info()?;
    let tells = info.capabilities.tools.as_ref()?.list_changed == Some(true);
    if info.protocol_version.has_initialize() || !tells {
        return None;
    }
    let (peer, signals) = (service.peer().clone(), Arc::clone(signals));
    Some(tokio::spawn(async move {
        let mut filter = SubscriptionFilter::new();
        filter.tools_list_changed = Some(true);
        let Ok(mut subscription) = peer.listen(filter).await else {
            return;
        };
        while let Ok(Some(_)) = subscription.next().await {
            signals.set_changed();
        }
        // Without the subscription, later changes would be missed.
        signals.set_changed();
    }))
}

/// Sends `notifications/cancelled` on drop unless the request was answered.
struct CancelOnDrop {
    peer: Peer<RoleClient>,
    /// `None` once answered.
    id: Option<RequestId>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else {
            return;
        };
        let reason = Some("the client no longer waits for the answer".to_owned());
        let params = CancelledNotificationParam::new(Some(id), reason);
        let told = CancelledNotification::new(params).into();
        // One poll queues the notification ahead of the next request. It is lost only if the server
        // is gone or more than a thousand messages are queued.
        let _ = self.peer.send_notification(told).now_or_never();
    }
}

/// Redacts the result of a call except for base64, whose content is redacted once decoded.
fn redact(result: &mut Value, secrets: &Secrets) {
    if secrets.is_empty() {
        return;
    }
    let encoded: Vec<Value> = base64(result).map(Value::take).collect();
    secrets.json(result);
    for (place, text) in base64(result).zip(encoded) {
        *place = text;
    }
}

/// Iterates over the base64 strings in a result.
fn base64(result: &mut Value) -> impl Iterator<Item = &mut Value> {
    let blocks = result.get_mut("content").and_then(Value::as_array_mut);
    blocks.into_iter().flatten().filter_map(|block| {
        let place = match block.get("type").and_then(Value::as_str)? {
            "image" | "audio" => "/data",
            "resource" => "/resource/blob",
            _ => return None,
        };
        block.pointer_mut(place)
    })
}

pub(crate) fn timeout_error(config: &ServerConfig, detail: &str) -> ConnectError {
    ConnectError::Silent {
        server: config.name.clone(),
        seconds: config.connect_timeout.as_secs(),
        detail: text::sanitize(detail, SHOWN_BYTES),
    }
}

fn handshake_error(
    config: &ServerConfig,
    error: &ClientInitializeError,
    detail: &str,
) -> HandshakeError {
    let told = ConnectError::Unusable {
        server: config.name.clone(),
        why: text::sanitize(&config.secrets.text(&with_sources(error)), SHOWN_BYTES),
        detail: text::sanitize(detail, SHOWN_BYTES),
    };
    match error {
        ClientInitializeError::ExpectedInitResult(_) => HandshakeError::UnexpectedResult(told),
        error if refuses_initialize(error) => HandshakeError::NoInitialize(told),
        _ => HandshakeError::Other(told),
    }
}

/// Whether the server refused `initialize` as of an unsupported version: it had taken
/// `server/discover`, which the library gives up after 10 seconds.
pub(crate) fn refuses_initialize(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::JsonRpcError(error) => {
            error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            refuses_initialize(fallback)
        }
        _ => false,
    }
}

enum HandshakeError {
    /// The server answered with a result of another kind.
    UnexpectedResult(ConnectError),
    /// The server refuses `initialize`.
    NoInitialize(ConnectError),
    Other(ConnectError),
}

impl From<HandshakeError> for ConnectError {
    fn from(error: HandshakeError) -> Self {
        match error {
            HandshakeError::UnexpectedResult(error)
            | HandshakeError::NoInitialize(error)
            | HandshakeError::Other(error) => error,
        }
    }
}

impl From<ConnectError> for HandshakeError {
    fn from(error: ConnectError) -> Self {
        Self::Other(error)
    }
}

/// Formats an error with its sources.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}

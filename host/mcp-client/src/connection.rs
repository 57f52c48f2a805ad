//! One connection to a server, from its start to its end. What a call and a list of tools came to is told as it came; what it
//! means is for `server.rs`.

use crate::{
    child::Child,
    config::{Reach, ServerConfig},
    error::ConnectError,
    handler::{Handler, Report, Signals},
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
        ClientRequest, ErrorData, JsonObject, ListToolsRequest, PaginatedRequestParams,
        ProtocolVersion, RequestId, ServerResult, SubscriptionFilter,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, Peer, PeerRequestOptions, RunningService,
        serve_client_with_lifecycle,
    },
};
use serde_json::Value;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// What is shown of the protocol's errors, in bytes: some hold the message that they are about.
const SHOWN_BYTES: usize = 500;

/// An open connection. Dropping it ends the server, or its session.
pub(crate) struct Connection {
    service: RunningService<RoleClient, Handler>,
    signals: Arc<Signals>,
    /// The secrets that the server was given, which are redacted in what it sends.
    secrets: Arc<Secrets>,
    /// Absent for a web server.
    child: Option<tokio::sync::Mutex<Child>>,
    /// Hears of changed tools, where the server tells only those who subscribe.
    subscription: Option<JoinHandle<()>>,
}

/// Why there is no answer.
pub(crate) enum Fault {
    /// The server is gone or cannot be reached.
    Gone(String),
    /// The server answered with an error of the protocol, or what it sent stands for one (see `lines.rs`).
    Refused(ErrorData),
    /// The server wants something first that this client has not offered.
    Wants(&'static str),
}

impl Connection {
    /// Starts the server, if it is a child process, and agrees with it on a version of the protocol.
    pub(crate) async fn open(config: &ServerConfig) -> Result<Self, ConnectError> {
        match Self::greet(config, newest_first()).await {
            Ok(connection) => Ok(connection),
            // It answers what it does not know with something that is no answer.
            Err(Unmet::Misunderstood(_)) => {
                let greeted = Self::greet(config, ClientLifecycleMode::Initialize).await;
                greeted.map_err(Unmet::into_error)
            }
            Err(Unmet::Failed(error)) => Err(error),
        }
    }

    async fn greet(config: &ServerConfig, lifecycle: ClientLifecycleMode) -> Result<Self, Unmet> {
        let signals = Arc::<Signals>::default();
        let handler = Handler(Arc::clone(&signals));
        let fault = |why: String| ConnectError::Start {
            server: config.name.clone(),
            why,
        };
        let (service, child) = match &config.reach {
            Reach::Command(command) => {
                let started = Child::start(command, Arc::clone(&config.secrets)).await;
                let (mut child, streams) = started.map_err(|error| fault(error.to_string()))?;
                let lines = Lines::new(streams.output, streams.input);
                let greeting = serve_client_with_lifecycle(handler, lines, lifecycle);
                let greeted = tokio::time::timeout(config.connect_timeout, Box::pin(greeting));
                let service = match greeted.await {
                    Ok(Ok(service)) => service,
                    Ok(Err(error)) => {
                        let words = child.last_assistant_text().await;
                        return Err(unusable(config, &error, &words));
                    }
                    Err(_) => return Err(silent(config, &child.words_so_far()).into()),
                };
                (service, Some(tokio::sync::Mutex::new(child)))
            }
            Reach::Http { url, token } => {
                let transport = http::transport(url, token.as_ref(), config.concurrent_calls);
                let transport = transport.map_err(fault)?;
                let greeting = serve_client_with_lifecycle(handler, transport, lifecycle);
                let greeted = tokio::time::timeout(config.connect_timeout, Box::pin(greeting));
                let service = match greeted.await {
                    Ok(Ok(service)) => service,
                    Ok(Err(error)) => return Err(unusable(config, &error, "")),
                    Err(_) => return Err(silent(config, "").into()),
                };
                (service, None)
            }
        };
        Ok(Self {
            subscription: subscribe(&service, &signals),
            service,
            signals,
            secrets: Arc::clone(&config.secrets),
            child,
        })
    }

    /// Whether the server is gone.
    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_transport_closed()
    }

    /// What the server has told beside its answers.
    pub(crate) fn signals(&self) -> &Signals {
        &self.signals
    }

    /// The version of the protocol that was agreed on.
    pub(crate) fn version(&self) -> Option<String> {
        let info = self.service.peer_info()?;
        Some(info.protocol_version.to_string())
    }

    /// Lists the tools of the server, redacted.
    ///
    /// # Errors
    /// Why that cannot be used, as a fragment.
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
                Err(Fault::Gone(why)) => return Err(why),
                Err(Fault::Refused(error)) => {
                    return Err(text::sanitize(&error.message, SHOWN_BYTES));
                }
                Err(Fault::Wants(what)) => return Err(what.to_owned()),
            };
            cursor = listing.take(page)?;
            if cursor.is_none() {
                return Ok(listing);
            }
        }
    }

    /// Calls a tool by the server's own name for it. Dropping the future cancels the call there. The result is redacted, but for
    /// the base64 in it.
    pub(crate) async fn call(
        &self,
        tool: &str,
        input: JsonObject,
        progress: ProgressSink<'_>,
    ) -> Result<Value, Fault> {
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
    ) -> Result<Value, Fault> {
        let options = PeerRequestOptions::no_options();
        let sent = self.service.send_request_with_option(request, options);
        let mut handle = match sent.await {
            Ok(handle) => handle,
            Err(error) => return Err(self.fault(error).await),
        };
        let mut abandoned = Abandoned {
            peer: handle.peer.clone(),
            id: Some(handle.id.clone()),
        };
        let progress = |report: &Report| {
            progress(&self.secrets.text(&report.message), report.fraction);
        };
        let mut reports = self.signals.reports(handle.progress_token.clone());
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => break answer,
                Some(report) = reports.receiver.recv() => progress(&report),
            }
        };
        abandoned.id = None;
        while let Ok(report) = reports.receiver.try_recv() {
            progress(&report);
        }
        let answer = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(self.fault(error).await),
            Err(_) => return Err(self.fault(ServiceError::TransportClosed).await),
        };
        match answer {
            ServerResult::InputRequiredResult(_) => Err(Fault::Wants(
                "it asks for input first, and this host answers no questions of MCP servers",
            )),
            ServerResult::CreateTaskResult(_) => Err(Fault::Wants(
                "it made a task of the call, and this host follows no tasks",
            )),
            // Serialized again, because a result with a kind of content that the library does not know is no result to it.
            answer => serde_json::to_value(answer).map_err(|error| Fault::Gone(error.to_string())),
        }
    }

    async fn fault(&self, error: ServiceError) -> Fault {
        let why = match error {
            ServiceError::McpError(mut error) => {
                error.message = self.secrets.text(&error.message).into_owned().into();
                return Fault::Refused(error);
            }
            ServiceError::TransportClosed => "it closed the connection".to_owned(),
            error => text::sanitize(&self.secrets.text(&whole(&error)), SHOWN_BYTES),
        };
        let words = match &self.child {
            Some(child) => child.lock().await.last_assistant_text().await,
            None => String::new(),
        };
        Fault::Gone(format!("{why}{}", text::sanitize(&words, SHOWN_BYTES)))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(subscription) = &self.subscription {
            subscription.abort();
        }
    }
}

/// Newest first. A server that does not know the question after the versions is greeted as servers were before.
fn newest_first() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

/// Subscribes to changes of the tools, where the version has subscriptions and the server offers this one.
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
        // Whatever happened since is not told.
        signals.set_changed();
    }))
}

/// A request that nobody waits for any more is cancelled at the server.
struct Abandoned {
    peer: Peer<RoleClient>,
    /// Absent once it is answered.
    id: Option<RequestId>,
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else {
            return;
        };
        let reason = Some("nobody waits for the answer any more".to_owned());
        let params = CancelledNotificationParam::new(Some(id), reason);
        let told = CancelledNotification::new(params).into();
        // One look puts it in the queue, before whatever is asked next. A server that is gone, or for which more than a thousand
        // messages wait, needs no telling.
        let _ = self.peer.send_notification(told).now_or_never();
    }
}

/// Redacts the result of a call, but for its base64: what that stands for is redacted when it is decoded.
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

/// The places of base64 in a result.
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

fn silent(config: &ServerConfig, words: &str) -> ConnectError {
    ConnectError::Silent {
        server: config.name.clone(),
        seconds: config.connect_timeout.as_secs(),
        words: text::sanitize(words, SHOWN_BYTES),
    }
}

fn unusable(config: &ServerConfig, error: &ClientInitializeError, words: &str) -> Unmet {
    let told = ConnectError::Unusable {
        server: config.name.clone(),
        why: text::sanitize(&config.secrets.text(&whole(error)), SHOWN_BYTES),
        words: text::sanitize(words, SHOWN_BYTES),
    };
    match error {
        ClientInitializeError::ExpectedInitResult(_) => Unmet::Misunderstood(told),
        _ => Unmet::Failed(told),
    }
}

/// Why a greeting did not come to a connection.
enum Unmet {
    /// The server answered with a result of another kind.
    Misunderstood(ConnectError),
    /// Anything else.
    Failed(ConnectError),
}

impl Unmet {
    fn into_error(self) -> ConnectError {
        match self {
            Self::Misunderstood(error) | Self::Failed(error) => error,
        }
    }
}

impl From<ConnectError> for Unmet {
    fn from(error: ConnectError) -> Self {
        Self::Failed(error)
    }
}

/// An error with its causes.
fn whole(error: &dyn std::error::Error) -> String {
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

//! A connection to a server: handshake, requests, subscription. Responses are returned as received;
//! `server.rs` interprets them.

use crate::{
    cancel_on_drop::CancelOnDrop,
    child::ServerProcess,
    config::{Reach, ServerConfig},
    error::ConnectError,
    handler::{ClientSide, ProgressUpdate, Signals},
    handshake::{HandshakeError, handshake_error, timeout_error, web_error, with_sources},
    http::{self, Challenge},
    lines::Lines,
    listing::ToolPages,
    oauth, posts,
    request::ToolRequest,
    result::redact,
    sandboxed::{ServerControl, ServerIo},
    started::Started,
};
use agent_host_engine::{text, tool::ProgressSink};
use agent_host_types::reason::Reason;
use futures_util::FutureExt as _;
use rmcp::{
    RoleClient, ServiceError,
    model::{
        ClientRequest, ElicitRequestParams, ElicitationAction, ErrorCode, ErrorData, InputRequest,
        InputRequiredResult, InputResponses, ListToolsRequest, PaginatedRequestParams,
        ProtocolVersion, ServerCapabilities, ServerResult, SubscriptionFilter,
    },
    service::{
        ClientLifecycleMode, PeerRequestOptions, RunningService, serve_client_with_lifecycle,
    },
};
use serde_json::Value;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{task::JoinHandle, time::timeout};

/// The maximum of bytes shown of a protocol error: some quote the message in question.
pub(crate) const SHOWN_BYTES: usize = 500;

/// The maximum of requests for one call: each may ask the user.
const MAX_ROUNDS: u32 = 16;

/// The error of a call before which the user has to open addresses; it names them.
const URL_ELICITATION_REQUIRED: ErrorCode = ErrorCode(-32_042);

/// The pause before a call is sent again at the server's wish, times the number of rounds.
const ROUND_PAUSE: Duration = Duration::from_millis(50);

/// An open connection. Dropping it ends the child process, the instance in the sandbox or the HTTP
/// session.
pub(crate) struct Connection {
    service: RunningService<RoleClient, ClientSide>,
    signals: Arc<Signals>,
    config: Arc<ServerConfig>,
    /// `None` for a web server.
    started: Option<Started>,
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
    /// The server wants another login, as a clause that says what the operator can do.
    Login(String),
}

/// The response to a request.
enum ServerAnswer {
    Result(Value),
    /// The server wants answers of its own, and to be asked again with them.
    InputRequired(InputRequiredResult),
}

impl ServerAnswer {
    fn result(self) -> Result<Value, RequestError> {
        match self {
            Self::Result(result) => Ok(result),
            Self::InputRequired(_) => Err(RequestError::Unsupported(
                "it asked for input outside of a call",
            )),
        }
    }
}

impl Connection {
    /// Starts the server, unless it is a web server, and negotiates the protocol version.
    pub(crate) async fn open(config: &Arc<ServerConfig>) -> Result<Self, ConnectError> {
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
        config: &Arc<ServerConfig>,
        lifecycle: ClientLifecycleMode,
        limit: Duration,
    ) -> Result<Self, HandshakeError> {
        let signals = Arc::<Signals>::default();
        let handler = ClientSide {
            signals: Arc::clone(&signals),
            config: Arc::clone(config),
        };
        let fault = |why: Reason| ConnectError::Start {
            server: config.name.clone(),
            why: why.into(),
        };
        let (connected, mut started) = match &config.reach {
            Reach::Command(command) => {
                let started = ServerProcess::start(command, Arc::clone(&config.secrets)).await;
                let (child, streams) = started.map_err(|error| fault(error.to_string().into()))?;
                let lines = Lines::new(streams.output, streams.input, Arc::clone(&signals));
                let handshake = serve_client_with_lifecycle(handler, lines, lifecycle);
                let started = Started::Process(tokio::sync::Mutex::new(child));
                (timeout(limit, Box::pin(handshake)).await, Some(started))
            }
            Reach::Component(component) => {
                let server = component.sandbox.start().map_err(fault)?;
                let (input, output) = match server.io {
                    ServerIo::Streams { input, output } => (input, output),
                    ServerIo::Requests(handler) => {
                        let config = Arc::clone(config);
                        posts::connect(handler, Arc::new(move |text| config.redact(text)))
                    }
                };
                let lines = Lines::new(output, input, Arc::clone(&signals));
                let handshake = serve_client_with_lifecycle(handler, lines, lifecycle).boxed();
                let started = Started::Sandboxed(server.control);
                (timeout(limit, handshake).await, Some(started))
            }
            Reach::Http(endpoint) => {
                let login = timeout(limit, oauth::stored(endpoint)).await;
                let login = login.map_err(|_| timeout_error(config, ""))?;
                let handshake = match login.map_err(fault)? {
                    Some(manager) => {
                        let transport = http::authorized(endpoint, config, manager);
                        let transport = transport.map_err(fault)?;
                        serve_client_with_lifecycle(handler, transport, lifecycle).boxed()
                    }
                    None => {
                        let transport = http::transport(endpoint, config).map_err(fault)?;
                        serve_client_with_lifecycle(handler, transport, lifecycle).boxed()
                    }
                };
                (timeout(limit, handshake).await, None)
            }
        };
        let service = match (connected, &mut started) {
            (Ok(Ok(service)), _) => service,
            (Ok(Err(error)), Some(started)) => {
                let detail = started.exit_clause().await;
                return Err(handshake_error(config, &error, &detail));
            }
            (Ok(Err(error)), None) => return Err(web_error(config, &error).await),
            (Err(_), started) => {
                let detail = started.as_mut().map(Started::exit_clause_so_far);
                return Err(timeout_error(config, &detail.unwrap_or_default()).into());
            }
        };
        Ok(Self {
            subscription: subscribe(&service, &signals),
            service,
            signals,
            config: Arc::clone(config),
            started,
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        let has_ended = self.sandboxed().is_some_and(|control| control.has_ended());
        has_ended || self.service.is_transport_closed()
    }

    /// Returns the control of a server in the sandbox.
    pub(crate) fn sandboxed(&self) -> Option<&Arc<dyn ServerControl>> {
        match &self.started {
            Some(Started::Sandboxed(control)) => Some(control),
            Some(Started::Process(_)) | None => None,
        }
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

    /// Returns what the server declares.
    pub(crate) fn capabilities(&self) -> ServerCapabilities {
        let info = self.service.peer_info();
        info.map(|info| info.capabilities.clone())
            .unwrap_or_default()
    }

    /// Requests a page of a list, redacted.
    pub(crate) async fn page(&self, request: ClientRequest) -> Result<Value, RequestError> {
        let mut page = self.ask(request, &|_| {}).await?.result()?;
        for secrets in self.config.redacted() {
            secrets.json(&mut page);
        }
        Ok(page)
    }

    /// Lists the server's tools, redacted. A server that declares something else and no tools has
    /// none.
    ///
    /// # Errors
    /// The reason, as a fragment.
    pub(crate) async fn list(&self) -> Result<ToolPages, Reason> {
        let mut listing = ToolPages::default();
        let declared = self.capabilities();
        let has_others = declared.resources.is_some() || declared.prompts.is_some();
        if declared.tools.is_none() && has_others {
            return Ok(listing);
        }
        let mut cursor = None;
        loop {
            let from =
                cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let request = ListToolsRequest {
                params: from,
                ..ListToolsRequest::default()
            };
            let page = self.page(ClientRequest::ListToolsRequest(request)).await;
            let page = page.map_err(|error| match error {
                RequestError::Closed(why) | RequestError::Login(why) => why,
                RequestError::Protocol(error) => text::sanitize(&error.message, SHOWN_BYTES),
                RequestError::Unsupported(what) => what.to_owned(),
            })?;
            cursor = listing.take(page)?;
            if cursor.is_none() {
                return Ok(listing);
            }
        }
    }

    /// Makes the request of a tool call. Dropping the future cancels it at the server. The answer
    /// is in the form of the result of a tool, redacted except for base64 in it.
    pub(crate) async fn call(
        &self,
        mut request: ToolRequest,
        progress: ProgressSink<'_>,
    ) -> Result<Value, RequestError> {
        // Before it is sent, since the server may ask at once.
        let _running = self.signals.begin_call();
        let mut has_opened = false;
        for round in 0..MAX_ROUNDS {
            let required = match self.ask(request.to_client_request(), progress).await {
                Ok(ServerAnswer::Result(result)) => {
                    let mut result = request.tool_result(result);
                    for secrets in self.config.redacted() {
                        redact(&mut result, &secrets);
                    }
                    return Ok(result);
                }
                Ok(ServerAnswer::InputRequired(required)) => required,
                Err(RequestError::Protocol(error))
                    if error.code == URL_ELICITATION_REQUIRED && !has_opened =>
                {
                    has_opened = true;
                    self.open_addresses(error).await?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let requests = required.input_requests.unwrap_or_default();
            if requests.is_empty() {
                // The server only wants to be asked again.
                tokio::time::sleep(ROUND_PAUSE * round).await;
            }
            let mut responses = InputResponses::new();
            for (key, request) in requests {
                responses.insert(key, self.input(request).await?);
            }
            request.set_input(responses, required.request_state);
        }
        Err(RequestError::Unsupported(
            "it asked for input too many times",
        ))
    }

    /// Asks the user to open the addresses that a server requires before it runs a call.
    async fn open_addresses(&self, mut error: ErrorData) -> Result<(), RequestError> {
        let addresses = error.data.as_mut().and_then(|data| {
            let addresses = data.get_mut("elicitations")?.take();
            serde_json::from_value::<Vec<ElicitRequestParams>>(addresses).ok()
        });
        let is_url = |asked: &ElicitRequestParams| {
            matches!(asked, ElicitRequestParams::UrlElicitationParams { .. })
        };
        let Some(addresses) = addresses.filter(|all| !all.is_empty() && all.iter().all(is_url))
        else {
            return Err(RequestError::Protocol(error));
        };
        for address in addresses {
            let asked = self.service.service().elicit(address).await;
            let answer = asked.map_err(|error| cannot_ask(&error))?;
            if answer.action != ElicitationAction::Accept {
                return Err(RequestError::Unsupported(
                    "it requires the user to open an address first, and the user declined",
                ));
            }
        }
        Ok(())
    }

    /// Answers a request of the server that came as the result of a call.
    async fn input(&self, request: InputRequest) -> Result<Value, RequestError> {
        let handler = self.service.service();
        let answer = match request {
            InputRequest::Elicitation(request) => {
                let answer = handler.elicit(request.params).await;
                serde_json::to_value(answer.map_err(|error| cannot_ask(&error))?)
            }
            InputRequest::ListRoots(_) => serde_json::to_value(handler.roots()),
            _ => {
                return Err(RequestError::Unsupported(
                    "it requires sampling (text from a model) first, which this host does not offer to MCP servers",
                ));
            }
        };
        answer.map_err(|error| RequestError::Closed(error.to_string()))
    }

    async fn ask(
        &self,
        request: ClientRequest,
        progress: ProgressSink<'_>,
    ) -> Result<ServerAnswer, RequestError> {
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
        let progress = |update: &ProgressUpdate| update.tell(&self.config, progress);
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
            ServerResult::InputRequiredResult(required) => {
                Ok(ServerAnswer::InputRequired(required))
            }
            ServerResult::CreateTaskResult(_) => Err(RequestError::Unsupported(
                "it turned the call into a task, and this host does not support tasks",
            )),
            // Serialized again, because the library rejects a result with an unknown kind of
            // content.
            answer => serde_json::to_value(answer)
                .map(ServerAnswer::Result)
                .map_err(|error| RequestError::Closed(error.to_string())),
        }
    }

    /// Notes the scopes that the server wants for the next login, and says what the operator can
    /// do.
    fn wants_login(&self, challenge: Challenge) -> String {
        let name = &self.config.name;
        let Reach::Http(endpoint) = &self.config.reach else {
            return String::new();
        };
        if endpoint.oauth.is_none() {
            return "it refused the configured token".to_owned();
        }
        let what = match challenge {
            Challenge::Login => "it requires a login".to_owned(),
            Challenge::Scopes(scopes) => {
                if let Err(error) = oauth::want_scopes(endpoint, &scopes) {
                    tracing::warn!("the login of the MCP server `{name}`: {error}");
                }
                let scopes = text::sanitize(&scopes, SHOWN_BYTES);
                format!(
                    "it requires a login with the scopes \"{}\"",
                    scopes.escape_debug()
                )
            }
        };
        format!("{what}; the operator can run `agent-host mcp login {name}`")
    }

    async fn request_error(&self, error: ServiceError) -> RequestError {
        let why = match error {
            ServiceError::McpError(mut error) => {
                error.message = self.config.redact(&error.message).into();
                return RequestError::Protocol(error);
            }
            ServiceError::TransportSend(ref sent)
                if let Some(challenge) = http::challenge(sent.error.as_ref()) =>
            {
                return RequestError::Login(self.wants_login(challenge));
            }
            ServiceError::TransportClosed => "it closed the connection".to_owned(),
            error => text::sanitize(&self.config.redact(&with_sources(&error)), SHOWN_BYTES),
        };
        let detail = match &self.started {
            Some(started) => started.exit_clause().await,
            None => String::new(),
        };
        let detail = text::sanitize(&self.config.redact(&detail), SHOWN_BYTES);
        RequestError::Closed(format!("{why}{detail}"))
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
    service: &RunningService<RoleClient, ClientSide>,
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

/// Returns the reason why a question of the server was not asked.
fn cannot_ask(error: &ErrorData) -> RequestError {
    RequestError::Unsupported(if error.code == ErrorCode::INVALID_PARAMS {
        "it asked the user a question that cannot be shown"
    } else {
        "it needs an answer from the user first, and no one can be asked in this run; use `agent-host run` at a \
         terminal"
    })
}

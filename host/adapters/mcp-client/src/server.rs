//! A server whose tools are offered: calls, deadlines, reconnection and changed tools.

mod failures;

use crate::{
    changes::ToolChanges,
    config::{Endpoint, Reach, ServerConfig},
    connection::{Connection, RequestError},
    error::ConnectError,
    features::{FeatureTool, Features},
    handler::Signals,
    listing::ToolOffer,
    reconnect::{ConnState, ReconnectError, connect},
    request::ToolRequest,
    resources,
    result::{self, size},
    sandboxed::SandboxedCall,
};
use agent_host_engine::{
    definitions::{Definitions, ToolNote},
    schema::InputSchema,
    tool::{CallReport, ProgressSink},
};
use agent_host_types::{
    accounting::{Accounting, AuditEntry, AuditVerdict},
    audit::AuditRequest,
    failure::{ToolErrorCode, ToolFailure},
    lock::LockedServer,
    output::ToolResultOutput,
    tool::{Effect, ToolDefinition},
};
use failures::{unknown, with_texts};
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    fmt,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// The shortest interval between looks whether the user still has a question.
const QUESTION_POLL: Duration = Duration::from_millis(1);

/// A call of a tool of a server.
pub struct ServerCall<'a> {
    /// The tool, by the name for models.
    pub tool: &'a str,
    /// The arguments, which fit the tool's schema.
    pub input: Map<String, Value>,
    /// The number of agents, each started by the one before, that the call is below.
    pub agent_depth: u8,
    /// The traceparent of the call; `None` where nothing is traced.
    pub traceparent: Option<String>,
    /// Called for the reports of the server.
    pub progress: ProgressSink<'a>,
}

/// A server with its tools as first listed.
pub struct McpServer {
    config: Arc<ServerConfig>,
    definitions: Definitions,
    /// The server's own names, by the names for models.
    own_names: HashMap<String, String>,
    /// The tools of this host among them.
    feature_tools: HashMap<String, FeatureTool>,
    features: Features,
    notes: Vec<ToolNote>,
    permits: Semaphore,
    /// Locked during a reconnection, so that concurrent calls share one attempt.
    state: tokio::sync::Mutex<ConnState>,
    changes: ToolChanges,
}

/// A server that is ready for a call.
struct ReadyServer<'s> {
    connection: Arc<Connection>,
    /// The server's own name of the tool.
    own_name: &'s str,
    /// The call, if the server runs in the sandbox.
    sandboxed: Option<SandboxedCall>,
    _permit: Option<SemaphorePermit<'s>>,
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl McpServer {
    /// Connects to a server and lists its tools. Requires a Tokio runtime.
    ///
    /// # Errors
    /// The server cannot be started or reached, is not ready in time, or its list of tools is
    /// invalid.
    pub async fn connect(config: ServerConfig) -> Result<Self, ConnectError> {
        let config = Arc::new(config);
        let (connection, offer) = connect(Arc::clone(&config), None).await?;
        Ok(Self {
            definitions: offer.definitions,
            own_names: offer.own_names,
            feature_tools: offer.feature_tools,
            features: offer.features,
            notes: offer.notes,
            permits: Semaphore::new(config.concurrent_calls.get()),
            state: tokio::sync::Mutex::new(ConnState::new(connection)),
            changes: ToolChanges::default(),
            config,
        })
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Returns the tools under the names for models.
    #[must_use]
    pub fn definitions(&self) -> &[ToolDefinition] {
        self.definitions.all()
    }

    /// Returns the tools that are left out or offered in part.
    #[must_use]
    pub fn notes(&self) -> &[ToolNote] {
        &self.notes
    }

    /// Returns the resources and prompts as first counted.
    #[must_use]
    pub fn features(&self) -> Features {
        self.features
    }

    /// Returns the server's own names of all listed tools, also of those that are left out, and the
    /// names of the tools for its resources and prompts.
    pub fn own_names(&self) -> impl Iterator<Item = &str> {
        self.own_names.values().map(String::as_str)
    }

    /// Returns the server's own name of a tool.
    #[must_use]
    pub fn own_name(&self, tool: &str) -> Option<&str> {
        self.own_names.get(tool).map(String::as_str)
    }

    fn effect(&self, tool: &str) -> Effect {
        let mut definitions = self.definitions().iter();
        definitions
            .find(|definition| definition.name == tool)
            .map_or(Effect::Effectful, |definition| definition.effect)
    }

    /// Returns the entry for `agent.lock`. The tools for resources and prompts are not the server's
    /// to change, so they have no pins.
    #[must_use]
    pub fn locked(&self) -> LockedServer {
        let definitions = self.definitions().iter();
        let own = definitions.filter(|tool| !self.feature_tools.contains_key(&tool.name));
        let own: Vec<ToolDefinition> = own.cloned().collect();
        LockedServer::new(self.config.reach.identity(), &own)
    }

    /// Returns the negotiated protocol version; `None` while disconnected.
    pub async fn version(&self) -> Option<String> {
        self.state.lock().await.open()?.version()
    }

    /// Returns the schema of a tool's arguments.
    #[must_use]
    pub fn input_schema(&self, tool: &str) -> Option<&Arc<InputSchema>> {
        Some(&self.definitions.schemas(tool)?.input)
    }

    /// Runs a call until it ends, reaches its deadline, or `cancel` is cancelled; then it cancels
    /// the call at the server and reports its audit and accounting so far. Dropping the future
    /// cancels the call at the server, too.
    pub async fn call_until(&self, call: ServerCall<'_>, cancel: &CancellationToken) -> CallReport {
        let (began, tool) = (Instant::now(), call.tool);
        let bytes_out = Value::Object(call.input.clone()).to_string().len() as u64;
        let mut did = None;
        let (output, bytes_in) = match self.call_once(call, cancel, &mut did).await {
            Ok(output) => {
                let bytes = size(&output);
                (output, bytes)
            }
            Err(failure) => (failure.into(), 0),
        };
        let url = match &self.config.reach {
            Reach::Command(_) | Reach::Component(_) => None,
            Reach::Http(Endpoint { url, .. }) => Some(url.clone()),
        };
        let asked = AuditEntry {
            request: AuditRequest::McpCall {
                tool: self.own_name(tool).unwrap_or(tool).to_owned(),
                server: self.config.name.clone(),
                url: url.clone(),
            },
            verdict: AuditVerdict::Allowed,
            rule: format!("mcp.{}", self.config.name),
            count: 1,
            grant: None,
            status: None,
        };
        let (effects, audit) = did.unwrap_or_default();
        let hosts = url.iter().filter_map(|url| host(url));
        CallReport {
            accounting: Accounting {
                wall_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
                bytes_in: bytes_in + effects.bytes_in,
                bytes_out: bytes_out + effects.bytes_out,
                hosts: hosts.chain(effects.hosts).collect(),
                ..effects
            },
            audit: std::iter::once(asked).chain(audit).collect(),
            ..CallReport::of(output)
        }
    }

    /// Runs a call within its deadline. A failure says whether anything was sent to the server.
    /// `did` is what a server in the sandbox did meanwhile.
    async fn call_once(
        &self,
        call: ServerCall<'_>,
        cancel: &CancellationToken,
        did: &mut Option<(Accounting, Vec<AuditEntry>)>,
    ) -> Result<ToolResultOutput, ToolFailure> {
        let tool = call.tool;
        let (began, deadline) = (Instant::now(), self.config.deadline);
        let ready = tokio::select! {
            biased;
            ready = timeout(deadline, self.ready(tool)) => ready,
            () = cancel.cancelled() => return Err(ToolFailure::not_started()),
        };
        let mut ready = ready.unwrap_or_else(|_| {
            let why = format!("it was not ready within {} ms", deadline.as_millis());
            Err(self.not_started(&why))
        })?;
        let left = deadline.saturating_sub(began.elapsed());
        let answer = tokio::select! {
            biased;
            answer = timeout_without_questions(
                left,
                ready.connection.signals(),
                self.call_ready(&ready, call),
            ) => answer,
            () = cancel.cancelled() => Some(Err(ToolFailure::stopped(self.effect(tool)))),
        };
        let is_answered = answer.is_some() && !cancel.is_cancelled();
        *did = ready.sandboxed.take().map(|call| call.end(is_answered));
        answer.unwrap_or_else(|| {
            let what = format!(
                "did not answer within {} ms, so the call was cancelled. It may or may not have taken effect.",
                deadline.as_millis()
            );
            Err(self.failure(ToolErrorCode::Timeout, &what))
        })
    }

    /// Waits for a permit and the connection. Nothing of the call is sent.
    async fn ready(&self, tool: &str) -> Result<ReadyServer<'_>, ToolFailure> {
        let offered = self.definitions.schemas(tool);
        let own_name = offered.and_then(|_| self.own_name(tool));
        let own_name = own_name.ok_or_else(|| unknown(tool))?;
        // The semaphore is never closed.
        let permit = self.permits.acquire().await.ok();
        let (connection, sandboxed) = self.connection_for_call().await?;
        connection.signals().roots_in_use().await;
        if self.changes.is_changed(tool) {
            let what = format!(
                "has changed the tool `{tool}` since it was accepted, so it did not run. The operator can accept the \
                 new version."
            );
            return Err(self.failure(ToolErrorCode::ChangedSinceApproval, &what));
        }
        Ok(ReadyServer {
            connection,
            own_name,
            sandboxed,
            _permit: permit,
        })
    }

    async fn call_ready(
        &self,
        ready: &ReadyServer<'_>,
        call: ServerCall<'_>,
    ) -> Result<ToolResultOutput, ToolFailure> {
        let tool = call.tool;
        let answer = match self.ask(ready, call).await {
            Ok(answer) => answer,
            Err(error) => return self.refused(error),
        };
        let structured = answer.get("structuredContent").cloned();
        let mut output = match result::output(answer)? {
            ToolResultOutput::ExecutionDenied(reason) => self.denied(reason),
            output => output,
        };
        result::replace_links(&mut output);
        for secrets in self.config.redacted() {
            secrets.output(&mut output);
        }
        let bytes = size(&output);
        if bytes > self.config.output_bytes {
            let limit = self.config.output_bytes;
            return Err(self.too_large(&format!(
                "its result has {bytes} bytes, and the maximum is {limit}"
            )));
        }
        self.check_output_schema(tool, &output, structured.as_ref())?;
        Ok(output)
    }

    /// Sends a call to the server, and returns its answer.
    async fn ask(
        &self,
        ready: &ReadyServer<'_>,
        call: ServerCall<'_>,
    ) -> Result<Value, RequestError> {
        let ServerCall {
            tool,
            input,
            agent_depth,
            traceparent,
            progress,
        } = call;
        let connection = &ready.connection;
        match self.feature_tools.get(tool) {
            None => {
                let request = ToolRequest::call(ready.own_name, input, agent_depth, traceparent);
                connection.call(request, progress).await
            }
            Some(feature) => {
                let most = self.config.output_bytes;
                resources::run(*feature, connection, input, progress, most).await
            }
        }
    }

    /// Structured content has the form that the tool promised; an error may have another.
    fn check_output_schema(
        &self,
        tool: &str,
        output: &ToolResultOutput,
        structured: Option<&Value>,
    ) -> Result<(), ToolFailure> {
        let schemas = self.definitions.schemas(tool);
        let schema = schemas.and_then(|schemas| schemas.output.as_ref());
        match (schema, structured, output) {
            (
                Some(schema),
                Some(structured),
                ToolResultOutput::Json(_)
                | ToolResultOutput::Text(_)
                | ToolResultOutput::Content(_),
            ) => (schema.validate(structured)).map_err(|failure| with_texts(failure, output)),
            _ => Ok(()),
        }
    }

    /// Returns the connection, and begins the call if the server runs in the sandbox. It may end
    /// between the two, once.
    async fn connection_for_call(
        &self,
    ) -> Result<(Arc<Connection>, Option<SandboxedCall>), ToolFailure> {
        for _ in 0..2 {
            let connection = self.connection().await?;
            let Some(control) = connection.sandboxed() else {
                return Ok((connection, None));
            };
            if let Some(call) = SandboxedCall::begin(control) {
                return Ok((connection, Some(call)));
            }
        }
        Err(self.not_started("it ended as soon as it had started"))
    }

    /// Returns the connection, or a new one if the server is gone, after comparing its tools with
    /// the offered ones. Dropping the future does not stop an attempt to reconnect.
    async fn connection(&self) -> Result<Arc<Connection>, ToolFailure> {
        let mut state = self.state.lock().await;
        if let Some(connection) = state.open() {
            drop(state);
            self.refresh_tools(&connection).await;
            return Ok(connection);
        }
        match state.reconnect(&self.config, self.features).await {
            Ok((connection, offer)) => {
                self.record_changes(Some(&offer.definitions));
                Ok(connection)
            }
            Err(ReconnectError::Paused(why)) => {
                Err(self.not_started(&format!("{why}. It will be retried later")))
            }
            Err(ReconnectError::Failed(error)) => {
                if let ConnectError::Tools { .. } = error {
                    self.record_changes(None);
                }
                Err(self.not_started(&error.to_string()))
            }
        }
    }

    /// Lists the tools again if the server announced a change.
    async fn refresh_tools(&self, connection: &Connection) {
        let Some(changes) = connection.signals().unread_changes() else {
            return;
        };
        let listed = connection.list().await;
        match listed
            .and_then(|listing| ToolOffer::from_listing(&self.config, listing, self.features))
        {
            Ok(offer) => {
                self.record_changes(Some(&offer.definitions));
            }
            // The next call reconnects.
            Err(_) if connection.is_closed() => return,
            Err(why) => {
                tracing::warn!("the MCP server `{}`: {why}", self.config.name);
                self.record_changes(None);
            }
        }
        // Last, since a cancelled call has not listed them.
        connection.signals().set_read(changes);
    }

    /// Records which tools changed; all of them if `now` is `None`.
    fn record_changes(&self, now: Option<&Definitions>) {
        let (server, first) = (&self.config.name, &self.definitions);
        self.changes.record(server, first, now);
    }
}

/// Waits for a call for this long, besides the time in which the user had a question of the server.
async fn timeout_without_questions<T>(
    limit: Duration,
    signals: &Signals,
    call: impl Future<Output = T>,
) -> Option<T> {
    let mut call = pin!(call);
    let (began, before) = (Instant::now(), signals.question_time());
    loop {
        let asking = signals.question_time().saturating_sub(before);
        let left = (limit + asking).saturating_sub(began.elapsed());
        if left.is_zero() {
            return None;
        }
        if let Ok(answer) = timeout(left.max(QUESTION_POLL), &mut call).await {
            return Some(answer);
        }
    }
}

fn host(url: &str) -> Option<String> {
    let uri: http::Uri = url.parse().ok()?;
    uri.host().map(str::to_owned)
}

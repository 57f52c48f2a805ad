//! Calls of clients, from request to result: run by the host's policy, grants and limits, with an
//! elicitation where they need approval or ask a question.

use crate::{
    agent::respond,
    catalog::{CurrentCatalog, ToolCatalog},
    connection::Connection,
    elicitation::{self, AwaitedInput, Elicitation},
    log,
    open_sessions::OpenSessions,
    pending::{INPUT_TIMEOUT, PendingCalls, SuspendedCall},
    progress::{forward, reports},
    result::{Structured, StructuredAs, call_result},
};
use agent_host_app::Host;
use agent_host_engine::{
    observer::{Observer, Unobserved},
    session::ClientSession,
    turn::{Actors, ClientCall, ClientCallEnd, ClientCallError, TurnContext},
};
use agent_host_types::{approval::ApprovalRule, output::ToolResultOutput, turn::AgentInput};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, ElicitRequest, ElicitResult, InputRequest,
        InputRequests, InputRequiredResult, InputResponses, JsonObject,
    },
    service::RequestContext,
};
use serde_json::Value;
use std::{
    fmt::{self, Display},
    ops::ControlFlow,
    sync::Arc,
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The `_meta` key of a request for the depth of the agent that calls. Our client of the protocol
/// sends it.
const AGENT_DEPTH_KEY: &str = "agent-host/agent-depth";

/// The name of a call's only input in an `InputRequiredResult`.
const INPUT: &str = "user";

/// A call that may be suspended for input.
pub(crate) struct SuspendableCall {
    catalog: Arc<ToolCatalog>,
    elicitation: Elicitation,
    session: Arc<ClientSession>,
    inner: ClientCall,
    tool: String,
    /// The arguments as sent, to compare a repeated request with.
    arguments: Option<JsonObject>,
}

/// A call that continues, or the result that asks the client to repeat its request with input.
type NextStep = ControlFlow<InputRequiredResult, SuspendableCall>;

impl fmt::Debug for SuspendableCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("tool", &self.tool)
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

/// Runs the calls of all connections.
#[derive(Debug)]
pub(crate) struct CallRunner {
    pub(crate) host: Host,
    pub(crate) catalog: CurrentCatalog,
    pub(crate) sessions: OpenSessions,
    pub(crate) pending: PendingCalls,
    /// The running calls and background tasks.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the server closes; stops running calls.
    pub(crate) stop: CancellationToken,
}

impl CallRunner {
    /// Runs the call of a `tools/call` request.
    ///
    /// # Errors
    /// Returns `-32602` for an unknown tool or input that was not asked for, and `-32603` when the
    /// journal cannot be written; its message says whether the call ran. A failed call is a result.
    pub(crate) async fn call(
        &self,
        connection: &Connection,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _task = self.tasks.token();
        let cancel = context.ct.clone();
        let mut response = std::pin::pin!(self.run(connection, request, context));
        tokio::select! {
            response = &mut response => response,
            () = self.stop.cancelled() => {
                cancel.cancel();
                response.await
            }
        }
    }

    /// Runs a call that no user is asked about, for a request that is not `tools/call`.
    ///
    /// # Errors
    /// Those of [`Self::call`].
    pub(crate) async fn call_tool(
        &self,
        connection: &Connection,
        tool: &str,
        input: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<ToolResultOutput, ErrorData> {
        let _task = self.tasks.token();
        let cancel = context.ct.child_token();
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(input);
        let unasked = Elicitation::Unsupported;
        let mut call = self.start(connection, request, unasked, context).await?;
        loop {
            let approvals = self.approvals(&call).await?;
            let end = {
                let mut run = std::pin::pin!(call.run(&Unobserved, &approvals, &cancel));
                tokio::select! {
                    end = &mut run => end?,
                    () = self.stop.cancelled() => {
                        cancel.cancel();
                        run.await?
                    }
                }
            };
            self.sessions.schedule_flush(&call.session);
            let prompt = match end {
                ClientCallEnd::Settled { output, .. } => return Ok(output),
                ClientCallEnd::Agent(waiting) => {
                    let input = respond(&waiting, &call.catalog.registry, None).await;
                    call.resume_agent(input)?;
                    continue;
                }
                ClientCallEnd::Confirm(pending) => {
                    AwaitedInput::approval(*pending, &call.catalog.registry)
                }
                ClientCallEnd::Question(question) => AwaitedInput::Question {
                    tool: call.tool.clone(),
                    question,
                },
            };
            call.reply(prompt, &elicitation::no_reply())?;
        }
    }

    async fn run(
        &self,
        connection: &Connection,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let version = context.protocol_version();
        let is_stateless = version
            .as_ref()
            .is_some_and(|known| !known.has_initialize());
        let mut call = match &request.request_state {
            Some(key) => match self.resume(key, &request)? {
                ControlFlow::Continue(call) => call,
                ControlFlow::Break(result) => return Ok(result.into()),
            },
            None => {
                let capabilities = context.client_capabilities();
                let elicitation =
                    Elicitation::from_capabilities(capabilities.as_ref(), is_stateless);
                self.start(connection, request, elicitation, &context)
                    .await?
            }
        };
        loop {
            let approvals = self.approvals(&call).await?;
            let end = call.run_with_progress(&context, &approvals).await?;
            self.sessions.schedule_flush(&call.session);
            let prompt = match end {
                ClientCallEnd::Settled { output, stdio } => {
                    let level = if is_stateless {
                        context.meta.log_level().map(log::number)
                    } else {
                        Some(connection.level())
                    };
                    if level.is_some_and(log::wants_output) {
                        log::send_output(&context.peer, &call.tool, &stdio).await;
                    }
                    let form = context.extensions.get().copied();
                    let form = form.unwrap_or(StructuredAs::Value);
                    let result =
                        call_result(output, Structured::for_version(version.as_ref()), form);
                    return Ok(result.into());
                }
                ClientCallEnd::Agent(waiting) => {
                    let asks = call.elicitation == Elicitation::Push;
                    let input =
                        respond(&waiting, &call.catalog.registry, asks.then_some(&context)).await;
                    call.resume_agent(input)?;
                    continue;
                }
                ClientCallEnd::Confirm(pending) => {
                    AwaitedInput::approval(*pending, &call.catalog.registry)
                }
                ClientCallEnd::Question(question) => AwaitedInput::Question {
                    tool: call.tool.clone(),
                    question,
                },
            };
            let reply = match call.elicitation {
                Elicitation::Unsupported => elicitation::no_reply(),
                Elicitation::Push => elicit(&prompt, None, &context).await,
                Elicitation::Poll => match self.suspend(call, prompt)? {
                    ControlFlow::Break(result) => return Ok(result.into()),
                    ControlFlow::Continue(declined) => {
                        call = declined;
                        continue;
                    }
                },
            };
            call.reply(prompt, &reply)?;
        }
    }

    /// Starts a call, which does not run yet.
    async fn start(
        &self,
        connection: &Connection,
        request: CallToolRequestParams,
        elicitation: Elicitation,
        context: &RequestContext<RoleServer>,
    ) -> Result<SuspendableCall, ErrorData> {
        let catalog = self.catalog.get();
        let tool = request.name.into_owned();
        // What an agent waits for is not kept between requests.
        let elicitation = match elicitation {
            Elicitation::Poll if catalog.is_agent(&tool) => Elicitation::Unsupported,
            elicitation => elicitation,
        };
        if catalog.listing.find(&tool).is_none() {
            return Err(ErrorData::invalid_params(
                format!("unknown tool `{}`", tool.escape_debug()),
                None,
            ));
        }
        let session = connection
            .session(&self.host, &self.sessions, || context.client_info())
            .await
            .map_err(|error| not_run(&error))?;
        let input = request.arguments.clone().unwrap_or_default();
        let agent = catalog.agent(elicitation);
        Ok(SuspendableCall {
            inner: agent.client_call(&session, tool.clone(), input, agent_depth(context)),
            arguments: request.arguments,
            elicitation,
            session,
            catalog,
            tool,
        })
    }

    /// Reads the project's approval rules if they could apply to the call. They are read for each
    /// run, since another process may revoke one.
    async fn approvals(&self, call: &SuspendableCall) -> Result<Vec<ApprovalRule>, ErrorData> {
        let agent = call.catalog.agent(call.elicitation);
        let input = call.arguments.as_ref();
        if !agent.needs_approval(&call.tool, input.unwrap_or(&JsonObject::new())) {
            return Ok(Vec::new());
        }
        let remembered = self.host.sessions().remembered().await;
        remembered.map_err(|error| not_run(&error))
    }

    /// Resumes a pending call with the input of its repeated request. Without input it waits again.
    fn resume(&self, key: &str, request: &CallToolRequestParams) -> Result<NextStep, ErrorData> {
        let check = |pending: &SuspendedCall| {
            let call = &pending.call;
            if call.tool != request.name || call.arguments != request.arguments {
                return Err(ErrorData::invalid_params(
                    "another call is waiting under this requestState; repeat the request unchanged",
                    None,
                ));
            }
            reply_of(request.input_responses.as_ref())
        };
        let (pending, reply) = self.pending.take(key, Instant::now(), check)?;
        let SuspendedCall { mut call, prompt } = pending;
        let Some(reply) = reply else {
            return self.suspend(call, prompt);
        };
        call.reply(prompt, &reply)?;
        Ok(ControlFlow::Continue(call))
    }

    /// Suspends a call until its client repeats the request, and returns the result that asks for
    /// the input; when too many are pending, the call continues as if the user had not replied.
    fn suspend(&self, call: SuspendableCall, prompt: AwaitedInput) -> Result<NextStep, ErrorData> {
        let form = ElicitRequest::new(prompt.form(None));
        let tool = call.tool.clone();
        let pending = SuspendedCall { call, prompt };
        let key = match self.pending.insert(&tool, pending, Instant::now()) {
            Ok(key) => key,
            Err(pending) => return pending.decline().map(ControlFlow::Continue),
        };
        let inputs = InputRequests::from([(INPUT.to_owned(), InputRequest::Elicitation(form))]);
        let result = InputRequiredResult::new(Some(inputs), Some(key));
        Ok(ControlFlow::Break(result))
    }

    /// Ends the pending calls that have waited too long at `now`; without it, all of them.
    pub(crate) async fn abandon_pending(&self, now: Option<Instant>) {
        for call in self.pending.drain(now) {
            call.abandon().await;
        }
    }
}

impl SuspendableCall {
    /// Runs the call until it has a result or needs input, and sends its progress if the client
    /// wants that.
    async fn run_with_progress(
        &mut self,
        context: &RequestContext<RoleServer>,
        approvals: &[ApprovalRule],
    ) -> Result<ClientCallEnd, ErrorData> {
        let Some(token) = context.meta.get_progress_token() else {
            return self.run(&Unobserved, approvals, &context.ct).await;
        };
        let (observer, reports) = reports();
        let run = async move {
            // The reports end when their observer is dropped, with this block.
            let observer = observer;
            self.run(&observer, approvals, &context.ct).await
        };
        let (end, ()) = tokio::join!(run, forward(reports, &context.peer, token));
        end
    }

    async fn run(
        &mut self,
        observer: &dyn Observer,
        approvals: &[ApprovalRule],
        cancel: &CancellationToken,
    ) -> Result<ClientCallEnd, ErrorData> {
        let cx = TurnContext {
            observer,
            approvals,
            cancel,
            drain: &CancellationToken::new(),
            actors: Actors::default(),
        };
        let agent = self.catalog.agent(self.elicitation);
        let run = agent.run_client_call(&self.session, &mut self.inner, &cx);
        run.await.map_err(|error| match error {
            ClientCallError::NotRun(error) => not_run(&error),
            ClientCallError::NotStored(error) => not_stored(&error),
        })
    }

    /// Sets what the call's agent continues with, in the next run.
    fn resume_agent(&mut self, input: AgentInput) -> Result<(), ErrorData> {
        let agent = self.catalog.agent(self.elicitation);
        let resumed = agent.resume_client_agent(&mut self.inner, input);
        resumed.map_err(|error| ErrorData::invalid_params(error.to_string(), None))
    }

    /// Applies the reply to a prompt. The call continues with the next run.
    fn reply(&mut self, prompt: AwaitedInput, reply: &ElicitResult) -> Result<(), ErrorData> {
        let agent = self.catalog.agent(self.elicitation);
        let (session, call) = (&self.session, &mut self.inner);
        let applied = match prompt {
            AwaitedInput::Approval { call: pending, .. } => {
                let decision = elicitation::decision(&pending, reply);
                agent.decide_client_call(session, call, *pending, decision)
            }
            AwaitedInput::Question { question, .. } => {
                agent.answer_client_call(session, call, elicitation::answer(&question, reply))
            }
        };
        applied.map_err(|error| ErrorData::invalid_params(error.to_string(), None))
    }
}

impl SuspendedCall {
    /// Applies the reply of a user who cannot be asked.
    fn decline(self) -> Result<SuspendableCall, ErrorData> {
        let Self { mut call, prompt } = self;
        call.reply(prompt, &elicitation::no_reply())?;
        Ok(call)
    }

    /// Ends the call of a client that did not repeat its request, so that the journal has its end.
    async fn abandon(self) {
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let ended = match self.decline() {
            Ok(mut call) => call.run(&Unobserved, &[], &cancelled).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::warn!("cannot end a pending call: {error}");
        }
    }
}

/// Returns the depth of the agent that a request says it is of; 0 where it says nothing that can be
/// read.
fn agent_depth(context: &RequestContext<RoleServer>) -> u8 {
    let depth = context.meta.get(AGENT_DEPTH_KEY).and_then(Value::as_u64);
    depth.map_or(0, |depth| u8::try_from(depth).unwrap_or(u8::MAX))
}

/// Returns the error of a call that did not run because of the server's files. The cause is logged
/// for the operator, not sent.
fn not_run(cause: &dyn Display) -> ErrorData {
    tracing::warn!("a call did not run: {cause}");
    ErrorData::internal_error(
        "the call did not run: the server cannot use its journal now; call again later, or ask the server's operator \
         to check the log",
        None,
    )
}

/// Returns the error of a call that ran and whose result cannot be journaled.
fn not_stored(cause: &dyn Display) -> ErrorData {
    tracing::warn!("a call ran, and its result is not stored yet: {cause}");
    ErrorData::internal_error(
        "the call ran, but its result cannot be returned: the server cannot write its journal now; it may have taken \
         effect, so check before you call again, or ask the server's operator to check the log",
        None,
    )
}

/// Sends an elicitation, for an agent or the call itself, and waits for the reply. A failure counts
/// as no reply.
pub(crate) async fn elicit(
    prompt: &AwaitedInput,
    agent: Option<&str>,
    context: &RequestContext<RoleServer>,
) -> ElicitResult {
    let reply = context
        .peer
        .create_elicitation_with_timeout(prompt.form(agent), Some(INPUT_TIMEOUT));
    tokio::select! {
        () = context.ct.cancelled() => elicitation::no_reply(),
        reply = reply => reply.unwrap_or_else(|error| {
            tracing::debug!("the elicitation failed: {error}");
            elicitation::no_reply()
        }),
    }
}

/// Returns the reply in the input of a repeated request, if there is one.
fn reply_of(responses: Option<&InputResponses>) -> Result<Option<ElicitResult>, ErrorData> {
    let Some(reply) = responses.and_then(|responses| responses.get(INPUT)) else {
        return Ok(None);
    };
    let reply = elicitation::parse(reply).ok_or_else(|| {
        ErrorData::invalid_params(
            format!("`{INPUT}` in inputResponses is not an elicitation result"),
            None,
        )
    })?;
    Ok(Some(reply))
}

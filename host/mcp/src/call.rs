//! A call of a client, from its request to its result: run by the host's own gate, and put before a person where that wants it.

use crate::{
    approve::{self, Asked},
    connection::Connection,
    log,
    parked::{PATIENCE, Waiting},
    progress::{forward, reports},
    result::{Structured, call_result},
    server::{Served, Shared},
};
use agent_host_engine::{
    observer::{Observer, Unobserved},
    policy::{Ruling, decide_call},
    session::ClientSession,
    tool::ToolRunner as _,
    turn::{Agent, ClientCall, ClientCallEnd, ClientCallError, TurnContext},
};
use agent_host_types::{approval::ApprovalRule, id::Digest};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, ClientCapabilities, ElicitRequest, ElicitResult,
        InputRequest, InputRequests, InputRequiredResult, InputResponses, JsonObject,
    },
    service::RequestContext,
};
use std::{
    fmt::{self, Display},
    sync::Arc,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// The name of the only input that a call asks for at a time.
const INPUT: &str = "person";

/// How the client's person is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Person {
    /// Not at all: the client shows no forms.
    Absent,
    /// By a request to the client.
    Request,
    /// By a result that asks, after which the client repeats its request.
    Repeat,
}

impl Person {
    fn of(capabilities: Option<&ClientCapabilities>, is_stateless: bool) -> Self {
        let elicitation = capabilities.and_then(|known| known.elicitation.as_ref());
        // A client that names no mode shows forms: there was nothing else before there were modes.
        let shows_forms =
            elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none());
        match (shows_forms, is_stateless) {
            (false, _) => Self::Absent,
            (true, false) => Self::Request,
            (true, true) => Self::Repeat,
        }
    }
}

/// A call, with all that it goes on with.
pub(crate) struct Call {
    served: Arc<Served>,
    person: Person,
    session: Arc<ClientSession>,
    inner: ClientCall,
    tool: String,
    /// What the client sent, to know its repeated request by.
    arguments: Option<JsonObject>,
}

/// What a repeated request comes to.
enum GoesOn {
    /// The call goes on.
    Call(Box<Call>),
    /// It still waits, under another name.
    Asks(InputRequiredResult),
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("tool", &self.tool)
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Answers a request to call a tool.
    ///
    /// # Errors
    /// `-32602` for a tool that is not there, or an answer to something that nobody asked; `-32603` when the journal cannot be
    /// written: the text says whether the call ran. How a call itself fails is a result.
    pub(crate) async fn call(
        &self,
        connection: &Connection,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _runs = self.tasks.token();
        let cancel = context.ct.clone();
        let answered = self.answer_call(connection, request, context);
        let mut answered = std::pin::pin!(answered);
        tokio::select! {
            answered = &mut answered => answered,
            () = self.stop.cancelled() => {
                cancel.cancel();
                answered.await
            }
        }
    }

    async fn answer_call(
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
            Some(name) => match self.go_on(name, &request)? {
                GoesOn::Call(call) => *call,
                GoesOn::Asks(again) => return Ok(again.into()),
            },
            None => {
                let capabilities = context.client_capabilities();
                let person = Person::of(capabilities.as_ref(), is_stateless);
                self.begin(connection, request, person, &context).await?
            }
        };
        loop {
            let approvals = self.approvals(&call).await?;
            let end = call.run_watched(&context, &approvals).await?;
            self.dirty.notify_one();
            let asked = match end {
                ClientCallEnd::Settled { output, stdio } => {
                    let level = if is_stateless {
                        context.meta.log_level().map(log::number)
                    } else {
                        Some(connection.level())
                    };
                    if level.is_some_and(log::wants) {
                        log::pass_on(&context.peer, &call.tool, &stdio).await;
                    }
                    let result = call_result(output, Structured::of(version.as_ref()));
                    return Ok(result.into());
                }
                ClientCallEnd::Confirm(pending) => Asked::Confirm(pending),
                ClientCallEnd::Question(question) => Asked::Question {
                    tool: call.tool.clone(),
                    question,
                },
            };
            let reply = match call.person {
                Person::Absent => approve::no_reply(),
                Person::Request => ask(&asked, &context).await,
                Person::Repeat => match self.park(call, asked) {
                    Ok(result) => return Ok(result.into()),
                    Err(waiting) => {
                        call = waiting.give_up()?;
                        continue;
                    }
                },
            };
            call.reply(asked, &reply)?;
        }
    }

    /// A new call.
    async fn begin(
        &self,
        connection: &Connection,
        request: CallToolRequestParams,
        person: Person,
        context: &RequestContext<RoleServer>,
    ) -> Result<Call, ErrorData> {
        let served = self.served();
        let tool = request.name.into_owned();
        if served.listing.find(&tool).is_none() {
            return Err(ErrorData::invalid_params(
                format!("there is no tool `{}`", tool.escape_debug()),
                None,
            ));
        }
        let session = connection
            .session(self, || context.client_info())
            .await
            .map_err(|error| not_run(&error))?;
        let input = request.arguments.clone().unwrap_or_default();
        let agent = served.agent(person);
        Ok(Call {
            inner: agent.client_call(&session, tool.clone(), input),
            arguments: request.arguments,
            person,
            session,
            served,
            tool,
        })
    }

    /// Reads the approvals of the project, where they could matter. They are read for each run: another process may revoke one.
    async fn approvals(&self, call: &Call) -> Result<Vec<ApprovalRule>, ErrorData> {
        let mut tools = call.served.registry.tools().iter();
        let known = tools.find(|known| known.definition.name == call.tool);
        // The arguments do not matter to whether approval is needed at all.
        let asks = known.map(|known| decide_call(known, Digest::of(&[]), []));
        if !matches!(asks, Some(Ruling::Ask { .. })) {
            return Ok(Vec::new());
        }
        let remembered = self.host.remembered().await;
        remembered.map_err(|error| not_run(&error))
    }

    /// A call that waited, with the answer that its repeated request brings. One that comes without is asked for again.
    fn go_on(&self, name: &str, request: &CallToolRequestParams) -> Result<GoesOn, ErrorData> {
        let check = |waiting: &Waiting| {
            let call = &waiting.call;
            if call.tool != request.name || call.arguments != request.arguments {
                return Err(ErrorData::invalid_params(
                    "another call waits under this requestState; repeat the request as it was",
                    None,
                ));
            }
            reply_of(request.input_responses.as_ref())
        };
        let (Waiting { mut call, asked }, reply) = self.parked.take(name, Instant::now(), check)?;
        match reply {
            Some(reply) => call.reply(asked, &reply)?,
            None => match self.park(call, asked) {
                Ok(again) => return Ok(GoesOn::Asks(again)),
                Err(waiting) => call = waiting.give_up()?,
            },
        }
        Ok(GoesOn::Call(Box::new(call)))
    }

    /// Keeps a call until its client comes back, and says what it wants then.
    fn park(&self, call: Call, asked: Asked) -> Result<InputRequiredResult, Box<Waiting>> {
        let form = ElicitRequest::new(asked.form());
        let waiting = Waiting { call, asked };
        let name = self
            .parked
            .park(waiting, Instant::now())
            .map_err(Box::new)?;
        let inputs = InputRequests::from([(INPUT.to_owned(), InputRequest::Elicitation(form))]);
        Ok(InputRequiredResult::new(Some(inputs), Some(name)))
    }
}

impl Call {
    /// Runs it until it has its result or needs the user, and reports its progress to a client that asked for it.
    async fn run_watched(
        &mut self,
        context: &RequestContext<RoleServer>,
        approvals: &[ApprovalRule],
    ) -> Result<ClientCallEnd, ErrorData> {
        let Some(token) = context.meta.get_progress_token() else {
            return self.run(&Unobserved, approvals, &context.ct).await;
        };
        let (observer, reports) = reports();
        let run = async move {
            // The observer is dropped with this block, which ends the reports.
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
        };
        let agent = self.served.agent(self.person);
        let run = agent.run_client_call(&self.session, &mut self.inner, &cx);
        run.await.map_err(|error| match error {
            ClientCallError::NotRun(error) => not_run(&error),
            ClientCallError::NotStored(error) => not_stored(&error),
        })
    }

    /// Takes what a person said. The call goes on when it runs again.
    fn reply(&mut self, asked: Asked, reply: &ElicitResult) -> Result<(), ErrorData> {
        let agent = self.served.agent(self.person);
        let (session, call) = (&self.session, &mut self.inner);
        let taken = match asked {
            Asked::Confirm(pending) => {
                let decision = approve::decision(&pending, reply);
                agent.decide_client_call(session, call, pending, decision)
            }
            Asked::Question { question, .. } => {
                agent.answer_client_call(session, call, approve::answer(&question, reply))
            }
        };
        taken.map_err(|error| ErrorData::invalid_params(error.to_string(), None))
    }
}

impl Waiting {
    /// The call, for which nobody answers.
    fn give_up(self) -> Result<Call, ErrorData> {
        let Self { mut call, asked } = self;
        call.reply(asked, &approve::no_reply())?;
        Ok(call)
    }

    /// Ends a call whose client did not come back, so that the journal says how it ended.
    pub(crate) async fn abandon(self) {
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let ended = match self.give_up() {
            Ok(mut call) => call.run(&Unobserved, &[], &cancelled).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::warn!("a call that waited for a person cannot be ended: {error}");
        }
    }
}

impl Served {
    fn agent(&self, person: Person) -> &Agent {
        match person {
            Person::Absent => &self.denying,
            Person::Request | Person::Repeat => &self.asking,
        }
    }
}

/// The error of a call that did not run because of the server's own files. Why is the operator's concern, not the client's.
fn not_run(why: &dyn Display) -> ErrorData {
    tracing::warn!("a call did not run: {why}");
    ErrorData::internal_error(
        "the call did not run: the server cannot use its journal now; call again later, or ask the server's operator, whose log \
         says why",
        None,
    )
}

/// The error of a call that ran and has no result to show.
fn not_stored(why: &dyn Display) -> ErrorData {
    tracing::warn!("a call ran, and its result is not stored yet: {why}");
    ErrorData::internal_error(
        "the call ran, but its result is not returned: the server cannot write its journal now; it may have taken effect, so \
         check that before you call again, or ask the server's operator, whose log says why",
        None,
    )
}

/// Puts a form before the client's person. Whatever keeps them from answering is no answer.
async fn ask(asked: &Asked, context: &RequestContext<RoleServer>) -> ElicitResult {
    let asked = context
        .peer
        .create_elicitation_with_timeout(asked.form(), Some(PATIENCE));
    tokio::select! {
        () = context.ct.cancelled() => approve::no_reply(),
        reply = asked => reply.unwrap_or_else(|error| {
            tracing::debug!("the client's person was not reached: {error}");
            approve::no_reply()
        }),
    }
}

/// The answer among what a repeated request brings; nothing where it is not there.
fn reply_of(responses: Option<&InputResponses>) -> Result<Option<ElicitResult>, ErrorData> {
    let Some(reply) = responses.and_then(|responses| responses.get(INPUT)) else {
        return Ok(None);
    };
    let reply = approve::parse(reply).ok_or_else(|| {
        ErrorData::invalid_params(
            format!("what inputResponses has as `{INPUT}` is no result of an elicitation"),
            None,
        )
    })?;
    Ok(Some(reply))
}

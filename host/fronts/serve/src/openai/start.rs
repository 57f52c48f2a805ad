//! The start of a response's run: a new session, a further input of one, or the run that an
//! idempotency key began.

use super::{
    conversation::RequestInput,
    error::ApiError,
    follow::{CancelOnDrop, Follow},
    ids::RunId,
    live::Live,
    models::model_of,
    outcome::{NOTE, ResponseOutcome},
    tools::{Function, with_functions},
};
use crate::{
    Service,
    access::Caller,
    input::MessageBody,
    once::{Began, key_reused},
    problem::{Problem, ProblemCode},
    runs::Slot,
    sessions::refused_run,
};
use agent_host_app::open_request;
use agent_host_engine::{
    schema::AnswerSchema,
    session::Session,
    turn::{Agent, Prompts},
};
use agent_host_journal::{ImportAs, ImportSource, Transcript};
use agent_host_types::{
    id::{Digest, SessionId},
    message::Message,
    model::Usage,
    output::ContentPart,
    run::RunArguments,
    turn::{AgentInput, SubmittedResult},
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A request for a response.
pub(super) struct ResponseRequest {
    /// The client.
    pub(super) caller: Caller,
    /// The agent; `None` for that of the file's top level.
    pub(super) agent: Option<String>,
    /// The response that it continues.
    pub(super) previous: Option<RunId>,
    /// The functions of the client.
    pub(super) functions: Vec<Function>,
    pub(super) schema: Option<Arc<AnswerSchema>>,
    /// The fields that the response repeats, such as `metadata`.
    pub(super) note: Map<String, Value>,
    /// The idempotency key, with the digest of the request.
    pub(super) key: Option<(String, Digest)>,
    /// Whether the run continues when the client hangs up.
    pub(super) is_kept: bool,
    /// The address of the server, as the client has it.
    pub(super) server: String,
}

impl ResponseRequest {
    /// Starts the run with an input.
    pub(super) async fn start(
        self,
        service: &Service,
        input: RequestInput,
    ) -> Result<Live, ApiError> {
        let is_quiet = self.schema.is_some();
        let server = self.server.clone();
        let agent = self.agent.clone();
        let (follow, before) = self.begin(service, input).await?;
        let outcome = ResponseOutcome::begin(service, follow.run(), agent, before).await?;
        Ok(Live::new(outcome, follow, server, is_quiet))
    }

    /// Starts the run. Returns it with the tokens of its session until then.
    async fn begin(
        self,
        service: &Service,
        input: RequestInput,
    ) -> Result<(Follow, Usage), ApiError> {
        match (input, self.previous) {
            (RequestInput::Results(session, results), previous) => {
                if previous.is_some_and(|previous| previous.session != session) {
                    let message = "the results belong to calls of another response";
                    return Err(ApiError::invalid(message).at("previous_response_id"));
                }
                self.submit(service, session, results).await
            }
            (RequestInput::Message { history, parts }, Some(previous)) if history.is_empty() => {
                self.say(service, previous, parts).await
            }
            (RequestInput::Message { .. }, Some(_)) => {
                let message = "with `previous_response_id`, the input must contain only the user's new message; the \
                    session has the earlier ones";
                Err(ApiError::invalid(message).at("input"))
            }
            (RequestInput::Message { history, parts }, None) => {
                self.create(service, history, parts).await
            }
        }
    }

    /// Submits the results of calls that the client ran.
    async fn submit(
        self,
        service: &Service,
        session: SessionId,
        results: Vec<SubmittedResult>,
    ) -> Result<(Follow, Usage), ApiError> {
        let (slot, opened) = self.open(service, session, "call_not_found").await?;
        let continuation = open_request(service.store(), session).await?;
        let continuation = continuation.ok_or_else(|| {
            let message = "nothing is pending in this session; its calls have their results, or were withdrawn by a \
                message";
            Problem::new(ProblemCode::NotWaiting, message)
        })?;
        let input = AgentInput::SubmitToolResults {
            continuation,
            results,
        };
        self.run(service, slot, opened, input).await
    }

    /// Sends a message behind the last response of a session.
    async fn say(
        self,
        service: &Service,
        previous: RunId,
        parts: Vec<ContentPart>,
    ) -> Result<(Follow, Usage), ApiError> {
        let message = self.message(parts)?;
        let code = "previous_response_not_found";
        let (slot, opened) = self.open(service, previous.session, code).await?;
        let known = ResponseOutcome::read(service, previous).await?;
        let known = known.ok_or_else(|| no_response(code).at("previous_response_id"))?;
        if known.has_successor {
            let message = format!(
                "the session {} has continued after this response; continue its last response",
                previous.session
            );
            return Err(ApiError::moved_on(message).at("previous_response_id"));
        }
        self.run(service, slot, opened, AgentInput::Message(message))
            .await
    }

    /// Takes a session of the agent, in which nothing runs.
    async fn open(
        &self,
        service: &Service,
        session: SessionId,
        code: &str,
    ) -> Result<(Slot, Session), ApiError> {
        // The error of one that does not exist is that of the id which names it.
        match service.visible(&self.caller, session).await {
            Err(problem) if problem.code == ProblemCode::NotFound => return Err(no_response(code)),
            visible => visible?,
        };
        let slot = service.reserve(&self.caller, session).await?;
        let opened = service.host.sessions().resume(&session.to_string()).await?;
        let state = opened.state();
        let agent = state.run_arguments().agent;
        if state.workflow().is_some() || agent != self.agent {
            let model = model_of(agent.as_deref()).escape_debug().to_string();
            let message =
                format!("the session belongs to `{model}`, and a session cannot change its agent");
            return Err(ApiError::invalid(message).at("model"));
        }
        Ok((slot, opened))
    }

    /// Starts a session with a message, once for each key.
    async fn create(
        self,
        service: &Service,
        history: Vec<Value>,
        parts: Vec<ContentPart>,
    ) -> Result<(Follow, Usage), ApiError> {
        let message = self.message(parts)?;
        let host = &service.host;
        let keyed = self.key.as_ref();
        let keyed = keyed.map(|(key, digest)| (key, host.sessions().keyed_id(key), digest));
        if let Some((_, session, digest)) = keyed
            && let Some(began) = Began::read(service.store(), session).await?
        {
            return self.repeat(service, session, digest, began, message).await;
        }
        let (agent, system) = self.agent(service)?;
        let agent = self.equip(agent)?;
        let id = keyed.map_or_else(SessionId::new, |(_, id, _)| id);
        // Nothing is left of a session that has no place.
        let slot = service.reserve(&self.caller, id).await?;
        let owner = self.caller.owner();
        let mut session = match (history.is_empty(), keyed) {
            (true, Some(_)) => host.sessions().with_id(id, owner, system).await?.0,
            (true, None) => host.sessions().start_as(id, owner, system).await?,
            (false, _) => import(service, id, owner, system, history).await?,
        };
        let arguments = RunArguments {
            directory: Some(host.config().working_dir.display().to_string()),
            agent: self.agent.clone(),
            ..RunArguments::default()
        };
        // A later message, from wherever it comes, is for the same agent.
        let configured = session.configure_run(arguments);
        configured.map_err(|error| Problem::new(ProblemCode::Internal, error.to_string()))?;
        self.run_agent(service, slot, agent, session, AgentInput::Message(message))
            .await
    }

    /// Returns the run that began under the key. One that was interrupted continues.
    async fn repeat(
        &self,
        service: &Service,
        session: SessionId,
        digest: &Digest,
        began: Began,
        message: Message,
    ) -> Result<(Follow, Usage), ApiError> {
        let Some(known) = &began.message else {
            // The program ended before it had its message.
            let (slot, opened) = self.open(service, session, "not_found").await?;
            let input = AgentInput::Message(message);
            return self.run(service, slot, opened, input).await;
        };
        let note = known.metadata.get(NOTE);
        let request = note.and_then(|note| note.get("request")?.as_str());
        if request != Some(&digest.to_string()) {
            return Err(key_reused().into());
        }
        if began.must_continue(service, session).await? {
            let (slot, opened) = self.open(service, session, "not_found").await?;
            self.run(service, slot, opened, AgentInput::Continue)
                .await?;
        }
        let seq = began.seq;
        let follow = Follow::of_journal(service, RunId { session, seq }, self.caller.clone());
        Ok((follow, Usage::default()))
    }

    /// Returns the agent, and its prompt.
    fn agent(&self, service: &Service) -> Result<(Agent, Option<String>), ApiError> {
        let agents = service.host.agents();
        Ok(agents.named_agent(self.agent.as_deref(), Prompts::Ask)?)
    }

    /// Returns the message, with the fields that the response repeats.
    fn message(&self, parts: Vec<ContentPart>) -> Result<Message, ApiError> {
        let mut message = MessageBody {
            message: String::new(),
            parts,
        }
        .into_message()?;
        let mut note = self.note.clone();
        if let Some((_, digest)) = &self.key {
            note.insert("request".to_owned(), json!(digest.to_string()));
        }
        message
            .metadata
            .insert(NOTE.to_owned(), Value::Object(note));
        Ok(message)
    }

    /// Gives an agent the functions and the schema of the request.
    fn equip(&self, mut agent: Agent) -> Result<Agent, ApiError> {
        agent.tools = with_functions(&agent.tools, &self.functions)?;
        agent.settings.output_schema.clone_from(&self.schema);
        Ok(agent)
    }

    async fn run(
        &self,
        service: &Service,
        slot: Slot,
        session: Session,
        input: AgentInput,
    ) -> Result<(Follow, Usage), ApiError> {
        let agents = service.host.agents();
        let agent = self.equip(agents.session_agent(&session, Prompts::Ask)?)?;
        self.run_agent(service, slot, agent, session, input).await
    }

    async fn run_agent(
        &self,
        service: &Service,
        mut slot: Slot,
        agent: Agent,
        session: Session,
        input: AgentInput,
    ) -> Result<(Follow, Usage), ApiError> {
        let (session_id, before) = (session.id(), session.state().usage());
        // Another host has neither the client nor its functions.
        if !self.is_kept || !self.functions.is_empty() || self.schema.is_some() {
            slot.stay().map_err(refused_run)?;
        }
        // Opened before the start, so that no text is missed; the guard, so that no run is left.
        let feed = service.runs.watch(session_id);
        let cancel = (!self.is_kept)
            .then(|| CancelOnDrop::new(&service.runs, session_id, self.caller.name()));
        let accepted = service.start(slot, agent, session, input).await?;
        let run = RunId {
            session: session_id,
            seq: accepted.seq,
        };
        let caller = self.caller.clone();
        let follow = Follow::of_feed(service, run, feed, caller, cancel);
        Ok((follow, before))
    }
}

pub(super) fn no_response(code: &str) -> ApiError {
    ApiError::not_found(
        code,
        "unknown response; a response that was not stored, or whose session was deleted, cannot be read or continued",
    )
}

/// Stores the messages before the first one of a session. They are what the client says they are:
/// nothing in them is pending or allowed.
async fn import(
    service: &Service,
    id: SessionId,
    owner: Option<String>,
    system: Option<String>,
    history: Vec<Value>,
) -> Result<Session, ApiError> {
    let mut transcript = Map::new();
    transcript.extend(system.map(|system| ("system".to_owned(), system.into())));
    transcript.insert("messages".to_owned(), history.into());
    let transcript = Transcript::from_json(transcript.into())
        .map_err(|error| ApiError::invalid(error.to_string()))?
        .with_session(id);
    let (store, ownership) = (service.store(), service.host.sessions().ownership(owner));
    store
        .import_owned(
            ImportSource::Conversation(transcript),
            ImportAs::Copy,
            Some(ownership),
        )
        .await?;
    let journal = store.open_session(id).await?;
    Ok(Session::resume(journal).await?)
}

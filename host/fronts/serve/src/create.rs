//! A new session, once for each idempotency key.

use crate::{
    Service,
    access::Caller,
    input::MessageBody,
    once::{Began, key_reused},
    problem::{Problem, ProblemCode},
    routes::{API, JsonObject},
    sessions::{Accepted, run_input},
};
use agent_host_app::{ConfiguredAgents, HostError};
use agent_host_engine::turn::{Agent, Prompts};
use agent_host_types::{
    id::SessionId, message::Message, output::ContentPart, run::RunArguments, turn::AgentInput,
};
use axum::{Json, extract::State, response::IntoResponse};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// The header with the key under which a request is carried out once.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The longest key, in bytes.
const MAX_KEY_BYTES: usize = 255;

/// A new session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateBody {
    /// The text of the first message.
    #[serde(default)]
    message: String,
    /// Its files, as in a message.
    #[serde(default)]
    parts: Vec<ContentPart>,
    /// The agent that it talks to [default: the one of the file's top level].
    agent: Option<String>,
    /// The workflow to run in place of a model.
    workflow: Option<String>,
    /// The model of the session, one of those that `GET /agents` lists for its agent [default: the
    /// first one].
    model: Option<String>,
    /// Whether the client runs the tools of components and MCP servers: their calls become
    /// requests, once policy and user allow them.
    #[serde(default)]
    runs_tools_outside: bool,
}

/// Creates a session with its first message, and runs it. Under a key that was sent before, it is
/// that session.
pub(crate) async fn create(
    State(service): State<Service>,
    caller: Caller,
    headers: HeaderMap,
    body: Result<JsonObject<CreateBody>, Problem>,
) -> Result<impl IntoResponse, Problem> {
    let key = idempotency_key(&headers)?;
    let CreateBody {
        message,
        parts,
        agent,
        workflow,
        model,
        runs_tools_outside,
    } = body?.0;
    let message = MessageBody { message, parts }.into_message()?;
    if workflow.is_some() && runs_tools_outside {
        return Err(Problem::invalid(
            "workflow nodes run on the server; leave `runs_tools_outside` out",
        ));
    }
    if agent.is_some() && workflow.is_some() {
        return Err(Problem::invalid(
            "a session has either an `agent` or a `workflow`, not both",
        ));
    }
    if model.is_some() && workflow.is_some() {
        return Err(Problem::invalid(
            "the agents of a workflow use the models of the configuration; leave `model` out",
        ));
    }
    let request = SessionRequest {
        message,
        agent,
        workflow,
        model,
        runs_tools_outside,
    };
    let accepted = match key {
        Some(key) => request.run_once(&service, &caller, key).await?,
        None => request.run(&service, &caller, None).await?,
    };
    let location = HeaderValue::try_from(format!("{API}/sessions/{}", accepted.session))
        .map_err(|error| Problem::new(ProblemCode::Internal, error.to_string()))?;
    Ok((
        StatusCode::CREATED,
        [(header::LOCATION, location)],
        Json(accepted),
    ))
}

/// A valid request for a session.
struct SessionRequest {
    message: Message,
    agent: Option<String>,
    workflow: Option<String>,
    model: Option<String>,
    runs_tools_outside: bool,
}

impl SessionRequest {
    /// Starts the session.
    async fn run(
        self,
        service: &Service,
        caller: &Caller,
        key: Option<&str>,
    ) -> Result<Accepted, Problem> {
        let host = &service.host;
        let (agent, system) = self.agent(host.agents())?;
        let agent = match self.runs_tools_outside {
            true => host.agents().run_outside(agent),
            false => agent,
        };
        let arguments = RunArguments {
            directory: Some(host.config().working_dir.display().to_string()),
            agent: self.agent,
            model: self.model,
            runs_tools_outside: self.runs_tools_outside,
            ..RunArguments::default()
        };
        let id = key.map_or_else(SessionId::new, |key| host.sessions().keyed_id(key));
        // Nothing is left of a session that has no place.
        let slot = service.reserve(caller, id).await?;
        let mut session = match key {
            Some(_) => host.sessions().with_id(id, caller.owner(), system).await?.0,
            None => host.sessions().start_as(id, caller.owner(), system).await?,
        };
        // A later message, from wherever it comes, is for the same agent.
        let configured = session.configure_run(arguments);
        configured.map_err(|error| Problem::new(ProblemCode::Internal, error.to_string()))?;
        let input = AgentInput::Message(self.message);
        service.start(slot, agent, session, input).await
    }

    /// Starts the session of a key, or returns the one that began. One that was interrupted
    /// continues.
    async fn run_once(
        self,
        service: &Service,
        caller: &Caller,
        key: &str,
    ) -> Result<Accepted, Problem> {
        let key = &caller.own_key(key);
        let session = service.host.sessions().keyed_id(key);
        let began = Began::read(service.store(), session).await?;
        // The host may have ended before the session had its message.
        let Some(began) = began.filter(|began| began.message.is_some()) else {
            return self.run(service, caller, Some(key)).await;
        };
        if !self.began(&began) {
            return Err(key_reused());
        }
        if began.must_continue(service, session).await? {
            let _ = run_input(service, caller, session, AgentInput::Continue).await?;
        }
        let seq = began.seq;
        Ok(Accepted { session, seq })
    }

    /// Whether a session began with an equal request. A workflow that was interrupted before its
    /// start has no event of it.
    fn began(&self, session: &Began) -> bool {
        let Began {
            message,
            arguments,
            workflow,
            ..
        } = session;
        arguments.agent == self.agent
            && arguments.model == self.model
            && arguments.runs_tools_outside == self.runs_tools_outside
            && (workflow.is_none() || *workflow == self.workflow)
            && message
                .as_ref()
                .is_none_or(|message| message.has_content_of(&self.message))
    }

    /// Returns the agent that is named, and its prompt.
    fn agent(&self, agents: &Arc<ConfiguredAgents>) -> Result<(Agent, Option<String>), Problem> {
        let named = match &self.workflow {
            Some(name) => agents
                .workflow_agent(name, Prompts::Ask)
                .map(|agent| (agent, None)),
            None => agents.chosen_agent(self.agent.as_deref(), self.model.as_deref(), Prompts::Ask),
        };
        named.map_err(|error| match error {
            error @ HostError::ModelNotOffered { .. } => error.into(),
            error => Problem::not_found(error.to_string()),
        })
    }
}

/// Returns the key of a request.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else {
        return Ok(None);
    };
    let key = key.to_str().ok();
    match key.filter(|key| (1..=MAX_KEY_BYTES).contains(&key.len())) {
        Some(key) => Ok(Some(key)),
        None => Err(Problem::invalid(
            "`Idempotency-Key` must have 1 to 255 ASCII characters",
        )),
    }
}

//! Sessions: list, read, name, continue, copy, cancel and delete.

use crate::{
    Service,
    access::Caller,
    create::idempotency_key,
    input::MessageBody,
    once::send_once,
    problem::{Problem, ProblemCode},
    routes::JsonObject,
    runs::{self, Refused, Slot},
    scope::{VisibleSession, no_session},
};
use agent_host_app::{WorkflowLayout, workflow_drawings};
use agent_host_engine::{
    session::Session,
    turn::{Agent, Prompts},
};
use agent_host_journal::{
    Copier, ListPage, RunRequest, RunState, SessionInfo, SessionName, SharedRun,
};
use agent_host_types::{
    id::SessionId,
    session_status::SessionStatus,
    turn::{AgentInput, TurnEnd, TurnError},
};
use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The most sessions of one page.
const MAX_PAGE: usize = 500;

/// The page of a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuery {
    /// The most sessions to return, at most 500 [default: 50].
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 500))]
    limit: usize,
    /// The number of sessions to skip [default: 0].
    #[serde(default)]
    offset: usize,
    /// Words, each of which begins one of the title or the name of the sessions to return.
    search: Option<String>,
}

fn default_limit() -> usize {
    50
}

/// A page of sessions.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionPage {
    /// The sessions, the one that was written to last first. Those of agents are left out.
    sessions: Vec<SessionRow>,
    /// The offset of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

/// A session in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionRow {
    #[serde(flatten)]
    pub(crate) info: SessionInfo,
    /// Whether a server has a run of it, so that it takes no other input.
    running: bool,
    /// Its run, where hosts share their runs; absent if none has begun or waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<SharedRun>,
}

/// A copy of a session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkBody {
    /// The last event to copy, at which a turn ended [default: all].
    at: Option<u64>,
}

/// A new name of a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NameBody {
    /// The name: of at most 64 characters, and not that of another session of its directory.
    name: String,
}

/// A session by its id.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionRef {
    /// The session.
    session: SessionId,
}

/// Drawings of workflows.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Drawings {
    /// A text of several lines for each run of a workflow.
    drawings: Vec<String>,
    /// The nodes of each run in layers, with their states, for a drawing of one's own.
    layouts: Vec<WorkflowLayout>,
}

/// An accepted input: the session runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Accepted {
    /// The session.
    pub(crate) session: SessionId,
    /// The number of the first event of the run.
    pub(crate) seq: u64,
}

/// Lists sessions.
pub(crate) async fn list(
    State(service): State<Service>,
    caller: Caller,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<SessionPage>, Problem> {
    let Query(ListQuery {
        limit,
        offset,
        search,
    }) = query?;
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(Problem::invalid("`limit` must be a number from 1 to 500"));
    }
    let page = ListPage {
        offset,
        // One more tells whether there is a next page.
        limit: limit + 1,
        search,
        scope: service.scope(&caller),
        directory: None,
    };
    let mut page = service.store().list_page(page).await?;
    let has_more = page.len() > limit;
    page.truncate(limit);
    Ok(Json(SessionPage {
        sessions: service.rows(page).await?,
        next_offset: has_more.then(|| offset.saturating_add(limit)),
    }))
}

/// Reads a session's summary.
pub(crate) async fn read(
    State(service): State<Service>,
    session: VisibleSession,
) -> Result<Json<SessionRow>, Problem> {
    let session = session.id();
    let found = service.store().infos(vec![session]).await?;
    let mut rows = service.rows(found).await?;
    let row = rows.pop().ok_or_else(no_session)?;
    Ok(Json(row))
}

/// Sends a message to a session, and runs it. What waited there is superseded.
pub(crate) async fn send(
    State(service): State<Service>,
    caller: Caller,
    session: VisibleSession,
    headers: HeaderMap,
    body: Result<JsonObject<MessageBody>, Problem>,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let session = session.id();
    let key = idempotency_key(&headers)?;
    let message = AgentInput::Message(body?.0.into_message()?);
    match key {
        Some(key) => send_once(&service, &caller, session, key, message, None).await,
        None => run_input(&service, &caller, session, message).await,
    }
}

/// Continues a session whose last turn did not end: one that was drained or interrupted.
pub(crate) async fn resume(
    State(service): State<Service>,
    caller: Caller,
    session: VisibleSession,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let session = session.id();
    run_input(&service, &caller, session, AgentInput::Continue).await
}

/// Names a session.
pub(crate) async fn name(
    State(service): State<Service>,
    session: VisibleSession,
    body: Result<JsonObject<NameBody>, Problem>,
) -> Result<StatusCode, Problem> {
    let session = session.id();
    let NameBody { name } = body?.0;
    let name = SessionName::parse(&name).map_err(Problem::invalid)?;
    service.store().name_session(session, name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Cancels the run of a session: what runs is stopped, and each open call gets its result.
pub(crate) async fn cancel(
    State(service): State<Service>,
    caller: Caller,
    session: VisibleSession,
) -> Result<StatusCode, Problem> {
    let session = session.id();
    let by = caller.name();
    let is_asked = service.runs.cancel(session, Some(by.clone()))
        || service
            .runs
            .ask_host(session, RunRequest::Cancel { by })
            .await?
        || cancel_waiting(&service, &caller, session).await?;
    accepted_of_run(session, is_asked)
}

/// Cancels a run that waits for a host, and returns whether there is one.
async fn cancel_waiting(
    service: &Service,
    caller: &Caller,
    session: SessionId,
) -> Result<bool, Problem> {
    let runs = service.shared_runs(vec![session]).await?;
    let state = runs.get(&session).map(|run| run.state);
    if !matches!(state, Some(RunState::Waiting | RunState::Interrupted)) {
        return Ok(false);
    }
    let slot = service.hold(caller, session).await?;
    service.runs.cancel(session, Some(caller.name()));
    let _ = run_reserved(service, slot, session, AgentInput::Continue).await?;
    Ok(true)
}

/// Drains the run of a session: what runs ends, nothing else starts, and it can be resumed.
pub(crate) async fn drain(
    State(service): State<Service>,
    session: VisibleSession,
) -> Result<StatusCode, Problem> {
    let session = session.id();
    let is_asked = service.runs.drain_run(session)
        || service.runs.ask_host(session, RunRequest::Drain).await?;
    accepted_of_run(session, is_asked)
}

fn accepted_of_run(session: SessionId, is_running: bool) -> Result<StatusCode, Problem> {
    match is_running {
        true => Ok(StatusCode::ACCEPTED),
        false => Err(Problem::new(
            ProblemCode::NotRunning,
            format!("session {session} is not running"),
        )),
    }
}

/// Copies a session into a new one, without what waits or is allowed in it.
pub(crate) async fn fork(
    State(service): State<Service>,
    caller: Caller,
    session: VisibleSession,
    body: Result<JsonObject<ForkBody>, Problem>,
) -> Result<(StatusCode, Json<SessionRef>), Problem> {
    let session = session.id();
    let ForkBody { at } = body?.0;
    let by = Copier {
        name: caller.name(),
        owner: caller.owner(),
    };
    let session = service.store().fork(session, at, Some(by)).await?;
    Ok((StatusCode::CREATED, Json(SessionRef { session })))
}

/// Draws the runs of workflows in a session, with the states of their nodes.
pub(crate) async fn graph(
    State(service): State<Service>,
    session: VisibleSession,
) -> Result<Json<Drawings>, Problem> {
    let session = session.id();
    let store = service.store();
    let runs = workflow_drawings(store, session).await?;
    let runs = runs.into_iter().map(|run| (run.text, run.layout));
    let (drawings, layouts) = runs.unzip();
    Ok(Json(Drawings { drawings, layouts }))
}

/// Deletes a session with those of its agents. One that runs is refused.
pub(crate) async fn delete(
    State(service): State<Service>,
    caller: Caller,
    session: VisibleSession,
) -> Result<StatusCode, Problem> {
    let session = session.id();
    // Held until it is gone, so that it does not start to run meanwhile.
    let _slot = service.hold(&caller, session).await?;
    service.store().delete(session).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Runs a session with an input.
pub(crate) async fn run_input(
    service: &Service,
    caller: &Caller,
    session: SessionId,
    input: AgentInput,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let slot = service.reserve(caller, session).await?;
    run_reserved(service, slot, session, input).await
}

/// Runs a session, whose place is taken, with an input.
pub(crate) async fn run_reserved(
    service: &Service,
    slot: Slot,
    session: SessionId,
    input: AgentInput,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let opened = service.host.sessions().resume(&session.to_string()).await?;
    let agent = service.host.agents().session_agent(&opened, Prompts::Ask)?;
    let accepted = service.start(slot, agent, opened, input).await?;
    Ok((StatusCode::ACCEPTED, Json(accepted)))
}

impl Service {
    /// Returns the rows of sessions that were read.
    pub(crate) async fn rows(
        &self,
        sessions: Vec<SessionInfo>,
    ) -> Result<Vec<SessionRow>, Problem> {
        let mut rows = self.rows_once(sessions).await?;
        // A run may have ended after its session was read, of which a client that polls would take
        // the turn before for the end. What is read now is at least as new as that end.
        let is_stale = |row: &SessionRow| {
            let status = row.info.status;
            let is_open = matches!(status, SessionStatus::Running | SessionStatus::Interrupted);
            is_open && !row.running
        };
        let stale: Vec<SessionId> = rows
            .iter()
            .filter(|row| is_stale(row))
            .map(|row| row.info.id)
            .collect();
        if !stale.is_empty() {
            let read = self.store().infos(stale).await?;
            let read = self.rows_once(read).await?.into_iter();
            let mut read: HashMap<SessionId, SessionRow> =
                read.map(|row| (row.info.id, row)).collect();
            for row in &mut rows {
                if let Some(newer) = read.remove(&row.info.id) {
                    *row = newer;
                }
            }
        }
        Ok(rows)
    }

    async fn rows_once(&self, sessions: Vec<SessionInfo>) -> Result<Vec<SessionRow>, Problem> {
        let ids = sessions.iter().map(|info| info.id).collect();
        let mut runs = self.shared_runs(ids).await?;
        let row = |info: SessionInfo| {
            let run = runs.remove(&info.id);
            let elsewhere = run.as_ref().map(|run| run.state);
            SessionRow {
                running: self.runs.is_running(info.id) || elsewhere == Some(RunState::Running),
                run,
                info,
            }
        };
        Ok(sessions.into_iter().map(row).collect())
    }

    pub(crate) async fn reserve(
        &self,
        caller: &Caller,
        session: SessionId,
    ) -> Result<Slot, Problem> {
        let reserved = self.runs.reserve(session, Some(caller.name())).await;
        reserved.map_err(refused_run)
    }

    /// Takes the place for the run of a session, for something that runs no turn.
    pub(crate) async fn hold(&self, caller: &Caller, session: SessionId) -> Result<Slot, Problem> {
        let held = self.runs.hold(session, Some(caller.name())).await;
        held.map_err(refused_run)
    }

    pub(crate) async fn start(
        &self,
        slot: Slot,
        agent: Agent,
        session: Session,
        input: AgentInput,
    ) -> Result<Accepted, Problem> {
        let id = session.id();
        let host = self.host.clone();
        match runs::start(slot, host, agent, session, input).await {
            Ok(seq) => Ok(Accepted { session: id, seq }),
            Err(end) => Err(refused_input(&end)),
        }
    }
}

/// Returns the problem of a run that cannot start.
pub(crate) fn refused_run(refused: Refused) -> Problem {
    match refused {
        Refused::Running => Problem::new(
            ProblemCode::SessionRunning,
            "the session is running; wait for it to end, or cancel it",
        ),
        Refused::ShuttingDown => Problem::new(
            ProblemCode::ShuttingDown,
            "the server is stopping; send this again when it is back",
        ),
        Refused::Full => Problem::new(
            ProblemCode::TooManyRuns,
            "the maximum number of sessions is running; send this again later, or raise `max-runs` or \
             `max-memory-bytes` in [hosts]",
        ),
    }
}

/// Returns the problem of a turn that ended before anything was recorded.
fn refused_input(end: &TurnEnd) -> Problem {
    match end {
        TurnEnd::Error {
            error: TurnError::Input { message },
        } => Problem::new(ProblemCode::NotWaiting, message.clone()),
        TurnEnd::Error {
            error: TurnError::Journal { message },
        } => Problem::of_store(message),
        TurnEnd::Error { error } => Problem::new(ProblemCode::Internal, error.to_string()),
        end => Problem::new(
            ProblemCode::NotWaiting,
            format!(
                "there was nothing to do; the turn ended with `{}`",
                end.kind()
            ),
        ),
    }
}

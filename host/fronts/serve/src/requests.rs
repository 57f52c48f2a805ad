//! The open requests of a session, and the answers to them.

use crate::{
    Service,
    access::{AccessRole, Caller},
    create::idempotency_key,
    input::AnswerBody,
    once::send_once,
    problem::{Problem, ProblemCode},
    routes::{JsonObject, Path},
    scope::VisibleSession,
    sessions::{Accepted, run_input},
};
use agent_host_app::{FileChange, ToolReach, open_request, tool_reach};
use agent_host_engine::{
    policy::main_argument,
    turn::{effect_in_words, is_place, leads_to, mixed_words},
};
use agent_host_types::{
    continuation::{Awaiting, Continuation, PendingCall},
    id::{CallId, SessionId, json_digest},
};
use axum::{Json, extract::State};
use http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// The open requests of a session: none or one. What its agents wait for is inside.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Requests {
    /// The handles, to be sent back with the answer.
    requests: Vec<Continuation>,
}

/// The changes that the calls of the open request would make to files, and what their tools may
/// reach. A call without a change writes no text, or too much of it.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct RequestChanges {
    /// The changes.
    changes: Vec<CallChange>,
    /// The reach of the calls' tools; empty for a token that may not decide on calls.
    reach: Vec<CallReach>,
    /// The calls with names that may look like others.
    mixed: Vec<CallMixed>,
}

/// The words in a call that mix the letters of several scripts.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CallMixed {
    /// The call.
    call_id: CallId,
    /// Each word with its scripts.
    words: Vec<String>,
}

/// The reach of a call's tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CallReach {
    /// The call.
    call_id: CallId,
    /// The name of the argument with the path or URL that the call is about, if the tool has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// The declared effect, in words.
    effect: &'static str,
    /// Where the path leads unless a part of it is a link; absent for one without `..`.
    #[serde(skip_serializing_if = "Option::is_none")]
    leads_to: Option<String>,
    /// The place where the call runs, such as a component.
    origin: String,
    /// A sentence about what the call may reach beyond its target; absent if it reaches nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    beyond: Option<String>,
    /// Whether the call runs outside of the sandbox.
    is_outside: bool,
}

/// The change that a call would make to a file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CallChange {
    /// The call.
    call_id: CallId,
    /// The change.
    change: FileChange,
}

/// Lists the open requests of a session.
pub(crate) async fn list(
    State(service): State<Service>,
    session: VisibleSession,
) -> Result<Json<Requests>, Problem> {
    let session = session.id();
    let open = unless_running(&service, session).await?;
    Ok(Json(Requests {
        requests: open.into_iter().collect(),
    }))
}

/// Shows what the waiting calls would change, also those of agents. A file is read as the tool
/// would read it.
pub(crate) async fn changes(
    State(service): State<Service>,
    caller: Caller,
    session: VisibleSession,
) -> Result<Json<RequestChanges>, Problem> {
    let session = session.id();
    let open = unless_running(&service, session).await?;
    let mut calls = Vec::new();
    if let Some(continuation) = open {
        waiting_calls(continuation, &mut calls);
    }
    let registry = service.host.agents().registry();
    let tools = registry.tool_set();
    let is_decider = caller.role() >= AccessRole::Approver;
    let mut shown = RequestChanges::default();
    for call in calls {
        if is_decider {
            let tool = tools.get(&call.tool);
            let target = tool.and_then(|tool| main_argument(&tool.tool.definition));
            let reach = tool_reach(registry, &call.tool);
            shown.reach.push(call_reach(&call, target, reach));
        }
        let words = mixed_words(&call, &call.input);
        if !words.is_empty() {
            let call_id = call.call_id.clone();
            shown.mixed.push(CallMixed { call_id, words });
        }
        if let Some(change) = registry.file_change(&call.tool, &call.input).await {
            let call_id = call.call_id;
            shown.changes.push(CallChange { call_id, change });
        }
    }
    Ok(Json(shown))
}

/// Returns the reach of a call with this main argument.
fn call_reach(call: &PendingCall, target: Option<&str>, reach: ToolReach) -> CallReach {
    let place = target.filter(|name| is_place(name));
    CallReach {
        call_id: call.call_id.clone(),
        target: place.map(str::to_owned),
        effect: effect_in_words(call.effect, target, !reach.is_outside),
        leads_to: place.and_then(|name| leads_to(name, &call.input)),
        origin: reach.origin,
        beyond: reach.beyond,
        is_outside: reach.is_outside,
    }
}

/// Collects the calls that wait for approval.
fn waiting_calls(continuation: Continuation, calls: &mut Vec<PendingCall>) {
    match continuation.awaiting {
        Awaiting::Confirm { calls: waiting, .. } => calls.extend(waiting),
        Awaiting::Children { children } => {
            for child in children {
                waiting_calls(child.continuation, calls);
            }
        }
        Awaiting::Answer { .. } | Awaiting::External { .. } => {}
    }
}

/// Answers a request and continues the session. A request takes one answer.
pub(crate) async fn answer(
    State(service): State<Service>,
    caller: Caller,
    session: VisibleSession,
    Path((_, request)): Path<(String, String)>,
    headers: HeaderMap,
    body: Result<JsonObject<Value>, Problem>,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let session = session.id();
    let body = body?.0;
    let digest = json_digest(&json!([session, request, body]));
    let body: AnswerBody = serde_json::from_value(body)
        .map_err(|error| Problem::invalid(format!("the body is not an answer: {error}")))?;
    caller.require(body.least_role())?;
    let key = idempotency_key(&headers)?;
    // The name of a request is that of its session and a number.
    if body.request() != format!("{session}/{request}") {
        return Err(Problem::new(
            ProblemCode::NotWaiting,
            "the continuation belongs to another request; read the open requests again",
        ));
    }
    let input = body.into_input()?;
    match key {
        Some(key) => send_once(&service, &caller, session, key, input, Some(digest)).await,
        None => run_input(&service, &caller, session, input).await,
    }
}

/// Returns what a session waits for, unless it runs.
async fn unless_running(
    service: &Service,
    session: SessionId,
) -> Result<Option<Continuation>, Problem> {
    let store = service.store();
    let open = open_request(store, session).await?;
    if open.is_none() || !service.runs.is_running(session) {
        return Ok(open);
    }
    // The stream tells the end of a turn before the run has ended; or the request was just answered.
    if service.runs.is_running_on(session).await {
        return Ok(None);
    }
    Ok(open_request(store, session).await?)
}

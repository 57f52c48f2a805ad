//! Undoing what an answer has changed in files.

use crate::{Service, access::Caller, problem::Problem, routes::JsonObject, scope::VisibleSession};
use agent_host_app::{UndoRequest, UndoneAnswer, undo_answer};
use agent_host_engine::stream::{StreamLine, StreamObserver};
use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How to undo.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UndoBody {
    /// Whether files that were changed since are restored, too [default: false].
    #[serde(default)]
    force: bool,
}

/// The result of undoing.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UndoResult {
    /// The answer; absent if no answer of the session has changed files that are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    undone: Option<UndoneAnswer>,
}

/// Restores the files that the newest answer of a session has changed.
pub(crate) async fn undo(
    State(service): State<Service>,
    caller: Caller,
    session: VisibleSession,
    body: Result<JsonObject<UndoBody>, Problem>,
) -> Result<Json<UndoResult>, Problem> {
    let session = session.id();
    let UndoBody { force } = body?.0;
    // Held until it is done, so that no call changes files meanwhile.
    let _slot = service.hold(&caller, session).await?;
    let host = &service.host;
    let mut opened = host.sessions().resume(&session.to_string()).await?;
    let feed = service.runs.feed(session);
    let write = |line: Arc<StreamLine>| {
        feed.publish(line);
    };
    let observer = StreamObserver::new(&write);
    let store = service.store();
    let request = UndoRequest {
        force,
        by: Some(caller.name()),
        // The session may be one of other grants, or of another project.
        within: Some(host.agents().registry().clone()),
    };
    let undone = undo_answer(store, &mut opened, request, &observer).await?;
    Ok(Json(UndoResult { undone }))
}

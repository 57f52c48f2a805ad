//! Whether the server lives, and whether it can take work.

use crate::{
    Service,
    access::{AccessRole, Caller},
    problem::{Problem, ProblemCode},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::model::Provenance;
use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;

/// The version and the model of the server.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Health {
    /// The version of the program.
    version: &'static str,
    /// The model of the agent of the file's top level.
    model: Provenance,
    /// The role of the request's token.
    role: &'static str,
    /// Whether links to sessions may be made.
    links: bool,
}

/// Answers while the server runs.
pub(crate) async fn health(State(service): State<Service>, caller: Caller) -> Json<Health> {
    Json(Health {
        version: env!("CARGO_PKG_VERSION"),
        model: service.host.agents().model().provenance(),
        role: caller.role().as_str(),
        links: service.host.config().session_links,
    })
}

/// Answers if the journal can be read and written, the compiler of components starts, and runs can
/// start.
pub(crate) async fn ready(
    State(service): State<Service>,
    caller: Caller,
) -> Result<Json<Health>, Problem> {
    if !service.runs.is_open() {
        return Err(Problem::new(
            ProblemCode::ShuttingDown,
            "the server is stopping",
        ));
    }
    let store = service.store();
    let failed = |error: JournalError| match caller.role() {
        AccessRole::Operator => Problem::new(ProblemCode::Internal, error.to_string()),
        _ => error.into(),
    };
    let approvals = service.host.sessions().remembered();
    approvals.await.map_err(failed)?;
    // Nothing is written, by a transaction that could write.
    let written = store.remember_approvals(Vec::new()).await;
    written.map_err(failed)?;
    let compiler = service.host.agents().registry().check_compiler().await;
    compiler.map_err(|error| Problem::new(ProblemCode::Internal, error.to_string()))?;
    Ok(health(State(service), caller).await)
}

//! The memory of agents beyond a session, for callers that see those sessions.

use crate::{
    Service,
    access::{
        AccessRole::{Operator, User, Viewer},
        Caller,
    },
    openapi::Operation,
    problem::{Problem, ProblemCode},
    routes::{API, Path, Route},
};
use agent_host_engine::session::now_ms;
use agent_host_journal::{MemoryChange, MemoryItem, MemoryQuery, MemoryScope};
use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
    routing::{delete, get, post},
};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The items of a page by default, and at most.
const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 500;

/// The query of a list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MemoryListQuery {
    /// Words, each of which begins one of a text. Items with more of them come first.
    #[serde(default)]
    words: String,
    /// The number of items that are skipped [default: 0].
    #[serde(default)]
    offset: u32,
    /// The maximum number of items, up to 500 [default: 50].
    limit: Option<u32>,
}

/// Remembered items.
#[derive(Debug, Serialize, JsonSchema)]
struct MemoryPage {
    /// The items. Their texts and sources are untrusted.
    items: Vec<MemoryItem>,
}

/// Creates the routes of what is remembered.
pub(crate) fn routes() -> Vec<Route> {
    let route = |role, path, handler, operation| {
        Route::described(role, &format!("{API}{path}"), handler, operation)
    };
    vec![
        route(
            Viewer,
            "/memory",
            get(list),
            Operation::get("Lists what agents remember beyond a session.")
                .query::<MemoryListQuery>()
                .returns::<MemoryPage>(200)
                .fails(&[ProblemCode::InvalidRequest]),
        ),
        route(
            User,
            "/memory/{item}",
            delete(forget),
            Operation::delete("Removes a remembered item.")
                .empty(204)
                .fails(&[ProblemCode::NotFound]),
        ),
        route(
            Operator,
            "/memory/{item}/trust",
            post(trust),
            Operation::post("Trusts a remembered item, whatever its sources are.")
                .empty(204)
                .fails(&[ProblemCode::NotFound]),
        ),
    ]
}

async fn list(
    State(service): State<Service>,
    caller: Caller,
    query: Result<Query<MemoryListQuery>, QueryRejection>,
) -> Result<Json<MemoryPage>, Problem> {
    let Query(asked) = query?;
    let query = MemoryQuery {
        words: asked.words,
        offset: asked.offset,
        limit: asked.limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT),
        ..MemoryQuery::all(scope(&service, &caller), now_ms())
    };
    let items = service.store().memory_items(query).await?;
    Ok(Json(MemoryPage { items }))
}

async fn forget(
    State(service): State<Service>,
    caller: Caller,
    Path(item): Path<String>,
) -> Result<StatusCode, Problem> {
    change(&service, &caller, item, MemoryChange::Forget).await
}

async fn trust(
    State(service): State<Service>,
    caller: Caller,
    Path(item): Path<String>,
) -> Result<StatusCode, Problem> {
    change(&service, &caller, item, MemoryChange::Trust).await
}

fn scope(service: &Service, caller: &Caller) -> MemoryScope {
    MemoryScope::of_sessions(service.scope(caller), caller.owner())
}

/// Changes the item with this id.
async fn change(
    service: &Service,
    caller: &Caller,
    id: String,
    change: MemoryChange,
) -> Result<StatusCode, Problem> {
    let scope = scope(service, caller);
    let changes = service.store().change_item(scope, &id, change, now_ms());
    match changes.await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::not_found("unknown item; pass the whole id")),
    }
}

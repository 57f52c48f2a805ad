//! The use of models and tools in the sessions that a token sees, as `agent-host stats` has it.

use crate::{Service, access::Caller, problem::Problem};
use agent_host_app::{Since, Stats};
use agent_host_engine::session::now_ms;
use agent_host_types::stats::StatsBy;
use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use schemars::JsonSchema;
use serde::Deserialize;

/// The query of the figures.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatsQuery {
    /// The subject of the rows [default: day].
    #[serde(default)]
    by: StatsBy,
    /// The first day, `YYYY-MM-DD` in UTC, or a number of days, such as `7d`, today included
    /// [default: all].
    since: Option<String>,
}

/// Reads the figures of the sessions that the token sees.
pub(crate) async fn stats(
    State(service): State<Service>,
    caller: Caller,
    query: Result<Query<StatsQuery>, QueryRejection>,
) -> Result<Json<Stats>, Problem> {
    let Query(StatsQuery { by, since }) = query?;
    let since = since.as_deref().map(Since::parse).transpose();
    let since = since.map_err(|why| Problem::invalid(format!("invalid `since`: {why}")))?;
    let since_ms = since.map_or(0, |since| since.start_ms(now_ms()));
    let store = service.store();
    let scope = service.scope(&caller);
    Ok(Json(Stats::read(store, scope, by, since_ms).await?))
}

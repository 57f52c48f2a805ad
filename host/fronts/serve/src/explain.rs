//! Explanations of the calls of a session, and the grants of the tools.

use crate::{Service, problem::Problem, scope::VisibleSession};
use agent_host_app::{Explanation, grant_lines, reach};
use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;

/// The grants of the configuration, as the policy enforces them.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GrantList {
    /// A line for each group of components with equal grants.
    reach: Vec<String>,
    /// The components.
    components: Vec<ComponentGrants>,
}

/// The grants of a component.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ComponentGrants {
    /// The name of the component.
    component: String,
    /// A line for each grant, and one each for no files and no network.
    grants: Vec<String>,
}

/// Explains the requests of a session's calls to the gate.
pub(crate) async fn explain(
    State(service): State<Service>,
    session: VisibleSession,
) -> Result<Json<Explanation>, Problem> {
    let session = session.id();
    let config = service.host.config();
    let mut explanation = Explanation::read(service.store(), session).await?;
    explanation.suggest(config.implied_grant(), &config.rules);
    Ok(Json(explanation))
}

/// Lists the grants.
pub(crate) async fn grants(State(service): State<Service>) -> Json<GrantList> {
    let registry = service.host.agents().registry();
    let components = registry.components().map(|entry| ComponentGrants {
        component: entry.name.clone(),
        grants: grant_lines(&entry.grants),
    });
    Json(GrantList {
        components: components.collect(),
        reach: reach(registry),
    })
}

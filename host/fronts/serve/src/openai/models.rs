//! Agents as models.

use super::error::ApiError;
use crate::{Service, routes::Path};
use agent_host_app::Config;
use axum::{Json, extract::State};
use serde_json::{Value, json};

/// The model of the agent of the file's top level.
pub(super) const DEFAULT: &str = "agent-host";

/// Lists the agents.
pub(super) async fn list(State(service): State<Service>) -> Json<Value> {
    let models: Vec<Value> = names(service.host.config())
        .into_iter()
        .map(model)
        .collect();
    Json(json!({"object": "list", "data": models}))
}

/// Describes an agent.
pub(super) async fn read(
    State(service): State<Service>,
    Path(name): Path<String>,
) -> Result<Json<Value>, ApiError> {
    agent(service.host.config(), &name)?;
    Ok(Json(model(&name)))
}

/// Returns the name of a model's agent; `None` for that of the file's top level.
pub(super) fn agent(config: &Config, model: &str) -> Result<Option<String>, ApiError> {
    let names = names(config);
    if !names.contains(&model) {
        let message = format!(
            "unknown model `{}`; the models are the agents of this server: {}",
            model.escape_debug(),
            names.join(", ")
        );
        return Err(ApiError::not_found("model_not_found", message).at("model"));
    }
    Ok((model != DEFAULT).then(|| model.to_owned()))
}

pub(super) fn model_of(agent: Option<&str>) -> &str {
    agent.unwrap_or(DEFAULT)
}

fn names(config: &Config) -> Vec<&str> {
    let agents = config.agent_definitions.iter();
    let named = agents.map(|agent| agent.name.as_str());
    let named = named.filter(|name| *name != DEFAULT);
    std::iter::once(DEFAULT).chain(named).collect()
}

fn model(name: &str) -> Value {
    json!({"id": name, "object": "model", "created": 0, "owned_by": "agent-host"})
}

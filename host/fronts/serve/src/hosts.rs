//! The hosts that share the store, and the runs that they continue for each other.

use crate::{Service, access::Caller, problem::Problem};
use agent_host_journal::{HostReport, RunState, SessionScope, SharedRun};
use agent_host_types::id::SessionId;
use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// The hosts that share the store.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Hosts {
    /// Those that reported in the last 30 s, the oldest first; none if the store has one host.
    hosts: Vec<HostReport>,
}

/// Lists the hosts that share the store, of the project unless the caller sees all.
pub(crate) async fn hosts(
    State(service): State<Service>,
    caller: Caller,
) -> Result<Json<Hosts>, Problem> {
    let mut hosts = match service.runs.shared() {
        Some(shared) => shared.hosts().await?,
        None => Vec::new(),
    };
    if service.scope(&caller) != SessionScope::All {
        let placement = service.host.placement();
        hosts.retain(|host| placement.has_project_of(&host.status.parts));
    }
    Ok(Json(Hosts { hosts }))
}

impl Service {
    /// Returns the runs of sessions that hosts share. One that waits, and that no host may
    /// continue, says why.
    pub(crate) async fn shared_runs(
        &self,
        sessions: Vec<SessionId>,
    ) -> Result<HashMap<SessionId, SharedRun>, Problem> {
        let Some(shared) = self.runs.shared() else {
            return Ok(HashMap::new());
        };
        let mut runs = shared.runs_of(sessions).await?;
        let waits =
            |run: &SharedRun| matches!(run.state, RunState::Waiting | RunState::Interrupted);
        if runs.iter().any(waits) {
            let hosts = shared.hosts().await?;
            for run in runs.iter_mut().filter(|run| waits(run)) {
                run.reason = missing_host(run, &hosts);
            }
        }
        Ok(runs.into_iter().map(|run| (run.session, run)).collect())
    }
}

/// Returns why no host may continue a run; `None` if one may.
fn missing_host(run: &SharedRun, hosts: &[HostReport]) -> Option<String> {
    let mut fitting = hosts
        .iter()
        .filter(|host| host.status.configuration == run.configuration)
        .peekable();
    if fitting.peek().is_none() {
        return Some(
            "no host has the components, grants, rules, agents and servers of this run; start one that does, or \
             resume the session to continue it with those of this host".to_owned(),
        );
    }
    let machine = run.machine.as_deref()?;
    match fitting.any(|host| host.status.machine == machine) {
        true => None,
        false => Some(format!(
            "it needs directories that only {machine} has, and no host runs there; start one there, or list the \
             directories in `shared-directories` of [hosts] if every host has them"
        )),
    }
}

//! The hosts that may continue the runs of this one: those of the same project that run the same
//! components with the same grants, rules, agents and servers, on a machine with the directories
//! that they reach.

use crate::{
    agents::ConfiguredAgents, components::ComponentEntry, config::ComponentServer,
    reach::grant_lines, store::session_project,
};
use agent_host_journal::Placement;
use agent_host_types::id::{Digest, json_digest};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

/// The part that names the project.
const PROJECT: &str = "project";

/// The configuration and the machine of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPlacement {
    /// The name of the machine.
    pub machine: String,
    /// The digests of what it runs, by part.
    pub parts: BTreeMap<String, Digest>,
    /// The digest of them all.
    pub configuration: Digest,
    /// The directories that its tools and hooks reach, and that only this machine has.
    pub local_directories: BTreeSet<PathBuf>,
}

impl HostPlacement {
    pub(crate) fn new(agents: &ConfiguredAgents) -> Self {
        let (config, registry, rules) = (agents.config(), agents.registry(), &agents.rules);
        let hooks = registry.hooks().iter();
        let hooks: Vec<&ComponentEntry> = hooks.map(|hook| &*hook.component).collect();
        let entries: Vec<&ComponentEntry> = registry.components().map(Arc::as_ref).collect();
        let all = || entries.iter().chain(&hooks);
        let components = all().map(|entry| json!([entry.name, entry.component.digest()]));
        let grants =
            all().map(|entry| json!([entry.name, grant_lines(&entry.grants), entry.limits]));
        let rules = rules.rules.iter().chain(rules.approved.iter());
        let flow = (!config.flow.is_off()).then(|| format!("{:?}", config.flow));
        let agents = config.agent_definitions.iter();
        let servers = registry.servers().iter();
        let parts = [
            ("components", Value::from_iter(components)),
            ("grants", Value::from_iter(grants)),
            // The form of a rule for developers has all of it.
            (
                "rules",
                Value::from_iter(rules.map(|rule| format!("{rule:?}")).chain(flow)),
            ),
            (
                "agents",
                Value::from_iter(agents.map(|agent| json!([agent.name, agent.definition]))),
            ),
            (
                "servers",
                Value::from_iter(servers.map(|entry| {
                    let reach = &entry.server.config().reach;
                    match entry.config.component() {
                        Some(ComponentServer { grants, limits, .. }) => {
                            let grants = grant_lines(grants);
                            json!([entry.config.name, reach.identity(), grants, limits])
                        }
                        None => json!([entry.config.name, reach.identity()]),
                    }
                })),
            ),
        ];
        let parts = parts.map(|(part, value)| (part.to_owned(), json_digest(&value)));
        let mut parts = BTreeMap::from(parts);
        let project = session_project(config);
        parts.insert(PROJECT.to_owned(), json_digest(&json!(project)));
        let directories = registry.grants().flat_map(|grants| &grants.dirs);
        let local = directories.filter(|dir| !config.hosts.shares(&dir.host));
        Self {
            machine: config.hosts.machine.clone(),
            configuration: json_digest(&json!(parts)),
            local_directories: local.map(|dir| dir.host.clone()).collect(),
            parts,
        }
    }

    /// Whether a host is of the same project, which it reports with these parts.
    #[must_use]
    pub fn has_project_of(&self, parts: &BTreeMap<String, Digest>) -> bool {
        parts.get(PROJECT) == self.parts.get(PROJECT)
    }

    /// Returns the hosts that may continue a run of this one.
    #[must_use]
    pub fn of_runs(&self) -> Placement {
        let is_local = !self.local_directories.is_empty();
        Placement {
            configuration: self.configuration,
            machine: is_local.then(|| self.machine.clone()),
        }
    }
}

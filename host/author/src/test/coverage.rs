//! What the cases did not touch: grants that no call used, which a tool then does not need, and tools without a case. Whether a
//! variable was read cannot be seen, so variables are not among them.

use super::{case::Case, run::Run};
use agent_host_engine::policy::Grants;
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    tool::ToolDefinition,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What was used, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Each grant of each file.
    pub grants: Vec<GrantUse>,
    /// The tools that no case calls.
    pub uncalled: Vec<String>,
}

/// A grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GrantUse {
    /// The file that has it.
    pub file: String,
    /// What is granted.
    pub grant: String,
    /// Whether a call of any case used it.
    pub used: bool,
}

/// What is gathered while the cases run.
#[derive(Default)]
pub(super) struct Touched {
    /// By file and grant.
    grants: BTreeMap<(String, String), bool>,
    tools: BTreeSet<String>,
}

impl Touched {
    /// Adds what the calls of a case used.
    pub(super) fn add(&mut self, case: &Case, runs: &[Run]) {
        self.tools.insert(case.tool.clone());
        let file = case.file.display().to_string();
        for (rule, grant) in named(&case.reach.grants) {
            let used = runs
                .iter()
                .flat_map(|run| &run.audit)
                .any(|entry| entry.verdict == AuditVerdict::Allowed && entry.rule == rule);
            *self.grants.entry((file.clone(), grant)).or_default() |= used;
        }
    }

    /// What came together.
    pub(super) fn coverage(self, tools: &[ToolDefinition]) -> Coverage {
        let Self {
            grants,
            tools: called,
        } = self;
        let grants = grants.into_iter();
        let names = tools.iter().map(|tool| &tool.name);
        Coverage {
            grants: grants
                .map(|((file, grant), used)| GrantUse { file, grant, used })
                .collect(),
            uncalled: names
                .filter(|name| !called.contains(*name))
                .cloned()
                .collect(),
        }
    }
}

/// Whether a call was allowed anything that changes the world outside of its session.
pub(super) fn changed(audit: &[AuditEntry]) -> bool {
    let harmless = ["stat", "list", "read", "GET", "HEAD"];
    audit.iter().any(|entry| {
        let what = entry.request.split(' ').next().unwrap_or_default();
        entry.verdict == AuditVerdict::Allowed
            && !harmless.contains(&what)
            // Of a secret, the request that it went into says it.
            && !what.starts_with("secret://")
    })
}

/// The grants, each by the rule that the gate writes down and in words.
fn named(grants: &Grants) -> Vec<(String, String)> {
    let dirs = grants.dirs.iter().enumerate().map(|(index, dir)| {
        (
            format!("grants.dir[{index}]"),
            format!("the folder {} as {}", dir.host.display(), dir.guest),
        )
    });
    let http = grants.http.iter().enumerate().map(|(index, http)| {
        let port = http.port.map(|port| format!(":{port}")).unwrap_or_default();
        let path = http.path_prefix.as_deref().unwrap_or_default();
        (
            format!("grants.http[{index}]"),
            format!("requests to {}{port}{path}", http.host),
        )
    });
    let secrets = grants.secrets.iter().enumerate().map(|(index, secret)| {
        (
            format!("grants.secrets[{index}]"),
            format!("the secret {}", secret.name),
        )
    });
    dirs.chain(http).chain(secrets).collect()
}

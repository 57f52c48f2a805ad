//! Coverage: grants that no call used and tools without a case. Variables are excluded, since
//! reading them is not observable.

#[cfg(test)]
mod tests;

use super::{case::Case, run::ObservedCall};
use agent_host_engine::policy::Grants;
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    audit::AuditRequest,
    tool::ToolDefinition,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The coverage of a test run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// The grants of each file.
    pub grants: Vec<GrantUse>,
    /// The tools without a case.
    pub uncalled: Vec<String>,
}

/// The use of a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GrantUse {
    /// The case file.
    pub file: String,
    /// The grant in words.
    pub grant: String,
    /// True if any call used it.
    pub used: bool,
}

/// The coverage collected during a run.
#[derive(Default)]
pub(super) struct CoverageBuilder {
    /// Whether a grant was used, by file and grant.
    grants: BTreeMap<(String, String), bool>,
    tools: BTreeSet<String>,
}

impl CoverageBuilder {
    /// Adds the calls of a case.
    pub(super) fn add(&mut self, case: &Case, runs: &[ObservedCall]) {
        self.tools.insert(case.tool.clone());
        let file = case.file.display().to_string();
        for (rule, grant) in named(&case.config.grants) {
            let used = runs
                .iter()
                .flat_map(|run| &run.audit)
                .any(|entry| entry.verdict == AuditVerdict::Allowed && entry.rule == rule);
            *self.grants.entry((file.clone(), grant)).or_default() |= used;
        }
    }

    pub(super) fn coverage(self, tools: &[ToolDefinition]) -> Coverage {
        let grants = self.grants.into_iter();
        let grants = grants.map(|((file, grant), used)| GrantUse { file, grant, used });
        let names = tools.iter().map(|tool| &tool.name);
        let uncalled = names.filter(|name| !self.tools.contains(*name)).cloned();
        Coverage {
            grants: grants.collect(),
            uncalled: uncalled.collect(),
        }
    }
}

/// Returns whether a call was allowed to change anything outside its session.
pub(super) fn changed(audit: &[AuditEntry]) -> bool {
    let changes = |request: &AuditRequest| match request {
        AuditRequest::File { action, .. } => action.changes(),
        AuditRequest::Http { method, .. } => !matches!(&**method, "GET" | "HEAD"),
        // Artifacts are the session's, and a secret is judged by the request that contains it.
        AuditRequest::Artifact { .. } | AuditRequest::Secret { .. } => false,
        AuditRequest::McpCall { .. } | AuditRequest::Others | AuditRequest::Unrecognized { .. } => {
            true
        }
    };
    audit
        .iter()
        .any(|entry| entry.verdict == AuditVerdict::Allowed && changes(&entry.request))
}

/// Returns the grants as pairs of the rule in the audit and a description.
fn named(grants: &Grants) -> Vec<(String, String)> {
    let rule = |list, index| format!("grants.{list}[{index}]");
    let dirs = grants.dirs.iter().enumerate().map(|(index, dir)| {
        let grant = format!("the directory {} as {}", dir.host.display(), dir.guest);
        (rule("dir", index), grant)
    });
    let http = grants.http.iter().enumerate().map(|(index, http)| {
        let port = http.port.map(|port| format!(":{port}")).unwrap_or_default();
        let path = http.path_prefix.as_deref().unwrap_or_default();
        let grant = format!("requests to {}{port}{path}", http.host);
        (rule("http", index), grant)
    });
    let secrets = grants.secrets.iter().enumerate().map(|(index, secret)| {
        let grant = format!("the secret {}", secret.name);
        (rule("secrets", index), grant)
    });
    dirs.chain(http).chain(secrets).collect()
}

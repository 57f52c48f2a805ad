//! The sources of a result that count: those of the requests that the gate allowed.

use super::{FlowPolicy, FlowState};
use crate::artifact::{Artifact, Artifacts, READ_ARTIFACT};
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    artifact::ArtifactName,
    audit::{ArtifactOp, AuditRequest, FileAction},
    tool::{ToolCall, ToolRuntime},
};
use serde_json::Value;
use std::collections::BTreeSet;

/// The most sources that one event names. Of more, the rest is [`UNKNOWN`].
pub(super) const MAX_SOURCES: usize = 16;

/// The source of requests that were recorded only by their number, and of further sources.
pub const UNKNOWN: &str = "unknown";

/// The source that a runner names if the call read the shared state of the session.
pub const SHARED_STATE: &str = "state";

/// The call of a result, with its evidence.
pub(crate) struct Origin<'a> {
    pub(crate) policy: &'a FlowPolicy,
    pub(crate) state: &'a FlowState,
    pub(crate) artifacts: &'a Artifacts,
    pub(crate) call: &'a ToolCall,
    /// Absent for an unknown tool.
    pub(crate) runtime: Option<ToolRuntime>,
    pub(crate) audit: &'a [AuditEntry],
    /// The sources that the runner of the call named.
    pub(crate) known: &'a [String],
}

impl Origin<'_> {
    /// Returns the sources that are untrusted or have an audience, sorted and bounded.
    pub(crate) fn labels(&self) -> Vec<String> {
        let mut found = BTreeSet::new();
        for source in self.known {
            match source == SHARED_STATE {
                true => found.extend(self.state.sources_of_shared().cloned()),
                false => drop(found.insert(source.clone())),
            }
        }
        found.retain(|source| self.policy.counts(source));
        let mut add = |source: String| {
            if self.policy.counts(&source) {
                found.insert(source);
            }
        };
        add(format!("tool:{}", self.call.name));
        if self.runtime == Some(ToolRuntime::External) {
            add(format!("external:{}", self.call.name));
        }
        let allowed = || self.audit.iter().filter(|entry| is_allowed(entry));
        for entry in allowed() {
            source_of(&entry.request).into_iter().for_each(&mut add);
        }
        for reference in super::reference::references(self.call) {
            found.extend(self.state.sources_of(&reference.reference).iter().cloned());
        }
        for entry in allowed() {
            self.add_stored(&entry.request, &mut found);
        }
        if self.call.name == READ_ARTIFACT {
            let name = self.call.input.as_ref().and_then(|input| input.get("name"));
            let name = name.and_then(Value::as_str);
            self.add_artifact(name.unwrap_or_default(), &mut found);
        }
        self.policy.bounded(found)
    }

    /// Adds the sources of a file or an artifact that untrusted text has reached in this session.
    fn add_stored(&self, request: &AuditRequest, found: &mut BTreeSet<String>) {
        match request {
            AuditRequest::File { action, path, .. } if !action.changes() => {
                let sources = self.state.files.sources_of(path).into_iter();
                found.extend(sources.filter(|source| self.policy.counts(source)));
            }
            AuditRequest::Artifact {
                action: ArtifactOp::ReadArtifact,
                name,
            } => self.add_artifact(name, found),
            AuditRequest::Artifact {
                action: ArtifactOp::ListArtifacts,
                ..
            } => self.add_names(found),
            _ => {}
        }
    }

    /// Adds the sources of an artifact; of one that does not exist, those of the names in the error.
    fn add_artifact(&self, name: &str, found: &mut BTreeSet<String>) {
        let name: Option<ArtifactName> = name.parse().ok();
        match name.and_then(|name| self.artifacts.kept.get(&name)) {
            Some(artifact) => self.add_call_of(artifact, found),
            None => self.add_names(found),
        }
    }

    /// Adds the sources of all artifacts, since tools choose their names.
    fn add_names(&self, found: &mut BTreeSet<String>) {
        let artifacts = self.artifacts.kept.values();
        artifacts.for_each(|artifact| self.add_call_of(artifact, found));
    }

    fn add_call_of(&self, artifact: &Artifact, found: &mut BTreeSet<String>) {
        let call = artifact.call_id.iter();
        let sources = call.flat_map(|call| self.state.sources_of_call(call));
        found.extend(sources.cloned());
    }
}

pub(super) fn is_allowed(entry: &AuditEntry) -> bool {
    entry.verdict == AuditVerdict::Allowed
}

/// Returns the source of what an allowed request brought in; `None` if it brought in nothing that
/// somebody wrote.
pub(super) fn source_of(request: &AuditRequest) -> Option<String> {
    match request {
        AuditRequest::Http { url, .. } => {
            let host = url.split_once("://").map_or("", |(_, rest)| rest);
            let host = host.split(['/', '?', '#']).next().unwrap_or_default();
            let host = host.rsplit('@').next().unwrap_or_default();
            Some(format!("http:{host}"))
        }
        AuditRequest::McpCall { server, .. } => Some(format!("mcp:{server}")),
        AuditRequest::File {
            action: FileAction::Read | FileAction::ReadLink,
            path,
            ..
        } => Some(format!("dir:{path}")),
        // The names in it are text of whatever `PATH/**` names.
        AuditRequest::File {
            action: FileAction::List,
            path,
            ..
        } => Some(format!("dir:{}/", path.trim_end_matches('/'))),
        AuditRequest::Others | AuditRequest::Unrecognized { .. } => Some(UNKNOWN.to_owned()),
        AuditRequest::File { .. }
        | AuditRequest::Artifact { .. }
        // The host inserts the value, which the tool does not see.
        | AuditRequest::Secret { .. } => None,
    }
}

/// Returns sources, at most some, the last of which stands for the rest.
pub(super) fn bounded(found: BTreeSet<String>, max: usize) -> Vec<String> {
    let has_more = found.len() > max;
    let mut sources: Vec<String> = found.into_iter().take(max).collect();
    if has_more && !sources.iter().any(|source| source == UNKNOWN) {
        sources.pop();
        sources.push(UNKNOWN.to_owned());
    }
    sources
}

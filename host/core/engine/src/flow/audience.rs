//! Where text from a source may go: its audience, beyond which no call hands it.
//!
//! A call is limited by the sources of its arguments, and by what it reads itself. Within one call
//! all that it reads may be in all that it sends, whichever came first: a request begins before its
//! body ends.

use super::{
    FlowPolicy,
    sources::{OTHERS, source_of},
};
use crate::policy::{NameGlob, Ruling};
use agent_host_types::audit::{ArtifactOp, AuditRequest, FileAction};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The rule by which a call is denied that would hand text to others than its audience.
pub const AUDIENCE_RULE: &str = "flow.audience";

/// The operator's limit on where text from some sources goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AudienceRule {
    /// The sources.
    pub from: NameGlob,
    /// The destinations, written as sources: `http:HOST`, `mcp:NAME`, `external:TOOL`, `dir:PATH`
    /// and `memory`. Empty: no call hands it on.
    pub to: Vec<NameGlob>,
}

/// Where one call may hand text: within the audiences of all sources that reach it. Text may always
/// go back to where it is from.
///
/// ```
/// use agent_host_engine::{flow::{AudienceRule, FlowPolicy}, policy::NameGlob};
/// use agent_host_types::{audit::{AuditRequest, FileAction}, flow::FlowMode};
/// use std::sync::Arc;
///
/// let policy = Arc::new(FlowPolicy {
///     mode: FlowMode::Ask,
///     audiences: vec![AudienceRule {
///         from: NameGlob::new("dir:/workspace/private/*")?,
///         to: vec![NameGlob::new("http:crm.example")?],
///     }],
///     ..FlowPolicy::default()
/// });
/// let mut call = policy.audience(&[]);
/// let read = AuditRequest::file(FileAction::Read, "/workspace/private/plan.md".to_owned());
/// assert!(call.admit(&read).is_none());
/// assert!(call.admit(&AuditRequest::http("GET", "https://crm.example/a")).is_none());
/// assert!(call.admit(&AuditRequest::http("GET", "https://other.example/")).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Audience {
    /// Absent where no source has an audience.
    policy: Option<Arc<FlowPolicy>>,
    /// The sources with an audience that reached the call.
    sources: BTreeSet<String>,
    /// The destinations that got something from the call.
    sent: BTreeSet<String>,
    /// The sources of the artifacts that the call may read, by their names.
    artifacts: BTreeMap<String, Vec<String>>,
}

impl FlowPolicy {
    /// Returns whether text from a source may go to some destinations only. That from sources which
    /// are not recorded may be such text.
    #[must_use]
    pub fn has_audience(&self, source: &str) -> bool {
        let is_named = self.audiences.iter().any(|rule| rule.from.matches(source));
        is_named || (source == OTHERS && !self.audiences.is_empty())
    }

    /// Returns where a call may hand text from these sources.
    #[must_use]
    pub fn audience(self: &Arc<Self>, sources: &[String]) -> Audience {
        if !self.decides() || self.audiences.is_empty() {
            return Audience::default();
        }
        let sources = sources.iter().filter(|source| self.has_audience(source));
        Audience {
            sources: sources.cloned().collect(),
            policy: Some(Arc::clone(self)),
            ..Audience::default()
        }
    }

    /// Returns whether the audience of a source has a destination.
    fn admits(&self, source: &str, destination: &str) -> bool {
        let rules = self.audiences.iter();
        let mut rules = rules.filter(|rule| rule.from.matches(source)).peekable();
        source == destination
            || rules.peek().is_some()
                && rules.all(|rule| rule.to.iter().any(|to| to.matches(destination)))
    }

    /// Returns sources with an audience that may be below a directory.
    fn audiences_below<'p>(&'p self, directory: &str) -> impl Iterator<Item = &'p str> {
        let below = format!("dir:{}/", directory.trim_end_matches('/'));
        let globs = self.audiences.iter().map(|rule| rule.from.as_str());
        globs.filter(move |glob| {
            let fixed = glob.find(['*', '?', '[', '{', '\\']).unwrap_or(glob.len());
            let fixed = glob.get(..fixed).unwrap_or_default();
            fixed.starts_with(&below) || below.starts_with(fixed)
        })
    }
}

impl Audience {
    /// Returns whether some source has an audience, which a request of the call may be beyond.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.policy.is_some()
    }

    /// Names the sources of artifacts.
    #[must_use]
    pub(crate) fn with_artifacts(mut self, artifacts: BTreeMap<String, Vec<String>>) -> Self {
        self.artifacts = artifacts;
        self
    }

    /// Returns the denial of a call that hands its arguments to a destination; `None` if it may.
    #[must_use]
    pub fn refusal(&self, destination: &str) -> Option<Ruling> {
        let policy = self.policy.as_ref()?;
        let mut sources = self.sources.iter();
        let source = sources.find(|source| !policy.admits(source, destination))?;
        Some(beyond(source, destination))
    }

    /// Takes in a request that the grants allow, or returns its denial.
    pub fn admit(&mut self, request: &AuditRequest) -> Option<Ruling> {
        self.policy.as_ref()?;
        let read = self.sources_of(request).into_iter();
        for source in read {
            if let Some(denial) = self.read(source) {
                return Some(denial);
            }
        }
        match request {
            AuditRequest::Http { .. } => self.send(source_of(request)?),
            AuditRequest::File { action, path, .. } if action.changes() => {
                self.send(format!("dir:{path}"))
            }
            _ => None,
        }
    }

    /// Takes in that what is at a path is moved or gets another name, or returns its denial.
    pub fn admit_move(&mut self, path: &str) -> Option<Ruling> {
        let policy = self.policy.clone()?;
        let read = AuditRequest::file(FileAction::Read, path.to_owned());
        let below = policy.audiences_below(path).map(str::to_owned);
        let mut sources = source_of(&read).into_iter().chain(below);
        sources.find_map(|source| self.read(source))
    }

    /// Returns the sources of what a request reads. Tools choose the names that a list has.
    fn sources_of(&self, request: &AuditRequest) -> Vec<String> {
        match request {
            AuditRequest::Artifact { action, name } => match action {
                ArtifactOp::ListArtifacts => self.artifacts.values().flatten().cloned().collect(),
                ArtifactOp::ReadArtifact => {
                    let found = self.artifacts.get(name);
                    found.cloned().unwrap_or_default()
                }
                ArtifactOp::StoreArtifact | ArtifactOp::DeleteArtifact => Vec::new(),
            },
            _ => source_of(request).into_iter().collect(),
        }
    }

    fn send(&mut self, destination: String) -> Option<Ruling> {
        let denial = self.refusal(&destination);
        if denial.is_none() {
            self.sent.insert(destination);
        }
        denial
    }

    fn read(&mut self, source: String) -> Option<Ruling> {
        let policy = self.policy.as_ref()?;
        if !policy.has_audience(&source) {
            return None;
        }
        let mut sent = self.sent.iter();
        if let Some(to) = sent.find(|to| !policy.admits(&source, to)) {
            return Some(beyond(&source, to));
        }
        self.sources.insert(source);
        None
    }
}

fn beyond(source: &str, destination: &str) -> Ruling {
    let reason = format!("Text from {source} must not go to {destination}");
    Ruling::deny(AUDIENCE_RULE, reason)
}

//! Where text from a source may go: its audience, beyond which no call hands it.
//!
//! A call is limited by the sources of its arguments, and by what it reads itself. Within one call
//! all that it reads may be in all that it sends, whichever came first: a request begins before its
//! body ends.

use super::{
    FlowPolicy, GLOB,
    sources::{MAX_SOURCES, UNKNOWN, bounded, source_of},
};
use crate::policy::{NameGlob, Ruling};
use agent_host_types::{
    audit::{AuditRequest, FileAction},
    flow::HISTORY,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, sync::Arc};

/// The rule by which a call is denied that would hand text to others than its audience.
pub const AUDIENCE_RULE: &str = "flow.audience";

/// Destinations that keep what they get, and from which it is read later.
const KEPT: [&str; 2] = ["dir:", "memory"];

/// The operator's limit on where text from some sources goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AudienceRule {
    /// The sources.
    pub from: NameGlob,
    /// The destinations, written as sources: `http:HOST`, `mcp:NAME`, `external:TOOL`, `dir:PATH`
    /// and `memory`. Empty: no call hands it on. Files in them and the memory are sources with this
    /// audience, too, since the text may be there.
    pub to: Vec<NameGlob>,
}

impl AudienceRule {
    /// Returns whether it is about a source, or about its own, by which results name it.
    fn is_about(&self, source: &str) -> bool {
        // Nothing tells whether such text has what the rule is about.
        if source == UNKNOWN || source == HISTORY {
            return true;
        }
        let is_kept = |to: &&NameGlob| KEPT.iter().any(|kind| to.as_str().starts_with(kind));
        let mut kept = self.to.iter().filter(is_kept);
        self.from.as_str() == source || has(&self.from, source) || kept.any(|to| has(to, source))
    }

    fn admits(&self, destination: &str) -> bool {
        let back = self.from.as_exact() == Some(destination);
        back || self.to.iter().any(|to| has(to, destination))
    }

    /// Whether it may be about something below a directory.
    fn is_below(&self, directory: &str) -> bool {
        let below = format!("dir:{}/", directory.trim_end_matches('/'));
        [&self.from].into_iter().chain(&self.to).any(|glob| {
            let glob = glob.as_str();
            let fixed = glob.find(GLOB).unwrap_or(glob.len());
            let fixed = glob.get(..fixed).unwrap_or_default();
            fixed.starts_with(&below) || below.starts_with(fixed)
        })
    }
}

/// Whether a glob has a source. `dir:PATH/**` has the directory at `PATH`, too, and one that has a
/// directory what is below it.
pub(super) fn has(glob: &NameGlob, source: &str) -> bool {
    if glob.matches(source) {
        return true;
    }
    if !source.starts_with("dir:") {
        return false;
    }
    let ends = source.match_indices('/').map(|(end, _)| end);
    let mut above = ends.filter_map(|end| source.get(..end).filter(|above| *above != "dir:"));
    glob.matches(&format!("{source}/"))
        || above.any(|above| glob.matches(above) || glob.as_exact() == Some(&format!("{above}/")))
}

/// Where one call may hand text: within the audiences of all sources that reach it.
///
/// ```
/// use agent_host_engine::{flow::{AudienceRule, CallFlow, FlowPolicy}, policy::NameGlob};
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
/// let mut call = CallFlow::from(policy.audience(&[]));
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
    /// The positions of the rules about the text that reached the call, and of those about what it
    /// read itself.
    limits: BTreeSet<usize>,
    read: BTreeSet<usize>,
    /// The destinations that got something from the call.
    sent: BTreeSet<String>,
}

impl FlowPolicy {
    /// Returns whether text from a source may go to some destinations only.
    #[must_use]
    pub fn has_audience(&self, source: &str) -> bool {
        self.audiences.iter().any(|rule| rule.is_about(source))
    }

    /// Returns where a call may hand text from these sources.
    #[must_use]
    pub fn audience(self: &Arc<Self>, sources: &[String]) -> Audience {
        if !self.mode.decides() || self.audiences.is_empty() {
            return Audience::default();
        }
        let limits = sources.iter().flat_map(|source| self.rules_about(source));
        Audience {
            limits: limits.collect(),
            policy: Some(Arc::clone(self)),
            ..Audience::default()
        }
    }

    /// Returns sources as an event names them. Those with an audience become those of its rules, of
    /// which there are few; the path of each file is in the call's requests. An untrusted one stays
    /// as well, unless there are too many.
    pub(crate) fn bounded(&self, found: BTreeSet<String>) -> Vec<String> {
        let rules = found.iter().flat_map(|source| self.rules_about(source));
        let limited: BTreeSet<String> = self.named(&rules.collect()).into_iter().collect();
        let others = found.into_iter().filter(|source| {
            !limited.contains(source) && (self.is_untrusted(source) || !self.has_audience(source))
        });
        let others = bounded(others.collect(), MAX_SOURCES);
        limited.iter().cloned().chain(others).collect()
    }

    fn rules_about<'s>(&'s self, source: &'s str) -> impl Iterator<Item = usize> + 's {
        let rules = self.audiences.iter().enumerate();
        let rules = rules.filter(move |(_, rule)| rule.is_about(source));
        rules.map(|(position, _)| position)
    }

    fn named(&self, rules: &BTreeSet<usize>) -> Vec<String> {
        let rules = rules.iter().filter_map(|at| self.audiences.get(*at));
        rules.map(|rule| rule.from.as_str().to_owned()).collect()
    }

    /// Returns the denial of what is beyond one of these rules.
    fn beyond(&self, rules: &BTreeSet<usize>, destination: &str) -> Option<Ruling> {
        let mut rules = rules.iter().filter_map(|at| self.audiences.get(*at));
        let rule = rules.find(|rule| !rule.admits(destination))?;
        let reason = format!(
            "Text from {} must not go to {destination}",
            rule.from.as_str()
        );
        Some(Ruling::deny(AUDIENCE_RULE, reason))
    }
}

impl Audience {
    /// Returns whether some source has an audience, which a request of the call may be beyond.
    pub(super) fn is_limited(&self) -> bool {
        self.policy.is_some()
    }

    /// Returns the sources with an audience that the call read itself.
    pub(super) fn read(&self) -> Vec<String> {
        let policy = self.policy.as_ref();
        policy.map_or_else(Vec::new, |policy| policy.named(&self.read))
    }

    /// Returns the denial of a call that hands its arguments to a destination; `None` if it may.
    pub(crate) fn refusal(&self, destination: &str) -> Option<Ruling> {
        self.policy.as_ref()?.beyond(&self.limits, destination)
    }

    /// Takes in a request that the grants allow, which reads artifacts from some sources, or returns
    /// its denial.
    pub(super) fn admit(&mut self, request: &AuditRequest, artifacts: &[String]) -> Option<Ruling> {
        let policy = self.policy.clone()?;
        let own = read_by(request);
        let sources = artifacts.iter().chain(&own);
        let rules = sources.flat_map(|source| policy.rules_about(source));
        if let Some(denial) = self.take(rules.collect()) {
            return Some(denial);
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
    pub(super) fn admit_move(&mut self, path: &str) -> Option<Ruling> {
        let policy = self.policy.clone()?;
        let rules = policy.audiences.iter().enumerate();
        let rules =
            rules.filter(|(_, rule)| rule.is_about(&format!("dir:{path}")) || rule.is_below(path));
        self.take(rules.map(|(at, _)| at).collect())
    }

    fn send(&mut self, destination: String) -> Option<Ruling> {
        let denial = self.refusal(&destination);
        if denial.is_none() {
            self.sent.insert(destination);
        }
        denial
    }

    /// Takes in what was read.
    fn take(&mut self, rules: BTreeSet<usize>) -> Option<Ruling> {
        let policy = self.policy.as_ref()?;
        let denial = self.sent.iter().find_map(|to| policy.beyond(&rules, to));
        if denial.is_none() {
            self.limits.extend(&rules);
            self.read.extend(rules);
        }
        denial
    }
}

/// Returns the source of what a request reads. The size of a file can be chosen to say something of
/// it.
fn read_by(request: &AuditRequest) -> Option<String> {
    match request {
        AuditRequest::File {
            action: FileAction::Stat,
            path,
            ..
        } => Some(format!("dir:{path}")),
        _ => source_of(request),
    }
}

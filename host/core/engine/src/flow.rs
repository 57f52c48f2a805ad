//! Information flow: the sources of each result, and what the model and its calls may do with text
//! from those that the operator does not trust.
//!
//! A source is a text such as `http:example.com`, `mcp:mail` or `dir:/workspace/vendor/a.md`. The
//! sources of a result follow from the requests that the gate allowed, so no tool can hide one. A
//! model that has read untrusted text is not trusted any more: everything that it writes has the
//! sources of all that it read. With [`FlowMode::Quarantine`] it does not read such text: it gets
//! references, which the host replaces by their values when a call runs.

mod audience;
mod call;
mod files;
pub mod reader;
pub(crate) mod reference;
pub(crate) mod sources;
mod state;
#[cfg(test)]
mod tests;

pub use audience::{AUDIENCE_RULE, Audience, AudienceRule};
pub use call::CallFlow;
pub use files::RunFiles;
pub use sources::{SHARED_STATE, UNKNOWN};
pub(crate) use state::FlowState;

use crate::policy::{NameGlob, RuleDecision, Ruling};
use agent_host_types::{
    flow::{AnswerKind, ArgumentSources, FlowMode},
    tool::Effect,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{collections::BTreeSet, sync::Arc};

/// The rule by which calls with effects ask for approval.
pub const FLOW_RULE: &str = "flow.untrusted";

/// The beginning of the names of rules about flows.
const FLOW_RULES: &str = "flow.";

/// Returns whether a rule is about flows, by its name.
#[must_use]
pub fn is_flow_rule(rule: &str) -> bool {
    rule.starts_with(FLOW_RULES)
}

/// The maximum number of rules about flows.
pub const MAX_FLOW_RULES: usize = 1_000;

/// The kinds of sources that are untrusted unless the operator trusts them.
const UNTRUSTED_KINDS: [&str; 7] = [
    "http:",
    "mcp:",
    "external:",
    "webhook:",
    "workflow",
    "unknown",
    "history",
];

/// The characters at which the fixed beginning of a glob ends.
const GLOB: [char; 5] = ['*', '?', '[', '{', '\\'];

/// The longest name of a host that a model sees, in bytes.
const MAX_HOST: usize = 40;

/// The names of arguments that are content: no recipient, host, path or command. A value from an
/// untrusted source may stand there without approval.
const CONTENT: [&str; 9] = [
    "body",
    "comment",
    "content",
    "data",
    "description",
    "message",
    "summary",
    "text",
    "title",
];

/// The policy: trusted sources, and the calls that other text may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowPolicy {
    /// The treatment of untrusted text.
    pub mode: FlowMode,
    /// Globs of sources that are trusted, such as `http:intranet.example`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted: Vec<NameGlob>,
    /// Globs of sources that are untrusted, even if they match `trusted`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untrusted: Vec<NameGlob>,
    /// The answers of [`reader::READ_QUARANTINED`] that the model gets as references.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<AnswerKind>,
    /// The operator's rules about flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<FlowRule>,
    /// Where text from some sources may go, and nowhere else. Of several about one source, all hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audiences: Vec<AudienceRule>,
}

/// A rule about flows from sources into calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowRule {
    /// The name in records and messages, such as `flow.0`.
    pub name: String,
    /// The decision about such calls.
    pub decision: RuleDecision,
    /// The sources.
    pub from: NameGlob,
    /// The tools. One that matches is enough.
    pub tools: Vec<NameGlob>,
    /// JSON pointers of the arguments into which the text flows; empty for all. Text that the model
    /// has read may be in any argument, so a rule that allows some does not hold for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
}

/// A call with the sources that it depends on.
#[derive(Clone, Copy, Debug)]
pub struct FlowRequest<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// The effect of the tool.
    pub effect: Effect,
    /// Where all of its arguments go ([`agent_host_types::tool::RegisteredTool::goes_to`]).
    pub destination: Option<&'a str>,
    /// The sources of what the model has seen.
    pub seen: &'a [String],
    /// The arguments from results that it has not seen.
    pub references: &'a [ArgumentSources],
}

/// The decision about a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRuling {
    /// The decision.
    pub decision: RuleDecision,
    /// The rule that decided.
    pub rule: String,
    /// The source that it is about.
    pub source: String,
}

impl FlowPolicy {
    /// Whether nothing is recorded or decided.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.mode == FlowMode::Off
    }

    /// Returns whether results name a source: it is untrusted, or has an audience.
    pub(crate) fn counts(&self, source: &str) -> bool {
        self.is_untrusted(source) || self.has_audience(source)
    }

    /// Returns the policy in a mode, if that is stricter.
    #[must_use]
    pub fn at_least(self: &Arc<Self>, mode: FlowMode) -> Arc<Self> {
        match self.mode < mode {
            true => Arc::new(Self {
                mode,
                ..(**self).clone()
            }),
            false => Arc::clone(self),
        }
    }

    /// Returns the policy for the calls of a client, from whose model no result can be kept: its
    /// effects ask instead.
    #[must_use]
    pub fn for_client(self: &Arc<Self>) -> Arc<Self> {
        match self.mode {
            FlowMode::Quarantine => Arc::new(Self {
                mode: FlowMode::Ask,
                ..(**self).clone()
            }),
            FlowMode::Off | FlowMode::Observe | FlowMode::Ask => Arc::clone(self),
        }
    }

    /// Returns whether a source is untrusted.
    #[must_use]
    pub fn is_untrusted(&self, source: &str) -> bool {
        let by_kind = UNTRUSTED_KINDS.iter().any(|kind| source.starts_with(kind));
        let trusts = || self.trusted.iter().any(|glob| glob.matches(source));
        self.untrusted
            .iter()
            .any(|glob| audience::has(glob, source))
            || by_kind && !trusts()
    }

    /// Returns the sources that are untrusted at a path, and the globs of those that may be below it.
    fn untrusted_below(&self, path: &str) -> Vec<String> {
        let own = format!("dir:{}", path.trim_end_matches('/'));
        let below = format!("{own}/");
        let globs = self.untrusted.iter().map(NameGlob::as_str);
        let globs = globs.filter(|glob| {
            let fixed = glob
                .find(GLOB)
                .map_or(*glob, |end| glob.get(..end).unwrap_or_default());
            glob.starts_with("dir:") && (fixed.starts_with(&below) || below.starts_with(fixed))
        });
        let globs = globs.map(str::to_owned);
        match self.counts(&own) {
            true => vec![own],
            false => globs.collect(),
        }
    }

    /// Returns sources as a model sees them. Names of files and of hosts can be text that an attacker
    /// chose: in the place of a file stands the glob that distrusts it, and in that of a long name of
    /// a host its domain.
    pub(crate) fn shown(&self, sources: &[String]) -> BTreeSet<String> {
        let shown = sources.iter().map(|source| match source.split_once(':') {
            Some(("dir", _)) => {
                let mut globs = self.untrusted.iter();
                let glob = globs.find(|glob| audience::has(glob, source));
                glob.map_or_else(|| "dir:*".to_owned(), |glob| glob.as_str().to_owned())
            }
            Some(("http", host)) if host.len() > MAX_HOST || host.matches('-').count() > 2 => {
                let mut labels = host.rsplit('.').take(2).collect::<Vec<_>>();
                labels.reverse();
                let domain = labels.join(".");
                match domain.len() > MAX_HOST || domain.contains('-') {
                    true => "http:*".to_owned(),
                    false => format!("http:*.{domain}"),
                }
            }
            _ => source.clone(),
        });
        shown.collect()
    }

    /// Returns the strictest decision about the flows into a call; `None` if nothing untrusted
    /// flows into it.
    #[must_use]
    pub fn decide(&self, call: &FlowRequest<'_>) -> Option<FlowRuling> {
        if !self.mode.decides() {
            return None;
        }
        let seen = call.seen.iter().map(|source| (source, None));
        let handed_on = call.references.iter().flat_map(|argument| {
            let sources = argument.sources.iter();
            sources.map(move |of| (of, Some(argument.pointer.as_str())))
        });
        let flows = seen.chain(handed_on);
        let flows = flows.filter(|(source, _)| self.is_untrusted(source));
        let rulings = flows.map(|(source, pointer)| self.decide_one(call, source, pointer));
        rulings.max_by_key(|ruling| ruling.decision)
    }

    /// Returns the decision about a call, by what the policy of calls decided and what flows into
    /// it: the stricter one.
    #[must_use]
    pub(crate) fn after(self: &Arc<Self>, ruling: Ruling, call: &FlowRequest<'_>) -> Ruling {
        if let Some(refusal) = self.beyond_audience(call) {
            return refusal;
        }
        match (ruling, self.decide(call)) {
            (ruling @ Ruling::Deny { .. }, _) | (ruling, None) => ruling,
            (ruling, Some(flow)) => match flow.decision {
                RuleDecision::Deny => Ruling::Deny {
                    reason: format!("Text from {} must not reach this call", flow.source),
                    rule: flow.rule,
                    grant: None,
                },
                RuleDecision::Ask if matches!(ruling, Ruling::Allow { .. }) => {
                    Ruling::Ask { rule: flow.rule }
                }
                RuleDecision::Ask | RuleDecision::Allow => ruling,
            },
        }
    }

    /// Returns the denial of a call that would hand text to others than its audience. Of a call whose
    /// requests pass a gate, the gate decides on each.
    fn beyond_audience(self: &Arc<Self>, call: &FlowRequest<'_>) -> Option<Ruling> {
        let destination = call.destination.filter(|_| !self.audiences.is_empty())?;
        let handed_on = call
            .references
            .iter()
            .flat_map(|argument| &argument.sources);
        let sources: Vec<String> = call.seen.iter().chain(handed_on).cloned().collect();
        self.audience(&sources).refusal(destination)
    }

    /// Decides on one flow: a denial wins, then a request for approval; without a rule, effects
    /// need approval, unless the value is content. Without a pointer, the text may be anywhere.
    fn decide_one(
        &self,
        call: &FlowRequest<'_>,
        source: &str,
        pointer: Option<&str>,
    ) -> FlowRuling {
        // Any source may be behind that one.
        let may_match = |rule: &FlowRule| {
            source == UNKNOWN && rule.decision != RuleDecision::Allow || rule.from.matches(source)
        };
        let matching = self.rules.iter().filter(|rule| {
            may_match(rule)
                && rule.tools.iter().any(|tool| tool.matches(call.tool))
                && rule.is_about(pointer)
        });
        let is_content = pointer.is_some_and(is_content);
        let ruling = |decision, rule: &str| FlowRuling {
            decision,
            rule: rule.to_owned(),
            source: source.to_owned(),
        };
        match matching.max_by_key(|rule| rule.decision) {
            Some(rule) => ruling(rule.decision, &rule.name),
            None if call.effect == Effect::ReadOnly || is_content => {
                ruling(RuleDecision::Allow, FLOW_RULE)
            }
            None => ruling(RuleDecision::Ask, FLOW_RULE),
        }
    }
}

impl FlowRule {
    /// Whether it is about the argument at a pointer, or any that there may be. A rule that is no
    /// permission is also about a value that contains its argument.
    fn is_about(&self, pointer: Option<&str>) -> bool {
        let is_strict = self.decision != RuleDecision::Allow;
        let is_at = |argument: &String| match pointer {
            Some(pointer) => {
                is_below(pointer, argument) || is_strict && is_below(argument, pointer)
            }
            None => is_strict,
        };
        self.arguments.is_empty() || self.arguments.iter().any(is_at)
    }
}

/// Whether a pointer is another one, or below it.
fn is_below(pointer: &str, other: &str) -> bool {
    let rest = pointer.strip_prefix(other);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether the argument at a pointer is content, by the last name in it.
fn is_content(pointer: &str) -> bool {
    let names = pointer.rsplit('/');
    let mut names = names.filter(|name| name.parse::<usize>().is_err());
    let last = names.next().unwrap_or_default().to_ascii_lowercase();
    CONTENT.contains(&last.as_str())
}

/// The arguments of a call.
pub(crate) type Input = Arc<Map<String, Value>>;

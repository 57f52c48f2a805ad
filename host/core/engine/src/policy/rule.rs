//! Rules of the operator about calls (`[[rule]]`): pure, and judged by the arguments and by facts
//! that are read before.
//!
//! A rule decides whether a call starts, with or without approval. It neither grants nor reads
//! anything: the gate judges the files and requests of every call that runs.

mod argument;
mod facts;
mod main_argument;

pub use argument::{ArgumentGlob, ArgumentPointer, ArgumentTest, pattern_fits};
pub use facts::WantedFacts;
pub(crate) use main_argument::PATH;
pub use main_argument::main_argument;

use super::Ruling;
use agent_host_types::{facts::CallFacts, id::Digest, tool::RegisteredTool};
use agent_host_workflow::condition::CallCondition;
use globset::{Glob, GlobMatcher};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{cmp::Reverse, fmt::Display};

/// The maximum number of rules.
pub const MAX_RULES: usize = 1_000;

/// The maximum length of a pattern or a pointer, in bytes.
const MAX_PATTERN_BYTES: usize = 512;

/// The name by which rules match an agent without a name: the one that the user talks to.
pub const MAIN_AGENT: &str = "main";

/// The decision of a rule about the calls that it matches. Ordered: a later one is stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleDecision {
    /// They run without approval.
    Allow,
    /// They need approval.
    Ask,
    /// They do not run.
    Deny,
}

/// A rule about calls. It matches a call if the tool, the agent and every argument condition match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRule {
    /// The name in records and messages, such as `rule.secrets`.
    pub name: String,
    /// The decision about a call.
    pub decision: RuleDecision,
    /// The tools, by the names that the model calls. One that matches is enough.
    pub tools: Vec<NameGlob>,
    /// The agents whose calls it matches; absent for all.
    pub agent: Option<NameGlob>,
    /// The conditions on arguments, each of another pointer.
    pub arguments: Vec<(ArgumentPointer, ArgumentTest)>,
    /// A condition on all arguments and on facts; absent in setups from before it existed.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<CallCondition>,
    /// The reason of a denial, for the model and the user.
    pub reason: Option<String>,
}

/// A call that the policy decides on.
#[derive(Clone, Copy, Debug)]
pub struct CallRequest<'a> {
    /// The tool.
    pub tool: &'a RegisteredTool,
    /// The arguments with which it would run.
    pub input: &'a Map<String, Value>,
    /// Their digest.
    pub input_digest: Digest,
    /// The name of the agent that calls; absent for [`MAIN_AGENT`].
    pub agent: Option<&'a str>,
    /// The facts that its rules name; absent if they are not known. Then they may be anything.
    pub facts: Option<&'a CallFacts>,
}

/// Returns the rule that decides on a call, in whatever order the rules are; `None` if none
/// matches. A denial wins. Otherwise the most specific rule decides: an exact tool name goes before
/// a glob, then more argument conditions before fewer (`where` is one), then a rule for an agent before one for all,
/// then the stricter decision.
#[must_use]
pub fn deciding_rule<'r>(rules: &'r [CallRule], call: &CallRequest<'_>) -> Option<&'r CallRule> {
    let name = call.tool.definition.name.as_str();
    let matching = rules.iter().filter(|rule| rule.matches(call));
    matching.max_by_key(|rule| {
        let is_exact = |tool: &NameGlob| tool.as_exact() == Some(name);
        (
            rule.decision == RuleDecision::Deny,
            rule.tools.iter().any(is_exact),
            rule.arguments.len() + usize::from(rule.condition.is_some()),
            rule.agent.is_some(),
            rule.decision,
            Reverse(rule.name.as_str()),
        )
    })
}

impl CallRule {
    fn matches(&self, call: &CallRequest<'_>) -> bool {
        let agent = call.agent.unwrap_or(MAIN_AGENT);
        let is_strict = self.decision != RuleDecision::Allow;
        self.names(&call.tool.definition.name)
            && self.agent.as_ref().is_none_or(|glob| glob.matches(agent))
            && self.arguments.iter().all(|(pointer, test)| {
                let value = pointer.find(call.input);
                value.is_some_and(|value| test.matches(value, is_strict))
            })
            && self
                .condition
                .as_ref()
                .is_none_or(|condition| condition.holds(call.input, call.facts, is_strict))
    }

    /// Returns whether a call of this tool may match.
    #[must_use]
    pub fn names(&self, tool: &str) -> bool {
        self.tools.iter().any(|glob| glob.matches(tool))
    }

    /// Returns the ruling about a call that this rule decides on.
    pub(super) fn ruling(&self) -> Ruling {
        match self.decision {
            RuleDecision::Allow => Ruling::allow(&self.name),
            RuleDecision::Ask => Ruling::ask(&self.name),
            RuleDecision::Deny => {
                let reason = self.reason.as_deref();
                let reason = reason.unwrap_or("The configuration denies this call");
                Ruling::deny(&self.name, reason)
            }
        }
    }
}

/// A glob over names of tools or agents: `*` and `?` stand for any characters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NameGlob {
    text: String,
    /// Absent for a name without special characters, which matches itself alone.
    glob: Option<GlobMatcher>,
}

impl NameGlob {
    /// Compiles a glob.
    ///
    /// # Errors
    /// It is empty, too long, or not a glob.
    pub fn new(text: &str) -> Result<Self, RuleError> {
        check_length(text)?;
        let glob = text.contains(['*', '?', '[', '{', '\\']);
        let glob = glob.then(|| Glob::new(text)).transpose();
        let glob = glob.map_err(|error| RuleError::pattern(text, error.kind()))?;
        Ok(Self {
            text: text.to_owned(),
            glob: glob.map(|glob| glob.compile_matcher()),
        })
    }

    /// Returns the text as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the only name that it matches; `None` for a glob.
    #[must_use]
    pub fn as_exact(&self) -> Option<&str> {
        self.glob.is_none().then_some(self.text.as_str())
    }

    /// Returns whether it matches a name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match &self.glob {
            Some(glob) => glob.is_match(name),
            None => self.text == name,
        }
    }
}

impl TryFrom<String> for NameGlob {
    type Error = RuleError;

    fn try_from(text: String) -> Result<Self, RuleError> {
        Self::new(&text)
    }
}

impl From<NameGlob> for String {
    fn from(glob: NameGlob) -> Self {
        glob.text
    }
}

impl PartialEq for NameGlob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for NameGlob {}

/// Why a part of a rule cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// A glob.
    #[error("the glob `{}` {reason}", pattern.escape_debug())]
    Pattern {
        /// The glob as written, or its beginning.
        pattern: String,
        /// The reason.
        reason: String,
    },
    /// A pointer to an argument.
    #[error("`{}` is not a JSON pointer to an argument: it {reason}", pointer.escape_debug())]
    Pointer {
        /// The pointer as written, or its beginning.
        pointer: String,
        /// The reason.
        reason: &'static str,
    },
}

impl RuleError {
    fn pattern(pattern: &str, reason: &dyn Display) -> Self {
        Self::Pattern {
            pattern: pattern.chars().take(80).collect(),
            reason: reason.to_string(),
        }
    }
}

/// Checks the length of a glob.
fn check_length(pattern: &str) -> Result<(), RuleError> {
    match pattern.len() {
        0 => Err(RuleError::pattern(pattern, &"is empty")),
        1..=MAX_PATTERN_BYTES => Ok(()),
        _ => {
            let reason = format!("has more than {MAX_PATTERN_BYTES} bytes");
            Err(RuleError::pattern(pattern, &reason))
        }
    }
}

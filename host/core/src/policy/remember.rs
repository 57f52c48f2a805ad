//! Approvals that a person does not want to give again.

use crate::{
    id::{Digest, json_digest},
    tool::RegisteredTool,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A rule by which a person is not asked again. It holds for the tool exactly as it was when they approved: another component,
/// another definition under the same name, or the same one with other grants is asked about anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ApprovalRule {
    /// The tool.
    pub tool: String,
    /// What the tool was, [`RegisteredTool::identity`].
    pub identity: Digest,
    /// The digest of the only arguments that it covers; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_digest: Option<Digest>,
}

/// What a person wants to be remembered of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// Which calls it covers.
    pub what: RememberWhat,
    /// How long it holds.
    pub scope: RememberScope,
}

/// Which calls a remembered approval covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RememberWhat {
    /// Calls of this tool with exactly these arguments.
    Arguments,
    /// All calls of this tool.
    Tool,
}

/// How long a remembered approval holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RememberScope {
    /// In this session.
    Session,
    /// In every session with the same configuration. Kept by whoever runs the loop.
    Project,
}

impl ApprovalRule {
    /// The rule for calls like this one.
    #[must_use]
    pub fn new(tool: &RegisteredTool, what: RememberWhat, input_digest: Digest) -> Self {
        Self {
            tool: tool.definition.name.clone(),
            identity: tool.identity(),
            input_digest: match what {
                RememberWhat::Arguments => Some(input_digest),
                RememberWhat::Tool => None,
            },
        }
    }

    /// Whether it covers a call.
    #[must_use]
    pub fn covers(&self, tool: &RegisteredTool, input_digest: Digest) -> bool {
        self.tool == tool.definition.name
            && self.input_digest.is_none_or(|only| only == input_digest)
            && self.identity == tool.identity()
    }
}

impl fmt::Display for ApprovalRule {
    /// The rule as a person reads it before it is kept.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.input_digest {
            Some(digest) => write!(
                f,
                "calls of `{}` with exactly the arguments {digest}",
                self.tool
            ),
            None => write!(f, "every call of `{}`, whatever its arguments", self.tool),
        }
    }
}

impl RegisteredTool {
    /// What the tool is: its component with its grants, its definition, and the effect that the policy goes by.
    #[must_use]
    pub fn identity(&self) -> Digest {
        json_digest(&serde_json::json!([
            self.component,
            self.definition,
            self.effect
        ]))
    }
}

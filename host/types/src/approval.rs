//! Decisions about calls that wait, and the approvals that are remembered.

use crate::{
    id::{CallId, Digest, json_digest},
    tool::{DecisionKind, RegisteredTool},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// What a person decided about one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Decision {
    /// Run it as it is.
    Approve {
        /// The call.
        call_id: CallId,
        /// What is to be remembered of it, so that nobody is asked about calls like it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remember: Option<Remember>,
    },
    /// Run it with other arguments.
    Edit {
        /// The call.
        call_id: CallId,
        /// The arguments to run with.
        input: Map<String, Value>,
    },
    /// Do not run it.
    Reject {
        /// The call.
        call_id: CallId,
        /// Why, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Do not run it; this is its result.
    Respond {
        /// The call.
        call_id: CallId,
        /// The person's own words.
        text: String,
    },
}

impl Decision {
    /// Run it as it is, and remember nothing.
    #[must_use]
    pub fn approve(call_id: CallId) -> Self {
        Self::Approve {
            call_id,
            remember: None,
        }
    }

    /// What kind of decision it is.
    #[must_use]
    pub fn kind(&self) -> DecisionKind {
        match self {
            Self::Approve { .. } => DecisionKind::Approve,
            Self::Edit { .. } => DecisionKind::Edit,
            Self::Reject { .. } => DecisionKind::Reject,
            Self::Respond { .. } => DecisionKind::Respond,
        }
    }

    /// The call that it is about.
    #[must_use]
    pub fn call_id(&self) -> &CallId {
        match self {
            Self::Approve { call_id, .. }
            | Self::Edit { call_id, .. }
            | Self::Reject { call_id, .. }
            | Self::Respond { call_id, .. } => call_id,
        }
    }
}

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

//! Decisions about calls that wait for approval, and remembered approvals.

use crate::{
    id::{CallId, Digest, json_digest},
    tool::{DecisionKind, RegisteredTool},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{fmt, sync::Arc};

/// The user's decision about a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Decision {
    /// Run the call unchanged.
    Approve {
        /// The call.
        call_id: CallId,
        /// Remember the approval for calls like this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remember: Option<Remember>,
    },
    /// Run the call with other arguments.
    Edit {
        /// The call.
        call_id: CallId,
        /// The arguments.
        input: Arc<Map<String, Value>>,
    },
    /// Do not run the call.
    Reject {
        /// The call.
        call_id: CallId,
        /// The reason, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Do not run the call, and return this result in its place.
    Respond {
        /// The call.
        call_id: CallId,
        /// The result.
        text: String,
    },
}

impl Decision {
    /// Creates an approval that is not remembered.
    #[must_use]
    pub fn approve(call_id: CallId) -> Self {
        Self::Approve {
            call_id,
            remember: None,
        }
    }

    /// Returns the kind of the decision.
    #[must_use]
    pub fn kind(&self) -> DecisionKind {
        match self {
            Self::Approve { .. } => DecisionKind::Approve,
            Self::Edit { .. } => DecisionKind::Edit,
            Self::Reject { .. } => DecisionKind::Reject,
            Self::Respond { .. } => DecisionKind::Respond,
        }
    }

    /// Returns the id of the call.
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

/// A remembered approval. It covers the tool exactly as it was when approved: another component,
/// definition or grants under the same name need a new approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ApprovalRule {
    /// The tool.
    pub tool: String,
    /// [`RegisteredTool::identity`] when it was approved.
    pub identity: Digest,
    /// The digest of the covered arguments; absent for all arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_digest: Option<Digest>,
    /// The condition on the covered arguments; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<ArgumentPattern>,
}

/// A request to remember an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// The covered calls.
    pub what: RememberWhat,
    /// The lifetime.
    pub scope: RememberScope,
}

/// The calls that a remembered approval covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RememberWhat {
    /// Calls of this tool with exactly these arguments.
    Arguments,
    /// All calls of this tool.
    Tool,
    /// Calls of this tool with an argument that the pattern matches.
    Pattern(ArgumentPattern),
}

/// A condition on an argument, as in a `[[rule]]`. The policy reads both parts, and one that it
/// cannot read matches nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArgumentPattern {
    /// The JSON pointer to the argument.
    pub pointer: String,
    /// The glob that the argument matches.
    pub glob: String,
}

/// The lifetime of a remembered approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RememberScope {
    /// This session.
    Session,
    /// Every session with the same configuration. The caller of the loop stores it.
    Project,
}

impl ApprovalRule {
    /// Creates the rule that covers a call.
    #[must_use]
    pub fn new(tool: &RegisteredTool, what: RememberWhat, input_digest: Digest) -> Self {
        Self {
            tool: tool.definition.name.clone(),
            identity: tool.identity(),
            input_digest: (what == RememberWhat::Arguments).then_some(input_digest),
            pattern: match what {
                RememberWhat::Pattern(pattern) => Some(pattern),
                RememberWhat::Arguments | RememberWhat::Tool => None,
            },
        }
    }

    /// Whether the rule covers a call; `fits` is whether a pattern matches its arguments.
    pub fn covers(
        &self,
        tool: &RegisteredTool,
        input_digest: Digest,
        fits: impl FnOnce(&ArgumentPattern) -> bool,
    ) -> bool {
        self.tool == tool.definition.name
            && self.input_digest.is_none_or(|only| only == input_digest)
            && self.identity == tool.identity()
            && self.pattern.as_ref().is_none_or(fits)
    }
}

impl fmt::Display for ApprovalRule {
    /// Writes the rule for the user, who reads it before it is stored.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.input_digest, &self.pattern) {
            (_, Some(ArgumentPattern { pointer, glob })) => write!(
                f,
                "calls of `{}` whose argument `{}` matches `{}`",
                self.tool,
                pointer.escape_debug(),
                glob.escape_debug()
            ),
            (Some(digest), None) => write!(
                f,
                "calls of `{}` with exactly the arguments {digest}",
                self.tool
            ),
            (None, None) => write!(f, "every call of `{}`, whatever its arguments", self.tool),
        }
    }
}

impl RegisteredTool {
    /// Returns the digest of the component with its grants, the definition and the enforced effect.
    #[must_use]
    pub fn identity(&self) -> Digest {
        json_digest(&serde_json::json!([
            self.component,
            *self.definition,
            self.effect
        ]))
    }
}

//! Hooks of a configuration in the journal: where they ran, and what they decided.

use crate::{output::ToolResultOutput, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

words! {
    /// The point of a turn at which a hook runs.
    pub enum HookPoint {
        /// Before a model call.
        BeforeModel,
        /// After a model's reply, before anyone is shown it.
        AfterModel,
        /// After a model requested a call, before its approval.
        BeforeTool,
        /// After a call, before anyone is shown its result.
        AfterTool,
    }
}

words! {
    /// The kind of a verdict.
    pub enum VerdictKind {
        /// Continue.
        Pass,
        /// Continue with other arguments, another text or another result.
        Modify,
        /// Repeat the call.
        Retry,
        /// The call needs approval, whatever the rules say.
        Ask,
        /// Stop.
        Block,
        /// Continue with a value instead of the call.
        Fallback,
    }
}

/// The verdict of one hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookVerdict {
    /// The name of the hook.
    pub hook: String,
    /// Where it ran.
    pub point: HookPoint,
    /// The verdict.
    pub verdict: VerdictKind,
    /// The reason or the feedback, in the words of the hook or about its failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The review of a call by the hooks, after the model requested it and before its approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallReview {
    /// The verdicts, in the order of the hooks; those after one that stopped the call are absent.
    pub verdicts: Vec<HookVerdict>,
    /// The arguments to use instead of the requested ones; absent if no hook changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Arc<Map<String, Value>>>,
    /// The consequence for the call.
    pub end: ReviewEnd,
}

/// The consequence of a review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ReviewEnd {
    /// The policy decides on the call.
    Continue,
    /// The call needs approval, unless a rule denies it.
    Ask {
        /// The hook.
        hook: String,
    },
    /// The call is denied.
    Block {
        /// The hook.
        hook: String,
        /// The reason, for the model and the user.
        reason: String,
    },
    /// The call does not run, and has this result, unless a rule denies it.
    Fallback {
        /// The hook.
        hook: String,
        /// The result, without bytes.
        output: ToolResultOutput,
    },
}

impl CallReview {
    /// Returns the review of a call that no hook changes or stops.
    #[must_use]
    pub fn none() -> Self {
        Self {
            verdicts: Vec::new(),
            input: None,
            end: ReviewEnd::Continue,
        }
    }
}

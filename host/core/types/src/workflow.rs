//! The output of a node of a workflow, as the journal holds it.

mod artifact;
#[cfg(test)]
mod tests;

pub use artifact::{Artifact, ArtifactRef};

use crate::{
    failure::{FailureFields, ToolErrorCode, ToolFailure},
    output::{ContentPart, DENIED_TEXT, ToolResultOutput},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The output of a node, or of one iteration of its `foreach`.
///
/// ```
/// use agent_host_types::{output::ToolResultOutput, workflow::NodeOutput};
/// use serde_json::json;
///
/// let result = ToolResultOutput::from_value(json!({"words": 3}));
/// let output = NodeOutput::of_result("count", None, result);
/// assert_eq!(output.text, r#"{"words":3}"#);
/// assert!(output.error.is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeOutput {
    /// The id of the node.
    pub node_id: String,
    /// The name of the agent; absent for tools and handlers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The text for the user and models. Derived from `output` where there is one; never parsed.
    #[serde(default)]
    pub text: String,
    /// Named values and references to stored artifacts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub artifacts: BTreeMap<String, Artifact>,
    /// Facts about the run of the node, such as `iterations`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The result of a tool, or of the tool that ended an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<ToolResultOutput>,
    /// The failure; absent for a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<NodeFailure>,
}

/// The failure of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, JsonSchema)]
#[error("{code}: {message}")]
pub struct NodeFailure {
    /// The kebab-case reason: a [`ToolErrorCode`], a code of the workflow, or that of a tool.
    pub code: String,
    /// The cause and the next step, in at most [`crate::failure::MAX_MESSAGE_BYTES`].
    pub message: String,
    /// The item at which a `foreach` failed, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_index: Option<u32>,
}

/// The end of a run of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum WorkflowEnd {
    /// All nodes settled or were skipped.
    Completed,
    /// A node with `on-error = "abort"` failed.
    Aborted {
        /// The id of the node.
        node: String,
        /// The cause.
        failure: NodeFailure,
    },
    /// A tool ended the run that the workflow is a part of (`agent:tool/control`).
    Halted {
        /// The message for the user.
        message: String,
    },
    /// It was stopped.
    Cancelled,
}

/// A run of a workflow that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowSummary {
    /// The name of the workflow.
    pub workflow: String,
    /// The end.
    pub end: WorkflowEnd,
    /// The number of nodes that succeeded.
    pub done: u64,
    /// The nodes that failed, by id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, NodeFailure>,
    /// The nodes that were skipped, in the order of ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
}

/// The code of a failed tool that names no code.
const TOOL_ERROR: &str = "tool-error";

/// The code of a call that was denied.
pub const EXECUTION_DENIED: &str = "execution-denied";

impl NodeFailure {
    /// Creates a failure; the message is cut as that of a [`ToolFailure`].
    #[must_use]
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        // Only the bound on the message is used.
        let bounded = ToolFailure::new(ToolErrorCode::Trap, message);
        Self {
            code: code.into(),
            message: bounded.message().to_owned(),
            failed_index: None,
        }
    }

    /// Returns the failure that a result reports; `None` for a success.
    #[must_use]
    pub fn of_result(result: &ToolResultOutput) -> Option<Self> {
        match result {
            ToolResultOutput::Text(_)
            | ToolResultOutput::Json(_)
            | ToolResultOutput::Content(_) => None,
            ToolResultOutput::ErrorText(text) => Some(Self::new(TOOL_ERROR, text.as_str())),
            ToolResultOutput::ErrorJson(json) => Some(FailureFields::from_json(json).map_or_else(
                || Self::new(TOOL_ERROR, json.as_str()),
                |fields| Self::new(fields.code, fields.message),
            )),
            ToolResultOutput::ExecutionDenied(reason) => Some(Self::new(
                EXECUTION_DENIED,
                reason.as_deref().unwrap_or(DENIED_TEXT),
            )),
        }
    }

    /// Whether the host or the user stopped the node, so that another attempt is not wanted.
    #[must_use]
    pub fn is_final(&self) -> bool {
        let stops = [
            EXECUTION_DENIED,
            ToolErrorCode::Cancelled.as_str(),
            ToolErrorCode::InterruptedUnknown.as_str(),
        ];
        stops.contains(&self.code.as_str())
    }
}

impl From<ToolFailure> for NodeFailure {
    fn from(failure: ToolFailure) -> Self {
        Self::new(failure.code.as_str(), failure.message())
    }
}

impl NodeOutput {
    /// Creates the output of an agent that ended with text, or of a handler.
    #[must_use]
    pub fn of_text(node: &str, agent: Option<&str>, text: impl Into<String>) -> Self {
        Self {
            node_id: node.to_owned(),
            agent_id: agent.map(str::to_owned),
            text: text.into(),
            ..Self::default()
        }
    }

    /// Creates the output of a node that ended with a result; text and failure are derived.
    #[must_use]
    pub fn of_result(node: &str, agent: Option<&str>, result: ToolResultOutput) -> Self {
        Self {
            error: NodeFailure::of_result(&result),
            text: text_of(&result),
            output: Some(result),
            ..Self::of_text(node, agent, "")
        }
    }

    /// Creates the output of a node that failed without a result.
    #[must_use]
    pub fn of_failure(node: &str, failure: impl Into<NodeFailure>) -> Self {
        Self {
            error: Some(failure.into()),
            ..Self::of_text(node, None, "")
        }
    }

    /// Returns whether the node succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.error.is_none()
    }

    /// Derives `text` and `error` from `output`, where there is one and they are absent or differ.
    pub fn normalize(&mut self) {
        if let Some(result) = &self.output {
            self.text = text_of(result);
            if self.error.is_none() {
                self.error = NodeFailure::of_result(result);
            }
        }
    }
}

/// Returns the text of a result: JSON in its compact form, and the text parts of several parts.
#[must_use]
pub fn text_of(result: &ToolResultOutput) -> String {
    match result {
        ToolResultOutput::Text(text) | ToolResultOutput::ErrorText(text) => text.clone(),
        ToolResultOutput::Json(json) | ToolResultOutput::ErrorJson(json) => {
            json.as_str().to_owned()
        }
        ToolResultOutput::Content(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(ContentPart::text).collect();
            texts.join("\n")
        }
        ToolResultOutput::ExecutionDenied(reason) => {
            reason.as_deref().unwrap_or(DENIED_TEXT).to_owned()
        }
    }
}

//! Messages: what the model is shown and what it said.

use crate::{
    id::CallId,
    output::{ContentPart, ToolResultOutput},
    tool::ToolCall,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who a message is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The operator's standing instructions.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The tools, answering an assistant message that called them.
    ToolResult,
}

/// One message of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who it is from.
    pub role: Role,
    /// Text and files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ContentPart>,
    /// The calls of an assistant message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The results of a tool-result message, in the order of the calls they answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_results: Vec<ToolResult>,
    /// What a provider wants back unchanged, such as reasoning items; keyed by provider.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// The answer to one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that it answers.
    pub call_id: CallId,
    /// The tool's name; some providers want it beside the id.
    pub name: String,
    /// What the call came to.
    pub output: ToolResultOutput,
}

impl Message {
    /// Whether a person could have sent it: it is theirs, and answers and makes no calls.
    #[must_use]
    pub fn is_input(&self) -> bool {
        self.role == Role::User && self.tool_calls.is_empty() && self.tool_results.is_empty()
    }

    /// A message of one text part.
    #[must_use]
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self::parts(role, vec![ContentPart::Text { text: text.into() }])
    }

    /// A message of several parts.
    #[must_use]
    pub fn parts(role: Role, content: Vec<ContentPart>) -> Self {
        Self {
            role,
            content,
            tool_calls: Vec::new(),
            tool_results: Vec::new(),
            metadata: Map::new(),
        }
    }

    /// A message that answers calls.
    #[must_use]
    pub fn results(tool_results: Vec<ToolResult>) -> Self {
        Self {
            tool_results,
            ..Self::parts(Role::ToolResult, Vec::new())
        }
    }
}

//! What the nodes of a workflow are and give: values alone, which are written down and compared. Nothing here runs one.

#[cfg(test)]
mod tests;

use crate::{
    model::{ModelReply, StopReason, Usage},
    tool::ToolCall,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a node runs beside the others that are ready with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeMode {
    /// Alone, after the parallel ones, in the order of the nodes' ids.
    #[default]
    Sync,
    /// Together with the other parallel ones.
    Parallel,
    /// In the background while later nodes run; only those that depend on it wait for it.
    Async,
}

/// What a node came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeOutput {
    /// The node.
    pub node_id: String,
    /// The agent that it is; absent where it is a tool or a handler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// What the nodes behind it read.
    pub text: String,
    /// The names of the artifacts that it left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// Facts about the run. Where the node failed and the workflow goes on, `error` says why.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// What a model answered an agent, as the other nodes see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentResponse {
    /// The text, possibly empty.
    pub text: String,
    /// The calls, in the model's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Why the model stopped; absent where the provider did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// The tokens.
    pub usage: Usage,
    /// The reply as the provider sent it; absent where it came in pieces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
    /// What the provider wants back unchanged; keyed by provider.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl From<ModelReply> for AgentResponse {
    fn from(reply: ModelReply) -> Self {
        Self {
            text: reply.text,
            tool_calls: reply.tool_calls,
            stop_reason: reply.stop_reason,
            usage: reply.usage,
            raw: reply.raw,
            metadata: reply.metadata,
        }
    }
}

//! The messages between the host and the model.

use crate::{
    id::{CallId, Digest},
    output::{BlobRef, ContentPart, FileData, FilePart, ToolResultOutput},
    tool::ToolCall,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The operator, by the system prompt.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The tools, answering an assistant message that called them.
    ToolResult,
}

/// One message of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// The sender.
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
    /// Data to return to the provider unchanged, such as reasoning items; keyed by provider.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// The result of one call, as the model receives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// The call that it answers.
    pub call_id: CallId,
    /// The name of the tool; some providers require it beside the id.
    pub name: String,
    /// The result, or a preview of it in the same variant: its beginning and its end, as text.
    pub output: ToolResultOutput,
    /// The whole result, where `output` is a preview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<BlobRef>,
}

impl Message {
    /// Whether it is a user message without calls and results.
    #[must_use]
    pub fn is_input(&self) -> bool {
        self.role == Role::User && self.tool_calls.is_empty() && self.tool_results.is_empty()
    }

    /// Whether another message has the same text and files. The bytes of a file may be in one of
    /// them, and in the journal's blob table for the other.
    #[must_use]
    pub fn has_content_of(&self, other: &Self) -> bool {
        let own = self.content.iter().map(comparable);
        own.eq(other.content.iter().map(comparable))
    }

    /// Creates a message of one text part.
    #[must_use]
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self::parts(role, vec![ContentPart::Text { text: text.into() }])
    }

    /// Creates a message of several parts.
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

    /// Creates a message with the results of calls.
    #[must_use]
    pub fn results(tool_results: Vec<ToolResult>) -> Self {
        Self {
            tool_results,
            ..Self::parts(Role::ToolResult, Vec::new())
        }
    }
}

/// A part of a message without the place of its bytes.
#[derive(PartialEq, Eq)]
enum Comparable<'a> {
    Text(&'a str),
    Url(&'a str),
    Bytes(Digest, Option<&'a str>),
}

fn comparable(part: &ContentPart) -> Comparable<'_> {
    let FilePart { data, filename, .. } = match part {
        ContentPart::Text { text } => return Comparable::Text(text),
        ContentPart::File(file) => file,
    };
    let digest = match data {
        FileData::Url(url) => return Comparable::Url(url),
        FileData::Bytes(bytes) => Digest::of(bytes),
        FileData::Text(text) => Digest::of(text.as_bytes()),
        FileData::Blob(blob) => blob.digest,
    };
    Comparable::Bytes(digest, filename.as_deref())
}

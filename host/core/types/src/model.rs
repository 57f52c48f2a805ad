//! The request to a model, its reply, and its error.

#[cfg(test)]
mod tests;

use crate::{
    id::Digest,
    message::{Message, Role},
    output::ContentPart,
    tool::{ToolCall, ToolDefinition},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The provider and the model of a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The provider, as in `--model PROVIDER:NAME`.
    pub provider: String,
    /// The model's name at that provider.
    pub model: String,
}

/// A request to a model. Its files have their bytes, which the loop has loaded from the blobs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModelRequest {
    /// The system prompt.
    pub system: Option<String>,
    /// The conversation. Every tool call in it is answered exactly once, right after the message
    /// that made it.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<ToolDefinition>,
    /// The JSON Schema of the answer; absent for an answer in text. The system prompt asks for it
    /// too, and the loop checks the answer, so that a model need not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<Value>,
}

impl ModelRequest {
    /// Returns the digest of the request's canonical JSON: compact, with fields in their declared
    /// order and map keys sorted. The files in it must be references to their blobs.
    ///
    /// # Errors
    /// None is known; writing JSON may fail.
    pub fn digest(&self) -> Result<Digest, serde_json::Error> {
        Digest::of_json(self)
    }
}

/// A reply of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelReply {
    /// The text, possibly empty.
    pub text: String,
    /// The reasoning that the provider shows, for readers of the journal; no model is shown it
    /// again.
    /// `metadata` has the values that a provider requires back.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// The calls, in the model's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The reason why the model stopped; absent if the provider sends none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// The tokens of this request and reply.
    pub usage: Usage,
    /// The provider's id of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// Values that the provider requires back unchanged with this message; keyed by provider.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The model that replied; absent if it is the one that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The reply as the provider sent it, for readers of the journal; no model is shown it again.
    /// Absent for a streamed reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
}

impl ModelReply {
    /// True if the model ended its reply and left nothing to show and nothing to run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let says_why = matches!(
            self.stop_reason,
            Some(StopReason::Refusal | StopReason::ContextWindow | StopReason::PauseTurn)
        );
        self.text.trim().is_empty() && self.tool_calls.is_empty() && !says_why
    }

    /// The reply as a message of the conversation.
    #[must_use]
    pub fn to_message(&self) -> Message {
        let text = (!self.text.is_empty()).then(|| ContentPart::Text {
            text: self.text.clone(),
        });
        Message {
            tool_calls: self.tool_calls.clone(),
            metadata: self.metadata.clone(),
            ..Message::parts(Role::Assistant, text.into_iter().collect())
        }
    }
}

/// The reason why a model stopped, uniform for all providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The model finished its answer.
    EndTurn,
    /// The model requests tool calls.
    ToolUse,
    /// The reply reached the maximum number of tokens. Its calls may be incomplete and never run.
    MaxTokens,
    /// The model wrote a stop sequence.
    StopSequence,
    /// The model declined to answer.
    Refusal,
    /// The conversation no longer fits the model's window.
    ContextWindow,
    /// The provider paused a long reply; the next request continues it.
    PauseTurn,
    /// The server did not say why, although its response is complete.
    Unknown,
}

/// Tokens and their cost. Providers that do not count report zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens read, cached ones included.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// The tokens read from the provider's cache, included in `input_tokens`.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// The tokens written to the provider's cache at a price of their own, included in
    /// `input_tokens`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// The cost in millionths of a US dollar, rounded up for each reply; absent if the price of
    /// some of the tokens is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

impl Usage {
    /// Whether nothing was used, or the provider does not count.
    #[must_use]
    pub fn is_none(&self) -> bool {
        let tokens = Self {
            cost_micros: None,
            ..*self
        };
        tokens == Self::default()
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.cost_micros = match (self.is_none(), other.is_none()) {
            (true, _) => other.cost_micros,
            (false, true) => self.cost_micros,
            (false, false) => {
                let costs = self.cost_micros.zip(other.cost_micros);
                costs.map(|(one, other)| one.saturating_add(other))
            }
        };
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_input_tokens = self
            .cached_input_tokens
            .saturating_add(other.cached_input_tokens);
        self.cache_write_tokens = self
            .cache_write_tokens
            .saturating_add(other.cache_write_tokens);
    }
}

/// The error of a model call. The message says what happened, why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize, JsonSchema)]
#[error("{message}")]
pub struct ModelError {
    /// The kind of the error.
    pub kind: ModelErrorKind,
    /// The whole message, including the provider's; never a key.
    pub message: String,
    /// The delay that the server requests before the next request, in seconds, if it is longer than
    /// an adapter waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
}

impl ModelError {
    /// Creates an error.
    #[must_use]
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after_seconds: None,
        }
    }
}

/// The kinds of errors of a model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelErrorKind {
    /// The key is missing or wrong (401, 403).
    Unauthorized,
    /// The server knows no such model or path (404).
    NotFound,
    /// The server refuses the request as it is (other 4xx).
    InvalidRequest,
    /// The request exceeds the model's window. The loop compacts the conversation and repeats the
    /// request once.
    ContextWindow,
    /// Too many requests, still after the retries.
    RateLimited,
    /// The server failed, still after the retries (5xx).
    Server,
    /// No connection could be made.
    Unreachable,
    /// The server took too long.
    Timeout,
    /// The answer is not in the form that the provider documents.
    Protocol,
    /// A script of the scripted model cannot be read or rendered.
    Script,
}

impl ModelErrorKind {
    /// Returns whether the same request may succeed later, with nothing changed.
    #[must_use]
    pub fn is_transient(self) -> bool {
        match self {
            Self::RateLimited
            | Self::Server
            | Self::Unreachable
            | Self::Timeout
            | Self::Protocol => true,
            Self::Unauthorized
            | Self::NotFound
            | Self::InvalidRequest
            | Self::ContextWindow
            | Self::Script => false,
        }
    }
}

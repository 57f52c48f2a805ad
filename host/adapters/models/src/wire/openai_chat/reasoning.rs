//! The reasoning of a reply, which compatible servers want back, each in the fields in which it
//! sent it. Stored in the reply's metadata and sent to the same model only.
//!
//! - DeepSeek (`reasoning_content`) refuses a request without it, even if it is empty, for the
//!   replies of a turn with tool calls, in all later requests; an older model refuses it in turns
//!   without calls (<https://api-docs.deepseek.com/guides/thinking_mode>). Moonshot, Qwen and vLLM
//!   read it likewise, newer vLLM as `reasoning`.
//! - OpenRouter wants `reasoning_details` unchanged and in order
//!   (<https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning>).
//! - Gemini's compatible endpoint refuses a call without the signature in its `extra_content`
//!   (<https://ai.google.dev/gemini-api/docs/thought-signatures>).

use super::WIRE;
use crate::wire::{DecodeError, metadata, request::set, stored};
use agent_host_types::message::Message;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The most parts of reasoning in one reply. Models write a few.
const MAX_DETAILS: usize = 1024;

/// The values that are sent back with a reply.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Reasoning {
    /// The model that reasoned.
    model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) extra_content: Option<Value>,
    /// By call: its `extra_content`, or null.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Value>,
}

impl Reasoning {
    /// Creates the reasoning of a reply of `model` before it arrives.
    pub(super) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            ..Self::default()
        }
    }

    /// Reads what a message stores for this model.
    pub(super) fn from_message(message: &Message, model: &str) -> Option<Self> {
        Self::deserialize(stored(message, WIRE.name, model)?).ok()
    }

    /// Returns the metadata of the reply; empty if there is nothing to send back.
    pub(super) fn into_metadata(self) -> Map<String, Value> {
        let stored = json!(self);
        if stored.as_object().is_none_or(|stored| stored.len() == 1) {
            return Map::new();
        }
        metadata(WIRE.name, stored)
    }

    /// Stores what a server adds to the call of this index.
    pub(super) fn set_call(&mut self, index: usize, extra_content: Value) {
        if self.calls.len() <= index {
            self.calls.resize(index + 1, Value::Null);
        }
        if let Some(call) = self.calls.get_mut(index) {
            *call = extra_content;
        }
    }

    /// Adds a part of the reasoning, or extends the last one: a stream brings a part in pieces of
    /// one type and index.
    pub(super) fn push_detail(&mut self, piece: Map<String, Value>) -> Result<(), DecodeError> {
        let continues = |last: &Map<String, Value>| {
            let same = |key: &str| last.get(key) == piece.get(key);
            let agrees = |key: &str| {
                let known = |part: &Map<String, Value>| {
                    part.get(key).filter(|value| !value.is_null()).cloned()
                };
                known(last).is_none() || known(&piece).is_none() || known(last) == known(&piece)
            };
            same("type") && same("index") && agrees("id") && agrees("data")
        };
        let last = self.reasoning_details.last_mut();
        let Some(last) = last.filter(|last| continues(last)) else {
            if self.reasoning_details.len() == MAX_DETAILS {
                return Err(DecodeError::too_many(MAX_DETAILS, "parts of reasoning"));
            }
            self.reasoning_details.push(piece);
            return Ok(());
        };
        for (key, value) in piece {
            match (last.get_mut(&key), value) {
                (Some(Value::String(text)), Value::String(more))
                    if matches!(key.as_str(), "text" | "summary") =>
                {
                    text.push_str(&more);
                }
                (Some(_), Value::Null) => {}
                (_, value) => drop(last.insert(key, value)),
            }
        }
        Ok(())
    }

    /// Adds the reasoning to an encoded reply. `with_calls` says whether its turn calls tools.
    pub(super) fn add_to(self, wire: &mut Value, with_calls: bool) {
        let has_details = !self.reasoning_details.is_empty();
        let details = has_details.then_some(self.reasoning_details);
        set(wire, "reasoning_details", details);
        // The details have the same text.
        if with_calls && !has_details {
            set(wire, "reasoning_content", self.reasoning_content);
            set(wire, "reasoning", self.reasoning);
        }
        set(wire, "extra_content", self.extra_content);
        let calls = wire.get_mut("tool_calls").and_then(Value::as_array_mut);
        for (call, extra) in calls.into_iter().flatten().zip(self.calls) {
            set(call, "extra_content", (!extra.is_null()).then_some(extra));
        }
    }
}

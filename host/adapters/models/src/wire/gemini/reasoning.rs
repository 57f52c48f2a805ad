//! The parts of a reply that are sent back unchanged: signatures of the model's thoughts, each with
//! its part. They are valid for one model and sent to no other.

use super::WIRE;
use crate::wire::{metadata, stored};
use agent_host_types::message::Message;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The parts of a reply in order. Text and calls are in the message itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Reasoning {
    /// The model that signed.
    pub(super) model: String,
    /// The parts in the model's order.
    pub(super) parts: Vec<Part>,
}

/// A part of a reply, with its signature.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part {
    /// A signed thought; unsigned ones are not stored.
    Thought {
        /// Its visible text.
        text: String,
        /// Its signature.
        signature: String,
    },
    /// The next `bytes` bytes of the message's text.
    Text {
        /// The length; may be 0 for a signature alone.
        bytes: usize,
        /// Its signature.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// The next of the message's calls.
    Call {
        /// Its signature; of parallel calls only the first has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
}

impl Part {
    fn signature(&self) -> Option<&str> {
        match self {
            Self::Thought { signature, .. } => Some(signature),
            Self::Text { signature, .. } | Self::Call { signature } => signature.as_deref(),
        }
    }
}

impl Reasoning {
    /// Reads what a message stores for this model.
    pub(super) fn from_message(message: &Message, model: &str) -> Option<Self> {
        Self::deserialize(stored(message, WIRE.name, model)?).ok()
    }

    /// Returns the metadata of the reply; empty if nothing is signed.
    pub(super) fn into_metadata(self) -> Map<String, Value> {
        if self.parts.iter().all(|part| part.signature().is_none()) {
            return Map::new();
        }
        metadata(WIRE.name, json!(self))
    }

    /// Encodes the parts with the message's text and calls. Text and calls beyond the stored parts
    /// come last.
    pub(super) fn into_parts(self, text: &str, calls: Vec<Value>) -> Vec<Value> {
        let mut rest = text;
        let mut calls = calls.into_iter();
        let mut parts = Vec::new();
        for part in self.parts {
            match part {
                Part::Thought { text, signature } => {
                    parts.push(
                        json!({"text": text, "thought": true, "thoughtSignature": signature}),
                    );
                }
                Part::Text { bytes, signature } => {
                    let (part, after) = rest.split_at_checked(bytes).unwrap_or((rest, ""));
                    rest = after;
                    if signature.is_some() || !part.is_empty() {
                        parts.push(signed(json!({"text": part}), signature.as_deref()));
                    }
                }
                Part::Call { signature } => {
                    let call = calls.next();
                    parts.extend(call.map(|call| signed(call, signature.as_deref())));
                }
            }
        }
        if !rest.is_empty() {
            parts.push(json!({"text": rest}));
        }
        parts.extend(calls);
        parts
    }
}

/// Adds a signature to a part.
pub(super) fn signed(mut part: Value, signature: Option<&str>) -> Value {
    if let (Some(part), Some(signature)) = (part.as_object_mut(), signature) {
        part.insert("thoughtSignature".to_owned(), json!(signature));
    }
    part
}

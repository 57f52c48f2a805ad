//! What of a reply goes back unchanged: the signatures of the model's thoughts, each with the part that had it. They hold for one
//! model; another is not shown them.

use crate::provider::Provider;
use agent_host_types::message::Message;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The order of a reply's parts. Text and calls are in the message itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The model that signed.
    pub(super) model: String,
    /// The parts in the model's order.
    pub(super) parts: Vec<Part>,
}

/// A part of a reply, with the signature that it has.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part {
    /// A thought; one without a signature is not kept.
    Thought {
        /// What the model shows of it.
        text: String,
        /// Its signature.
        signature: String,
    },
    /// So many more bytes of the message's text.
    Text {
        /// How many; a signature can come with none.
        bytes: usize,
        /// Its signature.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// The next of the message's calls.
    Call {
        /// Its signature; of calls at the same time only the first has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
}

impl Part {
    /// Its signature.
    fn signature(&self) -> Option<&str> {
        match self {
            Self::Thought { signature, .. } => Some(signature),
            Self::Text { signature, .. } | Self::Call { signature } => signature.as_deref(),
        }
    }
}

impl Kept {
    /// What a message keeps for this model.
    pub(super) fn of(message: &Message, model: &str) -> Option<Self> {
        let kept = Self::deserialize(message.metadata.get(Provider::Gemini.name())?).ok()?;
        (kept.model == model).then_some(kept)
    }

    /// Fit to be kept by a message; empty where nothing is signed.
    pub(super) fn into_metadata(self) -> Map<String, Value> {
        if self.parts.iter().all(|part| part.signature().is_none()) {
            return Map::new();
        }
        Map::from_iter([(Provider::Gemini.name().to_owned(), json!(self))])
    }

    /// The parts on the wire, with the message's text and calls. What has no place here comes last.
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

/// A part with its signature.
pub(super) fn signed(mut part: Value, signature: Option<&str>) -> Value {
    if let (Some(part), Some(signature)) = (part.as_object_mut(), signature) {
        part.insert("thoughtSignature".to_owned(), json!(signature));
    }
    part
}

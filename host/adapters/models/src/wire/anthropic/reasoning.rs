//! The blocks of a reply that are sent back unchanged: the model's thoughts with their signatures,
//! at their positions among text and calls. A signature is valid for one model; thoughts are sent
//! to no other.

use super::{WIRE, request::text_block};
use crate::wire::{metadata, stored};
use agent_host_types::message::Message;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The blocks of a reply in order. Text and calls are in the message itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Reasoning {
    /// The model that thought.
    pub(super) model: String,
    /// The blocks in the model's order.
    pub(super) blocks: Vec<Block>,
}

/// A block of a reply.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block {
    /// A thought; the provider may omit its text, and other servers its signature.
    Thinking {
        /// Its visible text.
        thinking: String,
        /// Its signature.
        signature: String,
    },
    /// A thought that is not shown.
    RedactedThinking {
        /// The thought, encrypted.
        data: String,
    },
    /// The next `bytes` bytes of the message's text.
    Text {
        /// The length.
        bytes: usize,
    },
    /// The next of the message's calls.
    ToolUse,
}

impl Reasoning {
    /// Reads what a message stores for this model.
    pub(super) fn from_message(message: &Message, model: &str) -> Option<Self> {
        Self::deserialize(stored(message, WIRE.name, model)?).ok()
    }

    /// Returns the metadata of the reply; empty if there is no thought. An unsigned thought at the
    /// end was cut off and is dropped: the provider would refuse it.
    pub(super) fn into_metadata(mut self) -> Map<String, Value> {
        while let Some(Block::Thinking { signature, .. }) = self.blocks.last()
            && signature.is_empty()
        {
            self.blocks.pop();
        }
        let thinks = self
            .blocks
            .iter()
            .any(|block| !matches!(block, Block::Text { .. } | Block::ToolUse));
        if !thinks {
            return Map::new();
        }
        metadata(WIRE.name, json!(self))
    }

    /// Encodes the blocks with the message's text and calls. Text and calls beyond the stored
    /// blocks come last.
    pub(super) fn into_blocks(self, text: &str, calls: Vec<Value>) -> Vec<Value> {
        let mut rest = text;
        let mut calls = calls.into_iter();
        let mut blocks = Vec::new();
        for block in self.blocks {
            match block {
                Block::Text { bytes } => {
                    let (part, after) = rest.split_at_checked(bytes).unwrap_or((rest, ""));
                    blocks.extend(text_block(part));
                    rest = after;
                }
                Block::ToolUse => blocks.extend(calls.next()),
                thought @ (Block::Thinking { .. } | Block::RedactedThinking { .. }) => {
                    blocks.push(json!(thought));
                }
            }
        }
        blocks.extend(text_block(rest));
        blocks.extend(calls);
        blocks
    }
}

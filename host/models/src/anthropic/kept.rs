//! What of a reply goes back unchanged: the model's thoughts with their signatures, in their places between text and calls. A
//! signature holds for one model; to another the thoughts do not go.

use super::request::text_block;
use crate::provider::Provider;
use agent_host_types::message::Message;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The order of a reply's blocks. Text and calls are in the message itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The model that thought.
    pub(super) model: String,
    /// The blocks in the model's order.
    pub(super) blocks: Vec<Block>,
}

/// A block of a reply.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block {
    /// A thought; its text may be left out by the provider, and its signature by other servers.
    Thinking {
        /// What the model shows of it.
        thinking: String,
        /// What the provider knows it by.
        signature: String,
    },
    /// A thought that is not shown.
    RedactedThinking {
        /// The thought, encrypted.
        data: String,
    },
    /// So many more bytes of the message's text.
    Text {
        /// How many.
        bytes: usize,
    },
    /// The next of the message's calls.
    ToolUse,
}

impl Kept {
    /// What a message keeps for this model.
    pub(super) fn of(message: &Message, model: &str) -> Option<Self> {
        let kept = Self::deserialize(message.metadata.get(Provider::Anthropic.name())?).ok()?;
        (kept.model == model).then_some(kept)
    }

    /// Fit to be kept by a message; empty where the model did not think. A thought at the end that has no signature was cut
    /// off, and would be refused.
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
        Map::from_iter([(Provider::Anthropic.name().to_owned(), json!(self))])
    }

    /// The blocks on the wire, with the message's text and calls. What has no place here comes last.
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

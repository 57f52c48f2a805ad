//! Decodes events that open a block, extend it and close it, or a whole message from a server that
//! does not stream. Blocks and events of other kinds are ignored; a reply without an end is an
//! error.

#[cfg(test)]
mod tests;

use super::reasoning::{Block, Reasoning};
use crate::wire::{
    Decode, DecodeError, ServerError,
    reply::{ReplyBuilder, Text},
    server_error::server_message,
    update_counts,
};
use agent_host_engine::model::DeltaSink;
use agent_host_types::{
    message::Message,
    model::{ModelReply, StopReason, Usage},
};
use serde::Deserialize;
use serde_json::Value;

/// The most blocks of one reply. Models write a few: one per thought, text and call.
const MAX_BLOCKS: usize = 1024;

/// The form of the data, for errors.
const EXPECTED: &str = "of the Messages API";

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    /// The block that the event is about.
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    content_block: Option<WireBlock>,
    /// The message so far; in some servers' errors, their text.
    message: Option<Value>,
    usage: Option<Value>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    partial_json: Option<Text<'a>>,
    signature: Option<String>,
    stop_reason: Option<String>,
}

/// A message, complete or at its start.
#[derive(Deserialize)]
struct Whole {
    id: Option<String>,
    content: Option<Vec<WireBlock>>,
    stop_reason: Option<String>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct WireBlock {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    data: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Value>,
}

/// Where `usage` has the token counts: input neither read from the cache nor written to it, input
/// written to it, input read from it, output. They are running totals; those that an event omits
/// are unchanged.
const COUNTS: [&str; 4] = [
    "/input_tokens",
    "/cache_creation_input_tokens",
    "/cache_read_input_tokens",
    "/output_tokens",
];

/// A block of the reply.
struct ReplyBlock {
    /// Its index on the wire.
    index: Option<u64>,
    block: Block,
    /// The index of its call among the calls.
    call: Option<usize>,
    /// The input of a call that arrived whole; deltas take precedence.
    input: Option<Value>,
}

/// Decodes one reply.
pub(super) struct Decoder<'a> {
    builder: ReplyBuilder<'a>,
    /// The blocks in the model's order.
    parts: Vec<ReplyBlock>,
    /// Those of [`COUNTS`].
    counts: [u64; 4],
    stop_reason: Option<String>,
    done: bool,
}

impl<'a> Decoder<'a> {
    /// Creates a decoder for a reply of `model` to `history`.
    pub(super) fn new(model: &'a str, history: &'a [Message]) -> Self {
        Self {
            builder: ReplyBuilder::new(model, history),
            parts: Vec::new(),
            counts: [0; 4],
            stop_reason: None,
            done: false,
        }
    }

    /// Takes the fields of a message beside its blocks.
    fn head(&mut self, id: Option<String>, stop_reason: Option<String>, usage: Option<Value>) {
        let reply = &mut self.builder.reply;
        reply.response_id = reply.response_id.take().or(id);
        self.stop_reason = stop_reason.or(self.stop_reason.take());
        update_counts(&mut self.counts, COUNTS, &usage.unwrap_or_default());
    }

    /// Opens a block, which is mostly empty in a stream and complete otherwise.
    fn open(
        &mut self,
        index: Option<u64>,
        wire: WireBlock,
        sink: DeltaSink<'_>,
    ) -> Result<(), DecodeError> {
        let mut part = ReplyBlock {
            index,
            block: Block::Text { bytes: 0 },
            call: None,
            input: None,
        };
        match wire.kind.as_deref() {
            Some("text") => {
                let text = wire.text.unwrap_or_default();
                part.block = Block::Text { bytes: text.len() };
                self.builder.push_text(&text, sink)?;
            }
            Some("thinking") => {
                let thinking = wire.thinking.unwrap_or_default();
                let signature = wire.signature.unwrap_or_default();
                self.builder.count(signature.len())?;
                self.builder.push_reasoning(&thinking, sink)?;
                part.block = Block::Thinking {
                    thinking,
                    signature,
                };
            }
            Some("redacted_thinking") => {
                let data = wire.data.unwrap_or_default();
                self.builder.count(data.len())?;
                part.block = Block::RedactedThinking { data };
            }
            Some("tool_use") => {
                let name = wire.name.unwrap_or_default();
                part.block = Block::ToolUse;
                part.call = Some(self.builder.push_call(wire.id, &name, "")?);
                part.input = wire.input.filter(|input| *input != serde_json::json!({}));
            }
            Some(_) | None => return Ok(()),
        }
        if self.parts.len() == MAX_BLOCKS {
            return Err(DecodeError::too_many(MAX_BLOCKS, "blocks"));
        }
        self.parts.push(part);
        Ok(())
    }

    /// Extends a block. Text and thoughts are emitted even if their block is unknown.
    fn add(
        &mut self,
        index: Option<u64>,
        delta: Delta<'_>,
        sink: DeltaSink<'_>,
    ) -> Result<(), DecodeError> {
        let mut parts = self.parts.iter_mut().rev();
        let part = match index {
            Some(_) => parts.find(|part| part.index == index),
            None => parts.next(),
        };
        if let Some(Text(more)) = delta.text {
            self.builder.push_text(&more, sink)?;
            if let Some(ReplyBlock {
                block: Block::Text { bytes },
                ..
            }) = part
            {
                *bytes += more.len();
            }
            return Ok(());
        }
        if let Some(Text(more)) = &delta.thinking {
            self.builder.push_reasoning(more, sink)?;
        }
        let Some(part) = part else { return Ok(()) };
        if let Block::Thinking {
            thinking,
            signature,
        } = &mut part.block
        {
            thinking.push_str(&delta.thinking.unwrap_or_default().0);
            if let Some(whole) = delta.signature {
                self.builder.count(whole.len())?;
                *signature = whole;
            }
        } else if let (Some(call), Some(Text(more))) = (part.call, delta.partial_json) {
            self.builder.extend_call(call, None, "", &more)?;
        }
        Ok(())
    }
}

impl Decode for Decoder<'_> {
    fn event(&mut self, data: &str, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        let event: Event<'_> = serde_json::from_str(data).map_err(DecodeError::json(EXPECTED))?;
        let kind = event.kind.unwrap_or_default().0;
        if kind == "error" || event.error.is_some() {
            let error = event.error.or(event.message).unwrap_or_default();
            return Err(reported(&error).into());
        }
        match (kind.as_ref(), event.delta) {
            ("message_start", _) => {
                let start = event.message.unwrap_or_default();
                let start = Whole::deserialize(start).map_err(DecodeError::json(EXPECTED))?;
                self.head(start.id, start.stop_reason, start.usage);
            }
            ("content_block_start", _) => {
                if let Some(block) = event.content_block {
                    self.open(event.index, block, sink)?;
                }
            }
            ("content_block_delta", Some(delta)) => self.add(event.index, delta, sink)?,
            ("message_delta", delta) => {
                let stop_reason = delta.and_then(|delta| delta.stop_reason);
                self.head(None, stop_reason, event.usage);
            }
            ("message_stop", _) => self.done = true,
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &str, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        // It may be an error, whose form is that of an event.
        self.event(body, sink)?;
        let whole: Whole = serde_json::from_str(body).map_err(DecodeError::json(EXPECTED))?;
        self.head(whole.id, whole.stop_reason, whole.usage);
        for block in whole.content.unwrap_or_default() {
            self.open(None, block, sink)?;
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn has_stopped(&self) -> bool {
        self.stop_reason.is_some()
    }

    fn finish(mut self: Box<Self>, is_complete: bool) -> Result<ModelReply, DecodeError> {
        let mut blocks = Vec::with_capacity(self.parts.len());
        for part in self.parts {
            blocks.push(part.block);
            let (Some(index), Some(input)) = (part.call, part.input) else {
                continue;
            };
            let call = self.builder.calls().get(index);
            if call.is_some_and(|call| call.arguments.is_empty()) {
                self.builder
                    .extend_call(index, None, "", &input.to_string())?;
            }
        }
        let stop_reason = match &self.stop_reason {
            None => Some(self.builder.unnamed_stop(is_complete)?),
            Some(reason) => canonical(reason),
        };
        let model = self.builder.model.to_owned();
        let reply = &mut self.builder.reply;
        reply.metadata = Reasoning { model, blocks }.into_metadata();
        let [fresh, stored, cached, output_tokens] = self.counts;
        reply.usage = Usage {
            input_tokens: fresh.saturating_add(stored).saturating_add(cached),
            output_tokens,
            cached_input_tokens: cached,
            cache_write_tokens: stored,
            cost_micros: None,
        };
        self.builder.finish(stop_reason)
    }
}

/// Maps a stop reason; undocumented ones say nothing.
fn canonical(wire: &str) -> Option<StopReason> {
    match wire {
        "end_turn" | "tool_use" => Some(StopReason::EndTurn),
        "max_tokens" => Some(StopReason::MaxTokens),
        "stop_sequence" => Some(StopReason::StopSequence),
        "refusal" => Some(StopReason::Refusal),
        "pause_turn" => Some(StopReason::PauseTurn),
        "model_context_window_exceeded" => Some(StopReason::ContextWindow),
        _ => None,
    }
}

/// Reads an error within a response, `{"type", "message"}`; its type stands for the status that it
/// has as a response.
fn reported(error: &Value) -> ServerError {
    let status = match error.get("type").and_then(Value::as_str).unwrap_or("") {
        "invalid_request_error" => Some(400),
        "authentication_error" => Some(401),
        "billing_error" => Some(402),
        "permission_error" => Some(403),
        "not_found_error" => Some(404),
        "conflict_error" => Some(409),
        "request_too_large" => Some(413),
        "rate_limit_error" => Some(429),
        "api_error" => Some(500),
        "timeout_error" => Some(504),
        "overloaded_error" => Some(529),
        _ => None,
    };
    ServerError::new(status, server_message(error))
}

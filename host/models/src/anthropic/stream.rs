//! The answer: events that open a block, add to it and close it, or the whole message where a server does not stream. Blocks
//! and events of other kinds are passed over; a reply without an end is no reply.

#[cfg(test)]
mod tests;

use super::{
    error::fault_of,
    kept::{Block, Kept},
};
use crate::{
    fault::Fault,
    http::Server,
    reply::{Draft, Text, unfinished},
    retry::Retry,
    wire::Decode,
};
use agent_host_engine::model::DeltaSink;
use agent_host_types::{
    message::Message,
    model::{ModelReply, StopReason, Usage},
};
use serde::Deserialize;
use serde_json::Value;

/// The most blocks of one reply. A model's own replies have a few, one for each thought, text and call.
const MAX_BLOCKS: usize = 1024;

/// The data that ends a stream in gateways that speak several wires.
const DONE: &str = "[DONE]";

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    /// The block that the event is about.
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    content_block: Option<WireBlock>,
    /// The message so far; in some servers' errors, words.
    message: Option<Value>,
    usage: Option<WireUsage>,
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

/// A message, whole or at its start.
#[derive(Deserialize)]
struct Whole {
    id: Option<String>,
    content: Option<Vec<WireBlock>>,
    stop_reason: Option<String>,
    usage: Option<WireUsage>,
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

/// Numbers that grow; those that an event leaves out stay as they were.
#[derive(Default, Deserialize)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

/// A block of the reply.
struct Part {
    /// Its number on the wire.
    index: Option<u64>,
    block: Block,
    /// Where a call has its place among the calls.
    call: Option<usize>,
    /// The input of a call that came at once; the deltas' stands before it.
    input: Option<Value>,
}

/// Puts one reply together.
pub(super) struct Decoder<'a> {
    draft: Draft<'a>,
    /// The blocks that are kept, in the model's order.
    parts: Vec<Part>,
    usage: WireUsage,
    stop_reason: Option<String>,
    done: bool,
}

impl<'a> Decoder<'a> {
    /// Nothing has arrived yet.
    pub(super) fn new(server: &'a Server, history: &'a [Message]) -> Self {
        Self {
            draft: Draft::new(server, history),
            parts: Vec::new(),
            usage: WireUsage::default(),
            stop_reason: None,
            done: false,
        }
    }

    /// What a message says of itself beside its blocks.
    fn head(&mut self, id: Option<String>, stop_reason: Option<String>, usage: Option<WireUsage>) {
        let reply = &mut self.draft.reply;
        reply.response_id = reply.response_id.take().or(id);
        self.stop_reason = stop_reason.or(self.stop_reason.take());
        let Some(usage) = usage else { return };
        let known = &mut self.usage;
        *known = WireUsage {
            input_tokens: usage.input_tokens.or(known.input_tokens),
            output_tokens: usage.output_tokens.or(known.output_tokens),
            cache_creation_input_tokens: usage
                .cache_creation_input_tokens
                .or(known.cache_creation_input_tokens),
            cache_read_input_tokens: usage
                .cache_read_input_tokens
                .or(known.cache_read_input_tokens),
        };
    }

    /// A block opens, mostly empty; where nothing streams it is all there is of it.
    fn open(
        &mut self,
        index: Option<u64>,
        wire: WireBlock,
        sink: DeltaSink<'_>,
    ) -> Result<(), Fault> {
        let mut part = Part {
            index,
            block: Block::Text { bytes: 0 },
            call: None,
            input: None,
        };
        match wire.kind.as_deref() {
            Some("text") => {
                let text = wire.text.unwrap_or_default();
                part.block = Block::Text { bytes: text.len() };
                self.draft.text(&text, sink)?;
            }
            Some("thinking") => {
                let thinking = wire.thinking.unwrap_or_default();
                let signature = wire.signature.unwrap_or_default();
                self.draft.grow(signature.len())?;
                self.draft.reasoning(&thinking, sink)?;
                part.block = Block::Thinking {
                    thinking,
                    signature,
                };
            }
            Some("redacted_thinking") => {
                let data = wire.data.unwrap_or_default();
                self.draft.grow(data.len())?;
                part.block = Block::RedactedThinking { data };
            }
            Some("tool_use") => {
                let id = wire.id.filter(|id| !id.is_empty());
                let name = wire.name.unwrap_or_default();
                part.block = Block::ToolUse;
                part.call = Some(self.draft.begin_call(id, &name)?);
                part.input = wire.input.filter(|input| *input != serde_json::json!({}));
            }
            Some(_) | None => return Ok(()),
        }
        if self.parts.len() == MAX_BLOCKS {
            return Err(self.garbled(&format!("it has more than {MAX_BLOCKS} blocks")));
        }
        self.parts.push(part);
        Ok(())
    }

    /// More of a block. Text and thoughts are shown whatever block they are said to be of.
    fn add(
        &mut self,
        index: Option<u64>,
        delta: Delta<'_>,
        sink: DeltaSink<'_>,
    ) -> Result<(), Fault> {
        let mut parts = self.parts.iter_mut().rev();
        let part = match index {
            Some(_) => parts.find(|part| part.index == index),
            None => parts.next(),
        };
        if let Some(Text(more)) = delta.text {
            self.draft.text(&more, sink)?;
            if let Some(Part {
                block: Block::Text { bytes },
                ..
            }) = part
            {
                *bytes += more.len();
            }
            return Ok(());
        }
        if let Some(Text(more)) = &delta.thinking {
            self.draft.reasoning(more, sink)?;
        }
        let Some(part) = part else { return Ok(()) };
        if let Block::Thinking {
            thinking,
            signature,
        } = &mut part.block
        {
            thinking.push_str(&delta.thinking.unwrap_or_default().0);
            if let Some(whole) = delta.signature {
                self.draft.grow(whole.len())?;
                *signature = whole;
            }
        } else if let (Some(call), Some(Text(more))) = (part.call, delta.partial_json) {
            self.draft.go_on(call, None, "", &more)?;
        }
        Ok(())
    }

    fn garbled(&self, why: &str) -> Fault {
        self.draft.server().garbled(why, Retry::Never)
    }

    fn unreadable(&self, error: &serde_json::Error) -> Fault {
        self.garbled(&if error.is_data() {
            format!("it is not of the Messages API ({error})")
        } else {
            format!("it is not JSON ({error})")
        })
    }
}

impl Decode for Decoder<'_> {
    fn event(&mut self, data: &str, sink: DeltaSink<'_>) -> Result<(), Fault> {
        let data = data.trim();
        if data == DONE {
            self.done = true;
            return Ok(());
        }
        let event: Event<'_> =
            serde_json::from_str(data).map_err(|error| self.unreadable(&error))?;
        let kind = event.kind.unwrap_or_default().0;
        if kind == "error" || event.error.is_some() {
            let error = event.error.or(event.message).unwrap_or_default();
            return Err(fault_of(self.draft.server(), &error));
        }
        match (kind.as_ref(), event.delta) {
            ("message_start", _) => {
                let start = event.message.unwrap_or_default();
                let start = Whole::deserialize(start).map_err(|error| self.unreadable(&error))?;
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

    fn whole(&mut self, body: &str, sink: DeltaSink<'_>) -> Result<(), Fault> {
        // It may be an error, and that has one form.
        self.event(body, sink)?;
        let whole: Whole = serde_json::from_str(body).map_err(|error| self.unreadable(&error))?;
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

    fn finish(mut self: Box<Self>) -> Result<ModelReply, Fault> {
        let Some(stop_reason) = self.stop_reason else {
            return Err(unfinished(self.draft.server()));
        };
        let mut blocks = Vec::with_capacity(self.parts.len());
        for part in self.parts {
            blocks.push(part.block);
            let (Some(place), Some(input)) = (part.call, part.input) else {
                continue;
            };
            let call = self.draft.calls().get(place);
            if call.is_some_and(|call| call.arguments.is_empty()) {
                self.draft.go_on(place, None, "", &input.to_string())?;
            }
        }
        let model = self.draft.server().model.clone();
        let reply = &mut self.draft.reply;
        reply.metadata = Kept { model, blocks }.into_metadata();
        reply.usage = usage(&self.usage);
        let stop_reason = canonical(&stop_reason, !self.draft.calls().is_empty());
        self.draft.finish(stop_reason)
    }
}

/// The wire counts apart what was read from the cache and what was written to it.
fn usage(wire: &WireUsage) -> Usage {
    let cached = wire.cache_read_input_tokens.unwrap_or(0);
    let stored = wire.cache_creation_input_tokens.unwrap_or(0);
    let fresh = wire.input_tokens.unwrap_or(0);
    Usage {
        input_tokens: fresh.saturating_add(stored).saturating_add(cached),
        output_tokens: wire.output_tokens.unwrap_or(0),
        cached_input_tokens: cached,
    }
}

/// A reason that nobody documents says nothing.
fn canonical(wire: &str, calls: bool) -> Option<StopReason> {
    match wire {
        "end_turn" | "tool_use" if calls => Some(StopReason::ToolUse),
        "end_turn" | "tool_use" => Some(StopReason::EndTurn),
        "max_tokens" => Some(StopReason::MaxTokens),
        "stop_sequence" => Some(StopReason::StopSequence),
        "refusal" => Some(StopReason::Refusal),
        "pause_turn" => Some(StopReason::PauseTurn),
        "model_context_window_exceeded" => Some(StopReason::ContextWindow),
        _ => None,
    }
}

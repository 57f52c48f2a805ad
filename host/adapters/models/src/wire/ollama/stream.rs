//! Decodes a line per piece of the reply, the last of which says `done`. Calls arrive whole.

#[cfg(test)]
mod tests;

use super::{THINKING, WIRE};
use crate::wire::{Decode, DecodeError, ServerError, metadata, reply::ReplyBuilder};
use agent_host_engine::model::DeltaSink;
use agent_host_types::{
    message::Message,
    model::{ModelReply, StopReason, Usage},
};
use serde::Deserialize;
use serde_json::{Deserializer, Value, json};

/// The form of a line, for errors.
const EXPECTED: &str = "a chunk of a chat reply";

#[derive(Deserialize)]
struct Line {
    message: Option<WireMessage>,
    done: Option<bool>,
    done_reason: Option<String>,
    /// Input tokens.
    prompt_eval_count: Option<u64>,
    /// Output tokens.
    eval_count: Option<u64>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct WireMessage {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<WireCall>>,
}

#[derive(Deserialize)]
struct WireCall {
    /// Only newer servers send one.
    id: Option<String>,
    function: WireFunction,
}

#[derive(Deserialize)]
struct WireFunction {
    #[serde(default)]
    name: String,
    /// An object; from some servers its text.
    #[serde(default)]
    arguments: Value,
}

/// Decodes one reply.
pub(super) struct Decoder<'a> {
    builder: ReplyBuilder<'a>,
    thinking: String,
    done: bool,
    /// The server's stop reason; old servers send none.
    done_reason: Option<String>,
}

impl<'a> Decoder<'a> {
    /// Creates a decoder for a reply of `model` to `history`.
    pub(super) fn new(model: &'a str, history: &'a [Message]) -> Self {
        Self {
            builder: ReplyBuilder::new(model, history),
            thinking: String::new(),
            done: false,
            done_reason: None,
        }
    }

    fn message(&mut self, message: WireMessage, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        let thinking = message.thinking.unwrap_or_default();
        self.thinking.push_str(&thinking);
        self.builder.push_reasoning(&thinking, sink)?;
        self.builder
            .push_text(&message.content.unwrap_or_default(), sink)?;
        for call in message.tool_calls.unwrap_or_default() {
            let arguments = match call.function.arguments {
                Value::String(text) => text,
                Value::Null => String::new(),
                other => other.to_string(),
            };
            self.builder
                .push_call(call.id, &call.function.name, &arguments)?;
        }
        Ok(())
    }

    fn line(&mut self, line: Line, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        if let Some(error) = line.error.filter(|error| !error.is_null()) {
            return Err(ServerError::of_openai(&error).into());
        }
        if let Some(message) = line.message {
            self.message(message, sink)?;
        }
        if line.done == Some(true) {
            self.done = true;
            self.done_reason = line.done_reason.filter(|reason| !reason.is_empty());
            // The server counts no tokens of a fully cached prompt.
            self.builder.reply.usage = Usage {
                input_tokens: line.prompt_eval_count.unwrap_or(0),
                output_tokens: line.eval_count.unwrap_or(0),
                cached_input_tokens: 0,
                cache_write_tokens: 0,
                cost_micros: None,
            };
        }
        Ok(())
    }
}

impl Decode for Decoder<'_> {
    fn event(&mut self, data: &str, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        let line = serde_json::from_str(data).map_err(DecodeError::json(EXPECTED))?;
        self.line(line, sink)
    }

    /// Some gateways send the lines of a stream under the media type of one JSON value.
    fn whole(&mut self, body: &str, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        let lines = Deserializer::from_str(body).into_iter::<Line>();
        let lines: Vec<Line> = lines
            .collect::<Result<_, _>>()
            .map_err(DecodeError::json(EXPECTED))?;
        lines.into_iter().try_for_each(|line| self.line(line, sink))
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn has_stopped(&self) -> bool {
        self.done
    }

    fn finish(mut self: Box<Self>, is_complete: bool) -> Result<ModelReply, DecodeError> {
        if !self.thinking.is_empty() {
            let thinking = json!({THINKING: self.thinking});
            self.builder.reply.metadata = metadata(WIRE.name, thinking);
        }
        let stop_reason = match self.done_reason.as_deref().unwrap_or("stop") {
            _ if !self.done => Some(self.builder.unnamed_stop(is_complete)?),
            "stop" => Some(StopReason::EndTurn),
            "length" => Some(StopReason::MaxTokens),
            // The server only loaded or unloaded the model
            // (<https://docs.ollama.com/api/chat>).
            reason @ ("load" | "unload") => return Err(DecodeError::broken_off(reason)),
            _ => None,
        };
        self.builder.finish(stop_reason)
    }
}

//! The answer: a line for each piece of the reply, the last of which says `done`. Calls come whole.

#[cfg(test)]
mod tests;

use super::THINKING;
use crate::{
    fault::{Fault, reported::fault_of},
    http::Server,
    provider::Provider,
    reply::{Draft, unfinished},
    retry::Retry,
    wire::Decode,
};
use agent_host_engine::model::DeltaSink;
use agent_host_types::{
    message::Message,
    model::{ModelReply, StopReason, Usage},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Deserializer, Value, json};

#[derive(Deserialize)]
struct Line {
    message: Option<WireMessage>,
    done: Option<bool>,
    done_reason: Option<String>,
    /// Tokens read.
    prompt_eval_count: Option<u64>,
    /// Tokens written.
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
    /// Newer servers make one up.
    id: Option<String>,
    function: WireFunction,
}

#[derive(Deserialize)]
struct WireFunction {
    #[serde(default)]
    name: String,
    /// An object; in some servers its text.
    #[serde(default)]
    arguments: Value,
}

/// Puts one reply together.
pub(super) struct Decoder<'a> {
    draft: Draft<'a>,
    thinking: String,
    done: bool,
    /// Why the model stopped, in the server's word; old servers have none.
    done_reason: Option<String>,
}

impl<'a> Decoder<'a> {
    /// Nothing has arrived yet.
    pub(super) fn new(server: &'a Server, history: &'a [Message]) -> Self {
        Self {
            draft: Draft::new(server, history),
            thinking: String::new(),
            done: false,
            done_reason: None,
        }
    }

    fn message(&mut self, message: WireMessage, sink: DeltaSink<'_>) -> Result<(), Fault> {
        let thinking = message.thinking.unwrap_or_default();
        self.thinking.push_str(&thinking);
        self.draft.reasoning(&thinking, sink)?;
        self.draft
            .text(&message.content.unwrap_or_default(), sink)?;
        for call in message.tool_calls.unwrap_or_default() {
            let id = call.id.filter(|id| !id.is_empty());
            let arguments = match call.function.arguments {
                Value::String(text) => text,
                Value::Null => String::new(),
                other => other.to_string(),
            };
            let place = self.draft.begin_call(id, &call.function.name)?;
            self.draft.go_on(place, None, "", &arguments)?;
        }
        Ok(())
    }

    fn garbled(&self, error: &serde_json::Error) -> Fault {
        let what = if error.is_data() {
            "is no piece of a chat"
        } else {
            "is not JSON"
        };
        let why = format!("it {what} ({error})");
        self.draft.server().garbled(&why, Retry::Never)
    }

    fn stop_reason(&self) -> Option<StopReason> {
        match self.done_reason.as_deref().unwrap_or("stop") {
            "stop" if self.draft.calls().is_empty() => Some(StopReason::EndTurn),
            "stop" => Some(StopReason::ToolUse),
            "length" => Some(StopReason::MaxTokens),
            _ => None,
        }
    }
}

impl Decode for Decoder<'_> {
    fn event(&mut self, data: &str, sink: DeltaSink<'_>) -> Result<(), Fault> {
        let line: Line = serde_json::from_str(data).map_err(|error| self.garbled(&error))?;
        if let Some(error) = line.error.filter(|error| !error.is_null()) {
            return Err(fault_of(self.draft.server(), &error));
        }
        if let Some(message) = line.message {
            self.message(message, sink)?;
        }
        if line.done == Some(true) {
            self.done = true;
            self.done_reason = line.done_reason.filter(|reason| !reason.is_empty());
            // Of a prompt that is in the cache as a whole no tokens are counted.
            self.draft.reply.usage = Usage {
                input_tokens: line.prompt_eval_count.unwrap_or(0),
                output_tokens: line.eval_count.unwrap_or(0),
                cached_input_tokens: 0,
            };
        }
        Ok(())
    }

    /// Some gateways send the lines of a stream under the media type of one JSON value.
    fn whole(&mut self, body: &str, sink: DeltaSink<'_>) -> Result<(), Fault> {
        let mut values = Deserializer::from_str(body).into_iter::<IgnoredAny>();
        let mut begin = 0;
        while let Some(value) = values.next() {
            value.map_err(|error| self.garbled(&error))?;
            let end = values.byte_offset();
            self.event(body.get(begin..end).unwrap_or_default(), sink)?;
            begin = end;
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn has_stopped(&self) -> bool {
        self.done
    }

    fn finish(mut self: Box<Self>) -> Result<ModelReply, Fault> {
        if !self.done {
            return Err(unfinished(self.draft.server()));
        }
        if !self.thinking.is_empty() {
            let kept = json!({THINKING: self.thinking});
            let metadata = &mut self.draft.reply.metadata;
            metadata.insert(Provider::Ollama.name().to_owned(), kept);
        }
        let stop_reason = self.stop_reason();
        self.draft.finish(stop_reason)
    }
}

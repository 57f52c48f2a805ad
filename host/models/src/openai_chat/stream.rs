//! The answer: `chat.completion.chunk` events, or one `chat.completion` where a server does not stream. It is lenient where
//! compatible servers differ, and strict about one thing: a reply without an end is no reply.

#[cfg(test)]
mod tests;

use super::error::{error_in, fault_of};
use crate::{call_ids::CallIds, fault::Fault, http::Server, retry::Retry};
use agent_host_core::{
    id::CallId,
    message::Message,
    model::{DeltaSink, ModelDelta, ModelReply, StopReason, Usage},
    tool::ToolCall,
};
use serde::Deserialize;
use serde_json::Value;

/// The longest reply, text and arguments together, in bytes. It is far above what any model writes in one reply.
pub(super) const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// The most calls in one reply.
pub(super) const MAX_CALLS: usize = 128;

/// The data that ends a stream.
const DONE: &str = "[DONE]";

#[derive(Deserialize)]
struct Chunk {
    id: Option<String>,
    choices: Option<Vec<Choice>>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct Choice {
    index: Option<u64>,
    /// In a streamed answer.
    delta: Option<Delta>,
    /// In an answer in one piece.
    message: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    /// A string; in some servers a list of parts.
    content: Option<Value>,
    refusal: Option<String>,
    /// What vLLM and OpenRouter call the model's reasoning.
    reasoning: Option<Value>,
    /// What DeepSeek and llama.cpp call it.
    reasoning_content: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    /// A string; in some servers the object itself.
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

/// A call whose arguments are still coming.
struct PartialCall {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
}

/// Puts one reply together.
pub(super) struct Decoder<'a> {
    server: &'a Server,
    /// The conversation so far; ids that this side makes must be new to it.
    history: &'a [Message],
    reply_id: Option<String>,
    text: String,
    calls: Vec<PartialCall>,
    finish_reason: Option<String>,
    refused: bool,
    usage: Usage,
    done: bool,
    reply_bytes: usize,
}

impl<'a> Decoder<'a> {
    /// Nothing has arrived yet.
    pub(super) fn new(server: &'a Server, history: &'a [Message]) -> Self {
        Self {
            server,
            history,
            reply_id: None,
            text: String::new(),
            calls: Vec::new(),
            finish_reason: None,
            refused: false,
            usage: Usage::default(),
            done: false,
            reply_bytes: 0,
        }
    }

    /// Whether the stream has said that nothing more comes.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the model has said why it stopped.
    pub(super) fn has_stopped(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// Takes the data of one event.
    ///
    /// # Errors
    /// An error that the server reports in it, data in no known form, or too much of it.
    pub(super) fn data(&mut self, data: &str, sink: DeltaSink<'_>) -> Result<(), Fault> {
        let data = data.trim();
        if data == DONE {
            self.done = true;
            return Ok(());
        }
        let value: Value = serde_json::from_str(data)
            .map_err(|error| self.garbled(&format!("it is not JSON ({error})")))?;
        if let Some(error) = error_in(&value) {
            return Err(fault_of(self.server, error));
        }
        let chunk = Chunk::deserialize(value)
            .map_err(|error| self.garbled(&format!("it is not a chat completion ({error})")))?;
        self.reply_id = self.reply_id.take().or(chunk.id);
        if let Some(usage) = chunk.usage {
            self.usage = Usage {
                input_tokens: usage.prompt_tokens.unwrap_or(0),
                output_tokens: usage.completion_tokens.unwrap_or(0),
                cached_input_tokens: usage
                    .prompt_tokens_details
                    .and_then(|details| details.cached_tokens)
                    .unwrap_or(0),
            };
        }
        for choice in chunk.choices.unwrap_or_default() {
            // One answer was asked for; others would be mixed into it.
            if choice.index.unwrap_or(0) == 0 {
                self.choice(choice, sink)?;
            }
        }
        Ok(())
    }

    fn choice(&mut self, choice: Choice, sink: DeltaSink<'_>) -> Result<(), Fault> {
        if let Some(delta) = choice.delta.or(choice.message) {
            let thought = delta
                .reasoning_content
                .or(delta.reasoning.and_then(plain_text));
            if let Some(thought) = thought.filter(|thought| !thought.is_empty()) {
                sink(ModelDelta::Reasoning(&thought));
            }
            self.refused |= delta.refusal.as_ref().is_some_and(|text| !text.is_empty());
            for text in [delta.content.and_then(plain_text), delta.refusal] {
                let text = text.unwrap_or_default();
                if !text.is_empty() {
                    self.grow(text.len())?;
                    self.text.push_str(&text);
                    sink(ModelDelta::Text(&text));
                }
            }
            for call in delta.tool_calls.unwrap_or_default() {
                self.call(call)?;
            }
        }
        self.finish_reason = choice
            .finish_reason
            .filter(|reason| !reason.is_empty())
            .or(self.finish_reason.take());
        Ok(())
    }

    fn call(&mut self, delta: CallDelta) -> Result<(), Fault> {
        let id = delta.id.filter(|id| !id.is_empty());
        let (name, arguments) = delta
            .function
            .map_or((None, None), |function| (function.name, function.arguments));
        let name = name.filter(|name| !name.is_empty());
        let arguments = match arguments {
            Some(Value::String(text)) => text,
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        self.grow(arguments.len() + name.as_ref().map_or(0, String::len))?;
        let place = self.place_of(delta.index, id.as_deref(), name.is_some());
        if place.is_none() && self.calls.len() == MAX_CALLS {
            return Err(self.garbled(&format!("it calls more than {MAX_CALLS} tools")));
        }
        match place.and_then(|place| self.calls.get_mut(place)) {
            Some(call) => {
                if call.name.is_empty() {
                    call.name = name.unwrap_or_default();
                }
                call.id = call.id.take().or(id);
                call.arguments.push_str(&arguments);
            }
            None => self.calls.push(PartialCall {
                index: delta.index,
                id,
                name: name.unwrap_or_default(),
                arguments,
            }),
        }
        Ok(())
    }

    /// The call that a delta goes on with; none where it begins one. By the documentation `index` alone decides, and `id` and
    /// `name` come once. But servers leave out `index` or `id`, give every call index 0, or repeat the id or make up another
    /// in each delta; a name together with another id is what a new call always has.
    fn place_of(&self, index: Option<u64>, id: Option<&str>, named: bool) -> Option<usize> {
        let differs = |call: &PartialCall| match (&call.id, id) {
            (Some(old), Some(new)) => named && old != new,
            (None, _) | (_, None) => false,
        };
        if index.is_some() {
            let place = self.calls.iter().rposition(|call| call.index == index)?;
            return self
                .calls
                .get(place)
                .filter(|call| !differs(call))
                .map(|_| place);
        }
        if id.is_some() {
            let same = self.calls.iter().rposition(|call| call.id.as_deref() == id);
            if same.is_some() || named {
                return same;
            }
        }
        if named {
            return None;
        }
        self.calls.len().checked_sub(1)
    }

    fn grow(&mut self, bytes: usize) -> Result<(), Fault> {
        self.reply_bytes += bytes;
        if self.reply_bytes > MAX_REPLY_BYTES {
            let why = format!("the reply is longer than {MAX_REPLY_BYTES} bytes");
            return Err(self.server.garbled(&why, Retry::Never));
        }
        Ok(())
    }

    /// The whole reply.
    ///
    /// # Errors
    /// The stream ended before the model did, or a call has no name.
    pub(super) fn finish(self) -> Result<ModelReply, Fault> {
        let Some(finish_reason) = self.finish_reason else {
            let why = "it ended before the model had said why it stopped";
            return Err(self.server.garbled(why, Retry::Backoff));
        };
        if self.calls.iter().any(|call| call.name.is_empty()) {
            return Err(self
                .server
                .garbled("it calls a tool without a name", Retry::Backoff));
        }
        let stop_reason = if self.refused {
            Some(StopReason::Refusal)
        } else {
            stop_reason(&finish_reason, !self.calls.is_empty())
        };
        let mut ids = CallIds::after(self.history);
        let tool_calls = self
            .calls
            .into_iter()
            .map(|call| {
                let id = call.id.map_or_else(|| ids.next_id(), CallId);
                ToolCall::parse(id, call.name, call.arguments)
            })
            .collect();
        Ok(ModelReply {
            text: self.text,
            tool_calls,
            stop_reason,
            usage: self.usage,
            response_id: self.reply_id,
            ..ModelReply::default()
        })
    }

    fn garbled(&self, why: &str) -> Fault {
        self.server.garbled(why, Retry::Never)
    }
}

/// Several servers say `stop` also where they call tools, and some say `tool_calls` where they call none. A reason that
/// nobody documents says nothing.
fn stop_reason(wire: &str, calls: bool) -> Option<StopReason> {
    match wire {
        "stop" | "tool_calls" | "function_call" if calls => Some(StopReason::ToolUse),
        "stop" | "tool_calls" | "function_call" => Some(StopReason::EndTurn),
        "length" => Some(StopReason::MaxTokens),
        "content_filter" => Some(StopReason::Refusal),
        _ => None,
    }
}

/// The text of a string, or of the parts of a list.
fn plain_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(parts) => Some(
            parts
                .iter()
                .filter_map(|part| part.get("text")?.as_str())
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

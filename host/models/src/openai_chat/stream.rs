//! The answer: `chat.completion.chunk` events, or one `chat.completion` where a server does not stream. It is lenient where
//! compatible servers differ, and strict about one thing: a reply without an end is no reply.

#[cfg(test)]
mod tests;

use crate::{
    fault::{
        Fault,
        reported::{error_in, fault_of},
    },
    http::Server,
    reply::{Draft, PartialCall, unfinished},
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

/// Puts one reply together.
pub(super) struct Decoder<'a> {
    draft: Draft<'a>,
    /// The index of each call.
    indices: Vec<Option<u64>>,
    finish_reason: Option<String>,
    refused: bool,
    done: bool,
}

impl<'a> Decoder<'a> {
    /// Nothing has arrived yet.
    pub(super) fn new(server: &'a Server, history: &'a [Message]) -> Self {
        Self {
            draft: Draft::new(server, history),
            indices: Vec::new(),
            finish_reason: None,
            refused: false,
            done: false,
        }
    }

    fn choice(&mut self, choice: Choice, sink: DeltaSink<'_>) -> Result<(), Fault> {
        if let Some(delta) = choice.delta.or(choice.message) {
            let thought = delta
                .reasoning_content
                .or(delta.reasoning.and_then(plain_text));
            if let Some(thought) = thought {
                self.draft.reasoning(&thought, sink)?;
            }
            self.refused |= delta.refusal.as_ref().is_some_and(|text| !text.is_empty());
            for text in [delta.content.and_then(plain_text), delta.refusal] {
                self.draft.text(&text.unwrap_or_default(), sink)?;
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
        let place = match self.place_of(delta.index, id.as_deref(), name.is_some()) {
            Some(place) => place,
            None => {
                self.indices.push(delta.index);
                self.draft.begin_call(None, "")?
            }
        };
        self.draft
            .go_on(place, id, &name.unwrap_or_default(), &arguments)
    }

    /// The call that a delta goes on with; none where it begins one. By the documentation `index` alone decides, and `id` and
    /// `name` come once. But servers leave out `index` or `id`, give every call index 0, or repeat the id or make up another
    /// in each delta; a name together with another id is what a new call always has.
    fn place_of(&self, index: Option<u64>, id: Option<&str>, named: bool) -> Option<usize> {
        let calls = self.draft.calls();
        let differs = |call: &PartialCall| match (&call.id, id) {
            (Some(old), Some(new)) => named && old != new,
            (None, _) | (_, None) => false,
        };
        if index.is_some() {
            let place = self.indices.iter().rposition(|known| *known == index)?;
            return calls
                .get(place)
                .filter(|call| !differs(call))
                .map(|_| place);
        }
        if id.is_some() {
            let same = calls.iter().rposition(|call| call.id.as_deref() == id);
            if same.is_some() || named {
                return same;
            }
        }
        if named {
            return None;
        }
        calls.len().checked_sub(1)
    }

    fn garbled(&self, why: &str) -> Fault {
        self.draft.server().garbled(why, Retry::Never)
    }
}

impl Decode for Decoder<'_> {
    fn event(&mut self, data: &str, sink: DeltaSink<'_>) -> Result<(), Fault> {
        let data = data.trim();
        if data == DONE {
            self.done = true;
            return Ok(());
        }
        let value: Value = serde_json::from_str(data)
            .map_err(|error| self.garbled(&format!("it is not JSON ({error})")))?;
        if let Some(error) = error_in(&value) {
            return Err(fault_of(self.draft.server(), error));
        }
        let chunk = Chunk::deserialize(value)
            .map_err(|error| self.garbled(&format!("it is not a chat completion ({error})")))?;
        let reply = &mut self.draft.reply;
        reply.response_id = reply.response_id.take().or(chunk.id);
        if let Some(usage) = chunk.usage {
            reply.usage = Usage {
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

    fn is_done(&self) -> bool {
        self.done
    }

    fn has_stopped(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn finish(self: Box<Self>) -> Result<ModelReply, Fault> {
        let Some(finish_reason) = self.finish_reason else {
            return Err(unfinished(self.draft.server()));
        };
        let stop_reason = if self.refused {
            Some(StopReason::Refusal)
        } else {
            stop_reason(&finish_reason, !self.draft.calls().is_empty())
        };
        self.draft.finish(stop_reason)
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

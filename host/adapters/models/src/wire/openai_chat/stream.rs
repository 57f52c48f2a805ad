//! Decodes `chat.completion.chunk` events, or one `chat.completion` from a server that does not
//! stream. Lenient where compatible servers differ, strict about one thing: a reply that is cut off
//! is an error.

#[cfg(test)]
mod tests;

use super::reasoning::Reasoning;
use crate::wire::{
    Decode, DecodeError, ServerError,
    reply::{PartialCall, ReplyBuilder},
    server_error::openai_error_in,
    usage_at,
};
use agent_host_engine::model::DeltaSink;
use agent_host_types::{
    message::Message,
    model::{ModelReply, StopReason},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
struct Chunk {
    id: Option<String>,
    choices: Option<Vec<Choice>>,
    usage: Option<Value>,
    // An event that is an error has one of these.
    error: Option<Value>,
    object: Option<Value>,
    #[serde(rename = "type")]
    kind: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    index: Option<u64>,
    /// In a streamed response.
    delta: Option<Delta>,
    /// In a response that is not streamed.
    message: Option<Delta>,
    finish_reason: Option<String>,
    /// The token counts, from Moonshot.
    usage: Option<Value>,
    /// Why the reply was broken off, from OpenRouter.
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Delta {
    /// A string; from some servers a list of parts, the reasoning of Mistral's models among them.
    content: Option<Value>,
    refusal: Option<String>,
    /// The model's reasoning, from vLLM and OpenRouter.
    reasoning: Option<Value>,
    /// The model's reasoning, from DeepSeek and llama.cpp.
    reasoning_content: Option<String>,
    /// The model's reasoning, from OpenRouter.
    reasoning_details: Option<Vec<Map<String, Value>>>,
    /// The signature of the message, from Gemini.
    extra_content: Option<Value>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionDelta>,
    /// The signature of the call, from Gemini.
    extra_content: Option<Value>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    /// A string; from some servers the object itself.
    arguments: Option<Value>,
}

/// Where `usage` has the input, output, cached input and cache write tokens.
const USAGE: [&str; 4] = [
    "/prompt_tokens",
    "/completion_tokens",
    "/prompt_tokens_details/cached_tokens",
    "/prompt_tokens_details/cache_write_tokens",
];

/// Decodes one reply.
pub(super) struct Decoder<'a> {
    builder: ReplyBuilder<'a>,
    reasoning: Reasoning,
    /// The wire's index of each call.
    indices: Vec<Option<u64>>,
    finish_reason: Option<String>,
    refused: bool,
}

impl<'a> Decoder<'a> {
    /// Creates a decoder for a reply of `model` to `history`.
    pub(super) fn new(model: &'a str, history: &'a [Message]) -> Self {
        Self {
            builder: ReplyBuilder::new(model, history),
            reasoning: Reasoning::new(model),
            indices: Vec::new(),
            finish_reason: None,
            refused: false,
        }
    }

    fn choice(&mut self, choice: Choice, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        if let Some(error) = choice.error.filter(|error| !error.is_null()) {
            return Err(ServerError::of_openai(&error).into());
        }
        if let Some(delta) = choice.delta.or(choice.message) {
            self.thought(&delta, sink)?;
            for detail in delta.reasoning_details.unwrap_or_default() {
                self.builder.count(json!(detail).to_string().len())?;
                self.reasoning.push_detail(detail)?;
            }
            if let Some(extra) = delta.extra_content.filter(|extra| !extra.is_null()) {
                self.builder.count(extra.to_string().len())?;
                self.reasoning.extra_content = Some(extra);
            }
            self.refused |= delta.refusal.as_ref().is_some_and(|text| !text.is_empty());
            for text in [delta.content.and_then(plain_text), delta.refusal] {
                self.builder.push_text(&text.unwrap_or_default(), sink)?;
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

    /// Shows the reasoning of a delta, of which servers send up to three forms, and stores its text
    /// in its own field.
    fn thought(&mut self, delta: &Delta, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        let content = delta.reasoning_content.clone();
        let reasoning = delta.reasoning.clone().and_then(plain_text);
        let details = delta.reasoning_details.as_deref().unwrap_or_default();
        let texts = details.iter().filter_map(|detail| {
            let text = detail.get("text").or(detail.get("summary"))?;
            text.as_str()
        });
        let shown = content.clone().or(reasoning.clone());
        let in_content = || delta.content.as_ref().and_then(thinking_of);
        let shown = shown.or_else(in_content);
        let shown = shown.unwrap_or_else(|| texts.collect());
        self.builder.push_reasoning(&shown, sink)?;
        for (stored, piece) in [
            (&mut self.reasoning.reasoning_content, content),
            (&mut self.reasoning.reasoning, reasoning),
        ] {
            if let Some(piece) = piece {
                stored.get_or_insert_default().push_str(&piece);
            }
        }
        Ok(())
    }

    fn call(&mut self, delta: CallDelta) -> Result<(), DecodeError> {
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
        let call = self.call_of(delta.index, id.as_deref(), name.is_some());
        let name = name.unwrap_or_default();
        let call = match call {
            Some(call) => {
                self.builder.extend_call(call, id, &name, &arguments)?;
                call
            }
            None => {
                self.indices.push(delta.index);
                self.builder.push_call(id, &name, &arguments)?
            }
        };
        if let Some(extra) = delta.extra_content.filter(|extra| !extra.is_null()) {
            self.builder.count(extra.to_string().len())?;
            self.reasoning.set_call(call, extra);
        }
        Ok(())
    }

    /// Returns the call that a delta extends; none if it starts one. By the documentation `index`
    /// alone decides, and `id` and `name` come once. But servers omit `index` or `id`, give every
    /// call index 0, or repeat the id or invent another in each delta; only a new call has a name
    /// together with another id.
    fn call_of(&self, index: Option<u64>, id: Option<&str>, named: bool) -> Option<usize> {
        let calls = self.builder.calls();
        let differs = |call: &PartialCall| match (&call.id, id) {
            (Some(old), Some(new)) => named && old != new,
            (None, _) | (_, None) => false,
        };
        if index.is_some() {
            let call = self.indices.iter().rposition(|known| *known == index)?;
            return calls.get(call).filter(|call| !differs(call)).map(|_| call);
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
}

impl Decode for Decoder<'_> {
    fn event(&mut self, data: &str, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        let invalid = DecodeError::json("a chat completion");
        let chunk: Chunk = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            // An error may have another form in the other members.
            Err(error) => match serde_json::from_str(data) {
                Ok(value) => return Err(reported(&value).unwrap_or_else(|| invalid(error))),
                Err(error) => return Err(invalid(error)),
            },
        };
        let is_error = |tag: &Option<Value>| tag.as_ref().is_some_and(|tag| tag == "error");
        if chunk.error.is_some() || is_error(&chunk.object) || is_error(&chunk.kind) {
            let value = serde_json::from_str(data).map_err(&invalid)?;
            if let Some(error) = reported(&value) {
                return Err(error);
            }
        }
        let reply = &mut self.builder.reply;
        reply.response_id = reply.response_id.take().or(chunk.id);
        if let Some(usage) = chunk.usage {
            reply.usage = usage_at(USAGE, &usage);
        }
        for mut choice in chunk.choices.unwrap_or_default() {
            if let Some(usage) = choice.usage.take() {
                self.builder.reply.usage = usage_at(USAGE, &usage);
            }
            // One choice was requested; others would be mixed into it.
            if choice.index.unwrap_or(0) == 0 {
                self.choice(choice, sink)?;
            }
        }
        Ok(())
    }

    /// Never true: token counts can follow the finish reason.
    fn is_done(&self) -> bool {
        false
    }

    fn has_stopped(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn finish(mut self: Box<Self>, is_complete: bool) -> Result<ModelReply, DecodeError> {
        let stop_reason = match &self.finish_reason {
            None => Some(self.builder.unnamed_stop(is_complete)?),
            Some(_) if self.refused => Some(StopReason::Refusal),
            Some(reason) => stop_reason(reason)?,
        };
        self.builder.reply.metadata = self.reasoning.into_metadata();
        self.builder.finish(stop_reason)
    }
}

/// Returns the error that an event reports, if it does.
fn reported(event: &Value) -> Option<DecodeError> {
    let error = openai_error_in(event)?;
    Some(ServerError::of_openai(error).into())
}

/// Maps a finish reason. Several servers say `stop` also where they call tools, and some say
/// `tool_calls` where they call none. An undocumented reason says nothing.
///
/// Beyond OpenAI's: `model_length` and `error` of Mistral, `error` of OpenRouter,
/// `insufficient_system_resource` of DeepSeek, `abort` of vLLM and SGLang, `eos` of Together.
fn stop_reason(wire: &str) -> Result<Option<StopReason>, DecodeError> {
    Ok(Some(match wire {
        "stop" | "tool_calls" | "function_call" | "eos" => StopReason::EndTurn,
        "length" => StopReason::MaxTokens,
        "model_length" => StopReason::ContextWindow,
        "content_filter" => StopReason::Refusal,
        "error" | "insufficient_system_resource" | "abort" => {
            return Err(DecodeError::broken_off(wire));
        }
        _ => return Ok(None),
    }))
}

/// Returns the reasoning among the parts of a content, from Mistral: text, or a list of texts.
fn thinking_of(content: &Value) -> Option<String> {
    let parts = content.as_array()?.iter();
    let thinking = parts.filter_map(|part| plain_text(part.get("thinking")?.clone()));
    Some(thinking.collect())
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

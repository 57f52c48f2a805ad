//! Decodes `response.*` events, or one response from a server that does not stream. A reply
//! consists of items, each of which is announced, arrives in deltas and ends with the whole item;
//! servers omit one or the other.

#[cfg(test)]
mod tests;

use super::{
    SEPARATOR,
    reasoning::{self, kind, text_of},
};
use crate::wire::{
    Decode, DecodeError, ServerError, reply::ReplyBuilder, server_error::openai_error_in, usage_at,
};
use agent_host_engine::model::DeltaSink;
use agent_host_types::{
    message::Message,
    model::{ModelReply, StopReason},
};
use serde::Deserialize;
use serde_json::Value;
use std::{borrow::Cow, collections::BTreeMap};

/// The form of the data, for errors.
const EXPECTED: &str = "a Responses event";

/// The member that every event has.
#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
}

/// A delta of an item, or the whole arguments of a call.
#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(rename = "output_index")]
    index: Option<u64>,
    // Borrowed, since no event is more frequent.
    #[serde(borrow, default, alias = "arguments")]
    delta: Cow<'a, str>,
}

/// An item at its start or its end.
#[derive(Deserialize)]
struct ItemEvent {
    output_index: Option<u64>,
    item: Value,
}

/// The start of a part of reasoning.
#[derive(Deserialize)]
struct SummaryPart {
    summary_index: Option<u64>,
}

#[derive(Deserialize)]
struct ResponseEvent {
    response: Response,
}

#[derive(Deserialize)]
struct Response {
    id: Option<String>,
    status: Option<String>,
    error: Option<Value>,
    incomplete_details: Option<IncompleteDetails>,
    output: Option<Vec<Value>>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}

/// Where `usage` has the input, output, cached input and cache write tokens.
const USAGE: [&str; 4] = [
    "/input_tokens",
    "/output_tokens",
    "/input_tokens_details/cached_tokens",
    "/input_tokens_details/cache_write_tokens",
];

/// The progress of an item.
#[derive(Default)]
struct ItemProgress {
    /// The index of its call, if it is one.
    call: Option<usize>,
    /// Text of it was emitted.
    shown: bool,
}

/// How a response ended.
enum ResponseEnd {
    Completed,
    /// Before the model was done, for this reason of the provider's.
    Incomplete(String),
}

/// Decodes one reply.
pub(super) struct Decoder<'a> {
    builder: ReplyBuilder<'a>,
    /// Items by their index in the reply.
    progress: BTreeMap<u64, ItemProgress>,
    /// The whole items of the reply, in the order in which they ended.
    items: Vec<Value>,
    refused: bool,
    end: Option<ResponseEnd>,
}

impl<'a> Decoder<'a> {
    /// Creates a decoder for a reply of `model` to `history`.
    pub(super) fn new(model: &'a str, history: &'a [Message]) -> Self {
        Self {
            builder: ReplyBuilder::new(model, history),
            progress: BTreeMap::new(),
            items: Vec::new(),
            refused: false,
            end: None,
        }
    }

    /// Returns the item that an event is about; without an index, the last one.
    fn item(&mut self, index: Option<u64>) -> &mut ItemProgress {
        let last = self
            .progress
            .last_key_value()
            .map_or(0, |(index, _)| *index);
        self.progress.entry(index.unwrap_or(last)).or_default()
    }

    /// Appends text of a message. An empty line separates it from an earlier message.
    fn text(
        &mut self,
        index: Option<u64>,
        text: &str,
        sink: DeltaSink<'_>,
    ) -> Result<(), DecodeError> {
        if text.is_empty() {
            return Ok(());
        }
        let first = !std::mem::replace(&mut self.item(index).shown, true);
        if first && !self.builder.reply.text.is_empty() {
            self.builder.push_text(SEPARATOR, sink)?;
        }
        self.builder.push_text(text, sink)
    }

    /// Appends to the arguments of a call. Those of a call that was not announced are ignored: its
    /// end has them whole.
    fn arguments(&mut self, index: Option<u64>, arguments: &str) -> Result<(), DecodeError> {
        match self.item(index).call {
            Some(call) => self.builder.extend_call(call, None, "", arguments),
            None => Ok(()),
        }
    }

    /// Takes the whole arguments of a call, which deltas may have brought before.
    fn whole_arguments(&mut self, index: Option<u64>, arguments: &str) -> Result<(), DecodeError> {
        let call = self.item(index).call;
        let call = call.and_then(|call| self.builder.calls().get(call));
        match call {
            Some(call) if call.arguments.is_empty() => self.arguments(index, arguments),
            Some(_) | None => Ok(()),
        }
    }

    fn item_added(&mut self, event: &ItemEvent) -> Result<(), DecodeError> {
        let next = self
            .progress
            .last_key_value()
            .map_or(0, |(index, _)| index + 1);
        let index = Some(event.output_index.unwrap_or(next));
        self.item(index);
        if kind(&event.item) == "function_call" {
            self.call(index, &event.item)?;
        }
        Ok(())
    }

    /// Starts a call, or adds the id and the name to one that started without.
    fn call(&mut self, index: Option<u64>, item: &Value) -> Result<(), DecodeError> {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or("");
        let id = Some(text("call_id").to_owned());
        if let Some(call) = self.item(index).call {
            return self.builder.extend_call(call, id, text("name"), "");
        }
        let call = self.builder.push_call(id, text("name"), "")?;
        self.item(index).call = Some(call);
        Ok(())
    }

    /// Takes a whole item, of which deltas may have brought a part before.
    fn item_done(&mut self, event: ItemEvent, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        let index = event.output_index;
        let item = &event.item;
        match kind(item) {
            "message" => {
                self.refused |= has_refusal(item);
                if !self.item(index).shown {
                    self.text(index, &text_of(item), sink)?;
                }
            }
            "reasoning" => {
                if !std::mem::replace(&mut self.item(index).shown, true) {
                    self.builder.push_reasoning(&summary_of(item), sink)?;
                }
                // Nothing is stored at the provider, so only encrypted content can be sent back.
                if item.get("encrypted_content").is_none_or(Value::is_null) {
                    return Ok(());
                }
            }
            "function_call" => {
                self.call(index, item)?;
                let arguments = item.get("arguments").and_then(Value::as_str);
                self.whole_arguments(index, arguments.unwrap_or(""))?;
            }
            // Nothing else was requested.
            _ => return Ok(()),
        }
        self.builder.count(item.to_string().len())?;
        self.items.push(event.item);
        Ok(())
    }

    /// Takes the response, complete or so far. `status` is the status that the event's type
    /// implies.
    fn response(
        &mut self,
        response: Response,
        status: &str,
        sink: DeltaSink<'_>,
    ) -> Result<(), DecodeError> {
        if let Some(error) = response.error.filter(|error| !error.is_null()) {
            return Err(ServerError::of_openai(&error).into());
        }
        let reply = &mut self.builder.reply;
        reply.response_id = reply.response_id.take().or(response.id);
        if let Some(usage) = response.usage {
            reply.usage = usage_at(USAGE, &usage);
        }
        // If no item has ended by itself, the response has them.
        if self.items.is_empty() {
            for (index, item) in (0..).zip(response.output.unwrap_or_default()) {
                let output_index = Some(index);
                self.item_done(ItemEvent { output_index, item }, sink)?;
            }
        }
        let reason = response
            .incomplete_details
            .and_then(|details| details.reason);
        self.end = match response.status.as_deref().unwrap_or(status) {
            "completed" => Some(ResponseEnd::Completed),
            "incomplete" => Some(ResponseEnd::Incomplete(reason.unwrap_or_default())),
            "failed" | "cancelled" => {
                let why = "it says that the response failed, but not why";
                return Err(DecodeError::Unusable(why.to_owned()));
            }
            _ => None,
        };
        Ok(())
    }

    /// Maps the end of the response. A reason that is not documented says nothing; `max_messages`
    /// and `steered` are for requests that are not made here.
    fn stop_reason(&self, end: &ResponseEnd) -> Result<Option<StopReason>, DecodeError> {
        Ok(Some(match end {
            ResponseEnd::Completed if self.refused => StopReason::Refusal,
            ResponseEnd::Completed => StopReason::EndTurn,
            ResponseEnd::Incomplete(reason) => match reason.as_str() {
                "max_output_tokens" => StopReason::MaxTokens,
                "content_filter" => StopReason::Refusal,
                "" => return Err(DecodeError::broken_off("incomplete")),
                "max_messages" | "steered" => return Err(DecodeError::broken_off(reason)),
                _ => return Ok(None),
            },
        }))
    }
}

impl Decode for Decoder<'_> {
    fn event(&mut self, data: &str, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        let Kind { kind } = read(data)?;
        match kind.as_ref() {
            "response.output_text.delta" => {
                let Delta { index, delta } = read(data)?;
                self.text(index, &delta, sink)
            }
            "response.refusal.delta" => {
                let Delta { index, delta } = read(data)?;
                self.refused = true;
                self.text(index, &delta, sink)
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let Delta { index, delta } = read(data)?;
                self.item(index).shown = true;
                self.builder.push_reasoning(&delta, sink)
            }
            "response.reasoning_summary_part.added" => {
                let part: SummaryPart = read(data)?;
                let first = part.summary_index.unwrap_or(0) == 0;
                self.builder
                    .push_reasoning(if first { "" } else { SEPARATOR }, sink)
            }
            "response.function_call_arguments.delta" => {
                let Delta { index, delta } = read(data)?;
                self.arguments(index, &delta)
            }
            "response.function_call_arguments.done" => {
                let Delta { index, delta } = read(data)?;
                self.whole_arguments(index, &delta)
            }
            "response.output_item.added" => {
                let event = read(data)?;
                self.item_added(&event)
            }
            "response.output_item.done" => {
                let event = read(data)?;
                self.item_done(event, sink)
            }
            "response.created"
            | "response.completed"
            | "response.incomplete"
            | "response.failed" => {
                let ResponseEvent { response } = read(data)?;
                let status = kind.strip_prefix("response.").unwrap_or_default();
                self.response(response, status, sink)
            }
            "error" | "" => match openai_error_in(&read(data)?) {
                Some(error) => Err(ServerError::of_openai(error).into()),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn whole(&mut self, body: &str, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        let value: Value = read(body)?;
        if let Some(error) = openai_error_in(&value) {
            return Err(ServerError::of_openai(error).into());
        }
        let response = Response::deserialize(value).map_err(DecodeError::json(EXPECTED))?;
        self.response(response, "", sink)
    }

    fn is_done(&self) -> bool {
        self.end.is_some()
    }

    fn has_stopped(&self) -> bool {
        self.end.is_some()
    }

    fn finish(mut self: Box<Self>, is_complete: bool) -> Result<ModelReply, DecodeError> {
        let end = self.end.take();
        let stop_reason = match &end {
            None => Some(self.builder.unnamed_stop(is_complete)?),
            Some(end) => self.stop_reason(end)?,
        };
        // An incomplete reply is not sent back item by item: a call in it may be no call.
        if matches!(end, Some(ResponseEnd::Completed)) {
            let metadata = reasoning::metadata(self.builder.model, &self.items);
            self.builder.reply.metadata = metadata;
        }
        self.builder.finish(stop_reason)
    }
}

/// Reads JSON, borrowing from it where the type does.
fn read<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, DecodeError> {
    serde_json::from_str(data).map_err(DecodeError::json(EXPECTED))
}

fn has_refusal(item: &Value) -> bool {
    let parts = item.get("content").and_then(Value::as_array);
    parts
        .into_iter()
        .flatten()
        .any(|part| kind(part) == "refusal")
}

/// Returns the reasoning that an item shows: its summary, or without one its content.
fn summary_of(item: &Value) -> String {
    let texts = |key: &str| -> Vec<&str> {
        let parts = item.get(key).and_then(Value::as_array);
        parts
            .into_iter()
            .flatten()
            .filter_map(|part| part.get("text")?.as_str())
            .collect()
    };
    let summary = texts("summary");
    let texts = if summary.is_empty() {
        texts("content")
    } else {
        summary
    };
    texts.join(SEPARATOR)
}

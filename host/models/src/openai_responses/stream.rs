//! The answer: `response.*` events, or one response where a server does not stream. What a reply consists of comes as items, each of
//! which is announced, arrives in deltas and ends with the whole of it; servers leave out one or the other.

#[cfg(test)]
mod tests;

use super::{
    BETWEEN,
    kept::{self, kind, text_of},
};
use crate::{
    fault::{
        Fault,
        reported::{error_in, fault_of},
    },
    http::Server,
    reply::{Draft, unfinished},
    retry::Retry,
    wire::Decode,
};
use agent_host_engine::model::DeltaSink;
use agent_host_types::{
    message::Message,
    model::{ModelReply, StopReason, Usage},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::{borrow::Cow, collections::BTreeMap};

/// What every event has.
#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
}

/// More of an item.
#[derive(Deserialize)]
struct Delta<'a> {
    output_index: Option<u64>,
    #[serde(borrow, default)]
    delta: Cow<'a, str>,
}

/// The whole of a call's arguments.
#[derive(Deserialize)]
struct Arguments {
    output_index: Option<u64>,
    #[serde(default)]
    arguments: String,
}

/// An item at its beginning or its end.
#[derive(Deserialize)]
struct ItemEvent {
    output_index: Option<u64>,
    item: Value,
}

/// A part of reasoning begins.
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
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
}

/// An item that has begun.
#[derive(Default)]
struct Begun {
    /// The place of its call, where it is one.
    call: Option<usize>,
    /// Text of it has come in deltas.
    shown: bool,
}

/// How a response ended.
enum End {
    Completed,
    /// Before the model was done; why, in the provider's word.
    Incomplete(String),
}

/// Puts one reply together.
pub(super) struct Decoder<'a> {
    draft: Draft<'a>,
    /// By their place in the reply.
    begun: BTreeMap<u64, Begun>,
    /// The whole items of the reply, in the order in which they ended.
    items: Vec<Value>,
    refused: bool,
    end: Option<End>,
}

impl<'a> Decoder<'a> {
    /// Nothing has arrived yet.
    pub(super) fn new(server: &'a Server, history: &'a [Message]) -> Self {
        Self {
            draft: Draft::new(server, history),
            begun: BTreeMap::new(),
            items: Vec::new(),
            refused: false,
            end: None,
        }
    }

    /// The item that an event is about; without an index, the last one.
    fn item(&mut self, index: Option<u64>) -> &mut Begun {
        let last = self.begun.last_key_value().map_or(0, |(index, _)| *index);
        self.begun.entry(index.unwrap_or(last)).or_default()
    }

    /// Adds text of a message. Another message before it ends with an empty line.
    fn text(&mut self, index: Option<u64>, text: &str, sink: DeltaSink<'_>) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        let first = !std::mem::replace(&mut self.item(index).shown, true);
        if first && !self.draft.reply.text.is_empty() {
            self.draft.text(BETWEEN, sink)?;
        }
        self.draft.text(text, sink)
    }

    /// Adds to the arguments of a call; to one that was not announced, nothing: its end has them whole.
    fn arguments(&mut self, index: Option<u64>, arguments: &str) -> Result<(), Fault> {
        match self.item(index).call {
            Some(place) => self.draft.go_on(place, None, "", arguments),
            None => Ok(()),
        }
    }

    /// Takes the whole arguments of a call, of which no part may have come.
    fn whole_arguments(&mut self, index: Option<u64>, arguments: &str) -> Result<(), Fault> {
        let place = self.item(index).call;
        let call = place.and_then(|place| self.draft.calls().get(place));
        match call {
            Some(call) if call.arguments.is_empty() => self.arguments(index, arguments),
            Some(_) | None => Ok(()),
        }
    }

    fn item_added(&mut self, event: &ItemEvent) -> Result<(), Fault> {
        let next = self
            .begun
            .last_key_value()
            .map_or(0, |(index, _)| index + 1);
        let index = Some(event.output_index.unwrap_or(next));
        self.item(index);
        if kind(&event.item) == "function_call" {
            self.call(index, &event.item)?;
        }
        Ok(())
    }

    /// Begins a call, or adds the id and the name to one that began without.
    fn call(&mut self, index: Option<u64>, item: &Value) -> Result<(), Fault> {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or("");
        let id = Some(text("call_id").to_owned()).filter(|id| !id.is_empty());
        if let Some(place) = self.item(index).call {
            return self.draft.go_on(place, id, text("name"), "");
        }
        let place = self.draft.begin_call(id, text("name"))?;
        self.item(index).call = Some(place);
        Ok(())
    }

    /// Takes the whole of an item: of what came in deltas nothing is new, and the rest is made up for.
    fn item_done(&mut self, event: ItemEvent, sink: DeltaSink<'_>) -> Result<(), Fault> {
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
                    self.draft.reasoning(&summary_of(item), sink)?;
                }
                // Without its content in it a provider that stores nothing cannot find it again.
                if item.get("encrypted_content").is_none_or(Value::is_null) {
                    return Ok(());
                }
            }
            "function_call" => {
                self.call(index, item)?;
                let arguments = item.get("arguments").and_then(Value::as_str);
                self.whole_arguments(index, arguments.unwrap_or(""))?;
            }
            // Nothing else was asked for.
            _ => return Ok(()),
        }
        self.draft.grow(item.to_string().len())?;
        self.items.push(event.item);
        Ok(())
    }

    /// Takes the response as it is at its end, or as far as it is. `status` is what the event says of it.
    fn response(
        &mut self,
        response: Response,
        status: &str,
        sink: DeltaSink<'_>,
    ) -> Result<(), Fault> {
        if let Some(error) = response.error.filter(|error| !error.is_null()) {
            return Err(fault_of(self.draft.server(), &error));
        }
        let reply = &mut self.draft.reply;
        reply.response_id = reply.response_id.take().or(response.id);
        if let Some(usage) = response.usage {
            reply.usage = Usage {
                input_tokens: usage.input_tokens.unwrap_or(0),
                output_tokens: usage.output_tokens.unwrap_or(0),
                cached_input_tokens: usage
                    .input_tokens_details
                    .and_then(|details| details.cached_tokens)
                    .unwrap_or(0),
            };
        }
        // Where no item has ended by itself, the response has them.
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
            "completed" => Some(End::Completed),
            "incomplete" => Some(End::Incomplete(reason.unwrap_or_default())),
            "failed" | "cancelled" => {
                let why = "it says that the response failed, and not why";
                return Err(self.draft.server().garbled(why, Retry::Backoff));
            }
            _ => None,
        };
        Ok(())
    }

    /// Reads the data of an event whose type is known.
    fn read<T: DeserializeOwned>(&self, data: &str) -> Result<T, Fault> {
        serde_json::from_str(data).map_err(|error| self.garbled(&error))
    }

    fn garbled(&self, error: &serde_json::Error) -> Fault {
        let what = if error.is_data() {
            "is no event of a response"
        } else {
            "is not JSON"
        };
        let why = format!("it {what} ({error})");
        self.draft.server().garbled(&why, Retry::Never)
    }

    fn stop_reason(&self, end: &End) -> Option<StopReason> {
        match end {
            End::Completed if self.refused => Some(StopReason::Refusal),
            End::Completed if self.draft.calls().is_empty() => Some(StopReason::EndTurn),
            End::Completed => Some(StopReason::ToolUse),
            End::Incomplete(reason) => match reason.as_str() {
                "max_output_tokens" => Some(StopReason::MaxTokens),
                "content_filter" => Some(StopReason::Refusal),
                _ => None,
            },
        }
    }
}

impl Decode for Decoder<'_> {
    fn event(&mut self, data: &str, sink: DeltaSink<'_>) -> Result<(), Fault> {
        // What comes most often is read without a copy of it.
        let delta =
            || serde_json::from_str::<Delta<'_>>(data).map_err(|error| self.garbled(&error));
        let Kind { kind } = serde_json::from_str(data).map_err(|error| self.garbled(&error))?;
        match kind.as_ref() {
            "response.output_text.delta" => {
                let Delta {
                    output_index,
                    delta,
                } = delta()?;
                self.text(output_index, &delta, sink)
            }
            "response.refusal.delta" => {
                let Delta {
                    output_index,
                    delta,
                } = delta()?;
                self.refused = true;
                self.text(output_index, &delta, sink)
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let Delta {
                    output_index,
                    delta,
                } = delta()?;
                self.item(output_index).shown = true;
                self.draft.reasoning(&delta, sink)
            }
            "response.reasoning_summary_part.added" => {
                let part: SummaryPart = self.read(data)?;
                let first = part.summary_index.unwrap_or(0) == 0;
                self.draft.reasoning(if first { "" } else { BETWEEN }, sink)
            }
            "response.function_call_arguments.delta" => {
                let Delta {
                    output_index,
                    delta,
                } = delta()?;
                self.arguments(output_index, &delta)
            }
            "response.function_call_arguments.done" => {
                let whole: Arguments = self.read(data)?;
                self.whole_arguments(whole.output_index, &whole.arguments)
            }
            "response.output_item.added" => {
                let event = self.read(data)?;
                self.item_added(&event)
            }
            "response.output_item.done" => {
                let event = self.read(data)?;
                self.item_done(event, sink)
            }
            "response.created"
            | "response.completed"
            | "response.incomplete"
            | "response.failed" => {
                let ResponseEvent { response } = self.read(data)?;
                let status = kind.strip_prefix("response.").unwrap_or_default();
                self.response(response, status, sink)
            }
            "error" | "" => match error_in(&self.read(data)?) {
                Some(error) => Err(fault_of(self.draft.server(), error)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn whole(&mut self, body: &str, sink: DeltaSink<'_>) -> Result<(), Fault> {
        let value: Value = self.read(body)?;
        if let Some(error) = error_in(&value) {
            return Err(fault_of(self.draft.server(), error));
        }
        let response = Response::deserialize(value).map_err(|error| self.garbled(&error))?;
        self.response(response, "", sink)
    }

    fn is_done(&self) -> bool {
        self.end.is_some()
    }

    fn has_stopped(&self) -> bool {
        self.end.is_some()
    }

    fn finish(mut self: Box<Self>) -> Result<ModelReply, Fault> {
        let Some(end) = self.end.take() else {
            return Err(unfinished(self.draft.server()));
        };
        let stop_reason = self.stop_reason(&end);
        // What broke off is told in our own words: a call in it may be no call.
        if matches!(end, End::Completed) {
            let model = &self.draft.server().model;
            self.draft.reply.metadata = kept::keep(model, &self.items);
        }
        self.draft.finish(stop_reason)
    }
}

fn has_refusal(item: &Value) -> bool {
    let parts = item.get("content").and_then(Value::as_array);
    parts
        .into_iter()
        .flatten()
        .any(|part| kind(part) == "refusal")
}

/// The reasoning that an item shows: its summary, or where there is none its content.
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
    texts.join(BETWEEN)
}

//! The parts of decoding that all wires share: text and calls in their order, within limits, and a
//! distinct id for each call.

#[cfg(test)]
mod tests;

use super::{DecodeError, surrogates};
use crate::call_ids::CallIds;
use agent_host_engine::model::{DeltaSink, ModelDelta};
use agent_host_types::{
    id::CallId,
    message::Message,
    model::{ModelReply, StopReason},
    tool::ToolCall,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The longest reply, in bytes: text, reasoning, arguments and provider metadata. Far above what
/// any model writes.
pub(crate) const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// The most calls in one reply.
pub(crate) const MAX_CALLS: usize = 128;

/// A text in an event, borrowed if nothing in it is escaped; as a type of its own it can be null or
/// absent.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// A call that is still arriving.
#[derive(Debug, Default)]
pub(super) struct PartialCall {
    /// The provider's id, if it sent one.
    pub(super) id: Option<String>,
    /// The tool's name.
    pub(super) name: String,
    /// The arguments as JSON text.
    pub(super) arguments: String,
}

/// Assembles a reply.
pub(super) struct ReplyBuilder<'a> {
    /// The model that answers.
    pub(super) model: &'a str,
    /// The conversation that was sent.
    history: &'a [Message],
    /// Everything but the calls and the stop reason. Wires fill in usage, id and metadata.
    pub(super) reply: ModelReply,
    /// The calls, in the model's order.
    calls: Vec<PartialCall>,
    bytes: usize,
}

impl<'a> ReplyBuilder<'a> {
    /// Creates an empty reply of `model` to `history`.
    pub(super) fn new(model: &'a str, history: &'a [Message]) -> Self {
        Self {
            model,
            history,
            reply: ModelReply::default(),
            calls: Vec::new(),
            bytes: 0,
        }
    }

    /// Appends text and emits it.
    pub(super) fn push_text(&mut self, text: &str, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        if !text.is_empty() {
            self.count(text.len())?;
            self.reply.text.push_str(text);
            sink(ModelDelta::Text(text));
        }
        Ok(())
    }

    /// Appends reasoning and emits it. It is not part of the text; wires that send it back keep it
    /// in the metadata, too.
    pub(super) fn push_reasoning(
        &mut self,
        text: &str,
        sink: DeltaSink<'_>,
    ) -> Result<(), DecodeError> {
        if !text.is_empty() {
            self.count(text.len())?;
            self.reply.reasoning.push_str(text);
            sink(ModelDelta::Reasoning(text));
        }
        Ok(())
    }

    /// The calls so far.
    pub(super) fn calls(&self) -> &[PartialCall] {
        &self.calls
    }

    /// Appends a call and returns its index.
    pub(super) fn push_call(
        &mut self,
        id: Option<String>,
        name: &str,
        arguments: &str,
    ) -> Result<usize, DecodeError> {
        if self.calls.len() == MAX_CALLS {
            return Err(DecodeError::too_many(MAX_CALLS, "tool calls"));
        }
        self.count(name.len() + arguments.len())?;
        self.calls.push(PartialCall {
            id: id.filter(|id| !id.is_empty()),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        });
        Ok(self.calls.len() - 1)
    }

    /// Extends a call: sets id and name if they are missing, and appends to the arguments. An
    /// unknown index is ignored.
    pub(super) fn extend_call(
        &mut self,
        index: usize,
        id: Option<String>,
        name: &str,
        arguments: &str,
    ) -> Result<(), DecodeError> {
        self.count(name.len() + arguments.len())?;
        if let Some(call) = self.calls.get_mut(index) {
            call.id = call.id.take().or(id.filter(|id| !id.is_empty()));
            if call.name.is_empty() {
                name.clone_into(&mut call.name);
            }
            call.arguments.push_str(arguments);
        }
        Ok(())
    }

    /// Counts bytes that the reply retains.
    pub(super) fn count(&mut self, bytes: usize) -> Result<(), DecodeError> {
        self.bytes += bytes;
        if self.bytes > MAX_REPLY_BYTES {
            let what = format!("the reply is longer than {MAX_REPLY_BYTES} bytes");
            return Err(DecodeError::TooLarge(what));
        }
        Ok(())
    }

    /// Returns the stop reason of a response that names none: unknown, if it is complete and has
    /// text or calls. A call in it is whole only if its arguments are.
    ///
    /// # Errors
    /// The response is not a reply.
    pub(super) fn unnamed_stop(&self, is_complete: bool) -> Result<StopReason, DecodeError> {
        let is_whole = |call: &PartialCall| {
            let arguments = surrogates::rewrite(&call.arguments, false);
            serde_json::from_str::<Map<String, Value>>(&arguments).is_ok()
        };
        let has_content = !self.calls.is_empty() || !self.reply.text.trim().is_empty();
        if is_complete && has_content && self.calls.iter().all(is_whole) {
            Ok(StopReason::Unknown)
        } else {
            Err(DecodeError::Unfinished)
        }
    }

    /// Returns the reply. A call whose id is missing, or taken in the conversation or in this
    /// reply, gets another.
    ///
    /// # Errors
    /// A call has no name or, by the stop reason, no end.
    pub(super) fn finish(self, stop_reason: Option<StopReason>) -> Result<ModelReply, DecodeError> {
        if self.calls.iter().any(|call| call.name.is_empty()) {
            let why = "it calls a tool without a name";
            return Err(DecodeError::Unusable(why.to_owned()));
        }
        if stop_reason == Some(StopReason::MaxTokens) && !self.calls.is_empty() {
            return Err(DecodeError::CutCall);
        }
        let mut ids = CallIds::after(self.history);
        let stop_reason = stop_reason.map(|reason| with_calls(reason, !self.calls.is_empty()));
        let calls = self.calls.into_iter();
        let tool_calls = calls
            .map(|call| parse(ids.accept(call.id), call.name, call.arguments))
            .collect();
        Ok(ModelReply {
            tool_calls,
            stop_reason,
            ..self.reply
        })
    }
}

/// Parses a call. The text of its arguments may have unpaired surrogates, too.
fn parse(id: CallId, name: String, arguments: String) -> ToolCall {
    let call = ToolCall::parse(id, name, arguments);
    if call.input.is_some() {
        return call;
    }
    let rewritten = surrogates::rewrite(&call.raw_arguments, false).into_owned();
    ToolCall::parse(call.id, call.name, rewritten)
}

/// Distinguishes a stop for tool calls from the end of the turn, for which wires have one reason or
/// servers use the same.
pub(super) fn with_calls(reason: StopReason, has_calls: bool) -> StopReason {
    match reason {
        StopReason::EndTurn if has_calls => StopReason::ToolUse,
        reason => reason,
    }
}

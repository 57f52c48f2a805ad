//! Decodes the bytes of one response of any wire: splits them into frames and tolerates what servers
//! of several wires do alike.

#[cfg(test)]
mod tests;

use super::{Decode, DecodeError, FrameDecoder, Wire, surrogates, thoughts::Thoughts};
use crate::settings::ReasoningTags;
use agent_host_engine::model::{DeltaSink, ModelDelta};
use agent_host_types::{message::Message, model::ModelReply};
use std::{
    borrow::Cow,
    sync::{Mutex, PoisonError},
};

/// The data of the last event of OpenAI's wires, which gateways also send on others.
const DONE: &str = "[DONE]";

/// How the body of a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    /// It is whole, by its length or its last chunk.
    Complete,
    /// It may be cut off.
    Cut,
}

/// Decodes one response.
pub(crate) struct ResponseDecoder<'a> {
    frames: FrameDecoder,
    decoder: Box<dyn Decode + 'a>,
    is_done: bool,
    halves: Option<Halves>,
    /// Present if reasoning may be in the text.
    thoughts: Option<Thoughts>,
}

impl<'a> ResponseDecoder<'a> {
    /// Creates a decoder for a response of this model to a conversation.
    pub(crate) fn new(
        wire: &Wire,
        model: &'a str,
        history: &'a [Message],
        tags: ReasoningTags,
    ) -> Self {
        let may_think = wire.has_tagged_reasoning && tags != ReasoningTags::Off;
        Self {
            frames: FrameDecoder::new(wire.framing),
            decoder: (wire.decoder)(model, history),
            is_done: false,
            halves: None,
            thoughts: may_think.then(|| Thoughts::new(tags)),
        }
    }

    /// Takes the next bytes of a stream. Whatever follows the last event is ignored.
    ///
    /// # Errors
    /// Those of [`Decode::event`], or a frame that is too long.
    pub(crate) fn push(&mut self, bytes: &[u8], sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        let frames = self.frames.push(bytes)?;
        frames.iter().try_for_each(|data| self.frame(data, sink))
    }

    /// Takes the end of a stream, which some servers send without the last line end. If it is in
    /// the middle of an event, the stream is cut off, which only matters before the stop reason.
    ///
    /// # Errors
    /// Those of [`Self::push`], and [`DecodeError::Unfinished`].
    pub(crate) fn end(&mut self, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        let Some(last) = self.frames.end()? else {
            return Ok(());
        };
        match self.frame(&last, sink) {
            Err(DecodeError::Json { source, .. })
                if source.is_eof() || DONE.starts_with(last.trim()) =>
            {
                if self.has_stopped() {
                    Ok(())
                } else {
                    Err(DecodeError::Unfinished)
                }
            }
            outcome => outcome,
        }
    }

    /// Takes the body of a response that is not streamed.
    ///
    /// # Errors
    /// Those of [`Decode::whole`].
    pub(crate) fn whole(&mut self, body: &str, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        let show = |delta: ModelDelta<'_>| show(self.thoughts.as_ref(), delta, sink);
        let error = match self.decoder.whole(body, &show) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        match rewritten(&error, body, false) {
            Some(body) => self.decoder.whole(&body, &show),
            None => Err(error),
        }
    }

    /// True once the response has said that nothing follows.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done || self.decoder.is_done()
    }

    /// True once the model has said why it stopped.
    pub(crate) fn has_stopped(&self) -> bool {
        self.decoder.has_stopped()
    }

    /// Returns the reply.
    ///
    /// # Errors
    /// Those of [`Decode::finish`].
    pub(crate) fn finish(
        self,
        end: BodyEnd,
        sink: DeltaSink<'_>,
    ) -> Result<ModelReply, DecodeError> {
        let is_complete = end == BodyEnd::Complete || self.is_done();
        let mut reply = self.decoder.finish(is_complete)?;
        if let Some(halves) = self.halves {
            let thoughts = self.thoughts.as_ref();
            reply = halves.finish(reply, &|delta| show(thoughts, delta, sink));
        }
        Ok(match self.thoughts {
            Some(thoughts) => thoughts.finish(reply, sink),
            None => reply,
        })
    }

    fn frame(&mut self, data: &str, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        if self.is_done() {
            return Ok(());
        }
        if data.trim() == DONE {
            self.is_done = true;
            return Ok(());
        }
        let error = match self.event(data, sink) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        let Some(data) = rewritten(&error, data, true) else {
            return Err(error);
        };
        self.halves.get_or_insert_default();
        self.event(&data, sink)
    }

    fn event(&mut self, data: &str, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        let show = |delta: ModelDelta<'_>| show(self.thoughts.as_ref(), delta, sink);
        match &self.halves {
            Some(halves) => self.decoder.event(data, &|delta| halves.show(delta, &show)),
            None => self.decoder.event(data, &show),
        }
    }
}

fn show(thoughts: Option<&Thoughts>, delta: ModelDelta<'_>, sink: DeltaSink<'_>) {
    match thoughts {
        Some(thoughts) => thoughts.show(delta, sink),
        None => sink(delta),
    }
}

/// Returns data that is JSON but for unpaired surrogates in the form that can be parsed. A decoder
/// that refuses data for its syntax has taken nothing of it.
fn rewritten(error: &DecodeError, data: &str, may_continue: bool) -> Option<String> {
    match error {
        DecodeError::Json { source, .. } if source.is_syntax() => {}
        _ => return None,
    }
    match surrogates::rewrite(data, may_continue) {
        Cow::Owned(data) => Some(data),
        Cow::Borrowed(_) => None,
    }
}

/// Joins the halves of characters that arrive in two events. Only a response with an unpaired
/// surrogate has one.
#[derive(Default)]
struct Halves {
    /// A first half at the end of what was shown, and whether it is of the reasoning.
    pending: Mutex<Option<(bool, char)>>,
}

impl Halves {
    /// Emits a delta, without a first half at its end, and with one of the delta before.
    fn show(&self, delta: ModelDelta<'_>, sink: DeltaSink<'_>) {
        let (is_reasoning, text) = match delta {
            ModelDelta::Text(text) => (false, text),
            ModelDelta::Reasoning(text) => (true, text),
            delta => return sink(delta),
        };
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shown = String::new();
        match pending.take() {
            Some((of_reasoning, half)) if of_reasoning == is_reasoning => shown.push(half),
            Some((of_reasoning, half)) => emit(of_reasoning, &half.to_string(), sink),
            None => {}
        }
        shown.push_str(text);
        let (shown, half) = surrogates::split_first_half(&shown);
        *pending = half.map(|half| (is_reasoning, half));
        emit(is_reasoning, shown, sink);
    }

    /// Joins the halves in all parts of a reply.
    fn finish(self, reply: ModelReply, sink: DeltaSink<'_>) -> ModelReply {
        let pending = self.pending.into_inner();
        if let Some((is_reasoning, half)) = pending.unwrap_or_else(PoisonError::into_inner) {
            emit(is_reasoning, &half.to_string(), sink);
        }
        // The marks are ordinary characters in JSON.
        let json = serde_json::to_string(&reply);
        let joined = json.and_then(|json| serde_json::from_str(&surrogates::join(&json)));
        joined.unwrap_or(reply)
    }
}

fn emit(is_reasoning: bool, text: &str, sink: DeltaSink<'_>) {
    if text.is_empty() {
        return;
    }
    let text = surrogates::join(text);
    sink(if is_reasoning {
        ModelDelta::Reasoning(&text)
    } else {
        ModelDelta::Text(&text)
    });
}

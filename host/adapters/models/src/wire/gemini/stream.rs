//! Decodes responses that each hold the next parts of the reply, calls always whole. No event says
//! that it is the last. Signatures are stored with their parts.

#[cfg(test)]
mod tests;

use super::reasoning::{Part, Reasoning};
use crate::wire::{
    Decode, DecodeError, ServerError,
    reply::{ReplyBuilder, Text},
    update_counts,
};
use agent_host_engine::model::DeltaSink;
use agent_host_types::{
    message::Message,
    model::{ModelReply, StopReason, Usage},
};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The most signed parts, calls and texts between them in one reply. Models write a few.
const MAX_PARTS: usize = 1024;

/// The form of the data, for errors.
const EXPECTED: &str = "of the Gemini API";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Value>,
    response_id: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    content: Option<Content<'a>>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Option<Vec<WirePart<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePart<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    function_call: Option<WireCall>,
}

#[derive(Deserialize)]
struct WireCall {
    id: Option<String>,
    name: Option<String>,
    args: Option<Map<String, Value>>,
}

/// Why the prompt was refused.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

/// Where `usageMetadata` has the token counts: the prompt, cached tokens included; the prompt of
/// tools; the reply without thoughts; the thoughts; cached tokens. They are running totals; those
/// that a response omits are unchanged.
const COUNTS: [&str; 5] = [
    "/promptTokenCount",
    "/toolUsePromptTokenCount",
    "/candidatesTokenCount",
    "/thoughtsTokenCount",
    "/cachedContentTokenCount",
];

/// Decodes one reply.
pub(super) struct Decoder<'a> {
    builder: ReplyBuilder<'a>,
    /// The parts in the model's order.
    parts: Vec<Part>,
    /// Those of [`COUNTS`].
    counts: [u64; 5],
    finish_reason: Option<String>,
    /// The server's explanation of that reason.
    finish_message: Option<String>,
    /// The prompt was refused.
    blocked: bool,
}

impl<'a> Decoder<'a> {
    /// Creates a decoder for a reply of `model` to `history`.
    pub(super) fn new(model: &'a str, history: &'a [Message]) -> Self {
        Self {
            builder: ReplyBuilder::new(model, history),
            parts: Vec::new(),
            counts: [0; 5],
            finish_reason: None,
            finish_message: None,
            blocked: false,
        }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        if let Some(error) = chunk.error {
            return Err(ServerError::with_code(&error).into());
        }
        let reply = &mut self.builder.reply;
        reply.response_id = reply.response_id.take().or(chunk.response_id);
        let usage = chunk.usage_metadata.unwrap_or_default();
        update_counts(&mut self.counts, COUNTS, &usage);
        self.blocked |= chunk
            .prompt_feedback
            .is_some_and(|feedback| feedback.block_reason.is_some());
        for candidate in chunk.candidates.unwrap_or_default() {
            // One candidate was requested; others would be mixed into it.
            if candidate.index.unwrap_or(0) != 0 {
                continue;
            }
            let parts = candidate.content.and_then(|content| content.parts);
            for part in parts.unwrap_or_default() {
                self.part(part, sink)?;
            }
            self.finish_reason = candidate.finish_reason.or(self.finish_reason.take());
            self.finish_message = candidate.finish_message.or(self.finish_message.take());
        }
        Ok(())
    }

    fn part(&mut self, part: WirePart<'_>, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        let signature = part.thought_signature.filter(|text| !text.is_empty());
        self.builder
            .count(signature.as_ref().map_or(0, String::len))?;
        if let Some(call) = part.function_call {
            let name = call.name.unwrap_or_default();
            let arguments = call.args.map(|args| Value::Object(args).to_string());
            self.builder
                .push_call(call.id, &name, &arguments.unwrap_or_default())?;
            return self.push(Part::Call { signature });
        }
        let Text(text) = part.text.unwrap_or_default();
        if part.thought == Some(true) {
            self.builder.push_reasoning(&text, sink)?;
            return signature.map_or(Ok(()), |signature| {
                let text = text.into_owned();
                self.push(Part::Thought { text, signature })
            });
        }
        self.builder.push_text(&text, sink)?;
        match (self.parts.last_mut(), signature) {
            // Unsigned text is one part, however it arrived.
            (
                Some(Part::Text {
                    bytes,
                    signature: None,
                }),
                None,
            ) => {
                *bytes += text.len();
                Ok(())
            }
            (_, None) if text.is_empty() => Ok(()),
            (_, signature) => self.push(Part::Text {
                bytes: text.len(),
                signature,
            }),
        }
    }

    fn push(&mut self, part: Part) -> Result<(), DecodeError> {
        if self.parts.len() == MAX_PARTS {
            return Err(DecodeError::too_many(MAX_PARTS, "parts"));
        }
        self.parts.push(part);
        Ok(())
    }

    /// Returns the error that a finish reason stands for, if it is one.
    fn error_of_reason(&self, reason: &str) -> Option<DecodeError> {
        let message = self.finish_message.as_deref().unwrap_or(reason);
        match reason {
            // The model wrote a call that cannot be read; another attempt may be fine.
            "MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE" | "UNEXPECTED_TOOL_CALL" => {
                let why = format!("the model wrote something that is not a reply (\"{message}\")");
                Some(DecodeError::Unusable(why))
            }
            // Nothing is known of why; another attempt may be fine.
            "OTHER"
            | "FINISH_REASON_UNSPECIFIED"
            | "TOO_MANY_TOOL_CALLS"
            | "IMAGE_OTHER"
            | "NO_IMAGE" => Some(DecodeError::broken_off(message)),
            "MISSING_THOUGHT_SIGNATURE" => {
                Some(ServerError::new(Some(400), message.to_owned()).into())
            }
            _ => None,
        }
    }
}

impl Decode for Decoder<'_> {
    fn event(&mut self, data: &str, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        let chunk = serde_json::from_str(data).map_err(DecodeError::json(EXPECTED))?;
        self.chunk(chunk, sink)
    }

    /// The body is one response, or a list of those that would have been streamed.
    fn whole(&mut self, body: &str, sink: DeltaSink<'_>) -> Result<(), DecodeError> {
        if !body.trim_start().starts_with('[') {
            return self.event(body, sink);
        }
        let chunks: Vec<Chunk<'_>> =
            serde_json::from_str(body).map_err(DecodeError::json(EXPECTED))?;
        chunks
            .into_iter()
            .try_for_each(|chunk| self.chunk(chunk, sink))
    }

    /// Never true: token counts and a signature can follow the finish reason.
    fn is_done(&self) -> bool {
        false
    }

    fn has_stopped(&self) -> bool {
        self.finish_reason.is_some() || self.blocked
    }

    fn finish(mut self: Box<Self>, is_complete: bool) -> Result<ModelReply, DecodeError> {
        let stop_reason = match &self.finish_reason {
            _ if self.blocked => Some(StopReason::Refusal),
            Some(reason) => match self.error_of_reason(reason) {
                Some(error) => return Err(error),
                None => canonical(reason),
            },
            None => Some(self.builder.unnamed_stop(is_complete)?),
        };
        let model = self.builder.model.to_owned();
        let reply = &mut self.builder.reply;
        reply.metadata = Reasoning {
            model,
            parts: self.parts,
        }
        .into_metadata();
        let [prompt, tools, text, thoughts, cached_input_tokens] = self.counts;
        reply.usage = Usage {
            input_tokens: prompt.saturating_add(tools),
            output_tokens: text.saturating_add(thoughts),
            cached_input_tokens,
            cache_write_tokens: 0,
            cost_micros: None,
        };
        self.builder.finish(stop_reason)
    }
}

/// Maps a finish reason (<https://ai.google.dev/api/generate-content#FinishReason>). The wire has
/// none for calls and many for refusals; undocumented ones say nothing.
fn canonical(wire: &str) -> Option<StopReason> {
    match wire {
        "STOP" => Some(StopReason::EndTurn),
        "MAX_TOKENS" | "CONTINUATION" => Some(StopReason::MaxTokens),
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "ESCALATION"
        | "MODEL_ARMOR"
        | "JAILBREAK"
        | "PUP_LIMITED_DISABLED" => Some(StopReason::Refusal),
        _ => None,
    }
}

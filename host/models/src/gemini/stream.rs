//! The answer: responses that each hold the next parts of it, calls always whole, and no event that says it is the last. What is
//! signed is kept with its part.

#[cfg(test)]
mod tests;

use super::{
    error::fault_of,
    kept::{Kept, Part},
};
use crate::{
    fault::Fault,
    http::Server,
    reply::{Draft, Text, unfinished},
    retry::Retry,
    wire::Decode,
};
use agent_host_engine::model::DeltaSink;
use agent_host_types::{
    message::Message,
    model::{ModelReply, StopReason, Usage},
};
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The most signed parts, calls and texts between them in one reply. A model's own replies have a few.
const MAX_PARTS: usize = 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<WireUsage>,
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

/// Why nothing is answered at all.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

/// Numbers that grow; those that a response leaves out stay as they were.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsage {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
}

/// Puts one reply together.
pub(super) struct Decoder<'a> {
    draft: Draft<'a>,
    /// The parts in the model's order.
    parts: Vec<Part>,
    usage: WireUsage,
    finish_reason: Option<String>,
    /// What the server says of that reason.
    finish_message: Option<String>,
    /// The request was refused, and nothing is answered.
    blocked: bool,
}

impl<'a> Decoder<'a> {
    /// Nothing has arrived yet.
    pub(super) fn new(server: &'a Server, history: &'a [Message]) -> Self {
        Self {
            draft: Draft::new(server, history),
            parts: Vec::new(),
            usage: WireUsage::default(),
            finish_reason: None,
            finish_message: None,
            blocked: false,
        }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, sink: DeltaSink<'_>) -> Result<(), Fault> {
        if let Some(error) = chunk.error {
            return Err(fault_of(self.draft.server(), &error));
        }
        let reply = &mut self.draft.reply;
        reply.response_id = reply.response_id.take().or(chunk.response_id);
        if let Some(usage) = chunk.usage_metadata {
            self.count(&usage);
        }
        self.blocked |= chunk
            .prompt_feedback
            .is_some_and(|said| said.block_reason.is_some());
        for candidate in chunk.candidates.unwrap_or_default() {
            // One answer was asked for; others would be mixed into it.
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

    fn count(&mut self, usage: &WireUsage) {
        let known = &mut self.usage;
        *known = WireUsage {
            prompt_token_count: usage.prompt_token_count.or(known.prompt_token_count),
            tool_use_prompt_token_count: usage
                .tool_use_prompt_token_count
                .or(known.tool_use_prompt_token_count),
            candidates_token_count: usage
                .candidates_token_count
                .or(known.candidates_token_count),
            thoughts_token_count: usage.thoughts_token_count.or(known.thoughts_token_count),
            cached_content_token_count: usage
                .cached_content_token_count
                .or(known.cached_content_token_count),
        };
    }

    fn part(&mut self, part: WirePart<'_>, sink: DeltaSink<'_>) -> Result<(), Fault> {
        let signature = part.thought_signature.filter(|text| !text.is_empty());
        self.draft.grow(signature.as_ref().map_or(0, String::len))?;
        if let Some(call) = part.function_call {
            let id = call.id.filter(|id| !id.is_empty());
            let name = call.name.unwrap_or_default();
            let arguments = call.args.map(|args| Value::Object(args).to_string());
            let place = self.draft.begin_call(id, &name)?;
            let arguments = arguments.unwrap_or_default();
            self.draft.go_on(place, None, "", &arguments)?;
            return self.keep(Part::Call { signature });
        }
        let Text(text) = part.text.unwrap_or_default();
        if part.thought == Some(true) {
            self.draft.reasoning(&text, sink)?;
            return signature.map_or(Ok(()), |signature| {
                let text = text.into_owned();
                self.keep(Part::Thought { text, signature })
            });
        }
        self.draft.text(&text, sink)?;
        match (self.parts.last_mut(), signature) {
            // What is not signed is one text, however it came.
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
            (_, signature) => self.keep(Part::Text {
                bytes: text.len(),
                signature,
            }),
        }
    }

    fn keep(&mut self, part: Part) -> Result<(), Fault> {
        if self.parts.len() == MAX_PARTS {
            let why = format!("it has more than {MAX_PARTS} parts");
            return Err(self.garbled(&why, Retry::Never));
        }
        self.parts.push(part);
        Ok(())
    }

    fn garbled(&self, why: &str, retry: Retry) -> Fault {
        self.draft.server().garbled(why, retry)
    }

    fn unreadable(&self, error: &serde_json::Error) -> Fault {
        let why = if error.is_data() {
            format!("it is not of the Gemini API ({error})")
        } else {
            format!("it is not JSON ({error})")
        };
        self.garbled(&why, Retry::Never)
    }

    /// The fault that a reason stands for, where it is one.
    fn fault_of_reason(&self, reason: &str) -> Option<Fault> {
        let server = self.draft.server();
        let words = self.finish_message.as_deref();
        match reason {
            // The model wrote a call that cannot be read, which another attempt may not.
            "MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE" | "UNEXPECTED_TOOL_CALL" => {
                let reason = server.quote(words.unwrap_or(reason));
                let why = format!("the model wrote something that is no reply (\"{reason}\")");
                Some(self.garbled(&why, Retry::Backoff))
            }
            "MISSING_THOUGHT_SIGNATURE" => {
                let words = words.unwrap_or(reason);
                Some(server.refused(StatusCode::BAD_REQUEST, Some(words), None))
            }
            _ => None,
        }
    }
}

impl Decode for Decoder<'_> {
    fn event(&mut self, data: &str, sink: DeltaSink<'_>) -> Result<(), Fault> {
        let chunk = serde_json::from_str(data).map_err(|error| self.unreadable(&error))?;
        self.chunk(chunk, sink)
    }

    /// A whole answer is one response, or a list of those that would have come one by one.
    fn whole(&mut self, body: &str, sink: DeltaSink<'_>) -> Result<(), Fault> {
        if !body.trim_start().starts_with('[') {
            return self.event(body, sink);
        }
        let chunks: Vec<Chunk<'_>> =
            serde_json::from_str(body).map_err(|error| self.unreadable(&error))?;
        chunks
            .into_iter()
            .try_for_each(|chunk| self.chunk(chunk, sink))
    }

    /// Numbers and a signature can come after the reason to stop, and nothing says that they will not.
    fn is_done(&self) -> bool {
        false
    }

    fn has_stopped(&self) -> bool {
        self.finish_reason.is_some() || self.blocked
    }

    fn finish(mut self: Box<Self>) -> Result<ModelReply, Fault> {
        let stop_reason = match &self.finish_reason {
            _ if self.blocked => Some(StopReason::Refusal),
            Some(reason) => match self.fault_of_reason(reason) {
                Some(fault) => return Err(fault),
                None => canonical(reason, !self.draft.calls().is_empty()),
            },
            None => return Err(unfinished(self.draft.server())),
        };
        let model = self.draft.server().model.clone();
        let reply = &mut self.draft.reply;
        reply.metadata = Kept {
            model,
            parts: self.parts,
        }
        .into_metadata();
        reply.usage = usage(&self.usage);
        self.draft.finish(stop_reason)
    }
}

/// What was read from the cache is within the prompt; thoughts are apart from the answer.
fn usage(wire: &WireUsage) -> Usage {
    let sum =
        |one: Option<u64>, other: Option<u64>| one.unwrap_or(0).saturating_add(other.unwrap_or(0));
    Usage {
        input_tokens: sum(wire.prompt_token_count, wire.tool_use_prompt_token_count),
        output_tokens: sum(wire.candidates_token_count, wire.thoughts_token_count),
        cached_input_tokens: wire.cached_content_token_count.unwrap_or(0),
    }
}

/// The wire has no word for calls, and many for what it will not say. `OTHER` and what nobody documents say nothing.
fn canonical(wire: &str, calls: bool) -> Option<StopReason> {
    match wire {
        "STOP" if calls => Some(StopReason::ToolUse),
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

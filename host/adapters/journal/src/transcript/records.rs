//! The events of a conversation: the entries of its messages, in the order that the loop records.

use super::{Transcript, TranscriptEntry};
use agent_host_engine::{
    artifact::result_name,
    session::now_ms,
    spill::{SpilledMessage, spill_message, spill_output},
};
use agent_host_types::{
    accounting::Accounting,
    event::{EVENT_VERSION, Event, EventRecord},
    failure::{ToolErrorCode, ToolFailure},
    flow::HISTORY,
    id::{CallId, Digest, SessionId},
    json, media,
    message::{Message, Role},
    model::{ModelReply, StopReason},
    output::{Blob, ContentPart, ToolResultOutput},
    reason::Reason,
    tool::ToolCall,
};
use std::collections::{BTreeMap, HashSet};

/// The result of a call to which the conversation has none.
const UNANSWERED: &str = "The conversation was imported without the result of this call. Its outcome is unknown, and \
    it is not repeated. Check before you call it again.";

/// The events so far.
#[derive(Default)]
pub(super) struct Records {
    system: Vec<String>,
    events: Vec<Event>,
    blobs: BTreeMap<Digest, Blob>,
    warnings: Vec<String>,
    replies: u64,
    /// The ids of all calls.
    calls: HashSet<CallId>,
    /// The calls of the last reply that have no result yet, with their tools.
    open: Vec<(CallId, String)>,
}

impl Records {
    /// Adds an entry. An error is a clause after "message 3".
    pub(super) fn add(&mut self, entry: TranscriptEntry) -> Result<(), Reason> {
        match entry {
            TranscriptEntry::System(_) if !self.events.is_empty() => {
                return Err("is a system prompt but not at the beginning".into());
            }
            TranscriptEntry::System(text) => self.system.push(text),
            TranscriptEntry::Input(parts) => self.input(parts)?,
            TranscriptEntry::Reply { text, calls } => self.reply(text, calls)?,
            TranscriptEntry::Result { call_id, output } => self.result(&call_id, output)?,
            TranscriptEntry::Warning(warning) if !self.warnings.contains(&warning) => {
                self.warnings.push(warning);
            }
            TranscriptEntry::Warning(_) => {}
        }
        Ok(())
    }

    fn input(&mut self, mut parts: Vec<ContentPart>) -> Result<(), Reason> {
        self.settle_open();
        correct(&mut parts);
        for (index, part) in parts.iter().enumerate() {
            part.validate()
                .map_err(|why| format!("has a part {index} that {why}"))?;
        }
        let SpilledMessage {
            message,
            stored,
            blobs,
        } = spill_message(Message::parts(Role::User, parts));
        self.keep(blobs);
        self.events.extend(stored);
        self.events.push(Event::InputReceived {
            message,
            labels: Vec::new(),
            by: None,
        });
        Ok(())
    }

    fn reply(&mut self, text: String, calls: Vec<ToolCall>) -> Result<(), Reason> {
        self.settle_open();
        for call in &calls {
            if !self.calls.insert(call.id.clone()) {
                return Err(format!("has the id of an earlier call, `{}`", call.id.0).into());
            }
            if call.input.as_deref().is_some_and(json::is_object_too_deep) {
                return Err(Reason::from(format!(
                    "has arguments nested more than {} levels deep",
                    json::MAX_DEPTH
                )));
            }
            self.open.push((call.id.clone(), call.name.clone()));
        }
        self.replies += 1;
        let stop_reason = if calls.is_empty() {
            StopReason::EndTurn
        } else {
            StopReason::ToolUse
        };
        let reply = ModelReply {
            text,
            tool_calls: calls,
            stop_reason: Some(stop_reason),
            ..ModelReply::default()
        };
        self.events.push(Event::ModelReplied {
            turn: self.replies,
            reply,
            discarded: Default::default(),
            duration_ms: 0,
            tape: None,
        });
        Ok(())
    }

    fn result(&mut self, call_id: &CallId, mut output: ToolResultOutput) -> Result<(), Reason> {
        let Some(at) = self.open.iter().position(|(open, _)| open == call_id) else {
            let id = &call_id.0;
            return Err(
                format!("has a result for call `{id}`, which is not waiting for one").into(),
            );
        };
        if let ToolResultOutput::Content(parts) = &mut output {
            correct(parts);
        }
        output
            .validate()
            .map_err(|why| format!("is not accepted: {}", why.message()))?;
        let (call_id, tool) = self.open.remove(at);
        self.settle(call_id, tool, output);
        Ok(())
    }

    /// Answers the calls that have no result: no model takes a conversation without.
    fn settle_open(&mut self) {
        for (call_id, tool) in std::mem::take(&mut self.open) {
            let unknown = ToolFailure::new(ToolErrorCode::InterruptedUnknown, UNANSWERED);
            self.settle(call_id, tool, unknown.into());
        }
    }

    fn settle(&mut self, call_id: CallId, tool: String, output: ToolResultOutput) {
        let settled = spill_output(output, &result_name(&call_id).to_string());
        self.keep(settled.blobs);
        self.events.push(Event::CallSettled {
            call_id,
            tool,
            output: settled.output,
            whole: settled.whole,
            child: None,
            accounting: Accounting::default(),
            audit: Vec::new(),
            rule: None,
            path: Vec::new(),
            labels: Vec::new(),
            reference: None,
            tape: None,
        });
    }

    fn keep(&mut self, blobs: Vec<Blob>) {
        self.blobs
            .extend(blobs.into_iter().map(|blob| (blob.digest, blob)));
    }

    /// Returns the conversation as a new session.
    pub(super) fn finish(mut self) -> Transcript {
        self.settle_open();
        let (session, at_ms) = (SessionId::new(), now_ms());
        // Whatever a model said before may follow from any text.
        let is_input = |event: &Event| matches!(event, Event::InputReceived { .. });
        let has_more = !self.events.iter().all(is_input);
        let labels = has_more.then(|| HISTORY.to_owned());
        let started = Event::SessionStarted {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            system: (!self.system.is_empty()).then(|| self.system.join("\n\n")),
            directory: None,
            client: None,
            parent: None,
            labels: labels.into_iter().collect(),
        };
        let events = std::iter::once(started).chain(self.events);
        let records = (0..).zip(events).map(|(seq, event)| EventRecord {
            v: EVENT_VERSION,
            session,
            seq,
            at_ms,
            event,
        });
        Transcript {
            session,
            records: records.collect(),
            blobs: self.blobs.into_values().collect(),
            warnings: self.warnings,
        }
    }
}

/// Corrects the media types of files, so that a provider takes them.
fn correct(parts: &mut [ContentPart]) {
    for part in parts {
        if let ContentPart::File(file) = part {
            media::correct(file);
        }
    }
}

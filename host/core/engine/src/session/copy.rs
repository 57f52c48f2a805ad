//! A copy of a session: its events under another id or in another journal, without the original's
//! open requests and approvals.
//!
//! A copy resumes from the conversation, never from a pending effect: a call without a result is
//! answered without running, since the original may run it; continuations and remembered approvals
//! stay with the original. So the content of a copy may come from an untrusted source. The sessions
//! of its agents are copied along, each below the copy of the one that started it.
//!
//! A session that moves to another host keeps all of that ([`SessionCopy::moved`]): the caller has
//! to know that the records come from a host that it trusts.

#[cfg(test)]
mod tests;

use super::{BatchCall, SessionState, folded::check_record, now_ms};
use crate::{context::summary, flow::UNKNOWN, journal::JournalError};
use agent_host_types::{
    accounting::Accounting,
    event::{EVENT_VERSION, Event, EventRecord},
    failure::{ToolErrorCode, ToolFailure},
    flow::LabelledFile,
    id::{Digest, SessionId},
    message::Message,
    output::{BlobRef, ContentPart, FileData, FilePart, ToolResultOutput},
    turn::ChildSummary,
};
use std::collections::{BTreeMap, HashSet};

/// The result of a call that had not started.
const NOT_STARTED: &str =
    "This call did not run: the conversation was copied before it did, and continues without it.";

/// The refusal of a session that only its own host can continue.
const BOUND: &str = "it waits for agents or nodes, whose sessions can be continued only by the host that started \
    them; answer them there first";

/// A copy in progress: takes the original's records one by one and returns the copy's.
#[derive(Debug)]
pub struct SessionCopy {
    from: SessionId,
    into: SessionId,
    by: Option<String>,
    /// The copy of the session that started this one; none for a session that is found by no call.
    below: Option<CopiedSession>,
    keeps_authority: bool,
    /// Whether the host finds the sessions of agents that it waits for, which it names with its
    /// key.
    has_key: bool,
    state: SessionState,
    next_seq: u64,
    blobs: HashSet<Digest>,
    agents: BTreeMap<SessionId, SessionId>,
}

/// A session and its copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiedSession {
    from: SessionId,
    into: SessionId,
    keeps_authority: bool,
    has_key: bool,
}

impl SessionCopy {
    /// Starts to copy a session into another one. Both may have the same id if they are in
    /// different journals.
    #[must_use]
    pub fn new(from: SessionId, into: SessionId) -> Self {
        Self {
            from,
            into,
            by: None,
            below: None,
            keeps_authority: false,
            has_key: false,
            state: SessionState::default(),
            next_seq: 0,
            blobs: HashSet::new(),
            agents: BTreeMap::new(),
        }
    }

    /// Starts to copy the session of an agent, which the session of `parent` started and
    /// [`Self::agents`] of its copy names.
    #[must_use]
    pub fn of_agent(parent: CopiedSession, from: SessionId, into: SessionId) -> Self {
        Self {
            below: Some(parent),
            keeps_authority: parent.keeps_authority,
            has_key: parent.has_key,
            ..Self::new(from, into)
        }
    }

    /// Names the one who has the session copied.
    #[must_use]
    pub fn by(self, by: Option<String>) -> Self {
        Self { by, ..self }
    }

    /// Keeps the open requests and the approvals of a session that moves here under its id. Its
    /// records must come from a host that the operator trusts, and it must not continue there.
    #[must_use]
    pub fn moved(session: SessionId) -> Self {
        Self {
            keeps_authority: true,
            ..Self::new(session, session)
        }
    }

    /// Keeps what waits for agents and nodes as well. The key that signs continuations must move
    /// with the session: their ids are made with it.
    #[must_use]
    pub fn with_key(self) -> Self {
        Self {
            has_key: true,
            ..self
        }
    }

    /// Converts the original's next record.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`] if it is out of order, or no session could have recorded it.
    pub fn next(&mut self, mut record: EventRecord) -> Result<EventRecord, JournalError> {
        check_record(&record, self.next_seq, self.from)?;
        self.check(&record.event).map_err(|why| {
            JournalError::corrupt(format!(
                "cannot copy session {}: its event {} {why}",
                self.from, record.seq
            ))
        })?;
        self.blobs.extend(referenced_blobs(&record.event));
        self.rename(&mut record.event);
        Ok(self.follow(record.at_ms, record.event))
    }

    /// Has an event name the copies of sessions in the place of the originals.
    fn rename(&mut self, event: &mut Event) {
        match event {
            Event::SessionStarted { parent, .. } => match (self.below, &mut *parent) {
                (Some(below), Some(parent)) => parent.session = below.into,
                // That of an agent whose starter is gone stays one.
                (None, _) if self.has_key => {}
                _ => *parent = None,
            },
            Event::AgentSpawned { session, .. } => {
                let original = *session;
                if self.from != self.into {
                    let name = format!("{} {original}", self.into);
                    *session = SessionId::from_hash(*blake3::hash(name.as_bytes()).as_bytes());
                }
                self.agents.insert(original, *session);
            }
            Event::TurnEnded { outcome, .. } => outcome.summary.session = self.into,
            _ => {}
        }
        for child in ended_children(event) {
            if let Some(copy) = self.agents.get(&child.session) {
                child.session = *copy;
            }
        }
    }

    /// Returns the session and its copy, for the copies of its agents.
    #[must_use]
    pub fn copied(&self) -> CopiedSession {
        CopiedSession {
            from: self.from,
            into: self.into,
            keeps_authority: self.keeps_authority,
            has_key: self.has_key,
        }
    }

    /// Returns the sessions of the agents that the records so far started, each with that of its
    /// copy.
    #[must_use]
    pub fn agents(&self) -> &BTreeMap<SessionId, SessionId> {
        &self.agents
    }

    /// Returns the blobs of the file parts of the records so far.
    #[must_use]
    pub fn blobs(&self) -> &HashSet<Digest> {
        &self.blobs
    }

    /// Ends the copy after the records so far; returns the records that complete it.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`] if there was no record, or the session waits for something that
    /// cannot move with it.
    pub fn finish(&mut self) -> Result<Vec<EventRecord>, JournalError> {
        let Some(at) = self.next_seq.checked_sub(1) else {
            return Err(JournalError::corrupt(format!(
                "cannot copy session {}: it has no events",
                self.from
            )));
        };
        if self.keeps_authority {
            let waits = |entry: &BatchCall| entry.is_spawned && entry.result.is_none();
            let waits =
                self.state.batch().iter().any(waits) || self.state.open_workflow().is_some();
            let is_bound = waits && !self.has_key;
            return match is_bound {
                true => Err(JournalError::corrupt(format!(
                    "session {}: {BOUND}",
                    self.from
                ))),
                false => Ok(Vec::new()),
            };
        }
        let (from, now, by) = (self.from, now_ms(), self.by.clone());
        let mut records = vec![self.follow(now, Event::SessionForked { from, at, by })];
        for entry in self.state.batch().to_vec() {
            if entry.result.is_some() {
                continue;
            }
            let tool = entry.call.name;
            let waits = self.state.open.is_some();
            let output = match entry.intended {
                None => ToolResultOutput::ExecutionDenied(Some(NOT_STARTED.to_owned())),
                Some(_) => interrupted_result(&tool).into(),
            };
            // The files that it wrote are not recorded yet; those of a call that waits are.
            let wrote =
                (entry.intended.is_some() && !entry.dispatched_externally && !waits).then(|| {
                    Event::FilesLabelled {
                        call_id: entry.call.id.clone(),
                        files: vec![LabelledFile {
                            path: "/".to_owned(),
                            sources: vec![UNKNOWN.to_owned()],
                        }],
                    }
                });
            let settled = Event::CallSettled {
                call_id: entry.call.id,
                tool,
                output,
                accounting: Accounting::default(),
                audit: Vec::new(),
                rule: None,
                path: Vec::new(),
                labels: Vec::new(),
                reference: None,
                tape: None,
                child: None,
                whole: None,
            };
            records.push(self.follow(now, settled));
            records.extend(wrote.map(|wrote| self.follow(now, wrote)));
        }
        Ok(records)
    }

    fn follow(&mut self, at_ms: u64, event: Event) -> EventRecord {
        self.state.apply(&event);
        let seq = self.next_seq;
        self.next_seq += 1;
        EventRecord {
            v: EVENT_VERSION,
            session: self.into,
            seq,
            at_ms,
            event,
        }
    }

    /// Returns why the loop would never record an event, as a clause after "its event 3".
    fn check(&self, event: &Event) -> Result<(), &'static str> {
        match event {
            Event::SessionStarted { .. } if self.next_seq > 0 => Err("starts the session again"),
            Event::SessionStarted { parent, .. } => match (self.below, parent) {
                (None, _) => Ok(()),
                (Some(below), Some(parent)) if parent.session == below.from => Ok(()),
                (Some(_), _) => Err("starts a session other than its agent's"),
            },
            _ if self.next_seq == 0 => Err("is not the beginning of a session"),
            Event::InputReceived { message, .. } if !message.is_input() => {
                Err("is an input that is not a user message")
            }
            Event::HistorySummarised {
                messages, message, ..
            } => self.check_summary(*messages, message),
            _ => Ok(()),
        }
    }

    /// Checks that a summary keeps calls with their results, and is a message of the user.
    fn check_summary(&self, count: usize, message: &Message) -> Result<(), &'static str> {
        let Ok(messages) = self.state.all_messages() else {
            return Err("summarises messages that cannot be read again");
        };
        if !message.is_input() {
            return Err("replaces older messages with something other than a user message");
        }
        match summary::may_stand_for(&messages, count) {
            true => Ok(()),
            false => Err("summarises messages that do not end before a model message"),
        }
    }
}

/// Returns the figures of the agents' sessions that ended with an event.
pub(crate) fn ended_children(event: &mut Event) -> impl Iterator<Item = &mut ChildSummary> {
    let (one, all): (_, &mut [ChildSummary]) = match event {
        Event::CallSettled { child, .. }
        | Event::NodeSettled { child, .. }
        | Event::NodeRetried { child, .. } => (child.as_mut(), &mut []),
        Event::TurnEnded { outcome, .. } => (None, &mut outcome.summary.children),
        _ => (None, &mut []),
    };
    one.into_iter().chain(all)
}

/// Returns the blobs to which an event refers: its file parts, and the results that it replaced by
/// references.
#[must_use]
pub fn referenced_blobs(event: &Event) -> Vec<Digest> {
    match event {
        Event::ResultsReferenced { results, .. } => {
            results.iter().map(|result| result.blob.digest).collect()
        }
        Event::ModelRequested { system, .. } => system.iter().map(|blob| blob.digest).collect(),
        Event::InputReceived { message, .. } | Event::HistorySummarised { message, .. } => {
            file_blobs(&message.content)
        }
        Event::ProgramEnded { output, whole, .. } => result_blobs(Some(output), whole.as_ref()),
        Event::WorkflowStarted { definition, .. } => vec![definition.digest],
        Event::ArtifactStored { blob, .. } => vec![blob.digest],
        Event::LoopConfigured { setup, .. } => vec![setup.digest],
        other => match other.call_end() {
            Some(end) => result_blobs(end.output, end.whole),
            None => Vec::new(),
        },
    }
}

fn result_blobs(output: Option<&ToolResultOutput>, whole: Option<&BlobRef>) -> Vec<Digest> {
    let files = match output {
        Some(ToolResultOutput::Content(parts)) => file_blobs(parts),
        _ => Vec::new(),
    };
    let whole = whole.map(|whole| whole.digest);
    files.into_iter().chain(whole).collect()
}

fn file_blobs(parts: &[ContentPart]) -> Vec<Digest> {
    let files = parts.iter().filter_map(ContentPart::file);
    let blob = |file: &FilePart| match &file.data {
        FileData::Blob(blob) => Some(blob.digest),
        FileData::Bytes(_) | FileData::Url(_) | FileData::Text(_) => None,
    };
    files.filter_map(blob).collect()
}

/// Returns the result of a call that had started, here or externally, and has none.
fn interrupted_result(tool: &str) -> ToolFailure {
    let message = format!(
        "The conversation was copied while `{tool}` ran. The outcome of the call is unknown here, and it is not \
         repeated. Check before you call it again."
    );
    ToolFailure::new(ToolErrorCode::InterruptedUnknown, message)
}

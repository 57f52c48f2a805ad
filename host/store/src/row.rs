//! One event as a row: writing it out, and reading it back with checks. Nothing that fails a check is handed on.

use crate::chain::Link;
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    event::{EVENT_VERSION, Event, EventError, EventRecord},
    id::SessionId,
    message::Message,
    output::ContentPart,
    turn::TurnEnd,
};
use std::path::Path;

/// The longest title in [`crate::SessionRow`], in characters.
const MAX_TITLE_CHARS: usize = 80;

/// An event in the form in which it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) seq: i64,
    pub(crate) at_ms: i64,
    pub(crate) v: i64,
    /// The event's `kind`, for people who query the file.
    pub(crate) kind: &'static str,
    /// The event.
    pub(crate) json: String,
    pub(crate) summary: Summary,
}

/// What an event adds to the session's line in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) title: Option<String>,
    pub(crate) folder: Option<String>,
    pub(crate) outcome: Option<&'static str>,
}

impl Row {
    /// Writes a record out.
    pub(crate) fn encode(record: &EventRecord) -> Result<Self, String> {
        let wide = |number: u64| {
            i64::try_from(number).map_err(|_| format!("{number} is too large for the journal"))
        };
        Ok(Self {
            seq: wide(record.seq)?,
            at_ms: wide(record.at_ms)?,
            v: i64::from(record.v),
            kind: kind(&record.event),
            json: serde_json::to_string(&record.event).map_err(|error| error.to_string())?,
            summary: Summary::of(&record.event),
        })
    }

    /// Reads back what was written out.
    pub(crate) fn decode(
        &self,
        file: &Path,
        session: SessionId,
    ) -> Result<EventRecord, JournalError> {
        let Self { seq, at_ms, v, .. } = *self;
        decode(file, session, [seq, at_ms, v], self.json.as_bytes())
    }
}

impl Summary {
    fn of(event: &Event) -> Self {
        match event {
            Event::SessionStarted { folder, client, .. } => Self {
                folder: folder.clone(),
                // Nobody says anything in the session of a client, so who it was is what it is known by.
                title: client.as_deref().and_then(one_line),
                ..Self::default()
            },
            Event::InputReceived { message, .. } => Self {
                title: title(message),
                ..Self::default()
            },
            Event::TurnEnded { outcome } => Self {
                outcome: Some(outcome_type(&outcome.end)),
                ..Self::default()
            },
            Event::SessionForked { .. }
            | Event::ModelRequested { .. }
            | Event::ModelReplied { .. }
            | Event::ResultsReferenced { .. }
            | Event::HistorySummarised { .. }
            | Event::CallReceived { .. }
            | Event::CallIntended { .. }
            | Event::ApprovalRequested { .. }
            | Event::DecisionRecorded { .. }
            | Event::QuestionAsked { .. }
            | Event::AnswerReceived { .. }
            | Event::CallsDelegated { .. }
            | Event::RepairRequested { .. }
            | Event::ApprovalRemembered { .. }
            | Event::ApprovalRevoked { .. }
            | Event::CallSettled { .. }
            | Event::StateMerged { .. } => Self::default(),
        }
    }
}

/// A stored event before it has passed its checks. Texts are bytes here: damaged ones may be no text.
#[derive(Debug)]
pub(crate) struct StoredEvent {
    pub(crate) seq: i64,
    pub(crate) at_ms: i64,
    pub(crate) v: i64,
    pub(crate) kind: Vec<u8>,
    pub(crate) json: Vec<u8>,
    pub(crate) digest: Vec<u8>,
}

impl StoredEvent {
    /// Checks the event that should be the one with this number behind `before`, and reads it. `before` becomes its digest.
    pub(crate) fn read(
        &self,
        file: &Path,
        session: SessionId,
        expected: u64,
        before: &mut Link,
    ) -> Result<EventRecord, JournalError> {
        if u64::try_from(self.seq) != Ok(expected) {
            let found = self.seq;
            let what = format!("event {expected} is missing (the next one is {found})");
            return Err(corrupt(file, session, &what));
        }
        let link = before.next(self.seq, self.at_ms, self.v, &self.kind, &self.json);
        if link.0 != *self.digest {
            let what = format!("event {expected} has changed since it was stored");
            return Err(corrupt(file, session, &what));
        }
        *before = link;
        decode(file, session, [self.seq, self.at_ms, self.v], &self.json)
    }
}

/// Reads the form in which an event is stored: its number, time and version, and the event itself.
fn decode(
    file: &Path,
    session: SessionId,
    [seq, at_ms, v]: [i64; 3],
    json: &[u8],
) -> Result<EventRecord, JournalError> {
    let corrupt = |what: &str| corrupt(file, session, &format!("event {seq} {what}"));
    let v = u32::try_from(v).map_err(|_| corrupt("has an impossible version"))?;
    let event = Event::from_stored(v, json).map_err(|error| match error {
        EventError::Newer(_) => JournalError::Corrupt(format!(
            "cannot read session {session}: its event {seq} {error}"
        )),
        EventError::Form(_) => corrupt(&error.to_string()),
    })?;
    Ok(EventRecord {
        v: EVENT_VERSION,
        session,
        seq: u64::try_from(seq).map_err(|_| corrupt("has an impossible number"))?,
        at_ms: u64::try_from(at_ms).map_err(|_| corrupt("has an impossible time"))?,
        event,
    })
}

/// The error of a session of which `what` is wrong.
pub(crate) fn corrupt(file: &Path, session: SessionId, what: &str) -> JournalError {
    JournalError::Corrupt(format!(
        "cannot read session {session} from {}: {what}; restore the file from a backup, or begin another session (other \
         sessions can still be read)",
        file.display()
    ))
}

/// The first text of a message, on one line and short.
fn title(message: &Message) -> Option<String> {
    message.content.iter().find_map(|part| match part {
        ContentPart::Text { text } => one_line(text),
        ContentPart::File(_) => None,
    })
}

/// A text on one line and short; nothing of an empty one.
fn one_line(text: &str) -> Option<String> {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    if line.is_empty() {
        return None;
    }
    if line.chars().count() <= MAX_TITLE_CHARS {
        return Some(line);
    }
    let short: String = line.chars().take(MAX_TITLE_CHARS - 1).collect();
    Some(format!("{}…", short.trim_end()))
}

/// The `kind` of the JSON form; a test holds the two together.
fn kind(event: &Event) -> &'static str {
    match event {
        Event::SessionStarted { .. } => "session-started",
        Event::SessionForked { .. } => "session-forked",
        Event::InputReceived { .. } => "input-received",
        Event::ModelRequested { .. } => "model-requested",
        Event::ModelReplied { .. } => "model-replied",
        Event::ResultsReferenced { .. } => "results-referenced",
        Event::HistorySummarised { .. } => "history-summarised",
        Event::CallReceived { .. } => "call-received",
        Event::CallIntended { .. } => "call-intended",
        Event::ApprovalRequested { .. } => "approval-requested",
        Event::DecisionRecorded { .. } => "decision-recorded",
        Event::QuestionAsked { .. } => "question-asked",
        Event::AnswerReceived { .. } => "answer-received",
        Event::CallsDelegated { .. } => "calls-delegated",
        Event::RepairRequested { .. } => "repair-requested",
        Event::ApprovalRemembered { .. } => "approval-remembered",
        Event::ApprovalRevoked { .. } => "approval-revoked",
        Event::CallSettled { .. } => "call-settled",
        Event::StateMerged { .. } => "state-merged",
        Event::TurnEnded { .. } => "turn-ended",
    }
}

/// The `type` of the JSON form; a test holds the two together.
fn outcome_type(end: &TurnEnd) -> &'static str {
    match end {
        TurnEnd::NeedsMoreTurns => "needs-more-turns",
        TurnEnd::Done { .. } => "done",
        TurnEnd::BudgetExceeded { .. } => "budget-exceeded",
        TurnEnd::AwaitingConfirmation { .. } => "awaiting-confirmation",
        TurnEnd::AwaitingAnswer { .. } => "awaiting-answer",
        TurnEnd::PendingToolCalls { .. } => "pending-tool-calls",
        TurnEnd::Refusal { .. } => "refusal",
        TurnEnd::Cancelled => "cancelled",
        TurnEnd::Error { .. } => "error",
    }
}

//! One event as a row: writing it out, and reading it back with checks. Nothing that fails a check is handed on.

use agent_host_core::{
    event::{EVENT_VERSION, Event, EventRecord},
    id::SessionId,
    journal::JournalError,
    message::Message,
    output::ContentPart,
    turn::Outcome,
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
}

impl Summary {
    fn of(event: &Event) -> Self {
        match event {
            Event::SessionStarted { folder, .. } => Self {
                folder: folder.clone(),
                ..Self::default()
            },
            Event::InputReceived { message } => Self {
                title: title(message),
                ..Self::default()
            },
            Event::TurnEnded { outcome } => Self {
                outcome: Some(outcome_type(outcome)),
                ..Self::default()
            },
            Event::ModelRequested { .. }
            | Event::ModelReplied { .. }
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

/// A stored event before it has passed its checks.
#[derive(Debug)]
pub(crate) struct StoredEvent {
    pub(crate) seq: i64,
    pub(crate) at_ms: i64,
    pub(crate) v: i64,
    pub(crate) json: String,
}

impl StoredEvent {
    /// Checks the event that should be the one with this number, and reads it.
    pub(crate) fn decode(
        self,
        file: &Path,
        session: SessionId,
        expected: u64,
    ) -> Result<EventRecord, JournalError> {
        let corrupt = |what: String| corrupt(file, session, &what);
        if u64::try_from(self.seq) != Ok(expected) {
            let found = self.seq;
            return Err(corrupt(format!(
                "event {expected} is missing (the next one is {found})"
            )));
        }
        if self.v != i64::from(EVENT_VERSION) {
            let v = self.v;
            let which = if v < i64::from(EVENT_VERSION) {
                "an older one"
            } else {
                "probably a newer one"
            };
            return Err(JournalError::Corrupt(format!(
                "cannot read session {session}: its event {expected} has version {v} and this program knows version \
                 {EVENT_VERSION}; use the agent-host that wrote it, {which}"
            )));
        }
        let at_ms = u64::try_from(self.at_ms)
            .map_err(|_| corrupt(format!("event {expected} has an impossible time")))?;
        let event = serde_json::from_str(&self.json).map_err(|error| {
            corrupt(format!(
                "event {expected} is not in the form that was written ({error})"
            ))
        })?;
        Ok(EventRecord {
            v: EVENT_VERSION,
            session,
            seq: expected,
            at_ms,
            event,
        })
    }
}

impl From<Row> for StoredEvent {
    fn from(row: Row) -> Self {
        let Row {
            seq,
            at_ms,
            v,
            json,
            ..
        } = row;
        Self {
            seq,
            at_ms,
            v,
            json,
        }
    }
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
    let text = message.content.iter().find_map(|part| match part {
        ContentPart::Text { text } if !text.trim().is_empty() => Some(text),
        ContentPart::Text { .. } | ContentPart::File(_) => None,
    })?;
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
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
        Event::InputReceived { .. } => "input-received",
        Event::ModelRequested { .. } => "model-requested",
        Event::ModelReplied { .. } => "model-replied",
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
fn outcome_type(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::NeedsMoreTurns { .. } => "needs-more-turns",
        Outcome::Done { .. } => "done",
        Outcome::BudgetExceeded { .. } => "budget-exceeded",
        Outcome::AwaitingConfirmation { .. } => "awaiting-confirmation",
        Outcome::AwaitingAnswer { .. } => "awaiting-answer",
        Outcome::PendingToolCalls { .. } => "pending-tool-calls",
        Outcome::Refusal { .. } => "refusal",
        Outcome::Cancelled { .. } => "cancelled",
        Outcome::Error { .. } => "error",
    }
}

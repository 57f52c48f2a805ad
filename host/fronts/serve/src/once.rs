//! Sessions, messages and answers that are taken once for their idempotency key.
//!
//! The key of a new session is in its id, so that it begins once.
//! The journal has the key of a message or an answer, in the transaction that takes it, so that one
//! that is sent again after a crash is not taken twice.

use crate::{
    Service,
    access::Caller,
    problem::{Problem, ProblemCode},
    sessions::{Accepted, run_input, run_reserved},
};
use agent_host_engine::{journal::JournalError, session::now_ms};
use agent_host_journal::{FoundEvents, JournalStore, MESSAGE_KEY};
use agent_host_types::{
    event::{Event, EventRecord},
    id::{Digest, SessionId},
    message::Message,
    run::RunArguments,
    turn::AgentInput,
};
use axum::Json;
use http::StatusCode;
use serde_json::json;

/// The time that a key is kept, in milliseconds: 24 h.
const LIFETIME_MS: u64 = 24 * 60 * 60 * 1000;

/// How a session began that was requested before, from its first events.
#[derive(Default)]
pub(crate) struct Began {
    /// The number of the first event of its first run.
    pub(crate) seq: u64,
    /// The first message; none if the program ended before it was recorded.
    pub(crate) message: Option<Message>,
    /// The arguments of the first run.
    pub(crate) arguments: RunArguments,
    /// The workflow that the message started.
    pub(crate) workflow: Option<String>,
}

impl Began {
    /// Reads the events up to the first message and what it started, including an imported history;
    /// `None` if the session does not exist.
    pub(crate) async fn read(
        store: &dyn JournalStore,
        session: SessionId,
    ) -> Result<Option<Self>, JournalError> {
        let (mut began, mut next) = (Self::default(), 0);
        loop {
            let page = match store.read(session, next).await {
                Err(JournalError::NotFound(_)) if next == 0 => return Ok(None),
                page => page?,
            };
            let Some(last) = page.last() else {
                return Ok(Some(began));
            };
            next = last.seq.saturating_add(1);
            if page.into_iter().any(|record| began.has_all(record)) {
                return Ok(Some(began));
            }
        }
    }

    /// Takes the next record, and returns whether all is known.
    fn has_all(&mut self, record: EventRecord) -> bool {
        match record.event {
            // The messages before are those of the history.
            Event::SessionForked { .. } => {
                (self.seq, self.message) = (record.seq.saturating_add(1), None);
            }
            Event::RunConfigured { arguments } => self.arguments = arguments,
            Event::InputReceived { message, .. } if self.message.is_none() => {
                self.message = Some(message);
            }
            Event::WorkflowStarted { workflow, .. } => {
                self.workflow = Some(workflow);
                return true;
            }
            // A history has neither.
            Event::ModelRequested { .. } | Event::TurnEnded { .. } => {
                return self.message.is_some();
            }
            _ => {}
        }
        false
    }

    /// Whether its last run was interrupted, so that it has to be continued.
    pub(crate) async fn must_continue(
        &self,
        service: &Service,
        session: SessionId,
    ) -> Result<bool, JournalError> {
        Ok(!last_turn_has_ended(service.store(), session).await?
            && !service.runs.is_running_anywhere(session).await)
    }
}

/// An input that was sent under a key.
struct Sent {
    /// The number of the first event of its run.
    seq: u64,
    /// The event that has the key.
    event: Event,
}

impl Sent {
    /// Whether it is an input: a message, or an answer with this digest.
    fn is(&self, input: &AgentInput, digest: Option<Digest>) -> bool {
        match (&self.event, input) {
            (Event::InputReceived { message, .. }, AgentInput::Message(other)) => {
                message.has_content_of(other)
            }
            (Event::KeyTaken { input, .. }, _) => digest == Some(*input),
            _ => false,
        }
    }
}

/// Sends a message, or an answer with a digest, into a session, and runs it; under a key that was sent
/// before, it is that run.
pub(crate) async fn send_once(
    service: &Service,
    caller: &Caller,
    session: SessionId,
    key: &str,
    mut input: AgentInput,
    digest: Option<Digest>,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let key = Digest::of(caller.own_key(key).as_bytes()).to_string();
    if let Some(sent) = find(service, session, &key).await? {
        return repeat(service, caller, session, sent, (&input, digest)).await;
    }
    let mut slot = service.reserve(caller, session).await?;
    // Again, now that no other request can send it.
    if let Some(sent) = find(service, session, &key).await? {
        drop(slot);
        return repeat(service, caller, session, sent, (&input, digest)).await;
    }
    if let Some(digest) = digest {
        slot = slot.keyed(key, digest);
    } else if let AgentInput::Message(message) = &mut input {
        message.metadata.insert(MESSAGE_KEY.to_owned(), json!(key));
    }
    run_reserved(service, slot, session, input).await
}

/// Returns the run of an input that is sent again. One that was interrupted continues.
async fn repeat(
    service: &Service,
    caller: &Caller,
    session: SessionId,
    (sent, has_ended): (Sent, bool),
    (input, digest): (&AgentInput, Option<Digest>),
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    if !sent.is(input, digest) {
        return Err(key_reused());
    }
    if !has_ended && !service.runs.is_running_anywhere(session).await {
        let _ = run_input(service, caller, session, AgentInput::Continue).await?;
    }
    let seq = sent.seq;
    Ok((StatusCode::ACCEPTED, Json(Accepted { session, seq })))
}

/// Returns the input that was sent under a key, and whether the last turn of the session has
/// ended.
async fn find(
    service: &Service,
    session: SessionId,
    key: &str,
) -> Result<Option<(Sent, bool)>, Problem> {
    let store = service.store();
    let oldest = now_ms().saturating_sub(LIFETIME_MS);
    let mut found = None;
    let keep = |record: EventRecord| {
        if record.at_ms >= oldest {
            found = Some(record);
        }
    };
    let of_key = FoundEvents::InputsOf(key.to_owned());
    store.for_each_found(session, of_key, keep).await?;
    let Some(EventRecord { seq, event, .. }) = found else {
        return Ok(None);
    };
    // The end of an interrupted turn is the first event of the next run.
    let is_before = |event: &Event| {
        event.is_between_turns()
            || matches!(
                event,
                Event::TurnInterrupted { .. } | Event::TurnEnded { .. }
            )
    };
    let seq = match store.last_record(session, seq, seq, is_before).await? {
        None => 0,
        Some(before) => match before.event {
            Event::TurnInterrupted { .. } => before.seq,
            _ => before.seq.saturating_add(1),
        },
    };
    Ok(Some((
        Sent { seq, event },
        last_turn_has_ended(store, session).await?,
    )))
}

/// Whether the last turn of a session has ended.
pub(crate) async fn last_turn_has_ended(
    store: &dyn JournalStore,
    session: SessionId,
) -> Result<bool, JournalError> {
    let found = store.infos(vec![session]).await?;
    let Some(info) = found.first() else {
        return Ok(false);
    };
    let is_of_turn = |event: &Event| !event.is_between_turns();
    let last = store.last_record(session, info.events, u64::MAX, is_of_turn);
    Ok(last
        .await?
        .is_some_and(|last| matches!(last.event, Event::TurnEnded { .. })))
}

/// Returns the problem of a key that another request has.
pub(crate) fn key_reused() -> Problem {
    Problem::new(
        ProblemCode::KeyReused,
        "another request was sent under this Idempotency-Key; use a different key for each request",
    )
}

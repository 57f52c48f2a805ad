//! Messages and answers that are taken once for their idempotency key.
//!
//! The journal has the key of a message, so that a message that is sent again after a crash is not
//! taken twice. A request takes one answer anyway: the key of an answer only lets it be sent again,
//! until the server ends.

use crate::{
    Service,
    access::Caller,
    create::has_ended,
    problem::{Problem, ProblemCode},
    sessions::{Accepted, run_input, run_reserved},
};
use agent_host_engine::{journal::JournalError, session::now_ms};
use agent_host_journal::{FoundEvents, JournalStore, MESSAGE_KEY};
use agent_host_types::{
    event::{Event, EventRecord},
    id::{Digest, SessionId},
    message::Message,
    turn::AgentInput,
};
use axum::Json;
use http::StatusCode;
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// The time that a key is kept, in milliseconds: 24 h.
const LIFETIME_MS: u64 = 24 * 60 * 60 * 1000;

/// A message that was sent under a key.
struct Sent {
    /// The number of the first event of its run.
    seq: u64,
    message: Message,
}

/// Sends a message into a session, and runs it; under a key that was sent before, it is that run.
pub(crate) async fn send_once(
    service: &Service,
    caller: &Caller,
    session: SessionId,
    key: &str,
    mut message: Message,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let key = Digest::of(caller.own_key(key).as_bytes()).to_string();
    if let Some(sent) = find(service, session, &key).await? {
        return repeat(service, caller, session, sent, &message).await;
    }
    let slot = service.reserve(caller, session).await?;
    // Again, now that no other request can send it.
    if let Some(sent) = find(service, session, &key).await? {
        drop(slot);
        return repeat(service, caller, session, sent, &message).await;
    }
    message.metadata.insert(MESSAGE_KEY.to_owned(), json!(key));
    run_reserved(service, slot, session, AgentInput::Message(message)).await
}

/// Returns the run of a message that is sent again. One that was interrupted continues.
async fn repeat(
    service: &Service,
    caller: &Caller,
    session: SessionId,
    (sent, has_ended): (Sent, bool),
    message: &Message,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    if !sent.message.has_content_of(message) {
        return Err(key_reused());
    }
    if !has_ended && !service.runs.is_running_anywhere(session).await {
        let _ = run_input(service, caller, session, AgentInput::Continue).await?;
    }
    let seq = sent.seq;
    Ok((StatusCode::ACCEPTED, Json(Accepted { session, seq })))
}

/// Returns the message that was sent under a key, and whether the last turn of the session has
/// ended.
async fn find(
    service: &Service,
    session: SessionId,
    key: &str,
) -> Result<Option<(Sent, bool)>, Problem> {
    let store = service.host.store().as_ref();
    let oldest = now_ms().saturating_sub(LIFETIME_MS);
    let mut found = None;
    let keep = |record: EventRecord| {
        if record.at_ms >= oldest {
            found = Some(record);
        }
    };
    let of_key = FoundEvents::MessagesOf(key.to_owned());
    store.for_each_found(session, of_key, keep).await?;
    let Some(EventRecord {
        seq,
        event: Event::InputReceived { message, .. },
        ..
    }) = found
    else {
        return Ok(None);
    };
    // The end of an interrupted turn is the first event of the next run.
    let is_before =
        |event: &Event| matches!(event, Event::TurnInterrupted { .. }) || has_ended(event, true);
    let seq = match store.last_record(session, seq, seq, is_before).await? {
        None => 0,
        Some(before) => match before.event {
            Event::TurnInterrupted { .. } => before.seq,
            _ => before.seq.saturating_add(1),
        },
    };
    Ok(Some((
        Sent { seq, message },
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

/// The answers that were taken under a key in the last 24 h, by the caller's own key.
#[derive(Debug, Default)]
pub(crate) struct AnswerKeys(Mutex<HashMap<String, Taken>>);

/// An answer that was taken.
#[derive(Debug)]
struct Taken {
    at_ms: u64,
    /// The digest of the request.
    request: Digest,
    accepted: Accepted,
}

impl AnswerKeys {
    /// Returns what was accepted under a key.
    ///
    /// # Errors
    /// It was another request.
    pub(crate) fn find(&self, key: &str, request: Digest) -> Result<Option<Accepted>, Problem> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get(key) {
            Some(taken) if is_old(taken) => Ok(None),
            Some(taken) if taken.request == request => Ok(Some(taken.accepted.clone())),
            Some(_) => Err(key_reused()),
            None => Ok(None),
        }
    }

    /// Keeps what was accepted under a key, and forgets what is older than 24 h.
    pub(crate) fn keep(&self, key: String, request: Digest, accepted: &Accepted) {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|_, taken| !is_old(taken));
        let accepted = accepted.clone();
        let at_ms = now_ms();
        taken.insert(
            key,
            Taken {
                at_ms,
                request,
                accepted,
            },
        );
    }
}

fn is_old(taken: &Taken) -> bool {
    taken.at_ms < now_ms().saturating_sub(LIFETIME_MS)
}

fn key_reused() -> Problem {
    Problem::new(
        ProblemCode::KeyReused,
        "another request was sent under this Idempotency-Key; give each request a key of its own",
    )
}

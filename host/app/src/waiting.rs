//! The sessions that wait: for what, and since when.

use agent_host_engine::journal::JournalError;
use agent_host_journal::{JournalStore, SessionInfo};
use agent_host_types::{
    continuation::{Awaiting, Continuation, PendingCall},
    event::Event,
    id::SessionId,
    session_status::PhaseChange,
};
use serde::Serialize;

/// A session that waits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitingSession {
    /// The session.
    #[serde(flatten)]
    pub info: SessionInfo,
    /// The time since which it waits, in milliseconds since 1970 (UTC).
    pub since_ms: u64,
    /// The time at which the first of its requests expires, in milliseconds since 1970 (UTC);
    /// absent if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
    /// Its requests, and those of its agents.
    pub requests: Vec<WaitingRequest>,
}

/// A request that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WaitingRequest {
    /// Calls wait for approval.
    Approval {
        /// Their tools, in the order of the calls.
        tools: Vec<String>,
    },
    /// A question waits for its answer.
    Answer {
        /// The question.
        question: String,
    },
    /// Calls wait for results from outside.
    Results {
        /// Their tools, in the order of the calls.
        tools: Vec<String>,
    },
}

/// Returns the sessions that wait, the one that was written to longest ago first. Reads the last
/// events of these sessions alone.
///
/// # Errors
/// The store cannot be read.
pub async fn waiting_sessions(
    store: &dyn JournalStore,
) -> Result<Vec<WaitingSession>, JournalError> {
    let mut sessions = Vec::new();
    for info in store.list_waiting().await? {
        // It was answered or deleted meanwhile otherwise.
        if let Some((since_ms, continuation)) = last_request(store, &info).await? {
            sessions.push(WaitingSession {
                info,
                since_ms,
                expires_at_ms: continuation.first_expiry_ms(),
                requests: continuation.requests().into_iter().map(request).collect(),
            });
        }
    }
    Ok(sessions)
}

/// Returns what a session waits for, if it does. Reads the last events of the session alone.
///
/// # Errors
/// The store cannot be read.
pub async fn open_request(
    store: &dyn JournalStore,
    session: SessionId,
) -> Result<Option<Continuation>, JournalError> {
    let found = store.infos(vec![session]).await?;
    let Some(info) = found.first().filter(|info| info.status.is_waiting()) else {
        return Ok(None);
    };
    let request = last_request(store, info).await?;
    Ok(request.map(|(_, continuation)| continuation))
}

/// Reads what the last turn of a session waits for, and its end in milliseconds since 1970.
async fn last_request(
    store: &dyn JournalStore,
    info: &SessionInfo,
) -> Result<Option<(u64, Continuation)>, JournalError> {
    let is_change = |event: &Event| PhaseChange::from_event(event).is_some();
    let last = store.last_record(info.id, info.events, u64::MAX, is_change);
    let last = match last.await {
        // It was deleted meanwhile.
        Err(JournalError::NotFound(_)) => return Ok(None),
        last => last?,
    };
    Ok(last.and_then(|last| match last.event {
        Event::TurnEnded { outcome, .. } => {
            let open = outcome.end.continuation()?.clone();
            Some((last.at_ms, open))
        }
        _ => None,
    }))
}

fn request(open: &Continuation) -> WaitingRequest {
    let tools = |calls: &[PendingCall]| calls.iter().map(|call| call.tool.clone()).collect();
    match &open.awaiting {
        Awaiting::Confirm { calls, .. } => WaitingRequest::Approval {
            tools: tools(calls),
        },
        Awaiting::Answer { question, .. } => WaitingRequest::Answer {
            question: question.prompt.clone(),
        },
        Awaiting::External { .. } | Awaiting::Children { .. } => WaitingRequest::Results {
            tools: tools(open.calls()),
        },
    }
}

//! The sessions that wait: for what, and since when.

use agent_host_engine::journal::JournalError;
use agent_host_journal::{JournalStore, SessionInfo};
use agent_host_types::{
    continuation::{Awaiting, Continuation, PendingCall},
    event::Event,
};
use serde::Serialize;

/// The number of the last events of a session among which the end of its last turn is looked for
/// first. The others were made between turns.
const LAST_EVENTS: u64 = 16;

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
        let last = info.events.saturating_sub(LAST_EVENTS);
        let mut found = last_request(store, &info, last).await?;
        if found.is_none() && last > 0 {
            found = last_request(store, &info, 0).await?;
        }
        // It was answered meanwhile otherwise.
        if let Some((since_ms, continuation)) = found {
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

/// Reads what the last turn of a session waits for, and its end in milliseconds since 1970, from
/// event `from` on.
async fn last_request(
    store: &dyn JournalStore,
    info: &SessionInfo,
    mut from: u64,
) -> Result<Option<(u64, Continuation)>, JournalError> {
    let mut found = None;
    loop {
        let page = match store.read(info.id, from).await {
            // It was deleted meanwhile.
            Err(JournalError::NotFound(_)) => return Ok(None),
            page => page?,
        };
        let Some(last) = page.last() else {
            return Ok(found);
        };
        from = last.seq.saturating_add(1);
        for record in page {
            if let Event::TurnEnded { outcome, .. } = record.event {
                let open = outcome.end.continuation().cloned();
                found = open.map(|open| (record.at_ms, open));
            }
        }
    }
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

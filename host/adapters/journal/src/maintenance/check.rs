//! The check of a store: each event by its digest in the chain of its session, each blob by its
//! own.

use super::Maintenance;
use crate::store::{JournalStore, LostEvents};
use agent_host_engine::{journal::JournalError, session::referenced_blobs};
use agent_host_types::{event::EventRecord, id::SessionId};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// The check of one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionCheck {
    /// The session.
    pub session: SessionId,
    /// The events that could be read.
    pub events: u64,
    /// The blobs to which they refer.
    pub blobs: u64,
    /// Its faults, as sentences; none for a session that is whole.
    pub faults: Vec<String>,
}

/// Checks every session, the one that was written to last first, in the memory of one page.
///
/// # Errors
/// The store cannot be read at all. What is wrong with a session is in its [`SessionCheck`].
pub async fn check(
    store: &dyn JournalStore,
    mut each: impl FnMut(SessionCheck),
) -> Result<(), JournalError> {
    for info in store.list().await? {
        let Some(mut session) = check_session(store, info.id).await else {
            continue;
        };
        // More may have come since.
        if session.faults.is_empty() && session.events < info.events {
            let (events, listed) = (session.events, info.events);
            let fault = format!("it has {events} events, but the list of sessions says {listed}");
            session.faults.push(fault);
        }
        each(session);
    }
    Ok(())
}

/// Checks what belongs to no session that is listed, and returns what is wrong. Rows without a valid
/// signature are for [`Maintenance::unsigned`].
///
/// # Errors
/// The store cannot be read.
pub async fn check_rest(store: &dyn Maintenance) -> Result<Vec<String>, JournalError> {
    let mut faults = store.orphans().await?;
    for lost in store.lost_events().await? {
        let LostEvents {
            session,
            left,
            missing,
        } = lost;
        // The others are faults of their sessions.
        if left == 0 {
            faults.push(format!(
                "all {missing} events of session {session} are lost"
            ));
        }
    }
    Ok(faults)
}

/// Checks a session; `None` if it was removed meanwhile.
async fn check_session(store: &dyn JournalStore, session: SessionId) -> Option<SessionCheck> {
    let (mut events, mut blobs, mut faults) = (0, BTreeSet::new(), Vec::new());
    let follow = |record: EventRecord| {
        events += 1;
        blobs.extend(referenced_blobs(&record.event));
    };
    match store.for_each_record(session, follow).await {
        Err(JournalError::NotFound(_)) => return None,
        Err(error) => faults.push(error.to_string()),
        Ok(()) => {}
    }
    for digest in &blobs {
        if let Err(error) = store.read_blob(*digest).await {
            faults.push(error.to_string());
        }
    }
    Some(SessionCheck {
        session,
        events,
        blobs: blobs.len() as u64,
        faults,
    })
}

//! Reads a recorded session from a store, with all that a replay of it needs.

use agent_host_engine::{journal::JournalError, replay::Recording};
use agent_host_journal::JournalStore;
use agent_host_types::{event::EventRecord, id::SessionId};

/// Reads a session as far as it is durable, the sessions of its agents, and the blobs of all. What
/// is gone is left out, and the replay says so. A session that is in use can be read.
///
/// # Errors
/// There is no such session, or the store cannot be read.
pub async fn read_recording(
    store: &dyn JournalStore,
    session: SessionId,
) -> Result<Recording, JournalError> {
    let mut recording = Recording::new(session, records(store, session).await?);
    while let Some(agent) = recording.missing_session() {
        let records = match records(store, agent).await {
            Err(JournalError::NotFound(_)) => Vec::new(),
            read => read?,
        };
        recording.add_session(agent, records);
    }
    for digest in recording.missing_blobs() {
        match store.read_blob(digest).await {
            Err(JournalError::NotFound(_)) => {}
            read => recording.add_blob(digest, read?),
        }
    }
    Ok(recording)
}

async fn records(
    store: &dyn JournalStore,
    session: SessionId,
) -> Result<Vec<EventRecord>, JournalError> {
    let mut records = Vec::new();
    let read = store.for_each_record(session, |record| records.push(record));
    read.await?;
    Ok(records)
}

//! The store on SQLite: files, damage, crashes, and what the suite cannot see.

mod files;
mod fuzz;
mod journals;
mod lost;
mod prune;
mod reads;
mod schema;
mod sessions;
pub(super) mod transfer;

use super::{every_event, input, record, records_of, text, two_turns};
use crate::{
    SqliteOptions,
    sqlite::{SqliteJournal, database::Database},
};
use agent_host_engine::journal::{Journal as _, JournalError};
use agent_host_types::{event::EventRecord, id::SessionId};
use std::path::Path;
use tempfile::TempDir;

fn open(state_dir: &Path) -> Result<Database, JournalError> {
    Database::open(state_dir, SqliteOptions::default(), None)
}

/// A state directory in a temporary one, and the database in it.
fn fresh() -> (TempDir, Database) {
    let dir = TempDir::new().unwrap();
    let store = open(&dir.path().join("state")).unwrap();
    (dir, store)
}

/// Makes a session of `events` small durable events.
async fn session_of(store: &Database, events: u64) -> (SqliteJournal, Vec<EventRecord>) {
    let session = SessionId::new();
    let journal = store.create(session, None).unwrap();
    let records: Vec<_> = (0..events)
        .map(|seq| record(session, seq, input(&format!("message {seq}"))))
        .collect();
    journal.append(&records, Vec::new());
    journal.barrier().await.unwrap();
    (journal, records)
}

/// Reads all durable records of a session.
fn read(store: &Database, session: SessionId) -> Result<Vec<EventRecord>, JournalError> {
    let mut records = Vec::new();
    loop {
        let page = store.page(session, records.len() as u64)?;
        if page.is_empty() {
            return Ok(records);
        }
        records.extend(page);
    }
}

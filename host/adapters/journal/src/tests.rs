//! Tests: one suite for every store, and those of the files of SQLite.

mod check;
mod events;
mod families;
mod leases;
mod migration;
mod moving;
mod shared_runs;
mod signatures;
mod sqlite;
mod suite;

use agent_host_engine::journal::{Journal, JournalError};
use agent_host_types::event::EventRecord;
use events::{accounting, ended, every_event, two_turns};
pub(crate) use events::{input, record};

/// Reads all records of a claimed session.
async fn records_of(journal: &dyn Journal) -> Result<Vec<EventRecord>, JournalError> {
    let mut records = Vec::new();
    loop {
        let page = journal.records(records.len() as u64).await?;
        if page.is_empty() {
            return Ok(records);
        }
        records.extend(page);
    }
}

/// The text of the error of a result.
fn text<T>(result: Result<T, JournalError>) -> String {
    match result {
        Ok(_) => panic!("there should have been an error"),
        Err(error) => error.to_string(),
    }
}

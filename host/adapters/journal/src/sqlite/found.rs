//! The events that are found by an index.

use super::read::{ReadConnection, stored_event};
use crate::{found::FoundEvents, row::PAGE_BYTES};
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
};
use rusqlite::{Transaction, params};

/// The events by which artifacts change: what stores or deletes one, and results with a file or with
/// the whole of what was too long. A text of a result with these words only makes it one more.
const OF_ARTIFACTS: &str = r#"(
    kind IN ('artifact-stored', 'artifact-deleted', 'results-referenced')
    OR kind IN ('call-settled', 'node-settled')
        AND (instr(json, '"whole":{') > 0 OR instr(json, '"type":"blob"') > 0))"#;

/// The inputs that were sent under a key.
const WITH_KEY: &str =
    r#"kind IN ('input-received', 'key-taken') AND instr(json, '"idempotency-key":') > 0"#;

/// The key of such an input.
const KEY: &str = r#"iif(json_valid(json), coalesce(
    json_extract(json, '$."idempotency-key"'),
    json_extract(json, '$.message.metadata."idempotency-key"')), NULL)"#;

/// Adds the indexes, which find what is there already, too.
pub(super) fn add_indexes(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    tx.execute_batch(&format!(
        "DROP INDEX IF EXISTS events_by_key;
         CREATE INDEX IF NOT EXISTS events_of_artifacts ON events (session, seq) WHERE {OF_ARTIFACTS};
         CREATE INDEX events_by_key ON events (session, {KEY}, seq) WHERE {WITH_KEY};"
    ))
}

/// Returns the query of found events; the key is its third parameter.
pub(crate) fn found_query(which: &FoundEvents) -> String {
    let filter = match which {
        FoundEvents::OfArtifacts => format!("{OF_ARTIFACTS} AND ?3 IS NULL"),
        FoundEvents::InputsOf(_) => format!("{WITH_KEY} AND {KEY} = ?3"),
    };
    format!(
        "SELECT seq, at_ms, v, kind, json, digest,
             (SELECT digest FROM events AS before
              WHERE before.session = events.session AND before.seq = events.seq - 1)
         FROM events WHERE session = ?1 AND seq >= ?2 AND {filter} ORDER BY seq"
    )
}

impl ReadConnection {
    /// Reads the next found records from number `from` on, in order. Each is checked against the
    /// digest of the event before it.
    pub(crate) fn found(
        &self,
        session: SessionId,
        which: &FoundEvents,
        from: u64,
    ) -> Result<Vec<EventRecord>, JournalError> {
        let query = found_query(which);
        let key = match which {
            FoundEvents::OfArtifacts => None,
            FoundEvents::InputsOf(key) => Some(key),
        };
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        let stored = self.read(|db| {
            let mut query = db.prepare_cached(&query)?;
            let mut rows = query.query(params![session.to_string(), from, key])?;
            let (mut events, mut bytes) = (Vec::new(), 0);
            while bytes < PAGE_BYTES
                && let Some(row) = rows.next()?
            {
                let before: Option<Vec<u8>> = row.get(6)?;
                let event = stored_event(row)?;
                bytes += event.json.len();
                events.push((event, before));
            }
            Ok(events)
        })?;
        let records = stored
            .into_iter()
            .map(|(event, before)| event.check_behind(self.location(), session, before));
        Ok(records.collect::<Result<_, _>>()?)
    }

    /// Whether a session refers to a blob.
    pub(crate) fn has_blob(
        &self,
        session: SessionId,
        digest: Digest,
    ) -> Result<bool, JournalError> {
        let query =
            "SELECT EXISTS (SELECT 1 FROM blob_references WHERE session = ?1 AND digest = ?2)";
        let ids = [session.to_string(), digest.to_string()];
        Ok(self.read(|db| db.prepare_cached(query)?.query_row(ids, |row| row.get(0)))?)
    }
}

//! The events that are found by an index.

use super::{database::Database, read::signed};
use crate::{chain::StoredEvent, found::FoundEvents, row::PAGE_BYTES};
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
};

/// The condition of the index `events_of_artifacts`.
const OF_ARTIFACTS: &str = r#"(
    kind IN ('artifact-stored', 'artifact-deleted', 'results-referenced')
    OR kind IN ('call-settled', 'node-settled')
        AND (json LIKE '%"whole":{%' OR json LIKE '%"type":"blob"%'))"#;

/// The condition of the index `events_by_key`, and the key.
const BY_KEY: &str = r#"kind = 'input-received' AND json LIKE '%"idempotency-key":%'
    AND substring(json FROM '"idempotency-key":"([^"]*)"') = $4"#;

/// The most events of a page, so that the server sends no more than is used.
const PAGE_EVENTS: i64 = 512;

impl Database {
    /// Reads the next found records from number `from` on, in order. Each is checked against the
    /// digest of the event before it.
    pub(super) async fn found(
        &self,
        session: SessionId,
        which: &FoundEvents,
        from: u64,
    ) -> Result<Vec<EventRecord>, JournalError> {
        let (filter, key) = match which {
            FoundEvents::OfArtifacts => (format!("{OF_ARTIFACTS} AND $4::text IS NULL"), None),
            FoundEvents::MessagesOf(key) => (BY_KEY.to_owned(), Some(key)),
        };
        let query = format!(
            "SELECT seq, at_ms, v, kind, json, digest,
                 (SELECT digest FROM events AS before
                  WHERE before.session = events.session AND before.seq = events.seq - 1)
             FROM events WHERE session = $1 AND seq >= $2 AND {filter} ORDER BY seq LIMIT $3"
        );
        let rows = self
            .read(
                &query,
                &[&session.to_string(), &signed(from), &PAGE_EVENTS, &key],
            )
            .await?;
        let (mut records, mut bytes) = (Vec::new(), 0);
        for row in rows {
            let event = StoredEvent {
                numbers: [row.get(0), row.get(1), row.get(2)],
                kind: row.get::<_, String>(3).into_bytes(),
                json: row.get::<_, String>(4).into_bytes(),
                digest: row.get(5),
            };
            bytes += event.json.len();
            let before: Option<Vec<u8>> = row.get(6);
            records.push(event.check_behind(&self.location, session, before)?);
            if bytes >= PAGE_BYTES {
                break;
            }
        }
        Ok(records)
    }

    /// Whether a session refers to a blob.
    pub(super) async fn has_blob(
        &self,
        session: SessionId,
        digest: Digest,
    ) -> Result<bool, JournalError> {
        let query = "SELECT 1 FROM blob_references WHERE session = $1 AND digest = $2";
        let ids = (session.to_string(), digest.to_string());
        let rows = self.read(query, &[&ids.0, &ids.1]).await?;
        Ok(!rows.is_empty())
    }
}

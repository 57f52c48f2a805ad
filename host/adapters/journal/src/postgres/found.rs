//! The events that are found by an index.

use super::{
    database::Database,
    read::{PAGE_EVENTS, signed, stored_event},
};
use crate::{found::FoundEvents, row::PAGE_BYTES};
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
const BY_KEY: &str = r#"kind IN ('input-received', 'key-taken') AND json LIKE '%"idempotency-key":%'
    AND substring(json FROM '"idempotency-key":"([^"]*)"') = $4"#;

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
            FoundEvents::InputsOf(key) => (BY_KEY.to_owned(), Some(key)),
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
            let event = stored_event(&row);
            bytes += event.json.len();
            records.push(event.check_behind(&self.location, session, row.get(6))?);
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

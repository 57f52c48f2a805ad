//! The stored form of a run that hosts share, with its signature.

use crate::signature::{BYTES, RowKey, SignedTable, Value};
use deadpool_postgres::{GenericClient, Transaction};
use tokio_postgres::Row;

/// Why a run is not continued that no host of the store listed.
const UNSIGNED: &str = "it has no valid signature: no host of this store listed it";

/// A run as it is stored: which session may be continued, and by which hosts. The rest of its row is
/// progress, which the server counts.
pub(super) struct StoredRun {
    pub(super) session: String,
    pub(super) fairness_key: String,
    pub(super) placement: String,
    /// Absent for one that is stopped.
    pub(super) signature: Option<Vec<u8>>,
}

impl StoredRun {
    /// Reads the first four columns of a row.
    pub(super) fn read(row: &Row) -> Self {
        Self {
            session: row.get(0),
            fairness_key: row.get(1),
            placement: row.get(2),
            signature: row.get(3),
        }
    }

    pub(super) fn sign(&self, key: &RowKey) -> [u8; BYTES] {
        key.sign(SignedTable::Runs, &self.values())
    }

    /// True if a host of this store listed it.
    pub(super) fn is_believed(&self, key: &RowKey) -> bool {
        key.is_valid(SignedTable::Runs, &self.values(), self.signature.as_deref())
    }

    fn values(&self) -> [Value<'_>; 3] {
        [
            Value::Text(&self.session),
            Value::Text(&self.placement),
            Value::Text(&self.fairness_key),
        ]
    }
}

/// Reads the runs that a host may continue, and those that were refused.
pub(super) async fn stored(
    client: &impl GenericClient,
) -> Result<Vec<StoredRun>, tokio_postgres::Error> {
    let query = "SELECT session, fairness_key, placement, signature FROM runs
        WHERE state <> 'stopped' OR signature IS NOT NULL ORDER BY session";
    let rows = client.query(query, &[]).await?;
    Ok(rows.iter().map(StoredRun::read).collect())
}

/// Stops a run that no host of this store listed. Its row stays, with the signature that it has, or
/// an empty one: so it is found by a check.
pub(super) async fn refuse(
    tx: &Transaction<'_>,
    run: &StoredRun,
) -> Result<(), tokio_postgres::Error> {
    tracing::warn!(
        "the run of session {} was not continued: {UNSIGNED}",
        run.session.escape_debug()
    );
    let stop = "UPDATE runs SET state = 'stopped', reason = $2,
            signature = coalesce(signature, ''::bytea) WHERE session = $1";
    tx.execute(stop, &[&run.session, &UNSIGNED]).await.map(drop)
}

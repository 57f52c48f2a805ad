//! The signatures of all rows of a database: made once when the tables get them, and checked for
//! `agent-host store check`. Both read the tables in pages.

use super::{
    approvals,
    database::Database,
    firings::{self, StoredFiring},
    links, memory_items,
    owners::owners,
    stored_run, tallies,
};
use crate::{
    link::unsigned,
    ownership::Ownership,
    signature::{RowKey, SessionEnd, SignedTable, UnsignedRow},
    stored_approval::StoredApproval,
};
use agent_host_engine::journal::JournalError;
use deadpool_postgres::{GenericClient, Transaction};
use tokio_postgres::Error;

/// Returns the statement that removes a row of a table, as long as it has its signature. `$1` is its
/// primary key.
fn removal(table: SignedTable) -> Option<&'static str> {
    match table {
        SignedTable::Approvals => Some(
            "DELETE FROM approvals WHERE id = ($1::text[])[1] AND signature IS NOT DISTINCT FROM $2",
        ),
        SignedTable::Firings => Some(
            "DELETE FROM firings WHERE trigger_name = ($1::text[])[1] AND key = ($1::text[])[2]
             AND signature IS NOT DISTINCT FROM $2",
        ),
        SignedTable::Links => Some(
            "DELETE FROM links WHERE id = ($1::text[])[1] AND signature IS NOT DISTINCT FROM $2",
        ),
        SignedTable::Memory => Some(
            "DELETE FROM memory WHERE id = ($1::text[])[1] AND signature IS NOT DISTINCT FROM $2",
        ),
        SignedTable::Runs => Some(
            "DELETE FROM runs WHERE session = ($1::text[])[1] AND signature IS NOT DISTINCT FROM $2",
        ),
        SignedTable::Tallies => Some(
            "DELETE FROM tallies WHERE project = ($1::text[])[1] AND owner = ($1::text[])[2]
             AND tool = ($1::text[])[3] AND number = ($1::text[])[4]::bigint
             AND signature IS NOT DISTINCT FROM $2",
        ),
        SignedTable::Owners | SignedTable::Sessions | SignedTable::Tokens | SignedTable::Trust => {
            None
        }
    }
}

/// The rows of a page.
const PAGE: i64 = 512;

/// A session, the number of its events, the digest of the last one, and the signature.
type End = (String, i64, Vec<u8>, Option<Vec<u8>>);

/// Signs every row, and returns their number.
pub(super) async fn sign_all(tx: &Transaction<'_>, key: &RowKey) -> Result<u64, Error> {
    let mut signed = 0;
    for mut approval in approvals::stored(tx, None).await? {
        approval.sign(key);
        let sign = "UPDATE approvals SET signature = $2 WHERE id = $1";
        signed += tx
            .execute(sign, &[&approval.id, &approval.signature])
            .await?;
    }
    for run in stored_run::stored(tx).await? {
        let sign = "UPDATE runs SET signature = $2 WHERE session = $1";
        let signature = run.sign(key);
        signed += tx
            .execute(sign, &[&run.session, &signature.as_slice()])
            .await?;
    }
    let mut last = None;
    loop {
        let page = firings_after(tx, last.as_ref()).await?;
        for (firing, _) in &page {
            let sign = "UPDATE firings SET signature = $3 WHERE trigger_name = $1 AND key = $2";
            let signature = key.sign_firing(firing);
            signed += tx
                .execute(sign, &[&firing.trigger, &firing.key, &signature])
                .await?;
        }
        match page.into_iter().next_back() {
            Some(end) => last = Some(end),
            None => break,
        }
    }
    let mut last = String::new();
    loop {
        let page = ends_after(tx, &last).await?;
        let Some((end, ..)) = page.last() else {
            return Ok(signed);
        };
        last.clone_from(end);
        let ids: Vec<&str> = page.iter().map(|(id, ..)| id.as_str()).collect();
        let signatures = page.iter().map(|(id, events, digest, _)| {
            let (events, digest) = (*events, digest.as_slice());
            key.sign_session(SessionEnd { id, events, digest }).to_vec()
        });
        let signatures: Vec<Vec<u8>> = signatures.collect();
        let sign = "UPDATE progress SET signature = v.signature
            FROM unnest($1::text[], $2::bytea[]) AS v (session, signature)
            WHERE progress.session = v.session";
        signed += tx.execute(sign, &[&ids, &signatures]).await?;
        signed += sign_owners(tx, key, &ids).await?;
    }
}

/// Signs whose these sessions are.
async fn sign_owners(tx: &Transaction<'_>, key: &RowKey, sessions: &[&str]) -> Result<u64, Error> {
    let owners = owners(tx, sessions).await?.into_iter();
    let (signatures, sessions): (Vec<_>, Vec<_>) = owners
        .map(|stored| {
            let signature = Ownership::sign(stored.ownership.as_ref(), &stored.session, key);
            (signature.to_vec(), stored.session)
        })
        .unzip();
    let sign = "UPDATE sessions SET owner_signature = v.signature
        FROM unnest($1::text[], $2::bytea[]) AS v (session, signature) WHERE id = v.session";
    tx.execute(sign, &[&sessions, &signatures]).await
}

async fn firings_after(
    client: &impl GenericClient,
    last: Option<&StoredFiring>,
) -> Result<Vec<StoredFiring>, Error> {
    let columns = firings::COLUMNS;
    let query = format!(
        "SELECT {columns} FROM firings WHERE (trigger_name, key) > ($1, $2) OR $3
         ORDER BY trigger_name, key LIMIT $4"
    );
    let query = client.prepare_cached(&query).await?;
    let (trigger, key) = last.map_or(("", ""), |(last, _)| (&last.trigger, &last.key));
    let is_first = last.is_none();
    let rows = client
        .query(&query, &[&trigger, &key, &is_first, &PAGE])
        .await?;
    Ok(rows.iter().map(firings::read).collect())
}

async fn ends_after(client: &impl GenericClient, last: &str) -> Result<Vec<End>, Error> {
    let query = "SELECT w.session, w.events, e.digest, w.signature FROM progress w
        JOIN events e ON e.session = w.session AND e.seq = w.events - 1
        WHERE w.session > $1 ORDER BY w.session LIMIT $2";
    let query = client.prepare_cached(query).await?;
    let rows = client.query(&query, &[&last, &PAGE]).await?;
    let end = |row: &tokio_postgres::Row| (row.get(0), row.get(1), row.get(2), row.get(3));
    Ok(rows.iter().map(end).collect())
}

impl Database {
    /// Removes rows without a valid signature, and returns their number.
    pub(super) async fn remove_unsigned(
        &self,
        rows: Vec<UnsignedRow>,
    ) -> Result<u64, JournalError> {
        let failed = self.failed("remove rows without a valid signature");
        let mut client = self.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        let mut removed = 0;
        for row in rows {
            if let Some(statement) = removal(row.table) {
                let done = tx.execute(statement, &[&row.key, &row.signature]).await;
                removed += done.map_err(failed)?;
            }
        }
        tx.commit().await.map_err(failed)?;
        Ok(removed)
    }

    /// Returns the rows without a valid signature.
    pub(super) async fn unsigned(&self) -> Result<Vec<UnsignedRow>, JournalError> {
        let failed = self.failed("check the journal");
        let key = self.rows_key()?;
        let client = self.client().await?;
        let approvals = approvals::stored(&client, None).await.map_err(failed)?;
        let approvals = approvals.iter().filter(|stored| !stored.is_valid(key));
        let by_id = |stored: &StoredApproval| UnsignedRow {
            key: vec![stored.id.clone()],
            ..stored.unsigned()
        };
        let mut found: Vec<UnsignedRow> = approvals.map(by_id).collect();
        let mut last = None;
        loop {
            let page = firings_after(&client, last.as_ref())
                .await
                .map_err(failed)?;
            let invalid = page
                .iter()
                .filter(|(firing, signature)| !key.is_firing(firing, true, signature.as_deref()));
            found.extend(invalid.map(|(firing, signature)| firing.unsigned(signature.clone())));
            match page.into_iter().next_back() {
                Some(end) => last = Some(end),
                None => break,
            }
        }
        found.extend(unsigned(
            links::stored(&client, None).await.map_err(failed)?,
            key,
        ));
        let items = memory_items::stored(&client).await.map_err(failed)?;
        found.extend(items.into_iter().filter_map(|item| item.unsigned(key)));
        let counted = tallies::stored(&client).await.map_err(failed)?;
        found.extend(counted.into_iter().filter_map(|row| row.unsigned(key)));
        let runs = stored_run::stored(&client).await.map_err(failed)?;
        let invalid = runs.into_iter().filter(|run| !run.is_believed(key));
        found.extend(
            invalid.map(|run| UnsignedRow::new(SignedTable::Runs, run.session, run.signature)),
        );
        let mut last = String::new();
        loop {
            let page = ends_after(&client, &last).await.map_err(failed)?;
            let Some((end, ..)) = page.last() else {
                return Ok(found);
            };
            last.clone_from(end);
            let ids: Vec<&str> = page.iter().map(|(id, ..)| id.as_str()).collect();
            let owners = owners(&client, &ids).await.map_err(failed)?.into_iter();
            found.extend(owners.filter_map(|stored| stored.unsigned(key)));
            let invalid = page.into_iter().filter(|(id, events, digest, signature)| {
                let (events, digest) = (*events, digest.as_slice());
                !key.is_session(SessionEnd { id, events, digest }, signature.as_deref())
            });
            found.extend(
                invalid.map(|(id, .., signature)| {
                    UnsignedRow::new(SignedTable::Sessions, id, signature)
                }),
            );
        }
    }
}

//! The links to sessions.

use super::{
    database::{Database, Lock, Parameters, lock},
    read::{positive, signed},
};
use crate::{
    error::StoreError,
    link::{MAX_LINKS, SessionLink, StoredLink, valid},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;
use deadpool_postgres::GenericClient;
use tokio_postgres::Row;

const COLUMNS: &str =
    "id, session, hash, owner, made_by, created_ms, expires_ms, single_use, opened, signature";

/// Reads the links of which a column has a value, or else all, the newest first.
pub(super) async fn stored(
    client: &impl GenericClient,
    of: Option<(&str, &str)>,
) -> Result<Vec<StoredLink>, tokio_postgres::Error> {
    let (column, value) = of.unwrap_or(("''", ""));
    let query = format!("SELECT {COLUMNS} FROM links WHERE {column} = $1 ORDER BY position DESC");
    let query = client.prepare_cached(&query).await?;
    let rows = client.query(&query, &[&value]).await?;
    Ok(rows.iter().map(read).collect())
}

impl Database {
    pub(super) async fn add_link(
        &self,
        link: SessionLink,
        now_ms: u64,
    ) -> Result<bool, JournalError> {
        let signature = link.sign(self.rows_key()?);
        let failed = self.failed("write the links");
        let mut client = self.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        lock(&tx, Lock::Names).await.map_err(failed)?;
        let expired = "DELETE FROM links WHERE expires_ms <= $1";
        tx.execute(expired, &[&signed(now_ms)])
            .await
            .map_err(failed)?;
        let count = tx.query_one("SELECT count(*) FROM links", &[]).await;
        if count.map_err(failed)?.get::<_, i64>(0) >= i64::from(MAX_LINKS) {
            return Ok(false);
        }
        // A session that is removed meanwhile is either not there any more, or waits for the link.
        let session = link.session.to_string();
        let exists = "SELECT 1 FROM sessions WHERE id = $1 FOR KEY SHARE";
        let exists = tx.query_opt(exists, &[&session]).await.map_err(failed)?;
        exists.ok_or(StoreError::NoSession(link.session))?;
        let insert = format!(
            "INSERT INTO links ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
        );
        let values: Parameters<'_> = &[
            &link.id,
            &session,
            &link.hash,
            &link.owner,
            &link.by,
            &signed(link.created_at_ms),
            &signed(link.expires_at_ms),
            &link.single_use,
            &link.is_opened,
            &signature.as_slice(),
        ];
        tx.execute(&insert, values).await.map_err(failed)?;
        tx.commit().await.map_err(failed)?;
        Ok(true)
    }

    pub(super) async fn links(
        &self,
        column: &'static str,
        value: &str,
    ) -> Result<Vec<SessionLink>, JournalError> {
        let failed = self.failed("read the links");
        let client = self.client().await?;
        let stored = stored(&client, Some((column, value)))
            .await
            .map_err(failed)?;
        Ok(valid(stored, self.rows_key()?).collect())
    }

    pub(super) async fn open_link(
        &self,
        link: SessionLink,
        hash: String,
    ) -> Result<bool, JournalError> {
        let (opened, key) = (link.opened(hash), self.rows_key()?);
        // Of two that open a link, one finds its signature.
        let open = "UPDATE links SET hash = $3, opened = true, signature = $4
            WHERE id = $1 AND signature = $2 RETURNING id";
        let (from, to) = (link.sign(key), opened.sign(key));
        let values: Parameters<'_> = &[&link.id, &from.as_slice(), &opened.hash, &to.as_slice()];
        Ok(!self.change(open, values).await?.is_empty())
    }

    pub(super) async fn remove_link(
        &self,
        session: SessionId,
        id: &str,
    ) -> Result<bool, JournalError> {
        let remove = "DELETE FROM links WHERE session = $1 AND id = $2 RETURNING id";
        let removed = self.change(remove, &[&session.to_string(), &id]).await?;
        Ok(!removed.is_empty())
    }
}

fn read(row: &Row) -> StoredLink {
    let session: &str = row.get(1);
    let link = SessionLink {
        id: row.get(0),
        // No signature is that of a new id.
        session: session.parse().unwrap_or_else(|_| SessionId::new()),
        hash: row.get(2),
        owner: row.get(3),
        by: row.get(4),
        created_at_ms: positive(row.get(5)),
        expires_at_ms: positive(row.get(6)),
        single_use: row.get(7),
        is_opened: row.get(8),
    };
    (link, row.get(9))
}

//! The memory of agents beyond a session.

use super::{
    database::{Database, Lock, Parameters, lock},
    read::{positive, signed},
};
use crate::memory_item::{
    MAX_ITEM_BYTES, MemoryChange, MemoryItem, MemoryQuery, MemoryScope, Remembered, StoredItem,
    listed, words,
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::{CallId, SessionId};
use deadpool_postgres::GenericClient;
use tokio_postgres::Row;

const COLUMNS: &str = "id, text, session, call, project, owner, sources, at_ms, expires_ms,
    forgotten, signature";

/// Reads all items as they are stored.
pub(super) async fn stored(
    client: &impl GenericClient,
) -> Result<Vec<StoredItem>, tokio_postgres::Error> {
    let query = format!("SELECT {COLUMNS} FROM memory ORDER BY position");
    let rows = client.query(&query, &[]).await?;
    Ok(rows.iter().map(read).collect())
}

impl Database {
    pub(super) async fn remember(
        &self,
        item: MemoryItem,
        max: u32,
    ) -> Result<Remembered, JournalError> {
        let stored = StoredItem::from(item);
        let (item, signature) = (&stored.item, stored.sign(self.rows_key()?));
        let failed = self.failed("write the memory");
        let mut client = self.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        lock(&tx, Lock::Names).await.map_err(failed)?;
        let expired = "DELETE FROM memory WHERE expires_ms <= $1";
        tx.execute(expired, &[&signed(item.at_ms)])
            .await
            .map_err(failed)?;
        let counts = "SELECT EXISTS (SELECT 1 FROM memory WHERE id = $1), (SELECT count(*) FROM memory
            WHERE project IS NOT DISTINCT FROM $2 AND owner IS NOT DISTINCT FROM $3 AND NOT forgotten
                AND (sources = '') = $4)";
        let beside: Parameters<'_> = &[
            &item.id,
            &item.project,
            &item.owner,
            &item.sources.is_empty(),
        ];
        let counts = tx.query_one(counts, beside).await;
        let counts = counts.map_err(failed)?;
        let ended = match (counts.get(0), counts.get::<_, i64>(1)) {
            (true, _) => Remembered::Known,
            (false, count) if count >= i64::from(max) => Remembered::Full,
            (false, _) => Remembered::Stored,
        };
        if ended == Remembered::Stored {
            let insert = format!(
                "INSERT INTO memory ({COLUMNS}, words)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, array_to_tsvector($12))"
            );
            let values: Parameters<'_> = &[
                &item.id,
                &item.text,
                &item.session.to_string(),
                &item.call.0,
                &item.project,
                &item.owner,
                &stored.sources(),
                &signed(item.at_ms),
                &signed(item.expires_ms),
                &stored.is_forgotten,
                &signature.as_slice(),
                &words(&item.text, MAX_ITEM_BYTES),
            ];
            tx.execute(&insert, values).await.map_err(failed)?;
        }
        tx.commit().await.map_err(failed)?;
        Ok(ended)
    }

    pub(super) async fn memory_items(
        &self,
        query: MemoryQuery,
    ) -> Result<Vec<MemoryItem>, JournalError> {
        let Some(wanted) = query.wanted() else {
            return Ok(Vec::new());
        };
        let wanted = wanted.into_iter();
        let wanted: Vec<String> = wanted.map(|word| format!("'{word}':*")).collect();
        let own = query.scope.ownership();
        let owner = own.and_then(|own| own.owner.as_ref());
        let is_by_owner = matches!(query.scope, MemoryScope::Own(_));
        let select = format!(
            "SELECT {COLUMNS} FROM memory
             WHERE ($1::text = '' OR words @@ $1::text::tsquery)
                 AND ($2::text IS NULL OR project IS NULL AND owner IS NOT DISTINCT FROM $4
                     OR project = $2 AND (NOT $3 OR owner IS NOT DISTINCT FROM $4))
                 AND ($5::boolean IS NULL OR (sources = '') = $5)
                 AND starts_with(id, $6) AND expires_ms > $7 AND NOT forgotten
             ORDER BY (SELECT count(*) FROM unnest($10::text[]) AS word WHERE words @@ word::tsquery)
                 DESC, position DESC
             LIMIT $8 OFFSET $9"
        );
        let values: Parameters<'_> = &[
            &wanted.join(" | "),
            &own.map(|own| &own.project),
            &is_by_owner,
            &owner,
            &query.trusted,
            &query.id,
            &signed(query.now_ms),
            &i64::from(query.limit),
            &i64::from(query.offset),
            &wanted,
        ];
        let rows = self.read_planned(&select, values).await?;
        let key = self.rows_key()?;
        let found = rows.iter().map(read);
        Ok(found.filter_map(|stored| stored.believed(key)).collect())
    }

    pub(super) async fn change_memory(
        &self,
        item: MemoryItem,
        change: MemoryChange,
        now_ms: u64,
    ) -> Result<bool, JournalError> {
        let key = self.rows_key()?;
        let before = StoredItem::from(item.clone()).sign(key);
        let after = item.changed(change, now_ms);
        let signature = after.sign(key);
        let update = "UPDATE memory SET text = $3, sources = $4, expires_ms = $5, forgotten = $6,
                signature = $7, words = CASE WHEN $6 THEN '' ELSE words END
            WHERE id = $1 AND signature = $2 RETURNING id";
        let values: Parameters<'_> = &[
            &after.item.id,
            &before.as_slice(),
            &after.item.text,
            &after.sources(),
            &signed(after.item.expires_ms),
            &after.is_forgotten,
            &signature.as_slice(),
        ];
        Ok(!self.change(update, values).await?.is_empty())
    }
}

fn read(row: &Row) -> StoredItem {
    let (session, sources): (&str, &str) = (row.get(2), row.get(6));
    let item = MemoryItem {
        id: row.get(0),
        text: row.get(1),
        // No signature is that of a new id.
        session: session.parse().unwrap_or_else(|_| SessionId::new()),
        call: CallId(row.get(3)),
        project: row.get(4),
        owner: row.get(5),
        sources: listed(sources),
        at_ms: positive(row.get(7)),
        expires_ms: positive(row.get(8)),
    };
    StoredItem {
        item,
        is_forgotten: row.get(9),
        signature: row.get(10),
    }
}

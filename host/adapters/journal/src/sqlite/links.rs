//! The links to sessions.

use super::{
    database::Database,
    read::{non_negative, signed},
};
use crate::{
    error::StoreError,
    link::{MAX_LINKS, SessionLink, StoredLink, valid},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;
use rusqlite::{Connection, Params, Row, Transaction, params};

const COLUMNS: &str =
    "id, session, hash, owner, made_by, created_ms, expires_ms, single_use, opened, signature";

/// The table, which files of before version 5 are without.
const TABLE: &str = "
CREATE TABLE links (
    id TEXT PRIMARY KEY NOT NULL,
    session TEXT NOT NULL,
    hash TEXT NOT NULL,
    owner TEXT,
    made_by TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    single_use INTEGER NOT NULL,
    opened INTEGER NOT NULL,
    signature BLOB
) STRICT;
CREATE INDEX links_by_hash ON links (hash);
CREATE INDEX links_by_session ON links (session);
";

pub(super) fn add_table(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    tx.execute_batch(TABLE)
}

/// Reads the links for which a condition holds, the newest first.
pub(super) fn stored(
    db: &Connection,
    condition: &str,
    values: impl Params,
) -> Result<Vec<StoredLink>, rusqlite::Error> {
    let query = format!("SELECT {COLUMNS} FROM links WHERE {condition} ORDER BY rowid DESC");
    let mut query = db.prepare_cached(&query)?;
    query.query_map(values, read)?.collect()
}

impl Database {
    pub(crate) fn add_link(&self, link: &SessionLink, now_ms: u64) -> Result<bool, JournalError> {
        let failed = StoreError::sqlite(self.location(), "write the links");
        self.transact(|tx| {
            let expired = "DELETE FROM links WHERE expires_ms <= ?1";
            tx.execute(expired, [signed(now_ms)]).map_err(failed)?;
            let count = tx.query_row("SELECT count(*) FROM links", [], |row| row.get(0));
            let count: u32 = count.map_err(failed)?;
            if count >= MAX_LINKS {
                return Ok(false);
            }
            let insert = format!(
                "INSERT INTO links ({COLUMNS}) SELECT ?1, id, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
                 FROM sessions WHERE id = ?2"
            );
            let values = params![
                link.id,
                link.session.to_string(),
                link.hash,
                link.owner,
                link.by,
                signed(link.created_at_ms),
                signed(link.expires_at_ms),
                link.single_use,
                link.is_opened,
                link.sign(self.rows_key()),
            ];
            match tx.execute(&insert, values).map_err(failed)? {
                0 => Err(StoreError::NoSession(link.session).into()),
                _ => Ok(true),
            }
        })
    }

    pub(crate) fn links(
        &self,
        condition: &str,
        value: &str,
    ) -> Result<Vec<SessionLink>, JournalError> {
        let failed = StoreError::sqlite(self.location(), "read the links");
        let read = |db: &Connection| stored(db, condition, [value]);
        let links = self.reader().query(read).map_err(failed)?;
        Ok(valid(links, self.rows_key()).collect())
    }

    pub(crate) fn open_link(&self, link: &SessionLink, hash: String) -> Result<bool, JournalError> {
        let (opened, key) = (link.opened(hash), self.rows_key());
        // Of two that open a link, one finds its signature.
        self.change_links(
            "UPDATE links SET hash = ?3, opened = 1, signature = ?4 WHERE id = ?1 AND signature = ?2",
            params![link.id, link.sign(key), opened.hash, opened.sign(key)],
        )
    }

    pub(crate) fn remove_link(&self, session: SessionId, id: &str) -> Result<bool, JournalError> {
        self.change_links(
            "DELETE FROM links WHERE session = ?1 AND id = ?2",
            params![session.to_string(), id],
        )
    }

    fn change_links(&self, statement: &str, values: impl Params) -> Result<bool, JournalError> {
        let failed = StoreError::sqlite(self.location(), "write the links");
        self.transact(|tx| Ok(tx.execute(statement, values).map_err(failed)? > 0))
    }
}

fn read(row: &Row<'_>) -> Result<StoredLink, rusqlite::Error> {
    let session: String = row.get(1)?;
    let link = SessionLink {
        id: row.get(0)?,
        // No signature is that of a new id.
        session: session.parse().unwrap_or_else(|_| SessionId::new()),
        hash: row.get(2)?,
        owner: row.get(3)?,
        by: row.get(4)?,
        created_at_ms: non_negative(row.get(5)?),
        expires_at_ms: non_negative(row.get(6)?),
        single_use: row.get(7)?,
        is_opened: row.get(8)?,
    };
    Ok((link, row.get(9)?))
}

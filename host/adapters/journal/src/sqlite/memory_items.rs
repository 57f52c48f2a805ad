//! The memory of agents beyond a session.

use super::{
    database::Database,
    read::{non_negative, signed},
};
use crate::{
    error::StoreError,
    memory_item::{
        MAX_ITEM_BYTES, MemoryChange, MemoryItem, MemoryQuery, MemoryScope, Remembered, StoredItem,
        listed, words,
    },
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::{CallId, SessionId};
use rusqlite::{Connection, Params, Row, ToSql, Transaction, params};

const COLUMNS: &str = "id, text, session, call, project, owner, sources, at_ms, expires_ms,
    forgotten, signature, scope";

/// The tables, which files of before version 6 are without. The words of items are ordered by whose
/// they are, so that a search costs the same however many items others have; `SQLite`'s own text
/// search visits all that have a word.
const TABLE: &str = "
CREATE TABLE memory (
    position INTEGER PRIMARY KEY,
    id TEXT UNIQUE NOT NULL,
    text TEXT NOT NULL,
    session TEXT NOT NULL,
    call TEXT NOT NULL,
    project TEXT,
    owner TEXT,
    sources TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    forgotten INTEGER NOT NULL,
    scope TEXT NOT NULL,
    signature BLOB
) STRICT;
CREATE INDEX memory_by_project ON memory (project, owner, scope, forgotten);
CREATE INDEX memory_by_end ON memory (expires_ms);
CREATE TABLE memory_words (
    scope TEXT NOT NULL,
    word TEXT NOT NULL,
    item INTEGER NOT NULL REFERENCES memory (position) ON DELETE CASCADE,
    PRIMARY KEY (scope, word, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_words_by_item ON memory_words (item);
";

/// The number of parameters of a query before its words.
const NAMED: usize = 6;

pub(super) fn add_table(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    tx.execute_batch(TABLE)
}

/// Reads all items as they are stored.
pub(super) fn stored(db: &Connection) -> Result<Vec<StoredItem>, rusqlite::Error> {
    let query = format!("SELECT {COLUMNS} FROM memory ORDER BY position");
    read_all(db, &query, [])
}

impl Database {
    pub(crate) fn remember(&self, item: MemoryItem, max: u32) -> Result<Remembered, JournalError> {
        let failed = StoreError::sqlite(self.location(), "write the memory");
        let stored = StoredItem::from(item);
        let signature = stored.sign(self.rows_key());
        self.transact(|tx| Ok(add(tx, &stored, &signature, max).map_err(failed)?))
    }

    pub(crate) fn memory_items(
        &self,
        query: &MemoryQuery,
    ) -> Result<Vec<MemoryItem>, JournalError> {
        let failed = StoreError::sqlite(self.location(), "read the memory");
        let found = self.reader().query(|db| found(db, query)).map_err(failed)?;
        let key = self.rows_key();
        Ok(found
            .into_iter()
            .filter_map(|stored| stored.believed(key))
            .collect())
    }

    pub(crate) fn change_memory(
        &self,
        item: MemoryItem,
        change: MemoryChange,
        now_ms: u64,
    ) -> Result<bool, JournalError> {
        let failed = StoreError::sqlite(self.location(), "write the memory");
        let before = StoredItem::from(item.clone()).sign(self.rows_key());
        let after = item.changed(change, now_ms);
        let values = params![
            after.item.id,
            before,
            after.item.text,
            after.sources(),
            signed(after.item.expires_ms),
            after.is_forgotten,
            after.sign(self.rows_key()),
        ];
        let update = "UPDATE memory SET text = ?3, sources = ?4, expires_ms = ?5, forgotten = ?6,
            signature = ?7 WHERE id = ?1 AND signature = ?2 RETURNING position";
        self.transact(|tx| {
            let changed = tx.query_row(update, values, |row| row.get::<_, i64>(0));
            let position = match changed {
                Err(rusqlite::Error::QueryReturnedNoRows) => return Ok(false),
                changed => changed.map_err(failed)?,
            };
            if after.is_forgotten {
                let removed = tx.execute("DELETE FROM memory_words WHERE item = ?1", [position]);
                removed.map_err(failed)?;
            }
            Ok(true)
        })
    }
}

/// Stores an item, unless its call has stored one or there are as many as may be. Those that have
/// expired are removed.
fn add(
    tx: &Transaction<'_>,
    stored: &StoredItem,
    signature: &[u8],
    max: u32,
) -> Result<Remembered, rusqlite::Error> {
    let item = &stored.item;
    let expired = "DELETE FROM memory WHERE expires_ms <= ?1";
    tx.execute(expired, [signed(item.at_ms)])?;
    let exists = "SELECT EXISTS (SELECT 1 FROM memory WHERE id = ?1)";
    if tx.query_row(exists, [&item.id], |row| row.get(0))? {
        return Ok(Remembered::Known);
    }
    let count = "SELECT count(*) FROM memory
        WHERE project IS ?1 AND owner IS ?2 AND forgotten = 0 AND (sources = '') = ?3";
    let beside = params![item.project, item.owner, item.sources.is_empty()];
    let count: u32 = tx.query_row(count, beside, |row| row.get(0))?;
    if count >= max {
        return Ok(Remembered::Full);
    }
    tx.execute(
        &format!(
            "INSERT INTO memory ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
        ),
        params![
            item.id,
            item.text,
            item.session.to_string(),
            item.call.0,
            item.project,
            item.owner,
            stored.sources(),
            signed(item.at_ms),
            signed(item.expires_ms),
            stored.is_forgotten,
            signature,
            stored.scope(),
        ],
    )?;
    let position = tx.last_insert_rowid();
    let mut insert = tx.prepare_cached("INSERT INTO memory_words VALUES (?1, ?2, ?3)")?;
    let scope = stored.scope();
    for word in words(&item.text, MAX_ITEM_BYTES) {
        insert.execute(params![scope, word, position])?;
    }
    Ok(Remembered::Stored)
}

fn found(db: &Connection, query: &MemoryQuery) -> Result<Vec<StoredItem>, rusqlite::Error> {
    let scope = match query.scope {
        MemoryScope::All => "?1 IS NULL AND ?2 IS NULL",
        MemoryScope::Project(_) => "(project = ?1 OR project IS NULL AND owner IS ?2)",
        MemoryScope::Own(_) => "(project = ?1 OR project IS NULL) AND owner IS ?2",
    };
    let trusted = match query.trusted {
        None => "",
        Some(true) => "AND sources = ''",
        Some(false) => "AND sources <> ''",
    };
    let Some(wanted) = query.wanted() else {
        return Ok(Vec::new());
    };
    // An item may have several words that begin with one that is wanted.
    let with_word = |index: usize| {
        format!(
            "SELECT DISTINCT item FROM memory_words
             WHERE scope IN (SELECT DISTINCT scope FROM memory WHERE {scope})
                 AND word >= ?{index} AND word < ?{index} || char(1114111)"
        )
    };
    let places = NAMED + 1..=NAMED + wanted.len();
    let found: Vec<String> = places.map(with_word).collect();
    let (from, order) = match found.is_empty() {
        true => ("memory".to_owned(), "position DESC"),
        false => (
            format!(
                "memory JOIN (SELECT item, count(*) AS words FROM ({}) GROUP BY item)
                 ON position = item",
                found.join(" UNION ALL ")
            ),
            "words DESC, position DESC",
        ),
    };
    let select = format!(
        "SELECT {COLUMNS} FROM {from} WHERE {scope} {trusted}
             AND substr(id, 1, length(?3)) = ?3 AND expires_ms > ?4 AND forgotten = 0
         ORDER BY {order} LIMIT ?5 OFFSET ?6"
    );
    let own = query.scope.ownership();
    let (project, owner) = (
        own.map(|own| &own.project),
        own.and_then(|own| own.owner.as_ref()),
    );
    let now = signed(query.now_ms);
    let named: [&dyn ToSql; NAMED] = [
        &project,
        &owner,
        &query.id,
        &now,
        &query.limit,
        &query.offset,
    ];
    let words = wanted.iter().map(|word| word as &dyn ToSql);
    let values: Vec<&dyn ToSql> = named.into_iter().chain(words).collect();
    read_all(db, &select, values.as_slice())
}

fn read_all(
    db: &Connection,
    query: &str,
    values: impl Params,
) -> Result<Vec<StoredItem>, rusqlite::Error> {
    let mut query = db.prepare_cached(query)?;
    query.query_map(values, read)?.collect()
}

fn read(row: &Row<'_>) -> Result<StoredItem, rusqlite::Error> {
    let (session, sources): (String, String) = (row.get(2)?, row.get(6)?);
    let item = MemoryItem {
        id: row.get(0)?,
        text: row.get(1)?,
        // No signature is that of a new id.
        session: session.parse().unwrap_or_else(|_| SessionId::new()),
        call: CallId(row.get(3)?),
        project: row.get(4)?,
        owner: row.get(5)?,
        sources: listed(&sources),
        at_ms: non_negative(row.get(7)?),
        expires_ms: non_negative(row.get(8)?),
    };
    Ok(StoredItem {
        item,
        is_forgotten: row.get(9)?,
        signature: row.get(10)?,
    })
}

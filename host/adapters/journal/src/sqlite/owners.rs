//! Whose sessions are: the table, its rows, and the conditions of scopes.

use super::read::{PARENT, ReadConnection};
use crate::{
    error::StoreError,
    ownership::{Ownership, SessionScope, StoredOwnership},
    row::EventRow,
    signature::{RowKey, UnsignedRow},
};
use agent_host_types::id::SessionId;
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use std::sync::Arc;

/// The table of whose the sessions are, each of which has a row. A session without an owner has no
/// project, and only those see it who see all.
const TABLE: &str = "
CREATE TABLE owners (
    session TEXT PRIMARY KEY NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    project TEXT,
    owner TEXT,
    signature BLOB
) STRICT;
INSERT INTO owners (session, project)
    SELECT id, directory FROM sessions WHERE directory IS NOT NULL;
";

/// The columns that [`stored`] reads, of sessions joined with owners.
pub(super) const COLUMNS: &str = "owners.project, owners.owner, owners.signature";

/// Adds the table of owners to a file without it. Sessions that are there belong to their
/// directories, and those of agents, which have none, to the project of the session that started
/// them.
pub(super) fn add_table(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    tx.execute_batch(TABLE)?;
    let of_agents = format!(
        "INSERT INTO owners (session, project) SELECT sessions.id, owners.project
         FROM sessions JOIN owners ON owners.session = {PARENT}
         WHERE NOT EXISTS (SELECT 1 FROM owners AS known WHERE known.session = sessions.id)"
    );
    // Each round reaches the agents of those before.
    while tx.execute(&of_agents, [])? > 0 {}
    tx.execute(
        "INSERT INTO owners (session) SELECT id FROM sessions
         WHERE NOT EXISTS (SELECT 1 FROM owners WHERE session = sessions.id)",
        [],
    )?;
    Ok(())
}

/// Returns whose a new session is, of which these are the first events.
pub(super) fn of_new(
    tx: &Transaction<'_>,
    key: &RowKey,
    rows: &[Arc<EventRow>],
) -> Result<Option<Ownership>, rusqlite::Error> {
    let parent = rows.first().and_then(|first| first.listing.parent);
    let starter = match parent {
        Some(parent) => owner_of(tx, parent, key)?,
        None => None,
    };
    Ok(Ownership::of_new(rows, starter))
}

/// Writes down whose a new session is.
pub(super) fn write_owner(
    tx: &Transaction<'_>,
    key: &RowKey,
    id: &str,
    ownership: Option<&Ownership>,
) -> Result<(), rusqlite::Error> {
    let signature = Ownership::sign(ownership, id, key);
    let project = ownership.map(|ownership| &ownership.project);
    let owner = ownership.and_then(|ownership| ownership.owner.as_ref());
    tx.prepare_cached("INSERT INTO owners VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![id, project, owner, signature])?;
    Ok(())
}

/// Signs every row.
pub(super) fn sign_all(tx: &Transaction<'_>, key: &RowKey) -> Result<(), rusqlite::Error> {
    let mut sign = tx.prepare("UPDATE owners SET signature = ?2 WHERE session = ?1")?;
    for StoredOwnership {
        session, ownership, ..
    } in all(tx)?
    {
        let signature = Ownership::sign(ownership.as_ref(), &session, key);
        sign.execute(params![session, signature])?;
    }
    Ok(())
}

/// Returns those of the sessions without a valid signature.
pub(super) fn unsigned(db: &Connection, key: &RowKey) -> Result<Vec<UnsignedRow>, rusqlite::Error> {
    let stored = all(db)?.into_iter();
    Ok(stored.filter_map(|stored| stored.unsigned(key)).collect())
}

fn all(db: &Connection) -> Result<Vec<StoredOwnership>, rusqlite::Error> {
    let query = format!(
        "SELECT {COLUMNS}, sessions.id FROM sessions
         LEFT JOIN owners ON owners.session = sessions.id ORDER BY sessions.id"
    );
    let mut query = db.prepare(&query)?;
    let rows = query.query_map([], |row| stored(row, 0, row.get(3)?))?;
    rows.collect()
}

/// Returns whose a session is.
pub(super) fn owner_of(
    db: &Connection,
    session: SessionId,
    key: &RowKey,
) -> Result<Option<Ownership>, rusqlite::Error> {
    Ok(stored_of(db, session)?.and_then(|stored| stored.believed(key)))
}

/// Reads the row of a session.
fn stored_of(
    db: &Connection,
    session: SessionId,
) -> Result<Option<StoredOwnership>, rusqlite::Error> {
    let query = format!("SELECT {COLUMNS}, session FROM owners WHERE session = ?1");
    db.prepare_cached(&query)?
        .query_row([session.to_string()], |row| stored(row, 0, row.get(3)?))
        .optional()
}

/// Reads [`COLUMNS`], of which this is the first.
pub(super) fn stored(
    row: &rusqlite::Row<'_>,
    column: usize,
    session: String,
) -> Result<StoredOwnership, rusqlite::Error> {
    let owner = row.get(column + 1)?;
    let project: Option<String> = row.get(column)?;
    Ok(StoredOwnership {
        session,
        ownership: project.map(|project| Ownership { project, owner }),
        signature: row.get(column + 2)?,
    })
}

impl ReadConnection {
    /// Whether a session exists within a scope.
    pub(crate) fn is_within(
        &self,
        session: SessionId,
        scope: &SessionScope,
    ) -> Result<bool, StoreError> {
        let ownership = self.ownership(session)?;
        Ok(scope.has(ownership.as_ref()) && self.exists(session)?)
    }

    /// Reads whose a session is.
    pub(crate) fn ownership(&self, session: SessionId) -> Result<Option<Ownership>, StoreError> {
        self.read(|db| owner_of(db, session, self.rows_key()))
    }
}

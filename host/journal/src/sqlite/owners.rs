//! Whose sessions are: the table, its rows, and the conditions of scopes.

use super::read::{PARENT, Reader};
use crate::{
    error::StoreError,
    ownership::{Ownership, SessionScope},
    row::Listing,
};
use agent_host_types::id::SessionId;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

/// The table of whose the sessions are, which is added to files that were made without it, as
/// that of names is. A session that an older
/// program writes has no row, and belongs to its directory, by which the second index finds it.
const TABLE: &str = "
CREATE TABLE owners (
    session TEXT PRIMARY KEY NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    project TEXT NOT NULL,
    owner TEXT
) STRICT;
CREATE INDEX owners_by_project ON owners (project, owner);
CREATE INDEX sessions_by_directory ON sessions (directory);
INSERT INTO owners (session, project)
    SELECT id, directory FROM sessions WHERE directory IS NOT NULL;
";

/// The project of a session, which may have a row among the owners.
pub(super) const PROJECT: &str = "coalesce(owners.project, sessions.directory)";

/// Whether a session is in a scope: found by indexes, whatever other projects have.
const WITHIN: &str = "sessions.id IN (
    SELECT session FROM owners WHERE project = ?1 AND (?2 IS NULL OR owner = ?2)
    UNION ALL SELECT id FROM sessions AS unowned WHERE directory = ?1 AND ?2 IS NULL
        AND NOT EXISTS (SELECT 1 FROM owners WHERE owners.session = unowned.id))";

/// Returns the condition of a scope, whose project and owner are the parameters.
pub(crate) fn filter(scope: &SessionScope) -> &'static str {
    match scope.project() {
        None => "?1 IS NULL AND ?2 IS NULL",
        Some(_) => WITHIN,
    }
}

/// Adds the table of owners to a file without it. Sessions of agents, which have no directory,
/// belong to the project of the session that started them.
pub(super) fn add_table(db: &mut Connection) -> Result<(), rusqlite::Error> {
    if has_owners(db)? {
        return Ok(());
    }
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have added it meanwhile.
    if has_owners(&tx)? {
        return Ok(());
    }
    tx.execute_batch(TABLE)?;
    let of_agents = format!(
        "INSERT INTO owners (session, project) SELECT sessions.id, owners.project
         FROM sessions JOIN owners ON owners.session = {PARENT}
         WHERE NOT EXISTS (SELECT 1 FROM owners AS known WHERE known.session = sessions.id)"
    );
    // Each round reaches the agents of those before.
    while tx.execute(&of_agents, [])? > 0 {}
    tx.commit()
}

fn has_owners(db: &Connection) -> Result<bool, rusqlite::Error> {
    db.query_row(
        "SELECT count(*) > 0 FROM sqlite_schema WHERE type = 'table' AND name = 'owners'",
        [],
        |row| row.get(0),
    )
}

/// Writes down whose a new session is: as its creator says, or as that of the session which started
/// it. Any other one has no row, and belongs to its directory.
pub(super) fn write_owner(
    tx: &Transaction<'_>,
    id: &str,
    listing: &Listing,
) -> Result<(), rusqlite::Error> {
    let own = "INSERT INTO owners (session, project, owner) VALUES (?1, ?2, ?3)";
    let inherited = "INSERT INTO owners (session, project, owner)
        SELECT ?1, coalesce(owners.project, sessions.directory), owners.owner
        FROM sessions LEFT JOIN owners ON owners.session = sessions.id
        WHERE sessions.id = ?2 AND coalesce(owners.project, sessions.directory) IS NOT NULL";
    match (&listing.ownership, listing.parent) {
        (Some(Ownership { project, owner }), _) => tx
            .prepare_cached(own)?
            .execute(params![id, project, owner])?,
        (None, Some(parent)) => tx
            .prepare_cached(inherited)?
            .execute(params![id, parent.to_string()])?,
        (None, None) => 0,
    };
    Ok(())
}

impl Reader {
    /// Whether a session exists within a scope.
    pub(crate) fn is_within(
        &self,
        session: SessionId,
        scope: &SessionScope,
    ) -> Result<bool, StoreError> {
        let query = format!(
            "SELECT EXISTS (SELECT 1 FROM sessions LEFT JOIN owners ON owners.session = sessions.id
             WHERE id = ?1 AND (?2 IS NULL OR {PROJECT} = ?2) AND (?3 IS NULL OR owners.owner = ?3))"
        );
        self.read(|db| {
            let parameters = params![session.to_string(), scope.project(), scope.owner()];
            db.prepare_cached(&query)?
                .query_row(parameters, |row| row.get(0))
        })
    }

    /// Reads whose a session is.
    pub(crate) fn ownership(&self, session: SessionId) -> Result<Option<Ownership>, StoreError> {
        let query = format!(
            "SELECT {PROJECT}, owners.owner FROM sessions
             LEFT JOIN owners ON owners.session = sessions.id WHERE id = ?1"
        );
        let found = self.read(|db| {
            db.query_row(&query, [session.to_string()], |row| ownership(row, 0))
                .optional()
        });
        Ok(found?.flatten())
    }
}

/// Reads a column with [`PROJECT`] and one with the owner behind it.
pub(super) fn ownership(
    row: &rusqlite::Row<'_>,
    column: usize,
) -> Result<Option<Ownership>, rusqlite::Error> {
    let (project, owner) = (row.get::<_, Option<String>>(column)?, row.get(column + 1)?);
    Ok(project.map(|project| Ownership { project, owner }))
}

//! Whose sessions are: the columns of a session, which are read only if their signature is valid.

use super::{database::Database, read::parsed};
use crate::ownership::{Ownership, SessionScope, StoredOwnership};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;
use deadpool_postgres::GenericClient;
use std::collections::HashSet;
use tokio_postgres::{Error, Row};

impl Database {
    async fn stored_owner_of(
        &self,
        session: SessionId,
    ) -> Result<Option<StoredOwnership>, JournalError> {
        let found = owner_of(&self.client().await?, session).await;
        Ok(found.map_err(self.failed("read the journal"))?)
    }

    /// Whether a session exists within a scope.
    pub(super) async fn is_within(
        &self,
        session: SessionId,
        scope: &SessionScope,
    ) -> Result<bool, JournalError> {
        let found = self.stored_owner_of(session).await?;
        let key = self.rows_key()?;
        Ok(found.is_some_and(|stored| scope.has(stored.believed(key).as_ref())))
    }

    /// Reads whose a session is.
    pub(super) async fn ownership(
        &self,
        session: SessionId,
    ) -> Result<Option<Ownership>, JournalError> {
        let found = self.stored_owner_of(session).await?;
        let key = self.rows_key()?;
        Ok(found.and_then(|stored| stored.believed(key)))
    }

    /// Keeps those of sessions that are owned as this one. No host of this store wrote that others
    /// are of its family.
    pub(super) async fn of_same_owner(
        &self,
        session: SessionId,
        ids: Vec<String>,
    ) -> Result<Vec<SessionId>, JournalError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let owner = self.ownership(session).await?;
        let key = self.rows_key()?;
        let asked: Vec<&str> = ids.iter().map(String::as_str).collect();
        let owners = owners(&self.client().await?, &asked).await;
        let owners = owners.map_err(self.failed("read the journal"))?.into_iter();
        let same = owners.filter_map(|stored| {
            let id = stored.session.clone();
            (stored.believed(key) == owner).then_some(id)
        });
        let same: HashSet<String> = same.collect();
        let kept = ids.iter().filter(|id| same.contains(*id));
        kept.map(|id| parsed(id)).collect()
    }
}

/// Reads the row of a session that says whose it is.
pub(super) async fn owner_of(
    client: &impl GenericClient,
    session: SessionId,
) -> Result<Option<StoredOwnership>, Error> {
    let query = "SELECT project, owner, owner_signature FROM sessions WHERE id = $1";
    let query = client.prepare_cached(query).await?;
    let id = session.to_string();
    let found = client.query_opt(&query, &[&id]).await?;
    Ok(found.map(|row| stored_owner(&row, id, 0)))
}

/// Reads the project, the owner and their signature, of which this is the first column.
pub(super) fn stored_owner(row: &Row, session: String, column: usize) -> StoredOwnership {
    let owner = row.get(column + 1);
    let project: Option<String> = row.get(column);
    StoredOwnership {
        session,
        ownership: project.map(|project| Ownership { project, owner }),
        signature: row.get(column + 2),
    }
}

/// Reads whose these sessions are.
pub(super) async fn owners(
    client: &impl GenericClient,
    sessions: &[&str],
) -> Result<Vec<StoredOwnership>, Error> {
    let query = "SELECT project, owner, owner_signature, id FROM sessions
        WHERE id = ANY ($1) ORDER BY id";
    let query = client.prepare_cached(query).await?;
    let rows = client.query(&query, &[&sessions]).await?;
    let owner = |row: &Row| stored_owner(row, row.get(3), 0);
    Ok(rows.iter().map(owner).collect())
}

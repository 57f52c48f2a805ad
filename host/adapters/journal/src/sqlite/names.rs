//! The names of sessions.

use super::{database::Database, read::parsed};
use crate::{error::StoreError, session_list::SessionName};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;
use rusqlite::{OptionalExtension as _, TransactionBehavior, params};

impl Database {
    pub(crate) fn name_session(
        &self,
        session: SessionId,
        name: &SessionName,
    ) -> Result<(), JournalError> {
        self.must_exist(session)?;
        let failed = StoreError::sqlite(self.location(), "name a session");
        let mut db = self.connect_writer()?;
        let tx = db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let id = session.to_string();
        let other: Option<SessionId> = tx
            .query_row(
                "SELECT sessions.id FROM names JOIN sessions ON sessions.id = names.session
                 LEFT JOIN owners ON owners.session = sessions.id
                 WHERE names.name = ?1 AND sessions.id <> ?2
                 AND sessions.directory IS (SELECT directory FROM sessions WHERE id = ?2)
                 AND owners.project IS (SELECT project FROM owners WHERE session = ?2)
                 AND owners.owner IS (SELECT owner FROM owners WHERE session = ?2)",
                params![name.as_str(), id],
                parsed,
            )
            .optional()
            .map_err(failed)?;
        if let Some(other) = other {
            let name = name.as_str().to_owned();
            return Err(StoreError::NameTaken { other, name }.into());
        }
        tx.execute(
            "INSERT INTO names (session, name) VALUES (?1, ?2)
             ON CONFLICT (session) DO UPDATE SET name = excluded.name",
            params![id, name.as_str()],
        )
        .map_err(failed)?;
        Ok(tx.commit().map_err(failed)?)
    }
}

//! The approvals that are remembered for projects.

use super::database::Database;
use crate::{
    error::StoreError,
    stored_approval::{MAX_APPROVALS, ProjectApproval, StoredApproval, valid},
};
use agent_host_engine::journal::JournalError;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

/// Reads the approvals of a project, or else all, as they are stored, the oldest first.
pub(super) fn stored(
    db: &Connection,
    project: Option<&str>,
) -> Result<Vec<StoredApproval>, rusqlite::Error> {
    let filter = match project {
        None => "?1 IS NULL",
        Some(_) => "project = ?1",
    };
    let mut query = db.prepare_cached(&format!(
        "SELECT project, rule, session, at_ms, signature FROM approvals WHERE {filter} ORDER BY rowid"
    ))?;
    let rows = query.query_map([project], |row| {
        Ok(StoredApproval {
            id: String::new(),
            project: row.get(0)?,
            rule: row.get(1)?,
            session: row.get(2)?,
            at_ms: row.get(3)?,
            signature: row.get(4)?,
        })
    })?;
    rows.collect()
}

impl Database {
    pub(crate) fn approvals(
        &self,
        project: Option<&str>,
    ) -> Result<Vec<ProjectApproval>, JournalError> {
        let failed = StoreError::sqlite(self.location(), "read the remembered approvals");
        let stored = self.reader().query(|db| stored(db, project));
        let stored = stored.map_err(failed)?;
        Ok(valid(stored, self.rows_key(), self.location())?)
    }

    pub(crate) fn remember_approvals(
        &self,
        approvals: &[ProjectApproval],
    ) -> Result<(), JournalError> {
        self.change_approvals(|tx| {
            if approvals.is_empty() {
                return Ok(());
            }
            let mut unsigned = stored(tx, None)?;
            unsigned.retain(|stored| !stored.is_valid(self.rows_key()));
            for approval in approvals {
                let new = StoredApproval::encode(String::new(), approval, self.rows_key())
                    .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
                let is_same = |known: &&StoredApproval| {
                    known.project == new.project && known.rule == new.rule
                };
                if let Some(same) = unsigned.iter().find(is_same) {
                    tracing::warn!("replaced by a new approval: {}", same.unsigned());
                    delete(tx, &new)?;
                }
                tx.execute(
                    "INSERT INTO approvals (project, rule, session, at_ms, signature)
                     VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
                    params![new.project, new.rule, new.session, new.at_ms, new.signature],
                )?;
            }
            Ok(())
        })
    }

    pub(crate) fn revoke_approvals(
        &self,
        approvals: &[ProjectApproval],
    ) -> Result<(), JournalError> {
        self.change_approvals(|tx| {
            for approval in approvals {
                let gone = StoredApproval::encode(String::new(), approval, self.rows_key())
                    .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
                delete(tx, &gone)?;
            }
            Ok(())
        })
    }

    fn change_approvals(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<(), rusqlite::Error>,
    ) -> Result<(), JournalError> {
        let failed = StoreError::sqlite(self.location(), "write the remembered approvals");
        let mut db = self.connect_writer()?;
        let tx = db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        change(&tx).map_err(failed)?;
        // Those without a valid signature do not count; where all are few, they need no check.
        let count: u32 = tx
            .query_row("SELECT count(*) FROM approvals", [], |row| row.get(0))
            .map_err(failed)?;
        if count > MAX_APPROVALS {
            let mut all = stored(&tx, None).map_err(failed)?;
            all.retain(|stored| stored.is_valid(self.rows_key()));
            if all.len() > MAX_APPROVALS as usize {
                return Err(StoreError::TooManyApprovals(MAX_APPROVALS).into());
            }
        }
        Ok(tx.commit().map_err(failed)?)
    }
}

fn delete(tx: &Transaction<'_>, approval: &StoredApproval) -> Result<(), rusqlite::Error> {
    let delete = "DELETE FROM approvals WHERE project = ?1 AND rule = ?2";
    tx.execute(delete, params![approval.project, approval.rule])
        .map(drop)
}

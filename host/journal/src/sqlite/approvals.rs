//! The approvals that are remembered for projects.

use super::{database::Database, read::parsed};
use crate::{
    error::StoreError,
    store::{MAX_APPROVALS, ProjectApproval},
};
use agent_host_engine::journal::JournalError;
use rusqlite::{Transaction, TransactionBehavior, params};

impl Database {
    pub(crate) fn approvals(&self) -> Result<Vec<ProjectApproval>, JournalError> {
        let failed = StoreError::sqlite(self.location(), "read the remembered approvals");
        let stored = self.reader().query(|db| {
            let mut query = db.prepare_cached(
                "SELECT session, project, rule, at_ms FROM approvals ORDER BY rowid",
            )?;
            let rows = query.query_map([], |row| {
                let rule: String = row.get(2)?;
                Ok((parsed(row)?, row.get(1)?, rule, row.get::<_, i64>(3)?))
            })?;
            rows.collect::<Result<Vec<_>, _>>()
        });
        let approvals = stored.map_err(failed)?.into_iter();
        let approvals = approvals.map(|(session, project, rule, at_ms)| {
            Ok(ProjectApproval {
                project,
                rule: serde_json::from_str(&rule)?,
                session,
                at_ms: u64::try_from(at_ms).unwrap_or_default(),
            })
        });
        let approvals: Result<_, serde_json::Error> = approvals.collect();
        Ok(approvals.map_err(|source| StoreError::ApprovalForm {
            location: self.location().clone(),
            source,
        })?)
    }

    pub(crate) fn remember_approvals(
        &self,
        approvals: &[ProjectApproval],
    ) -> Result<(), JournalError> {
        self.change_approvals(|tx| {
            for approval in approvals {
                let at_ms = i64::try_from(approval.at_ms).unwrap_or(i64::MAX);
                let rule = rule(approval)?;
                let session = approval.session.to_string();
                tx.execute(
                    "INSERT INTO approvals (project, rule, session, at_ms) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT DO NOTHING",
                    params![approval.project, rule, session, at_ms],
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
                tx.execute(
                    "DELETE FROM approvals WHERE project = ?1 AND rule = ?2",
                    params![approval.project, rule(approval)?],
                )?;
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
        let count: u32 = tx
            .query_row("SELECT count(*) FROM approvals", [], |row| row.get(0))
            .map_err(failed)?;
        if count > MAX_APPROVALS {
            let limit = MAX_APPROVALS;
            return Err(StoreError::TooManyApprovals(limit).into());
        }
        Ok(tx.commit().map_err(failed)?)
    }
}

/// The stored form of a rule.
fn rule(approval: &ProjectApproval) -> Result<String, rusqlite::Error> {
    serde_json::to_string(&approval.rule)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

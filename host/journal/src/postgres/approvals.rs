//! The approvals of projects.

use super::{
    database::{Database, Lock, lock},
    read::parsed,
};
use crate::{
    error::StoreError,
    store::{MAX_APPROVALS, ProjectApproval},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::json_digest;
use serde_json::json;
use std::sync::Arc;

/// Returns the key of an approval: a digest of its project and its rule.
fn key(approval: &ProjectApproval) -> String {
    json_digest(&json!([approval.project, approval.rule])).to_string()
}

impl Database {
    pub(super) async fn approvals(&self) -> Result<Vec<ProjectApproval>, JournalError> {
        let query = "SELECT project, rule, session, at_ms FROM approvals ORDER BY position";
        let rows = self.read(query, &[]).await?;
        let approval = |row: &tokio_postgres::Row| {
            let rule = serde_json::from_str(row.get(1)).map_err(|source| {
                let location = Arc::clone(&self.location);
                StoreError::ApprovalForm { location, source }
            })?;
            Ok(ProjectApproval {
                project: row.get(0),
                rule,
                session: parsed(row.get(2))?,
                at_ms: u64::try_from(row.get::<_, i64>(3)).unwrap_or_default(),
            })
        };
        rows.iter().map(approval).collect()
    }

    pub(super) async fn remember_approvals(
        &self,
        approvals: Vec<ProjectApproval>,
    ) -> Result<(), JournalError> {
        // Without any, no statement would write, and a check of the store passes none.
        self.check_writable().await?;
        let failed = self.failed("remember the approval");
        let mut client = self.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        lock(&tx, Lock::Names).await.map_err(failed)?;
        for approval in &approvals {
            let rule = serde_json::to_string(&approval.rule).map_err(JournalError::storage)?;
            let at_ms = i64::try_from(approval.at_ms).unwrap_or(i64::MAX);
            let statement = "INSERT INTO approvals (id, project, rule, session, at_ms)
                VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING";
            let (id, session) = (key(approval), approval.session.to_string());
            tx.execute(
                statement,
                &[&id, &approval.project, &rule, &session, &at_ms],
            )
            .await
            .map_err(failed)?;
        }
        let count = tx.query_one("SELECT count(*) FROM approvals", &[]);
        let count: i64 = count.await.map_err(failed)?.get(0);
        if count > i64::from(MAX_APPROVALS) {
            return Err(StoreError::TooManyApprovals(MAX_APPROVALS).into());
        }
        Ok(tx.commit().await.map_err(failed)?)
    }

    pub(super) async fn revoke_approvals(
        &self,
        approvals: Vec<ProjectApproval>,
    ) -> Result<(), JournalError> {
        let ids: Vec<String> = approvals.iter().map(key).collect();
        let statement = "DELETE FROM approvals WHERE id = ANY ($1)";
        Ok(self.change(statement, &[&ids]).await.map(drop)?)
    }
}

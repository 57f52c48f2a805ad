//! The approvals of projects.

use super::database::{Database, Lock, lock};
use crate::{
    error::StoreError,
    stored_approval::{MAX_APPROVALS, ProjectApproval, StoredApproval, valid},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::json_digest;
use deadpool_postgres::GenericClient;
use serde_json::json;

/// Returns the key of an approval: a digest of its project and its rule.
fn key(approval: &ProjectApproval) -> String {
    json_digest(&json!([approval.project, approval.rule])).to_string()
}

/// Reads the approvals of a project, or else all, as they are stored, the oldest first.
pub(super) async fn stored(
    client: &impl GenericClient,
    project: Option<&str>,
) -> Result<Vec<StoredApproval>, tokio_postgres::Error> {
    let query = "SELECT id, project, rule, session, at_ms, signature FROM approvals
        WHERE $1::text IS NULL OR project = $1 ORDER BY position";
    let query = client.prepare_cached(query).await?;
    let rows = client.query(&query, &[&project]).await?;
    let stored = rows.iter().map(|row| StoredApproval {
        id: row.get(0),
        project: row.get(1),
        rule: row.get(2),
        session: row.get(3),
        at_ms: row.get(4),
        signature: row.get(5),
    });
    Ok(stored.collect())
}

impl Database {
    pub(super) async fn approvals(
        &self,
        project: Option<&str>,
    ) -> Result<Vec<ProjectApproval>, JournalError> {
        let failed = self.failed("read the remembered approvals");
        let client = self.client().await?;
        let stored = stored(&client, project).await.map_err(failed)?;
        Ok(valid(stored, self.rows_key()?, &self.location)?)
    }

    pub(super) async fn remember_approvals(
        &self,
        approvals: Vec<ProjectApproval>,
    ) -> Result<(), JournalError> {
        // Without any, no statement would write, and a check of the store passes none.
        self.check_writable().await?;
        let failed = self.failed("remember the approval");
        let rows_key = self.rows_key()?;
        let mut client = self.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        lock(&tx, Lock::Names).await.map_err(failed)?;
        if approvals.is_empty() {
            return Ok(tx.commit().await.map_err(failed)?);
        }
        let mut unsigned = stored(&tx, None).await.map_err(failed)?;
        unsigned.retain(|stored| !stored.is_valid(rows_key));
        for approval in &approvals {
            let new = StoredApproval::encode(key(approval), approval, rows_key);
            let new = new.map_err(JournalError::storage)?;
            if let Some(same) = unsigned.iter().find(|known| known.id == new.id) {
                tracing::warn!("replaced by a new approval: {}", same.unsigned());
                let delete = "DELETE FROM approvals WHERE id = $1";
                tx.execute(delete, &[&new.id]).await.map_err(failed)?;
            }
            let statement = "INSERT INTO approvals (id, project, rule, session, at_ms, signature)
                VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING";
            let StoredApproval {
                id,
                project,
                rule,
                session,
                at_ms,
                signature,
            } = &new;
            tx.execute(statement, &[id, project, rule, session, at_ms, signature])
                .await
                .map_err(failed)?;
        }
        let mut all = stored(&tx, None).await.map_err(failed)?;
        all.retain(|stored| stored.is_valid(rows_key));
        if all.len() > MAX_APPROVALS as usize {
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

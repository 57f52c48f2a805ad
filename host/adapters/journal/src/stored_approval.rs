//! Approvals that are remembered for projects, and their stored form in both databases.

use crate::{
    error::{Location, StoreError},
    signature::{RowKey, SignedTable, UnsignedRow, Value},
};
use agent_host_types::{
    approval::ApprovalRule,
    id::{SessionId, json_digest},
};
use serde_json::json;
use std::sync::Arc;

/// The most approvals that a store remembers.
pub(crate) const MAX_APPROVALS: u32 = 2048;

/// An approval that is remembered for a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectApproval {
    /// The name of the project.
    pub project: String,
    /// The calls that it covers.
    pub rule: ApprovalRule,
    /// The session in which it was given.
    pub session: SessionId,
    /// When it was given, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
}

impl ProjectApproval {
    /// Returns the id by which it is revoked.
    #[must_use]
    pub fn id(&self) -> String {
        approval_id(&self.project, &self.rule)
    }
}

/// Returns the id of an approval that holds in a project or a session: short and stable.
#[must_use]
pub fn approval_id(scope: &str, rule: &ApprovalRule) -> String {
    let mut id = json_digest(&json!([scope, rule])).hex();
    id.truncate(12);
    id
}

/// An approval as it is stored. Nothing of it is read before its signature is checked.
pub(crate) struct StoredApproval {
    /// The primary key, where that is not project and rule; else empty.
    pub(crate) id: String,
    pub(crate) project: String,
    pub(crate) rule: String,
    pub(crate) session: String,
    pub(crate) at_ms: i64,
    pub(crate) signature: Option<Vec<u8>>,
}

impl StoredApproval {
    /// Encodes and signs an approval.
    pub(crate) fn encode(
        id: String,
        approval: &ProjectApproval,
        key: &RowKey,
    ) -> Result<Self, serde_json::Error> {
        let mut stored = Self {
            id,
            project: approval.project.clone(),
            rule: serde_json::to_string(&approval.rule)?,
            session: approval.session.to_string(),
            at_ms: i64::try_from(approval.at_ms).unwrap_or(i64::MAX),
            signature: None,
        };
        stored.sign(key);
        Ok(stored)
    }

    /// Signs it as it is.
    pub(crate) fn sign(&mut self, key: &RowKey) {
        self.signature = Some(key.sign(SignedTable::Approvals, &self.values()).to_vec());
    }

    /// True if a host of this store wrote it as it is.
    pub(crate) fn is_valid(&self, key: &RowKey) -> bool {
        key.is_valid(
            SignedTable::Approvals,
            &self.values(),
            self.signature.as_deref(),
        )
    }

    /// Returns the values that are signed: the columns as they are stored.
    fn values(&self) -> [Value<'_>; 5] {
        [
            Value::Text(&self.id),
            Value::Text(&self.project),
            Value::Text(&self.rule),
            Value::Text(&self.session),
            Value::Number(self.at_ms),
        ]
    }

    /// Decodes one that is valid.
    pub(crate) fn decode(self, location: &Location) -> Result<ProjectApproval, StoreError> {
        let invalid = |source| StoreError::ApprovalForm {
            location: Arc::clone(location),
            source,
        };
        let text = serde_json::Value::String(self.session);
        Ok(ProjectApproval {
            project: self.project,
            rule: serde_json::from_str(&self.rule).map_err(invalid)?,
            session: serde_json::from_value(text).map_err(invalid)?,
            at_ms: u64::try_from(self.at_ms).unwrap_or_default(),
        })
    }

    /// Names one that is not valid.
    pub(crate) fn unsigned(&self) -> UnsignedRow {
        UnsignedRow {
            table: SignedTable::Approvals,
            row: format!("{} in project {}", self.rule, self.project),
            key: vec![self.project.clone(), self.rule.clone()],
            signature: self.signature.clone(),
        }
    }
}

/// Keeps those of approvals that are valid.
pub(crate) fn valid(
    stored: Vec<StoredApproval>,
    key: &RowKey,
    location: &Location,
) -> Result<Vec<ProjectApproval>, StoreError> {
    let valid = stored.into_iter().filter(|stored| stored.is_valid(key));
    valid.map(|stored| stored.decode(location)).collect()
}

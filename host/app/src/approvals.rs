//! Approvals that are remembered for a project, in a file of the state directory, where no guest
//! and no directory that was brought along can add one.

#[cfg(test)]
mod tests;

use crate::{
    config::Config,
    entry_file::{EntryError, EntryFile, EntryKind, now_ms},
};
use agent_host_core::{
    id::{SessionId, json_digest},
    policy::ApprovalRule,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};

const KIND: EntryKind = EntryKind {
    key: "approvals",
    what: "the remembered approvals",
    shorten: "revoke some approvals with `agent-host approvals revoke`",
};

/// The remembered approvals of all projects of a state directory.
#[derive(Clone, Debug)]
pub struct ApprovalFile {
    file: EntryFile<ProjectApproval>,
}

/// An approval that is remembered for a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectApproval {
    /// The project: its configuration file, or its directory where it has none.
    pub project: PathBuf,
    /// The calls that it covers.
    pub rule: ApprovalRule,
    /// The session in which it was given.
    pub session: SessionId,
    /// The time, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
}

impl ProjectApproval {
    /// Returns the id by which it is revoked.
    #[must_use]
    pub fn id(&self) -> String {
        approval_id(&self.project.to_string_lossy(), &self.rule)
    }
}

/// Returns the id of an approval of a project or a session: short, and the same in every listing.
#[must_use]
pub fn approval_id(holds_in: &str, rule: &ApprovalRule) -> String {
    let mut id = json_digest(&json!([holds_in, rule])).hex();
    id.truncate(12);
    id
}

/// Returns the project of a configuration: its file, or its directory. Another configuration in the
/// same directory is another project, since it may grant more.
#[must_use]
pub fn project(config: &Config) -> &Path {
    config.file.as_deref().unwrap_or(&config.working_dir)
}

impl ApprovalFile {
    /// Returns the file of a state directory. It may not exist.
    #[must_use]
    pub fn of(state_dir: &Path) -> Self {
        Self {
            file: EntryFile::new(state_dir.join("approvals.json"), &KIND),
        }
    }

    /// Reads the approvals of all projects.
    ///
    /// # Errors
    /// The file cannot be read, every user may write to it, or it is not of a known form.
    pub fn read(&self) -> Result<Vec<ProjectApproval>, EntryError> {
        self.file.read()
    }

    /// Reads the rules of a project.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn rules(&self, project: &Path) -> Result<Vec<ApprovalRule>, EntryError> {
        let all = self.read()?.into_iter();
        let here = all.filter(|approval| approval.project == project);
        Ok(here.map(|approval| approval.rule).collect())
    }

    /// Adds the approvals of a session.
    ///
    /// # Errors
    /// Those of [`Self::read`], and that the file cannot be written.
    pub fn add(
        &self,
        project: &Path,
        session: SessionId,
        rules: Vec<ApprovalRule>,
    ) -> Result<(), EntryError> {
        self.file.change(|approvals| {
            for rule in rules {
                let known = |kept: &ProjectApproval| kept.project == project && kept.rule == rule;
                if !approvals.iter().any(known) {
                    approvals.push(ProjectApproval {
                        project: project.to_owned(),
                        rule,
                        session,
                        at_ms: now_ms(),
                    });
                }
            }
        })
    }

    /// Removes approvals.
    ///
    /// # Errors
    /// Those of [`Self::add`].
    pub fn remove(&self, gone: &[ProjectApproval]) -> Result<(), EntryError> {
        self.file
            .change(|approvals| approvals.retain(|kept| !gone.contains(kept)))
    }
}

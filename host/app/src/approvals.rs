//! Approvals that a person does not want to give again in a project. They are in a file of the state folder, where no guest and
//! no folder that was brought along can put one.

#[cfg(test)]
mod tests;

use crate::{
    config::Config,
    entry_file::{EntryFile, EntryKind, now_ms},
    error::OpenError,
};
use agent_host_types::{
    approval::ApprovalRule,
    id::{SessionId, json_digest},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};

const KIND: EntryKind = EntryKind {
    key: "approvals",
    what: "the remembered approvals",
    shorten: "take some approvals back with `agent-host approvals revoke`",
};

/// The remembered approvals of all projects of a state folder.
#[derive(Clone, Debug)]
pub struct ApprovalFile {
    file: EntryFile<ProjectApproval>,
}

/// An approval that holds in a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectApproval {
    /// The project: its configuration, or its folder where that has none.
    pub project: PathBuf,
    /// Which calls it covers.
    pub rule: ApprovalRule,
    /// The session in which it was given.
    pub session: SessionId,
    /// When, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
}

impl ProjectApproval {
    /// The name by which it is revoked.
    #[must_use]
    pub fn id(&self) -> String {
        approval_id(&self.project.to_string_lossy(), &self.rule)
    }
}

/// The name of an approval that holds somewhere, in a project or a session: short, and the same at every listing.
#[must_use]
pub fn approval_id(holds_in: &str, rule: &ApprovalRule) -> String {
    let mut id = json_digest(&json!([holds_in, rule])).hex();
    id.truncate(12);
    id
}

/// What "the project" is for a configuration. With another configuration, also in the same folder, people are asked anew: it may
/// grant more.
#[must_use]
pub fn project(config: &Config) -> &Path {
    config.file.as_deref().unwrap_or(&config.folder)
}

impl ApprovalFile {
    /// The file of a state folder. It may not exist.
    #[must_use]
    pub fn of(state_dir: &Path) -> Self {
        Self {
            file: EntryFile::new(state_dir.join("approvals.json"), &KIND),
        }
    }

    /// What is remembered, in all projects.
    ///
    /// # Errors
    /// When the file cannot be read, everybody may write to it, or it is not in the form that this program knows.
    pub fn read(&self) -> Result<Vec<ProjectApproval>, OpenError> {
        self.file.read()
    }

    /// The rules that hold in a project.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub fn rules(&self, project: &Path) -> Result<Vec<ApprovalRule>, OpenError> {
        let all = self.read()?.into_iter();
        let here = all.filter(|approval| approval.project == project);
        Ok(here.map(|approval| approval.rule).collect())
    }

    /// Remembers what a person approved in a session.
    ///
    /// # Errors
    /// As for [`Self::read`], and when the file cannot be written.
    pub fn add(
        &self,
        project: &Path,
        session: SessionId,
        rules: Vec<ApprovalRule>,
    ) -> Result<(), OpenError> {
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

    /// Forgets approvals. Whoever reads from now on does not find them.
    ///
    /// # Errors
    /// As for [`Self::add`].
    pub fn remove(&self, gone: &[ProjectApproval]) -> Result<(), OpenError> {
        self.file
            .change(|approvals| approvals.retain(|kept| !gone.contains(kept)))
    }
}

//! Approvals that a person does not want to give again in a project. They are in a file of the state folder, where no guest and
//! no folder that was brought along can put one.

#[cfg(test)]
mod tests;

use crate::{config::Config, error::OpenError, trusted_file};
use agent_host_core::{
    id::{SessionId, json_digest},
    policy::ApprovalRule,
};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    fs::{DirBuilder, File},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

/// The version of the file's form.
const VERSION: u32 = 1;

/// The longest file that is read or written, in bytes: thousands of approvals.
const MAX_BYTES: u64 = 1024 * 1024;

/// The remembered approvals of all projects of a state folder.
#[derive(Clone, Debug)]
pub struct ApprovalFile {
    path: PathBuf,
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

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    version: u32,
    approvals: Vec<ProjectApproval>,
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
            path: state_dir.join("approvals.json"),
        }
    }

    /// What is remembered, in all projects.
    ///
    /// # Errors
    /// When the file cannot be read, everybody may write to it, or it is not in the form that this program knows.
    pub fn read(&self) -> Result<Vec<ProjectApproval>, OpenError> {
        let text = match trusted_file::read(&self.path, MAX_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.fault("read", &error)),
        };
        let broken = |why: &dyn std::fmt::Display| {
            OpenError::usage(format!(
                "cannot use {}: {why}; delete it, and people are asked again",
                self.path.display()
            ))
        };
        let form: Form = serde_json::from_str(&text).map_err(|error| broken(&error))?;
        if form.version != VERSION {
            let why = format!(
                "it has version {}, and this program reads version {VERSION}",
                form.version
            );
            return Err(broken(&why));
        }
        Ok(form.approvals)
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
        self.change(|approvals| {
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
        self.change(|approvals| approvals.retain(|kept| !gone.contains(kept)))
    }

    /// Changes the file while no other process does: what one forgets, another must not write back.
    fn change(&self, change: impl FnOnce(&mut Vec<ProjectApproval>)) -> Result<(), OpenError> {
        let _alone = self.lock().map_err(|error| self.fault("lock", &error))?;
        let mut approvals = self.read()?;
        change(&mut approvals);
        let form = Form {
            version: VERSION,
            approvals,
        };
        let text = serde_json::to_string_pretty(&form)
            .map_err(|error| self.fault("write", &error.into()))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(OpenError::usage(format!(
                "{} would have more than {MAX_BYTES} bytes; take some approvals back with `agent-host approvals revoke`",
                self.path.display()
            )));
        }
        trusted_file::replace(&self.path, &text, 0o600).map_err(|error| self.fault("write", &error))
    }

    fn lock(&self) -> std::io::Result<File> {
        if let Some(folder) = self.path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
        }
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            // A pipe in its place would keep this waiting.
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(self.path.with_extension("lock"))?;
        file.lock()?;
        Ok(file)
    }

    fn fault(&self, what: &str, error: &std::io::Error) -> OpenError {
        OpenError::Failed(format!(
            "cannot {what} the remembered approvals in {}: {error}",
            self.path.display()
        ))
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

//! The user's trust in configuration that came with a directory: `trust.json` in the user's own
//! state directory. Neither a configuration nor `--state-dir` moves the file, so that no directory
//! can bring one along.

#[cfg(test)]
mod tests;

use crate::{
    config::{ConfigError, Environment, Untrusted},
    entry_file::{EntryError, EntryFile, EntryKind, now_ms},
};
use agent_host_types::id::Digest;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const KIND: EntryKind = EntryKind {
    key: "trusted",
    what: "the trusted files",
    shorten: "revoke some of them with `agent-host trust --revoke DIR`",
};

/// The trusted configurations of a user.
#[derive(Clone, Debug)]
pub struct TrustFile {
    file: EntryFile<Trusted>,
}

/// A trusted configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trusted {
    /// [`Untrusted::path`].
    pub path: PathBuf,
    /// The [`Untrusted::digest`] that was trusted. With another one the user is asked again.
    pub digest: Digest,
    /// The time, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
}

impl TrustFile {
    /// Returns the file of the user, which may not exist; none where the user has no state
    /// directory.
    #[must_use]
    pub fn of(environment: &Environment) -> Option<Self> {
        let path = environment.state_home()?.join("trust.json");
        Some(Self {
            file: EntryFile::new(path, &KIND),
        })
    }

    /// Returns true if the user trusts the configuration in its present form.
    ///
    /// # Errors
    /// The file cannot be read or used.
    pub fn holds(untrusted: &Untrusted, environment: &Environment) -> Result<bool, ConfigError> {
        let Some(this) = Self::of(environment) else {
            return Ok(false);
        };
        let all = this.read().map_err(|error| {
            let text = error.to_string();
            let (reason, fix) = text
                .rsplit_once("; ")
                .unwrap_or((&text, "correct the file"));
            ConfigError::new("", reason, fix)
        })?;
        let holds = |kept: &Trusted| kept.path == untrusted.path && kept.digest == untrusted.digest;
        Ok(all.iter().any(holds))
    }

    /// Reads all trusted configurations.
    ///
    /// # Errors
    /// The file cannot be read, belongs to another user, every user may write to it, or it is
    /// not of a known form.
    pub fn read(&self) -> Result<Vec<Trusted>, EntryError> {
        self.file.read()
    }

    /// Trusts the configuration in its present form, and no longer in an earlier one.
    ///
    /// # Errors
    /// Those of [`Self::read`], and that the file cannot be written.
    pub fn add(&self, untrusted: &Untrusted) -> Result<(), EntryError> {
        let Untrusted { path, digest, .. } = untrusted;
        self.file.change(|all| {
            all.retain(|kept| kept.path != *path);
            all.push(Trusted {
                path: path.clone(),
                digest: *digest,
                at_ms: now_ms(),
            });
        })
    }

    /// Revokes and returns the trust in this directory and below it.
    ///
    /// # Errors
    /// Those of [`Self::add`].
    pub fn remove(&self, directory: &Path) -> Result<Vec<Trusted>, EntryError> {
        let mut gone = Vec::new();
        self.file.change(|all| {
            gone = all
                .extract_if(.., |kept| kept.path.starts_with(directory))
                .collect();
        })?;
        Ok(gone)
    }
}

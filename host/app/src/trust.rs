//! Trust in configuration that came with a directory, as the user gave it: `trust.json` in the
//! user's own state directory. Neither a configuration nor `--state-dir` moves the file, so that no
//! directory can bring one along.

#[cfg(test)]
mod tests;

use crate::{
    config::{ConfigError, Environment, Untrusted},
    entry_file::{EntryFile, EntryKind, now_ms},
    error::OpenError,
};
use agent_host_types::id::Digest;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const KIND: EntryKind = EntryKind {
    key: "trusted",
    what: "what is trusted",
    shorten: "take some of it back with `agent-host trust --revoke DIR`",
};

/// What a user trusts.
#[derive(Clone, Debug)]
pub struct TrustFile {
    file: EntryFile<Trusted>,
}

/// Configuration that is trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trusted {
    /// [`Untrusted::path`].
    pub path: PathBuf,
    /// [`Untrusted::digest`] when it was trusted. With another one the user is asked again.
    pub digest: Digest,
    /// When, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
}

impl TrustFile {
    /// The file of the user, which may not exist; none where it is not known where the user keeps
    /// state.
    #[must_use]
    pub fn of(environment: &Environment) -> Option<Self> {
        let path = environment.state_home()?.join("trust.json");
        Some(Self {
            file: EntryFile::new(path, &KIND),
        })
    }

    /// Whether the user trusts it as it is now.
    ///
    /// # Errors
    /// When the file cannot be read or used.
    pub fn holds(untrusted: &Untrusted, environment: &Environment) -> Result<bool, ConfigError> {
        let Some(this) = Self::of(environment) else {
            return Ok(false);
        };
        let all = this
            .read()
            .map_err(|error| ConfigError::new(error.to_string()))?;
        let holds = |kept: &Trusted| kept.path == untrusted.path && kept.digest == untrusted.digest;
        Ok(all.iter().any(holds))
    }

    /// Everything that is trusted.
    ///
    /// # Errors
    /// When the file cannot be read, belongs to another user, every user may write to it, or it is
    /// not in the form that this program knows.
    pub fn read(&self) -> Result<Vec<Trusted>, OpenError> {
        self.file.read()
    }

    /// Trusts it as it is now, and no longer as it was.
    ///
    /// # Errors
    /// As for [`Self::read`], and when the file cannot be written.
    pub fn add(&self, untrusted: &Untrusted) -> Result<(), OpenError> {
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

    /// Trusts nothing in this directory and below it any more, and returns what was trusted there.
    ///
    /// # Errors
    /// As for [`Self::add`].
    pub fn remove(&self, directory: &Path) -> Result<Vec<Trusted>, OpenError> {
        let mut gone = Vec::new();
        self.file.change(|all| {
            gone = all
                .extract_if(.., |kept| kept.path.starts_with(directory))
                .collect();
        })?;
        Ok(gone)
    }
}

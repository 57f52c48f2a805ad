//! The user's trust in configuration that came with a directory: `trust.json` in the user's own
//! state directory. Neither a configuration nor `--state-dir` moves the file, so that no directory
//! can bring one along.

#[cfg(test)]
mod tests;

use crate::{
    config::{ConfigError, Environment, Untrusted},
    signed_file::{AuthorityEntry, Entries, SignedFile, SignedFileError},
};
use agent_host_engine::session::now_ms;
use agent_host_journal::AuthorityFile;
use agent_host_types::id::Digest;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The trusted configurations of a user.
#[derive(Clone, Debug)]
pub struct TrustFile {
    file: SignedFile<Trusted>,
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

impl AuthorityEntry for Trusted {
    const FILE: AuthorityFile = AuthorityFile::Trust;
    const VERSION: u32 = 2;
    const NOUN: &'static str = "the trusted files";
    const THEN: &'static str = "you are asked again";
    const REMOVE: &'static str = "revoke some of them with `agent-host trust --revoke DIR`";

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

impl TrustFile {
    /// Returns the file of the user, which may not exist; none where the user has no state
    /// directory.
    #[must_use]
    pub fn for_environment(environment: &Environment) -> Option<Self> {
        let file = SignedFile::in_dir(&environment.state_home()?);
        Some(Self { file })
    }

    /// Returns true if the user trusts the configuration in its present form.
    ///
    /// # Errors
    /// The file cannot be read or used.
    pub fn holds(untrusted: &Untrusted, environment: &Environment) -> Result<bool, ConfigError> {
        Self::any(environment, |kept| {
            kept.path == untrusted.path && kept.digest == untrusted.digest
        })
    }

    /// Returns true if the user trusts the configuration at this path, in its present form or in
    /// another one.
    ///
    /// # Errors
    /// The file cannot be read or used.
    pub(crate) fn names(path: &Path, environment: &Environment) -> Result<bool, ConfigError> {
        Self::any(environment, |kept| kept.path == path)
    }

    /// Returns true if one of the trusted configurations meets a condition.
    fn any(
        environment: &Environment,
        condition: impl Fn(&Trusted) -> bool,
    ) -> Result<bool, ConfigError> {
        let Some(this) = Self::for_environment(environment) else {
            return Ok(false);
        };
        let all = this
            .read()
            .map_err(|error| ConfigError::of_message(&error))?;
        Ok(all.believed.iter().any(condition))
    }

    /// Reads all trusted configurations.
    ///
    /// # Errors
    /// Those of [`SignedFile::read`].
    pub fn read(&self) -> Result<Entries<Trusted>, SignedFileError> {
        self.file.read()
    }

    /// Trusts the configuration in its present form, and no longer in an earlier one.
    ///
    /// # Errors
    /// Those of [`SignedFile::change`].
    pub fn add(&self, untrusted: &Untrusted) -> Result<(), SignedFileError> {
        let Untrusted { path, digest, .. } = untrusted;
        let trusted = Trusted {
            path: path.clone(),
            digest: *digest,
            at_ms: now_ms(),
        };
        self.file.change(|all| {
            all.put(trusted, |kept| kept.path == *path);
            Ok(())
        })
    }

    /// Revokes and returns the trust in this directory and below it, also that which is ignored.
    ///
    /// # Errors
    /// Those of [`Self::add`].
    pub fn remove(&self, directory: &Path) -> Result<Vec<Trusted>, SignedFileError> {
        self.file
            .change(|all| Ok(all.remove(|kept| kept.path.starts_with(directory))))
    }
}

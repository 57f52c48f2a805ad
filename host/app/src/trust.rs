//! The user's trust in configuration that came with a directory: `trust.json` in the user's own
//! state directory. Neither a configuration nor `--state-dir` moves the file, so that no directory
//! can bring one along. One process changes it at a time, and a reader sees the old list or the new
//! one.

#[cfg(test)]
mod tests;

use crate::{
    config::{ConfigError, Environment, Untrusted},
    trusted_file::{self, FileError, Versioned},
};
use agent_host_engine::session::now_ms;
use agent_host_types::id::Digest;
use serde::{Deserialize, Serialize};
use std::{
    io,
    path::{Path, PathBuf},
};

/// The version of the format.
const VERSION: u32 = 1;

/// The maximum size of the file, in bytes: thousands of entries.
const MAX_BYTES: u64 = 1024 * 1024;

/// The trusted configurations of a user.
#[derive(Clone, Debug)]
pub struct TrustFile {
    path: PathBuf,
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

/// Why the trusted files cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// An operation on the file failed.
    #[error("cannot {action} the trusted files in {}: {source}", path.display())]
    Io {
        /// The operation, such as "read".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The content of the file is not of a known form.
    #[error("cannot use {}: {reason}; delete it, and you are asked again", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The list would be too long to be read again.
    #[error(
        "{} would have more than {MAX_BYTES} bytes; revoke some of them with `agent-host trust --revoke DIR`",
        _0.display()
    )]
    TooLong(PathBuf),
}

/// The form of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    version: u32,
    trusted: Vec<Trusted>,
}

impl TrustFile {
    /// Returns the file of the user, which may not exist; none where the user has no state
    /// directory.
    #[must_use]
    pub fn of(environment: &Environment) -> Option<Self> {
        let path = environment.state_home()?.join("trust.json");
        Some(Self { path })
    }

    /// Returns true if the user trusts the configuration in its present form.
    ///
    /// # Errors
    /// The file cannot be read or used.
    pub fn holds(untrusted: &Untrusted, environment: &Environment) -> Result<bool, ConfigError> {
        let Some(this) = Self::of(environment) else {
            return Ok(false);
        };
        let all = this
            .read()
            .map_err(|error| ConfigError::of_message(&error))?;
        let holds = |kept: &Trusted| kept.path == untrusted.path && kept.digest == untrusted.digest;
        Ok(all.iter().any(holds))
    }

    /// Reads all trusted configurations.
    ///
    /// # Errors
    /// The file cannot be read, belongs to another user, every user may write to it, or it is
    /// not of a known form.
    pub fn read(&self) -> Result<Vec<Trusted>, TrustError> {
        let text = match trusted_file::read(&self.path, MAX_BYTES) {
            Ok(text) => text,
            Err(FileError {
                kind: io::ErrorKind::NotFound,
                ..
            }) => return Ok(Vec::new()),
            Err(error) => return Err(self.fault("read", error.into())),
        };
        let invalid = |reason| TrustError::Invalid {
            path: self.path.clone(),
            reason,
        };
        let broken = |error: serde_json::Error| invalid(error.to_string());
        // The version first: the other keys are those of that version.
        let Versioned { version } = serde_json::from_str(&text).map_err(broken)?;
        if version != VERSION {
            let why = format!("it has version {version}, and this program reads version {VERSION}");
            return Err(invalid(why));
        }
        let form: Form = serde_json::from_str(&text).map_err(broken)?;
        Ok(form.trusted)
    }

    /// Trusts the configuration in its present form, and no longer in an earlier one.
    ///
    /// # Errors
    /// Those of [`Self::read`], and that the file cannot be written.
    pub fn add(&self, untrusted: &Untrusted) -> Result<(), TrustError> {
        let Untrusted { path, digest, .. } = untrusted;
        self.change(|all| {
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
    pub fn remove(&self, directory: &Path) -> Result<Vec<Trusted>, TrustError> {
        let mut gone = Vec::new();
        self.change(|all| {
            gone = all
                .extract_if(.., |kept| kept.path.starts_with(directory))
                .collect();
        })?;
        Ok(gone)
    }

    /// Changes the list under a lock, so that no other process writes removed entries back.
    fn change(&self, change: impl FnOnce(&mut Vec<Trusted>)) -> Result<(), TrustError> {
        let _alone = trusted_file::lock(&self.path).map_err(|error| self.fault("lock", error))?;
        let mut trusted = self.read()?;
        change(&mut trusted);
        let form = Form {
            version: VERSION,
            trusted,
        };
        let text = serde_json::to_string_pretty(&form)
            .map_err(|error| self.fault("write", error.into()))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(TrustError::TooLong(self.path.clone()));
        }
        trusted_file::replace(&self.path, &text, 0o600).map_err(|error| self.fault("write", error))
    }

    fn fault(&self, action: &'static str, source: io::Error) -> TrustError {
        TrustError::Io {
            action,
            path: self.path.clone(),
            source,
        }
    }
}

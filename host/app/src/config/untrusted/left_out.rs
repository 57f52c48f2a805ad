//! Leaves out an `agent.toml` of the working directory that the user does not trust.

use super::{Untrusted, review};
use crate::{
    config::{
        ConfigError, Environment, OnUntrusted, Overrides,
        layers::Layers,
        parse::{ConfigFile, cannot_read, found_path},
    },
    trust::TrustFile,
};
use std::path::{Path, PathBuf};

/// An `agent.toml` of the working directory that is left out, since the user does not trust it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// It asks for more than an untrusted one gets.
    Untrusted(Untrusted),
    /// It cannot be read or used.
    Unusable(UnusableFile),
}

/// An `agent.toml` that cannot be read or used. What it asks for is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableFile {
    /// The file, without links where they lead to a file of its directory.
    pub path: PathBuf,
    /// Why it cannot be used. It quotes text of the file, which is not escaped.
    pub error: ConfigError,
}

impl LeftOut {
    /// Reviews the `agent.toml` of the working directory, whether the user trusts it or not; none
    /// where there is no such file, or it can be read and asks for nothing.
    ///
    /// # Errors
    /// A layer below the project cannot be read.
    pub fn found(environment: &Environment) -> Result<Option<Self>, ConfigError> {
        let below = Layers::below_project(environment)?;
        Ok(match Untrusted::found_above(&below, environment) {
            Ok(found) => found.map(Self::Untrusted),
            Err(error) => Some(Self::unusable(error, environment)),
        })
    }

    /// Returns the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Untrusted(Untrusted { path, .. }) | Self::Unusable(UnusableFile { path, .. }) => {
                path
            }
        }
    }

    pub(in crate::config) fn unusable(error: ConfigError, environment: &Environment) -> Self {
        let path = found_path(&environment.cwd);
        Self::Unusable(UnusableFile { path, error })
    }
}

impl UnusableFile {
    /// Returns why it cannot be used, as a clause whose subject is `it` or a line of it.
    #[must_use]
    pub fn reason(&self) -> String {
        let Some(problem) = self.error.problems().first() else {
            return "it cannot be used".to_owned();
        };
        let own = problem
            .span
            .as_ref()
            .filter(|span| span.file == self.path)
            .and_then(|span| span.excerpt.as_ref());
        let reason = &problem.reason;
        match own {
            Some(excerpt) => format!("line {} is invalid: {reason}", excerpt.line),
            None => {
                let path = format!("{} ", self.path.display());
                let without = |prefix: &str| reason.strip_prefix(prefix).map(str::to_owned);
                let reason = without(&cannot_read(&self.path))
                    .or_else(|| without(&path).map(|rest| format!("it {rest}")))
                    .unwrap_or_else(|| reason.clone());
                format!("it is invalid: {reason}")
            }
        }
    }

    /// Returns what to do about it.
    #[must_use]
    pub fn fix(&self) -> &str {
        let problem = self.error.problems().first();
        problem.map_or("correct the file", |problem| &problem.fix)
    }
}

/// Checks that a found configuration may be used by a command that acts on it.
///
/// # Errors
/// It asks for more than an untrusted one gets, and is not trusted.
pub(in crate::config) fn check(
    found: &ConfigFile,
    below: &Layers,
    overrides: &Overrides,
    environment: &Environment,
) -> Result<(), ConfigError> {
    match review(found, below, environment)? {
        Some(untrusted)
            if overrides.on_untrusted != OnUntrusted::Use
                && !TrustFile::holds(&untrusted, environment)? =>
        {
            Err(untrusted.refusal("agent-host trust", "--config agent.toml"))
        }
        _ => Ok(()),
    }
}

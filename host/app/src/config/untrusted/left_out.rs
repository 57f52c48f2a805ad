//! Leaves out an `agent.toml` of the working directory that the user does not trust.

use super::{Untrusted, review};
use crate::{
    config::{
        Config, ConfigError, Environment, Overrides,
        layers::{Layers, Merged},
        parse::{ConfigFile, cannot_read, found_path},
    },
    trust::TrustFile,
};
use std::path::{Path, PathBuf};

/// The treatment of an `agent.toml` of the working directory that asks for more than an untrusted one
/// gets, and that the user does not trust.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUntrusted {
    /// It is an error.
    #[default]
    Refuse,
    /// The whole file is left out, as if it did not exist, for a command that only looks:
    /// [`Config::left_out`] has its review.
    LeaveOut,
    /// It is used, whatever it asks for.
    Use,
}

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

    fn unusable(error: ConfigError, environment: &Environment) -> Self {
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
            Some(excerpt) => format!("line {} of it cannot be used: {reason}", excerpt.line),
            None => {
                let path = format!("{} ", self.path.display());
                let without = |prefix: &str| reason.strip_prefix(prefix).map(str::to_owned);
                let reason = without(&cannot_read(&self.path))
                    .or_else(|| without(&path).map(|rest| format!("it {rest}")))
                    .unwrap_or_else(|| reason.clone());
                format!("it cannot be used: {reason}")
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

impl Config {
    /// Loads a configuration for a command that only looks: without the `agent.toml` of the working
    /// directory if the user does not trust it, and it asks for more than an untrusted one gets or
    /// cannot be used. Its author must not be able to stop the user from looking or undoing.
    ///
    /// # Errors
    /// A trusted file, a lower layer or the command line cannot be used.
    pub(in crate::config) fn load_or_leave_out(
        below: Layers,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<(Self, Merged), ConfigError> {
        let reviewed = ConfigFile::find(None, &environment.cwd).and_then(|found| {
            let untrusted = match &found {
                Some(found) => review(found, &below, environment)?,
                None => None,
            };
            Ok((found, untrusted))
        });
        let error = match reviewed {
            Ok((_, Some(untrusted))) if !TrustFile::holds(&untrusted, environment)? => {
                return Self::load_without(LeftOut::Untrusted(untrusted), overrides, environment);
            }
            Ok((found, _)) => {
                match Self::load_above(below, found.as_ref(), overrides, environment) {
                    Err(error) if found.is_some() => error,
                    loaded => return loaded,
                }
            }
            Err(error) => error,
        };
        // The user trusted it, so that it is theirs to correct.
        if TrustFile::names(&found_path(&environment.cwd), environment)? {
            return Err(error);
        }
        let left_out = LeftOut::unusable(error, environment);
        Self::load_without(left_out, overrides, environment)
    }

    /// Loads a configuration without the `agent.toml` of the working directory.
    fn load_without(
        left_out: LeftOut,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<(Self, Merged), ConfigError> {
        let below = Layers::below_project(environment)?;
        let (config, merged) = Self::load_above(below, None, overrides, environment)?;
        let left_out = Some(left_out);
        Ok((Self { left_out, ..config }, merged))
    }
}

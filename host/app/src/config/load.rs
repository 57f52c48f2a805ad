//! Loads a configuration: its layers are read, merged and resolved.

use super::{
    Config, ConfigError, Environment, LeftOut, OnUntrusted, Overrides,
    layers::{Layers, Merged},
    parse::{ConfigFile, found_path},
    untrusted,
};
use crate::trust::TrustFile;
use std::path::Path;

impl Config {
    /// Loads the configuration of the machine and the user, with the named file above it, or
    /// `agent.toml` in the working directory if there is one, and variables above that. A file that
    /// was found and not named may say less unless it is trusted: see
    /// [`Untrusted`](super::Untrusted) and [`Overrides::on_untrusted`].
    ///
    /// # Errors
    /// The file cannot be read, or asks for more than an untrusted file gets and is refused
    /// then; or every problem of the configuration that does not follow from another one.
    pub fn load(
        file: Option<&Path>,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        Self::load_merged(file, overrides, environment).map(|(config, _)| config)
    }

    /// Loads a configuration, and returns its merged layers, too.
    pub(super) fn load_merged(
        file: Option<&Path>,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<(Self, Merged), ConfigError> {
        let below = Layers::below_project(environment)?;
        if file.is_none() && overrides.on_untrusted == OnUntrusted::LeaveOut {
            return Self::load_or_leave_out(below, overrides, environment);
        }
        let found = ConfigFile::find(file, &environment.cwd)?;
        if let (Some(found), None) = (&found, file) {
            untrusted::check(found, &below, overrides, environment)?;
        }
        Self::load_above(below, found.as_ref(), overrides, environment)
    }

    /// Loads a configuration of lower layers and the file of the project.
    pub(super) fn load_above(
        below: Layers,
        project: Option<&ConfigFile>,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<(Self, Merged), ConfigError> {
        let merged = below.with_project(project, environment)?.merge()?;
        let file = project.map(|project| project.path.as_path());
        let config = Self::resolve(merged.raw.clone(), file, overrides, environment)
            .map_err(|error| merged.place(error))?;
        Ok((config, merged))
    }

    /// Loads a configuration for a command that only looks: without the `agent.toml` of the working
    /// directory if the user does not trust it, and it asks for more than an untrusted one gets or
    /// cannot be used. Its author must not be able to stop the user from looking or undoing.
    ///
    /// # Errors
    /// A trusted file, a lower layer or the command line cannot be used.
    fn load_or_leave_out(
        below: Layers,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<(Self, Merged), ConfigError> {
        let reviewed = ConfigFile::find(None, &environment.cwd).and_then(|found| {
            let untrusted = match &found {
                Some(found) => untrusted::review(found, &below, environment)?,
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

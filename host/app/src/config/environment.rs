//! What the process knows of its surroundings, as a value: configuration is a function of it, and tests make their own.

use super::ConfigError;
use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

/// The surroundings in which a configuration is resolved.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// The working folder, absolute.
    pub cwd: PathBuf,
    /// The environment variables; those that are not UTF-8 are left out.
    pub variables: BTreeMap<String, String>,
}

impl Environment {
    /// Reads the surroundings of this process.
    ///
    /// # Errors
    /// When the working folder is gone or cannot be seen.
    pub fn from_process() -> Result<Self, ConfigError> {
        let cwd = std::env::current_dir().map_err(|error| {
            ConfigError::new(format!(
                "the current folder cannot be used: {error}; change to a folder that exists"
            ))
        })?;
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Ok(Self { cwd, variables })
    }

    /// A variable; an empty one counts as absent.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// A variable that names a folder. A relative one counts as absent, as the XDG base directory specification says.
    fn folder(&self, name: &str) -> Option<&Path> {
        self.variable(name)
            .map(Path::new)
            .filter(|path| path.is_absolute())
    }

    /// The home folder.
    pub(super) fn home(&self) -> Option<&Path> {
        self.folder("HOME")
    }

    /// The directory in which the program keeps this user's state, unless it is told another one.
    pub(crate) fn state_home(&self) -> Option<PathBuf> {
        self.program_folder("XDG_STATE_HOME", ".local/state")
    }

    /// A folder of the program: below the XDG variable, or else below this part of the home folder.
    pub(super) fn program_folder(&self, variable: &str, in_home: &str) -> Option<PathBuf> {
        let base = self.folder(variable).map(Path::to_owned);
        let base = base.or_else(|| Some(self.home()?.join(in_home)))?;
        Some(base.join("agent-host"))
    }
}

impl fmt::Debug for Environment {
    /// Names no value: variables hold keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("cwd", &self.cwd)
            .field("variables", &self.variables.keys())
            .finish()
    }
}

//! The process environment as a value: the configuration is a function of it, and tests make their
//! own.

use super::{ConfigError, problem::config_error};
use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

/// The machine's configuration.
const SYSTEM_FILE: &str = "/etc/agent-host/config.toml";

/// The variable with another path of the machine's configuration.
const SYSTEM_FILE_VARIABLE: &str = "AGENT_HOST_SYSTEM_CONFIG";

/// The name of the user's configuration in its directory.
pub(super) const USER_FILE: &str = "config.toml";

/// The working directory and the environment variables that a configuration is resolved in.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// The environment variables that are UTF-8.
    pub variables: BTreeMap<String, String>,
}

impl Environment {
    /// Reads the environment of this process.
    ///
    /// # Errors
    /// The working directory is gone or cannot be read.
    pub fn from_process() -> Result<Self, ConfigError> {
        let cwd = std::env::current_dir().map_err(|error| {
            config_error!(
                "",
                "cannot use the working directory: {error}",
                "change to a directory that exists"
            )
        })?;
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Ok(Self { cwd, variables })
    }

    /// Returns a variable; an empty one counts as absent.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Returns a variable with the path of a directory. A relative one counts as absent, as in the
    /// XDG base directory specification.
    fn directory(&self, name: &str) -> Option<&Path> {
        self.variable(name)
            .map(Path::new)
            .filter(|path| path.is_absolute())
    }

    /// Returns the home directory.
    pub(super) fn home(&self) -> Option<&Path> {
        self.directory("HOME")
    }

    /// Returns the default directory of this user's state.
    pub(crate) fn state_home(&self) -> Option<PathBuf> {
        self.program_dir("XDG_STATE_HOME", ".local/state")
    }

    /// Returns a directory of the program: below the XDG variable, or else below `in_home` in the
    /// home directory.
    pub(super) fn program_dir(&self, variable: &str, in_home: &str) -> Option<PathBuf> {
        let base = self.directory(variable).map(Path::to_owned);
        let base = base.or_else(|| Some(self.home()?.join(in_home)))?;
        Some(base.join("agent-host"))
    }

    /// Returns the path of the user's configuration; absent without a home directory.
    #[must_use]
    pub fn user_config(&self) -> Option<PathBuf> {
        Some(self.config_dir()?.join(USER_FILE))
    }

    /// Returns the directory of the user's configuration, which may have a file with a key, too;
    /// absent without a home directory.
    #[must_use]
    pub fn config_dir(&self) -> Option<PathBuf> {
        self.program_dir("XDG_CONFIG_HOME", ".config")
    }

    /// Returns the paths of the layers below the project, which no guest may reach, whether they
    /// exist or not.
    pub(super) fn layer_paths(&self) -> Vec<PathBuf> {
        let paths = self.config_dir().into_iter().chain(self.system_config());
        paths.collect()
    }

    /// Returns the path of the machine's configuration; absent where the variable is empty.
    #[must_use]
    pub fn system_config(&self) -> Option<PathBuf> {
        match self.variables.get(SYSTEM_FILE_VARIABLE) {
            Some(path) if path.is_empty() => None,
            Some(path) => Some(self.cwd.join(path)),
            None => Some(SYSTEM_FILE.into()),
        }
    }
}

impl fmt::Debug for Environment {
    /// Shows no value: variables may be keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("cwd", &self.cwd)
            .field("variables", &self.variables.keys())
            .finish()
    }
}

//! Paths of a configuration: made absolute, and compared with the home directory. Nothing here
//! creates a file or a directory.

use super::{ConfigError, Environment, network::NetworkConfig, problem::config_error};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The directory and environment that a configuration file is resolved against.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'a> {
    /// The directory of the file, where relative paths begin.
    pub(super) base: &'a Path,
    pub(super) environment: &'a Environment,
    /// The proxy of requests to models and servers.
    pub(super) network: &'a NetworkConfig,
}

impl Scope<'_> {
    /// Makes a path of the configuration absolute. `~` and `~/...` stand for the home directory, as
    /// in a shell.
    ///
    /// # Errors
    /// The path is empty, or begins with the home directory and there is none.
    pub(super) fn resolve_path(self, key: &str, text: &str) -> Result<PathBuf, ConfigError> {
        if text.is_empty() {
            return Err(config_error!(
                key,
                "a path in the configuration is empty",
                "write `.` for the directory of agent.toml, or remove the key"
            )
            .with_value("\"\""));
        }
        let rest = match text.strip_prefix('~') {
            Some("") => "",
            Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
            Some(_) | None => return Ok(self.base.join(text)),
        };
        let home = self.environment.home().ok_or_else(|| {
            let path = text.escape_debug();
            config_error!(
                key,
                "the path `{path}` starts with the home directory, but HOME is not set",
                "write the full path"
            )
            .with_value(text)
        })?;
        Ok(home.join(rest))
    }
}

/// Returns the path with the links of its existing part resolved, so that it can be compared. The
/// rest stays as it is written.
#[must_use]
pub fn canonical(path: &Path) -> PathBuf {
    let mut missing: Vec<OsString> = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(found) = existing.canonicalize() {
            return missing
                .iter()
                .rev()
                .fold(found, |path, name| path.join(name));
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name.to_owned());
                existing = parent;
            }
            // A `..` behind a missing part cannot be resolved.
            (Some(_) | None, _) => return path.to_owned(),
        }
    }
}

/// The directories in which Linux shows processes, devices and itself as files. They have nothing
/// that a tool needs, and the environment of each process, keys included. Also used as mask
/// patterns, where `/` begins at the granted directory.
pub(super) const KERNEL_DIRECTORIES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Returns the kernel's directory that contains `directory`, a path without links.
pub(super) fn kernel_directory(directory: &Path) -> Option<&'static str> {
    KERNEL_DIRECTORIES
        .into_iter()
        .find(|kernel| directory.starts_with(kernel))
}

/// Returns why a directory is too large to be granted without `--grant`: what it is, for messages.
pub(super) fn too_wide(directory: &Path, environment: &Environment) -> Option<&'static str> {
    if directory.parent().is_none() {
        return Some("the whole file system");
    }
    let home = canonical(environment.home()?);
    if directory == home {
        Some("the home directory")
    } else if home.starts_with(directory) {
        Some("a directory that contains the home directory")
    } else {
        None
    }
}

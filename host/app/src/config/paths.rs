//! Paths of a configuration: made absolute, and compared with the home folder. Nothing here makes a file or a folder.

use super::{ConfigError, Environment};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Puts a path of the configuration below its base; `~` and `~/...` stand for the home folder, as a shell would have it.
pub(super) fn place(
    text: &str,
    base: &Path,
    environment: &Environment,
) -> Result<PathBuf, ConfigError> {
    if text.is_empty() {
        return Err(ConfigError::new(
            "a path in the configuration is empty; write `.` for the folder of agent.toml, or remove the key",
        ));
    }
    let rest = match text.strip_prefix('~') {
        Some("") => "",
        Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
        Some(_) | None => return Ok(base.join(text)),
    };
    let home = environment.home().ok_or_else(|| {
        ConfigError::new(format!(
            "the path `{text}` begins with the home folder, and there is no HOME; write the whole path"
        ))
    })?;
    Ok(home.join(rest))
}

/// The path with the links of its existing part resolved, so that it can be compared. What does not exist yet is kept as it
/// is written.
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
            // A `..` behind what does not exist cannot be resolved.
            (Some(_) | None, _) => return path.to_owned(),
        }
    }
}

/// Where Linux shows processes, devices and itself as files. They have nothing that a tool needs, and the environment of each
/// process, keys included. Written as patterns of a mask, too: `/` begins at the granted folder there.
pub(super) const KERNEL_FOLDERS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The kernel's folder that a folder without links is, or lies in.
pub(super) fn kernel_folder(folder: &Path) -> Option<&'static str> {
    KERNEL_FOLDERS
        .into_iter()
        .find(|kernel| folder.starts_with(kernel))
}

/// Why a folder is too much to grant without a word on the command line: what it is, for messages.
pub(super) fn too_wide(folder: &Path, environment: &Environment) -> Option<&'static str> {
    if folder.parent().is_none() {
        return Some("the whole file system");
    }
    let home = canonical(environment.home()?);
    if folder == home {
        Some("the home folder")
    } else if home.starts_with(folder) {
        Some("a folder that holds the home folder")
    } else {
        None
    }
}

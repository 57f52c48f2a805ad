//! Paths as models write them, and file errors as models need them. This module only joins text and
//! lists names: the host decides what may be opened.
//!
//! A model writes `notes.md`, `./notes.md` or `/workspace/notes.md` and means the same file.
//! [`locate`] turns each into the path to open with `std::fs`, and [`explain`] says what to do when
//! that fails.

mod missing;

use std::fmt;
use std::io::{Error, ErrorKind};
use std::path::PathBuf;

/// An invalid path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// The path is empty.
    Empty,
    /// The path has a zero byte in it.
    ZeroByte,
    /// The host mounted no directory for this component.
    NoDirectory,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the path is empty; use `.` for the directory itself",
            Self::ZeroByte => "the path contains a zero byte, which no file name can have",
            Self::NoDirectory => "no directory is granted to this tool; the operator can grant one",
        })
    }
}

impl std::error::Error for PathError {}

/// The directories that the host mounted, as the component sees them.
#[derive(Debug, PartialEq, Eq)]
struct Mounts {
    /// The directory that relative paths start in.
    base: String,
    /// The absolute names of the mounted directories.
    roots: Vec<String>,
}

impl Mounts {
    /// Relative paths start in the working directory where that is mounted, and else in the first
    /// directory.
    fn new(roots: Vec<String>, working_directory: Option<String>) -> Option<Self> {
        let roots: Vec<String> = roots
            .into_iter()
            .filter(|root| root.starts_with('/'))
            .collect();
        let base = working_directory
            .filter(|directory| covering(&roots, directory))
            .or_else(|| roots.first().cloned())?;
        Some(Self { base, roots })
    }

    /// The path to open for the path that the model wrote.
    ///
    /// An absolute path outside every mounted directory is opened through the base: `/etc/passwd`
    /// as `/workspace/../etc/passwd`, which names the same file. The C library would refuse the
    /// former by itself, since it has no directory to open it in, and the host would never see it.
    /// The latter reaches the host, whose policy denies and records it.
    fn locate(&self, path: &str) -> String {
        let path = squeeze(path);
        if covering(&self.roots, &path) {
            path
        } else if let Some(absolute) = path.strip_prefix('/') {
            let up = "/..".repeat(self.base.split('/').filter(|name| !name.is_empty()).count());
            format!("{}{up}/{absolute}", self.base.trim_end_matches('/'))
        } else {
            squeeze(&format!("{}/{path}", self.base))
        }
    }
}

/// True if the path is one of the directories or lies in one, by its text.
fn covering(roots: &[String], path: &str) -> bool {
    roots.iter().any(|root| {
        let root = root.trim_end_matches('/');
        path.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() && !root.is_empty() || rest.starts_with('/'))
    })
}

/// Removes repeated slashes, `.` and a slash at the end. `..` stays: the host resolves it.
fn squeeze(path: &str) -> String {
    let names: Vec<&str> = path
        .split('/')
        .filter(|name| !name.is_empty() && *name != ".")
        .collect();
    let joined = names.join("/");
    if path.starts_with('/') {
        format!("/{joined}")
    } else {
        joined
    }
}

/// The path to open for the path that a model wrote: relative to the workspace, or absolute.
///
/// # Errors
/// An invalid path, or no mounted directory. A path out of the mounted directories is no error
/// here: the host refuses it.
pub fn locate(path: &str) -> Result<PathBuf, PathError> {
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    if path.contains('\0') {
        return Err(PathError::ZeroByte);
    }
    let mounts = mounts().ok_or(PathError::NoDirectory)?;
    Ok(PathBuf::from(mounts.locate(path)))
}

/// Explains the system's error for `path` (as the model wrote it), which could not be `done` (as in
/// "read"), and says what to do next. For a missing path it lists the names that exist.
#[must_use]
pub fn explain(error: &Error, done: &str, path: &str) -> String {
    match error.kind() {
        ErrorKind::NotFound => missing::describe(path),
        ErrorKind::PermissionDenied => format!(
            "`{path}` may not be {done}: the operator's grants do not allow it; work inside the granted directory, and say so if \
             the task needs more"
        ),
        ErrorKind::ReadOnlyFilesystem => {
            format!("`{path}` cannot be {done}: the directory is granted read-only")
        }
        ErrorKind::NotADirectory => {
            format!("`{path}` cannot be {done}: it, or a part of it, is not a directory")
        }
        ErrorKind::IsADirectory => format!(
            "`{path}` is a directory and cannot be {done} as a file; use list_directory to see what it has"
        ),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("`{path}` cannot be {done}: there is no space left")
        }
        // The other kinds offer nothing that a model could act on beyond the system's text. The
        // enum is std's and non-exhaustive.
        _ => format!("`{path}` cannot be {done}: {error}"),
    }
}

#[cfg(target_family = "wasm")]
fn mounts() -> Option<Mounts> {
    let roots = wasip2::filesystem::preopens::get_directories()
        .into_iter()
        .map(|(_, name)| name)
        .collect();
    Mounts::new(roots, wasip2::cli::environment::initial_cwd())
}

/// The root directory: in tests outside WebAssembly everything is mounted.
#[cfg(not(target_family = "wasm"))]
fn mounts() -> Option<Mounts> {
    let working_directory = std::env::current_dir()
        .ok()
        .map(|directory| directory.to_string_lossy().into_owned());
    Mounts::new(vec!["/".to_owned()], working_directory)
}

#[cfg(test)]
mod tests;

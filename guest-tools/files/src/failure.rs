//! Errors in the words of a model: what went wrong with which path, and what to do next. No error repeats a path of the host.

use std::fmt;
use std::io::{Error, ErrorKind};

use crate::place::locate;

/// The names that an error suggests at most.
const MAX_SUGGESTIONS: usize = 20;

/// The entries that are looked at for suggestions at most.
const MAX_LOOKED_AT: usize = 500;

/// A failed call, as the text that the model reads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// What the system said when `path` (as the model wrote it) could not be `done` (as in "read").
    pub(crate) fn io(error: &Error, done: &str, path: &str) -> Self {
        let text = match error.kind() {
            ErrorKind::NotFound => missing(path),
            ErrorKind::PermissionDenied => format!(
                "`{path}` may not be {done}: the operator's grants do not allow it; work inside the granted folder, and say so if \
                 the task needs more"
            ),
            ErrorKind::ReadOnlyFilesystem => {
                format!("`{path}` cannot be {done}: the folder is granted read-only")
            }
            ErrorKind::NotADirectory => {
                format!("`{path}` cannot be {done}: it, or a part of it, is not a folder")
            }
            ErrorKind::IsADirectory => format!(
                "`{path}` is a folder and cannot be {done} as a file; use list_directory to see what it has"
            ),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                format!("`{path}` cannot be {done}: there is no room left")
            }
            // The other kinds have nothing that a model could act on beyond what the system says. The enum is std's and open.
            _ => format!("`{path}` cannot be {done}: {error}"),
        };
        Self(text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names the nearest folder above the path that is there, and what it has: the model then mostly finds what it meant.
fn missing(path: &str) -> String {
    let mut above = path.trim_end_matches('/');
    loop {
        above = match above.rsplit_once('/') {
            Some(("", _)) => "/",
            Some((folder, _)) => folder,
            None => ".",
        };
        if let Some(names) = names_in(above) {
            return if names.is_empty() {
                format!("no such file or folder `{path}`; the folder `{above}` is empty")
            } else {
                format!("no such file or folder `{path}`; the folder `{above}` has: {names}")
            };
        }
        if matches!(above, "." | "/") {
            return format!(
                "no such file or folder `{path}`; use list_directory to see what there is"
            );
        }
    }
}

fn names_in(folder: &str) -> Option<String> {
    let entries = std::fs::read_dir(locate(folder).ok()?).ok()?;
    let mut names: Vec<String> = entries
        .take(MAX_LOOKED_AT)
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(MAX_SUGGESTIONS);
    names.truncate(MAX_SUGGESTIONS);
    let mut text = names.join(", ");
    if more > 0 {
        text.push_str(", and more");
    }
    Some(text)
}

#[cfg(test)]
mod tests;

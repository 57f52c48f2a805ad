//! `git_diff`, and differences of files as text.

use std::fmt::Write as _;
use std::time::Duration;

use agent_tool::{input, tool};
use agent_tool_bounded::{Failure, page};
use similar::{Algorithm, TextDiff};

use crate::commit::Commit;
use crate::error::GitError;
use crate::object::Kind;
use crate::refs::commit_of;
use crate::repository::Repository;
use crate::tree::{Change, Entry, changes};

/// The largest file whose lines are compared, in bytes.
pub(crate) const MAX_FILE_BYTES: usize = 2 * 1024 * 1024;

/// The most bytes of a text of differences.
const MAX_DIFF_BYTES: usize = 4 * 1024 * 1024;

/// The bytes in which Git looks for a zero, which no text has.
const SNIFFED_BYTES: usize = 8_000;

/// The time for the lines of one file. What is found after it is correct, and longer than needed.
pub(crate) const MAX_FILE_TIME: Duration = Duration::from_secs(2);

#[input]
pub(crate) struct GitDiff {
    /// The top directory of the repository.
    #[serde(default = "workspace")]
    path: String,
    /// The older revision, such as `main` or `HEAD~3`.
    from: String,
    /// The newer revision.
    #[serde(default = "head")]
    to: String,
    /// Only this file, or the files in this directory, relative to the repository's top.
    only: Option<String>,
    /// The byte of the text to start at, for the next part of a long one.
    #[serde(default)]
    offset: usize,
}

pub(crate) fn workspace() -> String {
    ".".to_owned()
}

pub(crate) fn head() -> String {
    "HEAD".to_owned()
}

/// Compares two revisions of a Git repository, as a unified diff. Renames are shown as a file that
/// is gone and a new one. The working directory is not compared.
#[tool(effect = "read-only", title = "Compare revisions")]
pub(crate) fn git_diff(input: GitDiff) -> Result<String, Failure> {
    let GitDiff {
        path,
        from,
        to,
        only,
        offset,
    } = input;
    let repository = Repository::open(&path)?;
    let (from, to) = (commit_of(&repository, &from)?, commit_of(&repository, &to)?);
    let text = || -> Result<String, GitError> {
        let old = Commit::read(&repository, &from)?;
        let new = Commit::read(&repository, &to)?;
        let mut changes = changes(&repository, Some(&old.tree), Some(&new.tree))?;
        if let Some(only) = &only {
            let only = only.trim_matches('/');
            changes.retain(|change| {
                let rest = change.path.strip_prefix(only);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
        }
        if changes.is_empty() {
            return Ok("[no differences]\n".to_owned());
        }
        differences(&repository, &changes)
    };
    let text = text().map_err(|error| repository.failure(&error))?;
    page(&text, offset)
}

/// The differences of files, one after the other.
pub(crate) fn differences(repository: &Repository, changes: &[Change]) -> Result<String, GitError> {
    let mut text = String::new();
    for (index, change) in changes.iter().enumerate() {
        if text.len() > MAX_DIFF_BYTES {
            let _ = writeln!(
                text,
                "[{} more files differ and are left out]",
                changes.len() - index
            );
            break;
        }
        difference(repository, change, &mut text)?;
    }
    Ok(text)
}

fn difference(repository: &Repository, change: &Change, text: &mut String) -> Result<(), GitError> {
    let path = &change.path;
    // A text has no end of writing that could fail.
    let _ = writeln!(text, "diff --git a/{path} b/{path}");
    let _ = match (&change.old, &change.new) {
        (None, Some(new)) => writeln!(text, "new file mode {:06o}", new.mode),
        (Some(old), None) => writeln!(text, "deleted file mode {:06o}", old.mode),
        (Some(old), Some(new)) if old.mode != new.mode => {
            writeln!(text, "old mode {:06o}\nnew mode {:06o}", old.mode, new.mode)
        }
        _ => Ok(()),
    };
    if let (Some(old), Some(new)) = (&change.old, &change.new)
        && old.id == new.id
    {
        return Ok(());
    }
    let old = content(repository, change.old.as_ref())?;
    let new = content(repository, change.new.as_ref())?;
    let name = |side: char, is_there: bool| match is_there {
        true => format!("{side}/{path}"),
        false => "/dev/null".to_owned(),
    };
    let (old_name, new_name) = (
        name('a', change.old.is_some()),
        name('b', change.new.is_some()),
    );
    let (Some(old), Some(new)) = (old, new) else {
        let _ = writeln!(
            text,
            "Binary or large files {old_name} and {new_name} differ"
        );
        return Ok(());
    };
    let lines = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(MAX_FILE_TIME)
        .diff_lines(&old, &new);
    let _ = write!(
        text,
        "{}",
        lines
            .unified_diff()
            .context_radius(3)
            .header(&old_name, &new_name)
    );
    Ok(())
}

/// The text of a file: empty for none, `None` for one that is no text or too large.
fn content(repository: &Repository, entry: Option<&Entry>) -> Result<Option<String>, GitError> {
    let Some(entry) = entry else {
        return Ok(Some(String::new()));
    };
    // A submodule is a commit of another repository.
    if entry.mode == 0o160_000 {
        return Ok(Some(format!("Subproject commit {}\n", entry.id)));
    }
    let data = repository.read_as(&entry.id, Kind::Blob)?;
    let fits = is_text(&data) && data.len() <= MAX_FILE_BYTES;
    Ok(fits.then(|| String::from_utf8_lossy(&data).into_owned()))
}

/// Whether Git takes a file for a text.
pub(crate) fn is_text(data: &[u8]) -> bool {
    !data.iter().take(SNIFFED_BYTES).any(|byte| *byte == 0)
}

#[cfg(test)]
mod tests;

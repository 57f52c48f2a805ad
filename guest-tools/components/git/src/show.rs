//! `git_show`: a commit with its changes, or a file or directory as a commit has it.

use std::fmt::Write as _;

use agent_tool::{Output, Part, input, tool};
use agent_tool_bounded::{Failure, page};

use crate::commit::Commit;
use crate::diff::{differences, head, workspace};
use crate::error::GitError;
use crate::object::{Kind, Oid};
use crate::refs::commit_of;
use crate::repository::Repository;
use crate::tree::{changes, entries, find};

/// The largest file that is passed as it is, in bytes; providers refuse larger ones.
const MAX_PART_BYTES: usize = 5 * 1024 * 1024;

#[input]
pub(crate) struct GitShow {
    /// The top directory of the repository.
    #[serde(default = "workspace")]
    path: String,
    /// The revision: HEAD, a branch, a tag or a commit, with steps such as `~2`.
    #[serde(default = "head")]
    revision: String,
    /// A file or directory, relative to the repository's top (`.`): its content in that revision,
    /// instead of the commit.
    file: Option<String>,
    /// The byte of the text to start at, for the next part of a long one.
    #[serde(default)]
    offset: usize,
}

/// Shows a commit of a Git repository: author, date, message and changes, of a merge those from
/// its first parent. With `file`, shows that file or directory as the commit has it.
#[tool(effect = "read-only", title = "Show a commit")]
pub(crate) fn git_show(input: GitShow) -> Result<Output, Failure> {
    let GitShow {
        path,
        revision,
        file,
        offset,
    } = input;
    let repository = Repository::open(&path)?;
    let id = commit_of(&repository, &revision)?;
    let explain = |error: GitError| repository.failure(&error);
    let Some(file) = file else {
        let text = commit_text(&repository, &id).map_err(explain)?;
        return page(&text, offset).map(Output::Text);
    };
    let commit = Commit::read(&repository, &id).map_err(explain)?;
    let entry = find(&repository, &commit.tree, &file).map_err(explain)?;
    let entry = entry.ok_or_else(|| {
        Failure::new(format!(
            "there is no `{file}` in {}; show its directory, or `.`",
            id.short()
        ))
    })?;
    if entry.is_tree() {
        let text = tree_text(&repository, &entry.id).map_err(explain)?;
        return page(&text, offset).map(Output::Text);
    }
    if entry.mode == 0o160_000 {
        return Err(Failure::new(format!(
            "`{file}` is a submodule, at commit {}",
            entry.id
        )));
    }
    let data = repository.read_as(&entry.id, Kind::Blob).map_err(explain)?;
    let data = match String::from_utf8(data) {
        Ok(text) if !text.contains('\0') => return page(&text, offset).map(Output::Text),
        Ok(text) => text.into_bytes(),
        Err(error) => error.into_bytes(),
    };
    if data.len() > MAX_PART_BYTES {
        return Err(Failure::new(format!(
            "`{file}` is no text and has {} bytes; at most {MAX_PART_BYTES} can be returned",
            data.len()
        )));
    }
    let name = file.rsplit('/').next().unwrap_or_default();
    Ok(Output::content([Part::bytes(
        "application/octet-stream",
        data,
    )
    .named(name)]))
}

fn commit_text(repository: &Repository, id: &Oid) -> Result<String, GitError> {
    let commit = Commit::read(repository, id)?;
    let mut text = format!("commit {id}\n");
    if commit.parents.len() > 1 {
        let parents: Vec<String> = commit.parents.iter().map(Oid::short).collect();
        let _ = writeln!(text, "Merge: {}", parents.join(" "));
    }
    let _ = writeln!(text, "Author: {}\nDate: {}\n", commit.author, commit.date);
    for line in commit.message.trim_end().lines() {
        let _ = writeln!(text, "{}", format!("    {line}").trim_end());
    }
    let parent = match commit.parents.first() {
        Some(parent) => Commit::parent(repository, parent)?.map(|parent| parent.tree),
        None => None,
    };
    let changes = changes(repository, parent.as_ref(), Some(&commit.tree))?;
    if !changes.is_empty() {
        text.push('\n');
        text.push_str(&differences(repository, &changes)?);
    }
    Ok(text)
}

fn tree_text(repository: &Repository, id: &Oid) -> Result<String, GitError> {
    let mut text = String::new();
    for entry in entries(repository, id)? {
        let kind = match entry.mode {
            0o40_000 => "directory",
            0o120_000 => "symlink",
            0o160_000 => "submodule",
            0o100_755 => "program",
            _ => "file",
        };
        let _ = writeln!(text, "{kind} {}", entry.name);
    }
    Ok(text)
}

#[cfg(test)]
pub(crate) mod tests;

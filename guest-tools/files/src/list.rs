//! `list_directory`.

use agent_tool::workspace::locate;
use agent_tool::{Json, input, output, tool};

use crate::budget::Budget;
use crate::failure::Failure;
use crate::walk::{Bounds, Found, Kind, walk};

/// The most levels of a listing.
const MAX_DEPTH: usize = 8;

/// The most entries of one listing.
const MAX_ENTRIES: usize = 1_000;

/// The size of an entry in JSON besides its name, in bytes.
const ENTRY_OVERHEAD_BYTES: usize = 64;

#[input]
pub(crate) struct ListDirectory {
    /// The directory, relative to the workspace or absolute.
    #[serde(default = "workspace")]
    path: String,
    /// The number of levels to list: 1 is the directory itself, 2 also the entries of its
    /// directories, and so on.
    #[serde(default = "one_level")]
    #[schemars(range(min = 1, max = 8))]
    depth: usize,
}

fn workspace() -> String {
    ".".to_owned()
}

fn one_level() -> usize {
    1
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listing {
    /// The requested path.
    path: String,
    /// The entries, sorted by name; names are relative to `path`.
    entries: Vec<Entry>,
    /// True if entries were left out.
    truncated: bool,
    /// A note on what was left out, and how to get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    name: String,
    kind: Kind,
    /// The size, of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
}

/// Lists the entries of a directory: name, kind (file, directory, symlink, other) and, for files,
/// the size in bytes. With `depth`, also the entries of the directories in it; `.git` and
/// `node_modules` are named but only listed when requested by path.
#[tool(effect = "read-only", title = "List a directory", output = Listing)]
pub(crate) fn list_directory(input: ListDirectory) -> Result<Json<Listing>, Failure> {
    let ListDirectory { path, depth } = input;
    let bounds = Bounds {
        depth: depth.clamp(1, MAX_DEPTH),
        entries: MAX_ENTRIES,
    };
    let walk = walk(&locate(&path)?, bounds).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotADirectory => Failure::new(format!(
            "`{path}` is not a directory; use read_file to read it"
        )),
        _ => Failure::io(&error, "listed", &path),
    })?;
    let (entries, fits) = fitting(&walk.found);
    let truncated = !(walk.complete && fits);
    let note = truncated.then(|| {
        format!("only {} entries are shown, those nearest to the top first; list a directory inside, or use search_files with a glob", entries.len())
    });
    Ok(Json(Listing {
        path,
        entries,
        truncated,
        note,
    }))
}

/// The entries that fit, those nearest to the top first, and true if those are all.
fn fitting(found: &[Found]) -> (Vec<Entry>, bool) {
    let mut by_depth: Vec<&Found> = found.iter().collect();
    by_depth.sort_by_key(|entry| entry.name.matches('/').count());
    let mut budget = Budget::new();
    let fitting = by_depth
        .iter()
        .take_while(|entry| budget.take(&[&entry.name], ENTRY_OVERHEAD_BYTES))
        .count();
    let all = fitting == found.len();
    let mut kept: Vec<&Found> = by_depth.into_iter().take(fitting).collect();
    kept.sort_by(|a, b| a.name.cmp(&b.name));
    let entries = kept
        .into_iter()
        .map(|entry| Entry {
            name: entry.name.clone(),
            kind: entry.kind,
            size_bytes: entry.size_bytes,
        })
        .collect();
    (entries, all)
}

#[cfg(test)]
mod tests;

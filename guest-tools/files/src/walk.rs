//! A bounded walk through a directory, in a stable order. Symbolic links are reported as such and
//! never followed.

use std::io;
use std::path::{Path, PathBuf};

/// Directories that are named but not entered, unless the walk starts in one: they hold generated
/// files, often many thousands, which would crowd out the user's own.
pub(crate) const NOT_ENTERED: [&str; 2] = [".git", "node_modules"];

/// The most entries of one directory that are read. A directory with more is cut at an arbitrary
/// place, and the walk says so.
const MAX_ENTRIES_OF_A_FOLDER: usize = 20_000;

/// The kind of an entry.
#[agent_tool::output]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    File,
    Directory,
    Symlink,
    Other,
}

/// One entry that the walk found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The path relative to the start of the walk, with `/` between the names.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The size, of a file.
    pub(crate) size_bytes: Option<u64>,
}

/// The result of a walk, sorted by name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Walk {
    pub(crate) found: Vec<Found>,
    /// True if `entries` is complete within the depth, apart from directories that are not entered
    /// or may not be read.
    pub(crate) complete: bool,
}

/// The bounds of a walk.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// The number of levels of directories to list; 1 is the directory itself.
    pub(crate) depth: usize,
    /// The most entries to find.
    pub(crate) entries: usize,
}

/// Walks level by level, so that a cut leaves out deep entries and not those late in the alphabet.
///
/// # Errors
/// When the directory itself cannot be read. A directory inside it that cannot be read is only
/// named.
pub(crate) fn walk(root: &Path, bounds: Bounds) -> io::Result<Walk> {
    let mut walk = Walk {
        found: Vec::new(),
        complete: true,
    };
    let mut level = vec![(root.to_owned(), String::new())];
    for depth in 0..bounds.depth {
        let mut deeper = Vec::new();
        for (directory, prefix) in level {
            let (entries, all) = match entries_of(&directory, &prefix) {
                Ok(read) => read,
                Err(error) if depth == 0 => return Err(error),
                Err(_) => continue,
            };
            walk.complete &= all;
            for (path, entry) in entries {
                if walk.found.len() == bounds.entries {
                    walk.complete = false;
                    walk.found.sort_by(|a, b| a.name.cmp(&b.name));
                    return Ok(walk);
                }
                if entry.kind == Kind::Directory && is_entered(&path) {
                    deeper.push((path, format!("{}/", entry.name)));
                }
                walk.found.push(entry);
            }
        }
        level = deeper;
    }
    walk.found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(walk)
}

fn is_entered(directory: &Path) -> bool {
    !directory
        .file_name()
        .is_some_and(|name| NOT_ENTERED.iter().any(|not| name == *not))
}

/// The entries of one directory, sorted, and true if those are all.
fn entries_of(directory: &Path, prefix: &str) -> io::Result<(Vec<(PathBuf, Found)>, bool)> {
    let mut entries = Vec::new();
    let mut all = true;
    for entry in std::fs::read_dir(directory)? {
        if entries.len() == MAX_ENTRIES_OF_A_FOLDER {
            all = false;
            break;
        }
        // An entry that was removed in the meantime is skipped.
        let Ok(entry) = entry else { continue };
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().map_or(Kind::Other, kind_of);
        let size_bytes = if kind == Kind::File {
            entry.metadata().ok().map(|metadata| metadata.len())
        } else {
            None
        };
        entries.push((
            entry.path(),
            Found {
                name,
                kind,
                size_bytes,
            },
        ));
    }
    entries.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
    Ok((entries, all))
}

pub(crate) fn kind_of(kind: std::fs::FileType) -> Kind {
    if kind.is_symlink() {
        Kind::Symlink
    } else if kind.is_dir() {
        Kind::Directory
    } else if kind.is_file() {
        Kind::File
    } else {
        Kind::Other
    }
}

#[cfg(test)]
mod tests;

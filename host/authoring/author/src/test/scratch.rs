//! Scratch copies of writable directories: a case always starts with the same files and never
//! changes the project's.

use super::report::Mismatch;
use agent_host_app::config::canonical;
use agent_host_engine::policy::{DirGrant, DirMode, Grants};
use std::{
    fs, io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;

/// The maximum of entries per copy: fixtures have a handful.
const MAX_ENTRIES: usize = 10_000;

/// The maximum of bytes per copy.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The maximum size of a compared file in bytes.
const MAX_COMPARED_BYTES: u64 = super::file::MAX_FILE_BYTES;

/// The grants of a case, with copies in place of writable directories.
pub(super) struct Scratch {
    /// The grants with the paths of the copies.
    pub(super) grants: Arc<Grants>,
    /// Keeps the copies until dropped.
    _copies: Vec<TempDir>,
}

impl Scratch {
    /// Copies the writable directories.
    ///
    /// # Errors
    /// A directory cannot be copied or exceeds the limits.
    pub(super) fn new(grants: &Arc<Grants>) -> Result<Self, Mismatch> {
        let mut grants = Grants::clone(grants);
        let mut copies = Vec::new();
        let dirs = grants.dirs.iter_mut();
        for dir in dirs.filter(|dir| dir.mode == DirMode::ReadWrite) {
            let copy = copy(&dir.host).map_err(|error| {
                let expected = format!("a copy of {} for the case to write to", dir.host.display());
                Mismatch::new("grants.dir", expected, error.to_string())
            })?;
            // The sandbox requires paths without links.
            dir.host = copy
                .path()
                .canonicalize()
                .unwrap_or_else(|_| copy.path().to_owned());
            copies.push(copy);
        }
        Ok(Self {
            grants: Arc::new(grants),
            _copies: copies,
        })
    }

    /// Resolves a guest's path to the host's.
    ///
    /// # Errors
    /// No directory is granted there, or the path leaves the granted one by `..` or a link: the
    /// report would show what a guest cannot read.
    fn resolve(&self, path: &str) -> io::Result<PathBuf> {
        let inside = |dir: &DirGrant| {
            let inside = Path::new(path).strip_prefix(&dir.guest).ok()?;
            Some((dir.host.clone(), dir.host.join(inside)))
        };
        let found = self.grants.dirs.iter().find_map(inside);
        let (directory, host_path) =
            found.ok_or_else(|| io::Error::other("no directory is granted at that path"))?;
        let climbs = host_path
            .components()
            .any(|part| part == Component::ParentDir);
        if climbs || !canonical(&host_path).starts_with(&directory) {
            return Err(io::Error::other("it leads out of the granted directory"));
        }
        Ok(host_path)
    }

    /// Returns the files that differ from the expected text or absence.
    pub(super) fn differences(&self, expected: &[(String, Option<String>)]) -> Vec<Mismatch> {
        let differences = expected.iter().filter_map(|(path, expected)| {
            let got = self.resolve(path).and_then(|host_path| text(&host_path));
            let (expected, got) = match (expected, got) {
                (Some(expected), Ok(Some(got))) if got == *expected => return None,
                (None, Ok(None)) => return None,
                (Some(expected), Ok(Some(got))) => (expected.clone(), got),
                (Some(expected), Ok(None)) => (expected.clone(), "no such file".to_owned()),
                (None, Ok(Some(_))) => ("no such file".to_owned(), "a file".to_owned()),
                (Some(expected), Err(error)) => (expected.clone(), error.to_string()),
                (None, Err(error)) => ("no such file".to_owned(), error.to_string()),
            };
            Some(Mismatch::new(&format!("files {path}"), expected, got))
        });
        differences.collect()
    }
}

/// Reads a file; `None` if it is missing.
fn text(path: &Path) -> io::Result<Option<String>> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(io::Error::other("it is not a regular file")),
        Ok(found) if found.len() > MAX_COMPARED_BYTES => Err(io::Error::other(format!(
            "a file of more than {MAX_COMPARED_BYTES} bytes"
        ))),
        Ok(_) => fs::read_to_string(path).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn copy(dir: &Path) -> io::Result<TempDir> {
    let copy = tempfile::tempdir()?;
    let mut left = (MAX_ENTRIES, MAX_BYTES);
    copy_into(dir, copy.path(), &mut left)?;
    Ok(copy)
}

/// Copies the contents of a directory. `left` is the remaining entries and bytes.
fn copy_into(from: &Path, to: &Path, left: &mut (usize, u64)) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        // A link is copied as a link.
        let found = entry.metadata()?;
        let bytes = if found.is_file() { found.len() } else { 0 };
        *left = match (left.0.checked_sub(1), left.1.checked_sub(bytes)) {
            (Some(entries), Some(bytes)) => (entries, bytes),
            (None, _) | (_, None) => {
                return Err(io::Error::other(format!(
                    "it has more than {MAX_ENTRIES} files or {MAX_BYTES} bytes; grant a smaller directory"
                )));
            }
        };
        if found.is_dir() {
            fs::create_dir(&to)?;
            copy_into(&from, &to, left)?;
        } else if found.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&from)?, &to)?;
        } else if found.is_file() {
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

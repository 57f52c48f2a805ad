//! The files embedded for authors (`build.rs` lists them), and unpacking them.

#[cfg(test)]
mod tests;

use crate::error::AuthorError;
use std::{
    borrow::Cow,
    fs, io,
    path::{Path, PathBuf},
};

/// The path in the repository, separated by `/`, and the content.
pub(crate) type EmbeddedFile = (&'static str, &'static [u8]);

/// All embedded files, sorted by path.
static EMBEDDED: &[EmbeddedFile] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Returns the files below a directory of the repository, with paths relative to it.
pub(crate) fn below(dir: &str) -> Vec<EmbeddedFile> {
    let relative = |(path, content): &EmbeddedFile| {
        let path = path.strip_prefix(dir)?.strip_prefix('/')?;
        Some((path, *content))
    };
    EMBEDDED.iter().filter_map(relative).collect()
}

/// Returns the content of a file of the repository.
pub(crate) fn file(path: &str) -> Option<&'static [u8]> {
    let (_, content) = EMBEDDED.iter().find(|(known, _)| *known == path)?;
    Some(content)
}

/// Makes a directory hold exactly these files. Unchanged files are not written, since compilers
/// compare modification times.
pub(crate) fn unpack(dir: &Path, files: &[(String, Cow<'_, [u8]>)]) -> Result<(), AuthorError> {
    for (path, content) in files {
        write(&dir.join(path), content)?;
    }
    let wanted: Vec<PathBuf> = files.iter().map(|(path, _)| dir.join(path)).collect();
    remove_others(dir, &wanted).map_err(|error| AuthorError::disk("tidy", dir, &error))
}

/// Removes unwanted files: those of an earlier version would be compiled, too.
fn remove_others(dir: &Path, wanted: &[PathBuf]) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            remove_others(&path, wanted)?;
        } else if !wanted.contains(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Writes a file unless it has this content, and creates its parent directories.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), AuthorError> {
    if fs::read(path).is_ok_and(|held| held == content) {
        return Ok(());
    }
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(|error| AuthorError::disk("make", dir, &error))?;
    }
    fs::write(path, content).map_err(|error| AuthorError::disk("write", path, &error))
}

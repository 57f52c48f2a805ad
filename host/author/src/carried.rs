//! The files that the program carries for authors, and how they come onto the disk. What is carried is in `build.rs`.

use crate::error::AuthorError;
use std::{fs, path::Path};

/// A file: its path in the repository, with `/` between the names, and its content.
pub(crate) type CarriedFile = (&'static str, &'static [u8]);

/// All of them, sorted by their paths.
static CARRIED: &[CarriedFile] = include!(concat!(env!("OUT_DIR"), "/carried.rs"));

/// The files below a folder of the repository, with their paths relative to it.
pub(crate) fn below(folder: &str) -> impl Iterator<Item = CarriedFile> {
    CARRIED.iter().filter_map(move |(path, content)| {
        let path = path.strip_prefix(folder)?.strip_prefix('/')?;
        Some((path, *content))
    })
}

/// One file of the repository.
pub(crate) fn file(path: &str) -> Option<&'static [u8]> {
    let (_, content) = CARRIED.iter().find(|(known, _)| *known == path)?;
    Some(content)
}

/// Writes a file, and makes the folders above it. A file that holds this already is left alone: compilers go by its time.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), AuthorError> {
    if fs::read(path).is_ok_and(|held| held == content) {
        return Ok(());
    }
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(|error| AuthorError::disk("make", dir, &error))?;
    }
    fs::write(path, content).map_err(|error| AuthorError::disk("write", path, &error))
}

//! The files that the program carries for authors, and how they come onto the disk. What is carried is in `build.rs`.

#[cfg(test)]
mod tests;

use crate::error::AuthorError;
use std::{
    borrow::Cow,
    fs, io,
    path::{Path, PathBuf},
};

/// A file: its path in the repository, with `/` between the names, and its content.
pub(crate) type CarriedFile = (&'static str, &'static [u8]);

/// All of them, sorted by their paths.
static CARRIED: &[CarriedFile] = include!(concat!(env!("OUT_DIR"), "/carried.rs"));

/// The files below a folder of the repository, with their paths relative to it.
pub(crate) fn below(folder: &str) -> Vec<CarriedFile> {
    let relative = |(path, content): &CarriedFile| {
        let path = path.strip_prefix(folder)?.strip_prefix('/')?;
        Some((path, *content))
    };
    CARRIED.iter().filter_map(relative).collect()
}

/// One file of the repository.
pub(crate) fn file(path: &str) -> Option<&'static [u8]> {
    let (_, content) = CARRIED.iter().find(|(known, _)| *known == path)?;
    Some(content)
}

/// Makes a folder hold these files and no others. A file that is as it should be is left alone: compilers go by its time.
pub(crate) fn unpack(dir: &Path, files: &[(String, Cow<'_, [u8]>)]) -> Result<(), AuthorError> {
    for (path, content) in files {
        write(&dir.join(path), content)?;
    }
    let wanted: Vec<PathBuf> = files.iter().map(|(path, _)| dir.join(path)).collect();
    remove_others(dir, &wanted).map_err(|error| AuthorError::disk("tidy", dir, &error))
}

/// Removes the files below a folder that are not wanted: those of an earlier version would be compiled with the rest.
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

/// Writes a file that does not hold this already, and makes the folders above it.
fn write(path: &Path, content: &[u8]) -> Result<(), AuthorError> {
    if fs::read(path).is_ok_and(|held| held == content) {
        return Ok(());
    }
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(|error| AuthorError::disk("make", dir, &error))?;
    }
    fs::write(path, content).map_err(|error| AuthorError::disk("write", path, &error))
}

//! The files that decide what runs and what it may do, such as `agent.toml` and `agent.lock`: text
//! of bounded length that not every user may write, and that is replaced as a whole; and files with
//! a secret, which only their owner may read.

use rustix::{fs::OFlags, process::geteuid};
use serde::Deserialize;
use std::{
    fs::{DirBuilder, File, Metadata},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// The permission bit of every user to write.
const WORLD_WRITABLE: u32 = 0o002;

/// The permission bits of all users but the owner.
const OTHERS: u32 = 0o077;

/// The part that every version of a file has.
#[derive(Deserialize)]
pub(crate) struct Versioned {
    pub(crate) version: u32,
}

/// Why a file is not used.
#[derive(Debug, thiserror::Error)]
#[error("{reason}; {fix}")]
pub struct FileError {
    /// The kind of the failed operation, so that an absent file can be told apart.
    pub kind: io::ErrorKind,
    /// Why it is not used.
    pub reason: String,
    /// The next step.
    pub fix: String,
}

impl FileError {
    fn refused(reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            kind: io::ErrorKind::Other,
            reason: reason.into(),
            fix: fix.into(),
        }
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Self {
            kind: error.kind(),
            reason: error.to_string(),
            fix: "check the path and its permissions".to_owned(),
        }
    }
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        Self::new(error.kind, error)
    }
}

/// Reads a file that decides what runs, of at most `max_bytes` bytes. A pipe in its place does not
/// block.
///
/// # Errors
/// It cannot be read, is longer, is not text, belongs to another user, or every user may write to
/// it.
pub fn read(path: &Path, max_bytes: u64) -> Result<String, FileError> {
    read_unless(path, max_bytes, |found| refusal(found, geteuid().as_raw()))
}

/// Reads such a file, whose content may be anything.
///
/// # Errors
/// Those of [`read`], except that it is not text.
pub(crate) fn read_bytes(path: &Path, max_bytes: u64) -> Result<Vec<u8>, FileError> {
    read_bytes_unless(path, max_bytes, |found| refusal(found, geteuid().as_raw()))
}

/// Returns why a file may not decide what this user runs.
fn refusal(found: &Metadata, user: u32) -> Option<FileError> {
    let (mode, owner) = (found.mode() & 0o7777, found.uid());
    if owner != 0 && owner != user {
        return Some(FileError::refused(
            format!(
                "it belongs to another user of this machine (user id {owner}; yours is {user}), who could change \
                 what you run"
            ),
            "read it, then use your own copy",
        ));
    }
    (mode & WORLD_WRITABLE != 0).then(|| {
        FileError::refused(
            format!(
                "every user of this machine can write to it (mode {mode:04o}), so any of them could change what runs"
            ),
            "check that it still has your content, then run `chmod o-w` on it",
        )
    })
}

/// Reads a file with a secret, of at most `max_bytes` bytes.
///
/// # Errors
/// It cannot be read, is longer, is not text, or users other than its owner may read or write it.
pub fn read_secret(path: &Path, max_bytes: u64) -> io::Result<String> {
    let text = read_unless(path, max_bytes, |found| {
        let mode = found.mode() & 0o7777;
        (mode & OTHERS != 0).then(|| {
            FileError::refused(
                format!(
                    "users other than its owner can read it (mode {mode:04o}), so the secret may already be known"
                ),
                "run `chmod 600` on it, then put a new secret into it",
            )
        })
    });
    text.map_err(Into::into)
}

/// Opens a file for reading. A pipe in its place is refused, unless it is one that this process was
/// started with: a shell creates those of `<(...)`, and they end.
fn open(path: &Path) -> Result<File, FileError> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else if path.starts_with("/dev") || path.starts_with("/proc") {
        Ok(File::open(path)?)
    } else {
        Err(FileError::refused(
            "it is not a regular file",
            "replace it with one",
        ))
    }
}

/// Reads a file unless it is refused. Files that are not regular, such as pipes, have no relevant
/// owner or mode.
fn read_unless(
    path: &Path,
    max_bytes: u64,
    refuse: impl Fn(&Metadata) -> Option<FileError>,
) -> Result<String, FileError> {
    let bytes = read_bytes_unless(path, max_bytes, refuse)?;
    String::from_utf8(bytes)
        .map_err(|_| FileError::refused("it is not UTF-8 text", "save it as UTF-8"))
}

fn read_bytes_unless(
    path: &Path,
    max_bytes: u64,
    refuse: impl Fn(&Metadata) -> Option<FileError>,
) -> Result<Vec<u8>, FileError> {
    let file = open(path)?;
    // Of the open file, so that it is the file that is read.
    let found = file.metadata()?;
    if let Some(error) = found.is_file().then(|| refuse(&found)).flatten() {
        return Err(error);
    }
    let mut bytes = Vec::new();
    file.take(max_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(FileError::refused(
            format!("it is longer than {max_bytes} bytes"),
            "is it the right file?",
        ));
    }
    Ok(bytes)
}

/// Locks a file against changes by other processes, until the result is dropped. The lock is a file
/// beside it, whose directory is created.
///
/// # Errors
/// The directory cannot be created or written.
pub fn lock(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(directory)?;
    }
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        // A pipe in its place would block.
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path.with_extension("lock"))?;
    file.lock()?;
    Ok(file)
}

/// Writes a file in one step: a reader sees the old text or the new one, also after a power
/// failure.
///
/// # Errors
/// The directory cannot be written; readers then see the old text, or all of the new one.
pub fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}", std::process::id()));
    let temporary = PathBuf::from(temporary);
    // Left behind by a process with the same id.
    let _ = std::fs::remove_file(&temporary);
    let written = File::options()
        .write(true)
        .create_new(true)
        // Independent of the process's mask: a file that every user may write to is refused.
        .mode(mode)
        .open(&temporary)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())
                .and_then(|()| file.sync_all())
        })
        .and_then(|()| std::fs::rename(&temporary, path))
        .and_then(|()| match path.parent() {
            Some(directory) => File::open(directory)?.sync_all(),
            None => Ok(()),
        });
    written.inspect_err(|_| {
        // The rest of a failed attempt is useless; a failure to remove it is not reported.
        let _ = std::fs::remove_file(&temporary);
    })
}

//! The files that decide what runs and what it may do, such as `agent.toml` and `agent.lock`: text of bounded length, that not
//! everybody may write, and that is replaced as a whole; and those that hold a secret, which only their owner may read.

use rustix::{fs::OFlags, process::geteuid};
use std::{
    fs::{File, Metadata},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// The permission bit of everybody to write.
const WORLD_WRITABLE: u32 = 0o002;

/// The permission bits of everybody but the owner.
const OTHERS: u32 = 0o077;

/// Reads a file that decides what runs, of at most `max_bytes` bytes.
///
/// # Errors
/// When it cannot be read, is longer, is not text, belongs to another user, or every user may write
/// to it; the text says why and what to do. The kind is that of the failed operation, so that an
/// absent file can be told apart. A pipe in its place is not waited for.
pub(crate) fn read(path: &Path, max_bytes: u64) -> io::Result<String> {
    read_unless(path, max_bytes, |found| refusal(found, geteuid().as_raw()))
}

/// Why a file does not decide what this user runs.
fn refusal(found: &Metadata, user: u32) -> Option<String> {
    let (mode, owner) = (found.mode() & 0o7777, found.uid());
    if owner != 0 && owner != user {
        return Some(format!(
            "it belongs to another user of this machine (user id {owner}; yours is {user}), who could decide what you \
             run; read it, then use a copy of your own"
        ));
    }
    (mode & WORLD_WRITABLE != 0).then(|| {
        format!(
            "every user of this machine may write to it (mode {mode:04o}), so anybody could decide what runs; look \
             whether it still says what you wrote, then run `chmod o-w` on it"
        )
    })
}

/// Reads a file of up to so many bytes that holds a secret.
///
/// # Errors
/// As for every file here, and when others than its owner may read or write it.
pub fn read_secret(path: &Path, max_bytes: u64) -> io::Result<String> {
    read_unless(path, max_bytes, |found| {
        let mode = found.mode() & 0o7777;
        (mode & OTHERS != 0).then(|| {
            format!(
                "others than its owner may open it (mode {mode:04o}), so it may be known already; put a new secret into it \
                 after `chmod 600`"
            )
        })
    })
}

/// Opens a file for reading. A pipe in its place is not waited for, unless it is one that this process was started with: a shell
/// makes those of `<(...)`, and they end.
///
/// # Errors
/// When it cannot be opened, or is not a regular file.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else if path.starts_with("/dev") || path.starts_with("/proc") {
        File::open(path)
    } else {
        Err(io::Error::other(
            "it is not a regular file; put one in its place",
        ))
    }
}

/// Reads a file of at most `max_bytes` bytes, unless it is refused with a reason. What is not a regular file, such as a pipe, has
/// no owner or mode that counts.
fn read_unless(
    path: &Path,
    max_bytes: u64,
    refuse: impl Fn(&Metadata) -> Option<String>,
) -> io::Result<String> {
    let fault = |error: io::Error| {
        io::Error::new(
            error.kind(),
            format!("{error}; check the path and its permissions"),
        )
    };
    let file = open(path).map_err(fault)?;
    // Of the open file, so that it cannot be another one by the time it is read.
    let found = file.metadata().map_err(fault)?;
    let refused = found.is_file().then(|| refuse(&found)).flatten();
    if let Some(reason) = refused {
        return Err(io::Error::other(reason));
    }
    let mut bytes = Vec::new();
    file.take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(fault)?;
    if bytes.len() as u64 > max_bytes {
        return Err(io::Error::other(format!(
            "it is longer than {max_bytes} bytes; is it the right file?"
        )));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text; save it as UTF-8"))
}

/// Writes a file in one step: a reader sees the old text or the new one, and after a power failure it is the new one still.
///
/// # Errors
/// When the folder cannot be written; readers see the old text then, or all of the new one.
pub(crate) fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}", std::process::id()));
    let temporary = PathBuf::from(temporary);
    // One that a process of the same number left behind.
    let _ = std::fs::remove_file(&temporary);
    let written = File::options()
        .write(true)
        .create_new(true)
        // Whatever the process's mask: a file that everybody may write to is refused.
        .mode(mode)
        .open(&temporary)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())
                .and_then(|()| file.sync_all())
        })
        .and_then(|()| std::fs::rename(&temporary, path))
        .and_then(|()| match path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        });
    written.inspect_err(|_| {
        // What is left of a failed attempt helps nobody; that it cannot be removed either is no further fault.
        let _ = std::fs::remove_file(&temporary);
    })
}

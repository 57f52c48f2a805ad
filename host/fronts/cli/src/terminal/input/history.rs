//! The messages that were sent in a project, and the texts that were not, oldest first: a file with
//! one JSON string a line, for the user alone. A text that begins with a space is not written down.

#[cfg(test)]
mod tests;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// The maximum number of messages that are kept.
const MAX_ENTRIES: usize = 1000;

/// The maximum message that is written down, in bytes; a longer one is kept until the end, and is
/// in its session.
const MAX_ENTRY_BYTES: usize = 16 * 1024;

/// The maximum file, in bytes; of a larger one the end is kept. The longest text of the composer
/// fits, even if half of its characters are escaped in JSON.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The messages, and the file that has them.
#[derive(Debug, Default)]
pub(super) struct History {
    file: Option<PathBuf>,
    entries: Vec<String>,
}

impl History {
    /// Reads the history of a file. One that cannot be read, or a line that is no JSON string, is
    /// as if it were not there.
    pub(super) fn open(file: PathBuf) -> Self {
        let (mut entries, is_whole) = read(&file).unwrap_or((Vec::new(), true));
        let excess = entries.len().saturating_sub(MAX_ENTRIES);
        entries.drain(..excess);
        if excess > 0 || !is_whole {
            // The next start does it, otherwise.
            let _ = rewrite(&file, &entries);
        }
        Self {
            file: Some(file),
            entries,
        }
    }

    /// Adds a message until the end of the program, unless it is the last one; returns whether it
    /// is a new one.
    pub(super) fn remember(&mut self, text: &str) -> bool {
        if text.trim().is_empty() || self.entries.last().is_some_and(|last| last == text) {
            return false;
        }
        if self.entries.len() >= MAX_ENTRIES {
            self.entries.remove(0);
        }
        self.entries.push(text.to_owned());
        true
    }

    /// Adds a message that is sent, and writes it down.
    pub(super) fn add(&mut self, text: &str) {
        self.write(text, MAX_ENTRY_BYTES);
    }

    /// Adds a text that is not sent, and writes it down, however long it is: nothing else has it.
    pub(super) fn add_unsent(&mut self, text: &str) {
        self.write(text, usize::MAX);
    }

    fn write(&mut self, text: &str, max_bytes: usize) {
        let is_new = self.remember(text);
        let is_public = !text.starts_with(char::is_whitespace);
        let is_kept = is_new && is_public && text.len() <= max_bytes;
        if let Some(file) = self.file.as_deref().filter(|_| is_kept) {
            // A history that cannot be written is no reason to stop a conversation.
            let _ = append(file, text);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<&str> {
        self.entries.get(index).map(String::as_str)
    }

    /// Returns the position of the last message before `end` that contains a text.
    pub(super) fn find(&self, text: &str, end: usize) -> Option<usize> {
        let earlier = self.entries.get(..end)?;
        earlier.iter().rposition(|entry| entry.contains(text))
    }
}

/// Returns the texts of a file, and whether they are all of it.
fn read(path: &Path) -> io::Result<(Vec<String>, bool)> {
    let mut file = open(OpenOptions::new().read(true), path)?;
    let skipped = file.metadata()?.len().saturating_sub(MAX_FILE_BYTES);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    // The first line of an end is no JSON string, or a part of one.
    let partial = usize::from(skipped > 0);
    let lines = bytes.split(|byte| *byte == b'\n').skip(partial);
    let texts = lines.filter_map(|line| serde_json::from_slice(line).ok());
    Ok((texts.collect(), skipped == 0))
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
    }
    let mut file = open(OpenOptions::new().append(true).create(true), path)?;
    file.write_all(line(text).as_bytes())
}

/// Replaces the file, of which another process reads the old one or the new one.
fn rewrite(path: &Path, entries: &[String]) -> io::Result<()> {
    let new = path.with_extension(format!("new-{}", std::process::id()));
    let mut file = open(OpenOptions::new().write(true).create_new(true), &new)?;
    let text: String = entries.iter().map(|entry| line(entry)).collect();
    let written = file.write_all(text.as_bytes());
    let replaced = written.and_then(|()| fs::rename(&new, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&new);
    }
    replaced
}

fn line(text: &str) -> String {
    format!("{}\n", serde_json::Value::from(text))
}

/// Opens a regular file, for the user alone; a link is none.
fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let no_link = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(no_link.bits()).unwrap_or_default();
    let file = options.mode(0o600).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

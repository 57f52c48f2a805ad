//! The directory of a session: numbered entries, and the contents that they name.

use crate::{record::Record, state::PathState, writer::UndoWriter};
use agent_host_types::id::{CallId, Digest};
use std::{
    collections::HashSet,
    fs::{self, DirBuilder, File, Metadata, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
    time::{SystemTime, UNIX_EPOCH},
};

/// The default size of the log of a session, in bytes: 64 MiB.
pub const DEFAULT_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The name of the directory with the contents.
const CONTENTS: &str = "contents";

/// The end of the names of entries.
const SUFFIX: &str = ".jsonl";

/// Held for reading from the storing of a content to the writing of the line that names it, and for
/// writing while unused contents are removed.
pub(crate) static CONTENTS_IN_USE: RwLock<()> = RwLock::new(());

/// The undo log of a session. One process at a time uses it: the one that holds the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoLog {
    dir: PathBuf,
    max_bytes: u64,
}

/// An entry: what one run of a call has changed.
#[derive(Debug)]
pub(crate) struct LogEntry {
    pub(crate) call: CallId,
    pub(crate) records: Vec<Record>,
}

impl UndoLog {
    /// The log in a directory, which is made with mode 0700 when something is written to it. Older
    /// entries are removed where it would hold more than `max_bytes`.
    #[must_use]
    pub fn new(dir: PathBuf, max_bytes: u64) -> Self {
        Self { dir, max_bytes }
    }

    /// Returns the writer for one run of a call.
    #[must_use]
    pub fn writer(&self, call: &CallId) -> UndoWriter {
        UndoWriter::new(self.clone(), call.clone())
    }

    /// Returns the calls that have entries.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn calls(&self) -> io::Result<HashSet<CallId>> {
        let numbers = self.numbers()?.into_iter();
        let calls = numbers.map(|number| Ok(self.entry(number)?.call));
        calls.collect()
    }

    /// Returns the bytes that one call may keep.
    pub(crate) fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// Returns the numbers of the entries, in order.
    pub(crate) fn numbers(&self) -> io::Result<Vec<u64>> {
        let mut numbers: Vec<u64> = names(&self.dir)?
            .iter()
            .filter_map(|name| name.strip_suffix(SUFFIX)?.parse().ok())
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Reads an entry. Its last line may be cut off, if the program was killed.
    pub(crate) fn entry(&self, number: u64) -> io::Result<LogEntry> {
        let text = fs::read(self.entry_file(number))?;
        let mut records = Vec::new();
        let mut call = CallId(String::new());
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = line.ends_with(b"\n");
            match serde_json::from_slice(line) {
                Ok(Record::Call { call: found }) => call = found,
                Ok(record) => records.push(record),
                Err(_) if !is_whole => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(LogEntry { call, records })
    }

    /// Creates the next entry, and removes the oldest ones where the log is too large.
    pub(crate) fn create_entry(&self, call: &CallId) -> io::Result<(u64, File)> {
        private_dir(&self.dir.join(CONTENTS))?;
        let next = self.numbers()?.last().map_or(0, |last| last + 1);
        let mut number = next.max(now_us());
        let mut file = loop {
            // Another call may be faster.
            match private_file(&self.entry_file(number)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                other => break other?,
            }
        };
        write_line(&mut file, &Record::Call { call: call.clone() })?;
        self.remove_oldest(number)?;
        Ok((number, file))
    }

    /// Removes an entry.
    pub(crate) fn remove(&self, number: u64) -> io::Result<()> {
        fs::remove_file(self.entry_file(number))
    }

    /// Stores a content, if it is not there yet.
    pub(crate) fn store(&self, content: &[u8]) -> io::Result<Digest> {
        let digest = Digest::of(content);
        let path = self.content_file(digest);
        if path.exists() {
            return Ok(digest);
        }
        // Written under another name, so that no file has part of its content.
        let call = std::thread::current().id();
        let new = path.with_extension(format!("{call:?}"));
        let _ = fs::remove_file(&new);
        private_file(&new)?.write_all(content)?;
        fs::rename(&new, &path)?;
        Ok(digest)
    }

    pub(crate) fn content(&self, digest: Digest) -> io::Result<Vec<u8>> {
        let content = fs::read(self.content_file(digest))?;
        if Digest::of(&content) == digest {
            Ok(content)
        } else {
            let why = "a stored file of the undo log is damaged";
            Err(io::Error::new(io::ErrorKind::InvalidData, why))
        }
    }

    /// Removes the oldest entries before `newest` while the log is too large.
    fn remove_oldest(&self, newest: u64) -> io::Result<()> {
        for number in self.numbers()? {
            if number >= newest || self.bytes()? <= self.max_bytes {
                return Ok(());
            }
            self.remove(number)?;
            self.remove_unused()?;
        }
        Ok(())
    }

    fn bytes(&self) -> io::Result<u64> {
        let mut bytes = 0;
        for dir in [self.dir.clone(), self.dir.join(CONTENTS)] {
            for name in names(&dir)? {
                let found = dir.join(name).symlink_metadata();
                let file = found.ok().filter(Metadata::is_file);
                bytes += file.map_or(0, |file| file.len());
            }
        }
        Ok(bytes)
    }

    /// Removes the contents that no entry names.
    pub(crate) fn remove_unused(&self) -> io::Result<()> {
        let _alone = CONTENTS_IN_USE
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let mut used = HashSet::new();
        for number in self.numbers()? {
            let entry = match self.entry(number) {
                // A damaged one restores nothing, and must not keep tools from writing.
                Err(error) if is_damage(&error) => {
                    self.remove(number)?;
                    continue;
                }
                entry => entry?,
            };
            used.extend(entry.records.into_iter().filter_map(|record| match record {
                Record::Before {
                    state: PathState::File { digest, .. },
                    ..
                } => Some(digest.hex()),
                _ => None,
            }));
        }
        let contents = self.dir.join(CONTENTS);
        for name in names(&contents)? {
            if !used.contains(&name) {
                fs::remove_file(contents.join(name))?;
            }
        }
        Ok(())
    }

    fn entry_file(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{number:020}{SUFFIX}"))
    }

    fn content_file(&self, digest: Digest) -> PathBuf {
        self.dir.join(CONTENTS).join(digest.hex())
    }
}

fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}

/// Returns the time in microseconds since 1970, by which entries of several logs are in order.
fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_micros()).unwrap_or(0))
}

/// Writes a line in one call, so that one that is cut off is the last one. Returns its bytes.
pub(crate) fn write_line(file: &mut File, record: &Record) -> io::Result<u64> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    file.write_all(&line)?;
    Ok(line.len() as u64)
}

/// Returns the names in a directory; none if it does not exist.
fn names(dir: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Creates a file that does not exist.
fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

//! `agent.lock` beside `agent.toml`: the accepted components from files, and MCP servers. Built-in
//! components are not in it: with the binary, the operator accepted them.

use crate::{
    config::{Config, shortened},
    lock_diff::difference,
    trusted_file::{self, FileError, Versioned},
};
use agent_host_types::{
    failure::ToolErrorCode,
    lock::{Change, LOCK_VERSION, Lock, LockEntry, LockStatus},
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// The maximum size of a lock, in bytes: one component has at most 4 MiB of definitions, and most
/// have 20 KiB.
const MAX_LOCK_BYTES: u64 = 32 * 1024 * 1024;

/// The maximum number of lines of a difference in an error; `agent-host lock` shows them all.
const SHOWN_LINES: usize = 40;

/// The lock of one configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockFile {
    /// The path of the file. It may not exist.
    pub path: PathBuf,
    /// The content of the file.
    pub lock: Lock,
}

/// Why `agent.lock` cannot be used, or does not accept a component.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not a lock of a known version.
    #[error(
        "{} {source}. Restore it, or review the components with `agent-host inspect`, delete it, and accept them \
         again with `agent-host lock --accept`",
        path.display()
    )]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Why.
        source: InvalidLock,
    },
    /// A component or a server is not the accepted one.
    #[error(
        "the {kind} `{name}` has changed since it was accepted in {} ({}), so nothing runs:\n{difference}\nRun \
         `agent-host lock --accept {name}` to accept it, or restore the old {kind}",
        path.display(), ToolErrorCode::ChangedSinceApproval
    )]
    Changed {
        /// [`LockEntry::kind`].
        kind: &'static str,
        /// Its name in the configuration.
        name: String,
        /// The lock.
        path: PathBuf,
        /// The differences, a line each.
        difference: String,
    },
    /// The file cannot be written.
    #[error(
        "cannot write {}: {source}. Accept the components where the directory is writable, with `agent-host lock \
         --accept`, and copy agent.lock here",
        path.display()
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file would be too long to be read again.
    #[error(
        "{} would have {bytes} bytes, and the maximum is {MAX_LOCK_BYTES}. Remove a component with very many tools \
         from agent.toml",
        path.display()
    )]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: usize,
    },
}

/// Why a text is not a lock, as the end of a sentence about its file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLock {
    /// It does not have the form of one.
    #[error("is not a lock file: line {line}: {reason}")]
    Form {
        /// The line, from 1.
        line: usize,
        /// Why it cannot be read. It quotes text of the file, which is not escaped.
        reason: String,
    },
    /// It has another version.
    #[error("has version {0}, and this program reads version {LOCK_VERSION}")]
    Version(u32),
}

impl InvalidLock {
    fn of_form(error: &toml::de::Error, text: &str) -> Self {
        let before = error.span().and_then(|span| text.get(..span.start));
        Self::Form {
            line: before.map_or(1, |before| before.matches('\n').count() + 1),
            reason: shortened(error.message().trim_end().to_owned()),
        }
    }
}

impl LockFile {
    /// Reads the lock of a configuration; none without an `agent.toml`: a component of the command
    /// line is accepted by being named.
    ///
    /// # Errors
    /// The file cannot be read, every user may write to it, or it is not a lock of a known version.
    pub fn open(config: &Config) -> Result<Option<Self>, LockError> {
        config.file.as_deref().map(Self::beside).transpose()
    }

    /// Reads the lock beside this `agent.toml`.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn beside(file: &Path) -> Result<Self, LockError> {
        let path = file.with_file_name("agent.lock");
        let lock = match trusted_file::read(&path, MAX_LOCK_BYTES) {
            Ok(text) => Self::parse(&text).map_err(|source| LockError::Invalid {
                path: path.clone(),
                source,
            })?,
            Err(FileError {
                kind: io::ErrorKind::NotFound,
                ..
            }) => Lock::default(),
            Err(error) => {
                let source = error.into();
                return Err(LockError::Read { path, source });
            }
        };
        Ok(Self { path, lock })
    }

    pub(crate) fn parse(text: &str) -> Result<Lock, InvalidLock> {
        // The version first: the other keys are those of that version.
        let form = |error| InvalidLock::of_form(&error, text);
        let Versioned { version } = toml::from_str(text).map_err(form)?;
        if version != LOCK_VERSION {
            return Err(InvalidLock::Version(version));
        }
        toml::from_str(text).map_err(form)
    }

    /// Checks a component or a server against the lock. A new one is accepted and written; a
    /// changed one is refused.
    ///
    /// # Errors
    /// It is not the accepted one, or a new one cannot be written.
    pub fn admit(&mut self, name: &str, current: LockEntry) -> Result<(), LockError> {
        match self.lock.status(name, &current) {
            LockStatus::Same => Ok(()),
            LockStatus::New => {
                self.lock.accept(name.to_owned(), current);
                self.write()
            }
            LockStatus::Changed(changes) => Err(self.refusal(name, &current, &changes)),
        }
    }

    fn refusal(&self, name: &str, current: &LockEntry, changes: &[Change]) -> LockError {
        let kind = current.kind();
        let mut lines = difference(changes);
        let more = lines.len().saturating_sub(SHOWN_LINES);
        if more > 0 {
            lines.truncate(SHOWN_LINES);
            lines.push(format!(
                "  ... and {more} more lines, which `agent-host lock` shows"
            ));
        }
        LockError::Changed {
            kind,
            name: name.to_owned(),
            path: self.path.clone(),
            difference: lines.join("\n"),
        }
    }

    /// Writes the lock, in one step: a reader sees the old one or the new one.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn write(&self) -> Result<(), LockError> {
        let fault = |source| LockError::Write {
            path: self.path.clone(),
            source,
        };
        let text = Self::text(&self.lock).map_err(|error| fault(io::Error::other(error)))?;
        if text.len() as u64 > MAX_LOCK_BYTES {
            return Err(LockError::TooLong {
                path: self.path.clone(),
                bytes: text.len(),
            });
        }
        trusted_file::replace(&self.path, &text, 0o644).map_err(fault)
    }

    fn text(lock: &Lock) -> Result<String, toml::ser::Error> {
        let body = toml::to_string_pretty(lock)?;
        Ok(format!(
            "# What the operator accepted. Written by `agent-host lock --accept`.\n{body}"
        ))
    }
}

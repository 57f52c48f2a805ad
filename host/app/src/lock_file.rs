//! `agent.lock` on the disk, beside `agent.toml`: components from files, and MCP servers. Components in the binary are not in it: the binary itself is what the
//! operator accepted.

#[cfg(test)]
mod tests;

use crate::{config::Config, error::OpenError, lock_diff::difference, trusted_file};
use agent_host_types::{
    failure::ToolErrorCode,
    lock::{Change, LOCK_VERSION, Lock, LockEntry, LockStatus},
};
use serde::Deserialize;
use std::path::PathBuf;

/// The longest lock that is read, in bytes: definitions of 4 MiB are taken from one component, and most have 20 KiB.
const MAX_LOCK_BYTES: u64 = 32 * 1024 * 1024;

/// The lines of a difference that a refusal shows; `agent-host lock` shows them all.
const SHOWN_LINES: usize = 40;

/// The lock of one configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockFile {
    /// Where it lies.
    pub path: PathBuf,
    /// What it says.
    pub lock: Lock,
}

/// What every version of the file has.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl LockFile {
    /// Reads the lock of a configuration; nothing when there is no `agent.toml`: a component that is named on the command
    /// line is accepted by being named.
    ///
    /// # Errors
    /// When the file cannot be read, everybody may write to it, or it is not a lock that this program knows.
    pub fn open(config: &Config) -> Result<Option<Self>, OpenError> {
        let Some(folder) = config.file.as_ref().and_then(|file| file.parent()) else {
            return Ok(None);
        };
        let path = folder.join("agent.lock");
        let lock = match trusted_file::read(&path, MAX_LOCK_BYTES) {
            Ok(text) => Self::parse(&text).map_err(|why| {
                OpenError::usage(format!(
                    "{} {why}. Restore it, or look at the components with `agent-host inspect`, delete it and accept them anew with `agent-host lock --accept`",
                    path.display()
                ))
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Lock::default(),
            Err(error) => {
                let path = path.display();
                return Err(OpenError::usage(format!("cannot read {path}: {error}")));
            }
        };
        Ok(Some(Self { path, lock }))
    }

    /// Reads the text of a lock, or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Lock, String> {
        let broken = |error: toml::de::Error| format!("is not a lock file: {error}");
        // The version first: the other keys are those of that version.
        let Versioned { version } = toml::from_str(text).map_err(broken)?;
        if version != LOCK_VERSION {
            return Err(format!(
                "has version {version}, and this program reads version {LOCK_VERSION}"
            ));
        }
        toml::from_str(text).map_err(broken)
    }

    /// Checks a component or a server against the lock. One that was never accepted is accepted now and written down; one that
    /// changed is refused.
    ///
    /// # Errors
    /// When it is not what was accepted, or what is new cannot be written down.
    pub fn admit(&mut self, name: &str, current: LockEntry) -> Result<(), OpenError> {
        match self.lock.status(name, &current) {
            LockStatus::Same => Ok(()),
            LockStatus::New => {
                self.lock.accept(name.to_owned(), current);
                self.write()
            }
            LockStatus::Changed(changes) => Err(self.refusal(name, &current, &changes)),
        }
    }

    fn refusal(&self, name: &str, current: &LockEntry, changes: &[Change]) -> OpenError {
        let what = match current {
            LockEntry::Component(_) => "component",
            LockEntry::Server(_) => "MCP server",
        };
        let mut lines = difference(changes);
        if let Some(more) = lines
            .len()
            .checked_sub(SHOWN_LINES)
            .filter(|more| *more > 0)
        {
            lines.truncate(SHOWN_LINES);
            lines.push(format!(
                "  ... and {more} lines more, which `agent-host lock` shows"
            ));
        }
        OpenError::usage(format!(
            "the {what} `{name}` changed since it was accepted in {} ({}), so nothing runs:\n{}\nIf this is what you want, accept it with `agent-host lock --accept {name}`; else bring the old {what} back",
            self.path.display(),
            ToolErrorCode::ChangedSinceApproval,
            lines.join("\n"),
        ))
    }

    /// Writes the lock, in one step: a reader sees the old one or the new one.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn write(&self) -> Result<(), OpenError> {
        let fault = |error: &dyn std::fmt::Display| {
            OpenError::usage(format!(
                "cannot write {}: {error}. Accept the components where the folder can be written, with `agent-host lock --accept`, and bring agent.lock along",
                self.path.display()
            ))
        };
        let text = Self::text(&self.lock).map_err(|error| fault(&error))?;
        if text.len() as u64 > MAX_LOCK_BYTES {
            return Err(OpenError::usage(format!(
                "{} would have {} bytes, more than the {MAX_LOCK_BYTES} that are read. Remove a component with very many tools from agent.toml",
                self.path.display(),
                text.len()
            )));
        }
        trusted_file::replace(&self.path, &text, 0o644).map_err(|error| fault(&error))
    }

    /// Returns the text of a lock.
    fn text(lock: &Lock) -> Result<String, toml::ser::Error> {
        let body = toml::to_string_pretty(lock)?;
        Ok(format!(
            "# What the operator accepted. Written by `agent-host lock --accept`.\n{body}"
        ))
    }
}

//! `agent.lock` beside `agent.toml`: the accepted components from files, and MCP servers. Built-in
//! components are not in it: with the binary, the operator accepted them.

use crate::{
    config::{Config, shortened},
    error::HostError,
    lock_diff::difference,
    trusted_file::{self, FileError, Versioned},
};
use agent_host_types::{
    failure::ToolErrorCode,
    lock::{Change, LOCK_VERSION, Lock, LockEntry, LockStatus},
    reason::Reason,
};
use std::{
    fmt::Display,
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
    /// Whether it stays as it is ([`Config::locked`]).
    is_fixed: bool,
}

impl LockFile {
    /// Reads the lock of a configuration; none without an `agent.toml`, unless only what it has may
    /// run: a component of the command line is accepted by being named.
    ///
    /// # Errors
    /// The file cannot be read, every user may write to it, or it is not a lock of a known version.
    pub fn open(config: &Config) -> Result<Option<Self>, HostError> {
        let absent = config.locked.then(|| config.project_dir.join("agent.toml"));
        let file = config.file.clone().or(absent);
        let file = file.as_deref().map(Self::beside).transpose()?;
        Ok(file.map(|file| Self {
            is_fixed: config.locked,
            ..file
        }))
    }

    /// Reads the lock beside this `agent.toml`.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn beside(file: &Path) -> Result<Self, HostError> {
        let path = file.with_file_name("agent.lock");
        let lock = match trusted_file::read(&path, MAX_LOCK_BYTES) {
            Ok(text) => Self::parse(&text).map_err(|why| {
                Reason::from(format!(
                    "{} {why}. Restore it, or review the components with `agent-host inspect`, delete it, and accept \
                     them again with `agent-host lock --accept`",
                    path.display()
                ))
            })?,
            Err(FileError {
                kind: io::ErrorKind::NotFound,
                ..
            }) => Lock::default(),
            Err(error) => {
                let why = io::Error::from(error);
                let why = format!("cannot read {}: {why}", path.display());
                return Err(Reason::from(why).into());
            }
        };
        Ok(Self {
            path,
            lock,
            is_fixed: false,
        })
    }

    /// Parses a lock. The reason is the end of a sentence about its file.
    pub(crate) fn parse(text: &str) -> Result<Lock, Reason> {
        // The version first: the other keys are those of that version.
        let form = |error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map_or(1, |before| before.matches('\n').count() + 1);
            let reason = shortened(error.message().trim_end().to_owned());
            Reason::from(format!("is not a lock file: line {line}: {reason}"))
        };
        let Versioned { version } = toml::from_str(text).map_err(form)?;
        if version != LOCK_VERSION {
            let why =
                format!("has version {version}, and this program reads version {LOCK_VERSION}");
            return Err(why.into());
        }
        toml::from_str(text).map_err(form)
    }

    /// Refuses what is configured and not in a fixed lock, before anything of it is loaded.
    ///
    /// # Errors
    /// Something is new.
    pub(crate) fn check_known(&self, config: &Config) -> Result<(), HostError> {
        if !self.is_fixed {
            return Ok(());
        }
        let tools = config.tools.iter().map(|tool| (&tool.name, &tool.source));
        let hooks = config.hooks.iter().map(|hook| (&hook.name, &hook.source));
        let components = tools.chain(hooks);
        let components = components.filter(|(_, source)| !source.is_builtin());
        let servers = config.servers.iter().map(|server| &server.name);
        let skills = config.skills.iter().map(|skill| &skill.name);
        let new = components
            .map(|(name, _)| ("component", name, self.lock.tool.contains_key(name)))
            .chain(servers.map(|name| ("MCP server", name, self.lock.mcp.contains_key(name))))
            .chain(skills.map(|name| ("skill", name, self.lock.skill.contains_key(name))))
            .find(|(_, _, is_known)| !is_known);
        match new {
            Some((kind, name, _)) => Err(self.unknown(kind, name).into()),
            None => Ok(()),
        }
    }

    /// Checks a component or a server against the lock. A new one is accepted and written, unless
    /// the lock is fixed; a changed one is refused.
    ///
    /// # Errors
    /// It is not the accepted one, or a new one cannot be written.
    pub fn admit(&mut self, name: &str, current: LockEntry) -> Result<(), HostError> {
        match self.lock.status(name, &current) {
            LockStatus::Same => Ok(()),
            LockStatus::New if self.is_fixed => Err(self.unknown(current.kind(), name).into()),
            LockStatus::New => {
                self.lock.accept(name.to_owned(), current);
                self.write()
            }
            LockStatus::Changed(changes) => Err(self.refusal(name, &current, &changes).into()),
        }
    }

    fn unknown(&self, kind: &str, name: &str) -> Reason {
        let path = self.path.display();
        let why = format!(
            "the {kind} `{name}` is not in {path}, and `--locked` accepts nothing new, so nothing runs. Review it with \
             `agent-host inspect {name}`, then accept it with `agent-host lock --accept {name}`"
        );
        why.into()
    }

    fn refusal(&self, name: &str, current: &LockEntry, changes: &[Change]) -> Reason {
        let kind = current.kind();
        let mut lines = difference(changes);
        let more = lines.len().saturating_sub(SHOWN_LINES);
        if more > 0 {
            lines.truncate(SHOWN_LINES);
            lines.push(format!(
                "  ... and {more} more lines, which `agent-host lock` shows"
            ));
        }
        let (path, difference) = (self.path.display(), lines.join("\n"));
        let code = ToolErrorCode::ChangedSinceApproval;
        let why = format!(
            "the {kind} `{name}` has changed since it was accepted in {path} ({code}), so nothing runs:\n{difference}\n\
             Run `agent-host lock --accept {name}` to accept it, or restore the old {kind}"
        );
        why.into()
    }

    /// Writes the lock, in one step: a reader sees the old one or the new one.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn write(&self) -> Result<(), HostError> {
        let path = self.path.display();
        if self.is_fixed {
            let why = format!("`--locked` leaves {path} as it is; run this command without it");
            return Err(Reason::from(why).into());
        }
        let fault = |why: &dyn Display| {
            Reason::from(format!(
                "cannot write {path}: {why}. Accept the components where the directory is writable, with `agent-host \
                 lock --accept`, and copy agent.lock here"
            ))
        };
        let text = Self::text(&self.lock).map_err(|error| fault(&error))?;
        let bytes = text.len();
        if bytes as u64 > MAX_LOCK_BYTES {
            let why = format!(
                "{path} would have {bytes} bytes, and the maximum is {MAX_LOCK_BYTES}. Remove a component with very \
                 many tools from agent.toml"
            );
            return Err(Reason::from(why).into());
        }
        trusted_file::replace(&self.path, &text, 0o644).map_err(|error| fault(&error))?;
        Ok(())
    }

    fn text(lock: &Lock) -> Result<String, toml::ser::Error> {
        let body = toml::to_string_pretty(lock)?;
        Ok(format!(
            "# What the operator accepted. Written by `agent-host lock --accept`.\n{body}"
        ))
    }
}

//! `agent.lock` on the disk, beside `agent.toml`. Components in the binary are not in it: the binary itself is what the
//! operator accepted.

use crate::{config::Config, error::OpenError};
use agent_host_core::lock::{LOCK_VERSION, Lock, LockStatus, LockedTool};
use std::{io::Write as _, path::PathBuf};

/// The lock of one configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockFile {
    /// Where it lies.
    pub path: PathBuf,
    /// What it says.
    pub lock: Lock,
}

impl LockFile {
    /// Reads the lock of a configuration; nothing when there is no `agent.toml`: a component that is named on the command
    /// line is accepted by being named.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a lock that this program knows.
    pub fn open(config: &Config) -> Result<Option<Self>, OpenError> {
        let Some(folder) = config.file.as_ref().and_then(|file| file.parent()) else {
            return Ok(None);
        };
        let path = folder.join("agent.lock");
        let lock = match std::fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text).map_err(|error| {
                OpenError::usage(format!(
                    "{} is not a lock file: {error}. Restore it, or delete it and accept the tools anew with `agent-host lock --accept`",
                    path.display()
                ))
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Lock::default(),
            Err(error) => return Err(OpenError::usage(format!("cannot read {}: {error}", path.display()))),
        };
        if lock.version != LOCK_VERSION {
            return Err(OpenError::usage(format!(
                "{} has version {}; this program reads version {LOCK_VERSION}. Use the program that wrote it, or accept the tools anew",
                path.display(),
                lock.version
            )));
        }
        Ok(Some(Self { path, lock }))
    }

    /// Checks a component against the lock. One that was never accepted is accepted now and written down; one that changed
    /// is refused.
    ///
    /// # Errors
    /// When the component is not what was accepted, or what is new cannot be written down.
    pub fn admit(&mut self, name: &str, current: LockedTool) -> Result<(), OpenError> {
        let what = match self.lock.status(name, &current) {
            LockStatus::Same => return Ok(()),
            LockStatus::New => {
                self.lock.tool.insert(name.to_owned(), current);
                return self.write();
            }
            LockStatus::ComponentChanged => "its code is not what was accepted",
            LockStatus::DefinitionsChanged => {
                "what it tells the model about its tools is not what was accepted"
            }
        };
        Err(OpenError::usage(format!(
            "the tool `{name}` changed since it was accepted in {}: {what}. Look at it with `agent-host inspect {name}`, and if it is right, accept it with `agent-host lock --accept`",
            self.path.display()
        )))
    }

    /// Writes the lock, in one step: a reader sees the old one or the new one.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn write(&self) -> Result<(), OpenError> {
        let fault = |error: &dyn std::fmt::Display| {
            OpenError::usage(format!(
                "cannot write {}: {error}. Accept the tools where the folder can be written, with `agent-host lock --accept`, and bring agent.lock along",
                self.path.display()
            ))
        };
        let body = toml::to_string_pretty(&self.lock).map_err(|error| fault(&error))?;
        let text =
            format!("# What the operator accepted. Written by `agent-host lock --accept`.\n{body}");
        let temporary = self
            .path
            .with_extension(format!("lock.{}", std::process::id()));
        let written = std::fs::File::create(&temporary)
            .and_then(|mut file| {
                file.write_all(text.as_bytes())
                    .and_then(|()| file.sync_all())
            })
            .and_then(|()| std::fs::rename(&temporary, &self.path));
        written.map_err(|error| {
            // What is left of a failed attempt helps nobody; that it cannot be removed either is no further fault.
            let _ = std::fs::remove_file(&temporary);
            fault(&error)
        })
    }
}

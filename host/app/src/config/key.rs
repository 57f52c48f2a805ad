//! Where a model server's key is, and reading it. A key never appears in a configuration file, a message or a log.

use super::{ConfigError, Environment, paths::place};
use secrecy::SecretString;
use std::{
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// The longest key, in bytes. Tokens of identity providers reach some KiB.
const MAX_KEY_BYTES: u64 = 16 * 1024;

/// How long a command may take to print a key; a person may have to unlock something meanwhile.
const COMMAND_PATIENCE: Duration = Duration::from_secs(60);

/// How often a running command is looked at.
const COMMAND_POLL: Duration = Duration::from_millis(20);

/// Where a key is.
#[derive(Clone, Debug)]
pub(super) enum KeySource {
    /// There is none; a server without keys needs none.
    None,
    /// In an environment variable.
    Variable {
        name: String,
        /// Absent when it is not set.
        value: Option<SecretString>,
    },
    /// In a file.
    File(PathBuf),
    /// On the standard output of a shell command.
    Command(String),
}

impl KeySource {
    /// Reads `env:NAME`, `file:PATH` or `cmd:COMMAND`. The text is not repeated in errors: it may be a key.
    pub(super) fn parse(
        text: &str,
        base: &Path,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() => Ok(Self::variable(name, environment)),
            Some(("file", path)) if !path.is_empty() => {
                Ok(Self::File(place(path, base, environment)?))
            }
            Some(("cmd", command)) if !command.trim().is_empty() => {
                Ok(Self::Command(command.to_owned()))
            }
            Some(_) | None => Err(ConfigError::new(
                "`api-key` under [openai-compat] does not say where the key is; a key itself has no place in a file that is \
                 shared and committed: write `env:NAME`, `file:PATH` or `cmd:COMMAND` (and replace a key that was there)",
            )),
        }
    }

    pub(super) fn variable(name: &str, environment: &Environment) -> Self {
        Self::Variable {
            name: name.to_owned(),
            value: environment.variable(name).map(SecretString::from),
        }
    }

    /// Where a person sets the key, for messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::None => super::model::KEY_VARIABLE.to_owned(),
            Self::Variable { name, .. } => name.clone(),
            Self::File(path) => path.display().to_string(),
            Self::Command(_) => "the command in `api-key`".to_owned(),
        }
    }

    /// Reads the key, which may run the command.
    pub(super) fn read(&self) -> Result<Option<SecretString>, ConfigError> {
        match self {
            Self::None => Ok(None),
            Self::Variable {
                value: Some(value), ..
            } => Ok(Some(value.clone())),
            Self::Variable { name, value: None } => Err(ConfigError::new(format!(
                "the model server's key should be in the variable {name}, which is not set; set it, or change `api-key` \
                 under [openai-compat]"
            ))),
            Self::File(path) => {
                let mut bytes = Vec::new();
                let read = std::fs::File::open(path)
                    .and_then(|file| file.take(MAX_KEY_BYTES + 1).read_to_end(&mut bytes));
                let place = format!("the file {}", path.display());
                read.map_err(|error| unreadable(&place, &error))?;
                key(&place, bytes).map(Some)
            }
            Self::Command(command) => run(command).map(Some),
        }
    }
}

fn unreadable(place: &str, why: &dyn std::fmt::Display) -> ConfigError {
    ConfigError::new(format!(
        "cannot read the model server's key from {place}: {why}; correct `api-key` under [openai-compat]"
    ))
}

/// One line of text, without the spaces and the line end around it.
fn key(place: &str, bytes: Vec<u8>) -> Result<SecretString, ConfigError> {
    if bytes.len() as u64 > MAX_KEY_BYTES {
        return Err(unreadable(
            place,
            &format!("there are more than {MAX_KEY_BYTES} bytes"),
        ));
    }
    let text = String::from_utf8(bytes).map_err(|_| unreadable(place, &"it is not text"))?;
    let key = text.trim();
    if key.is_empty() {
        return Err(unreadable(place, &"it is empty"));
    }
    if key.contains(char::is_control) {
        return Err(unreadable(place, &"there is more than one line"));
    }
    Ok(SecretString::from(key))
}

/// Runs the command in the shell. What it says on stderr reaches the person; it reads nothing from stdin.
fn run(command: &str) -> Result<SecretString, ConfigError> {
    let place = "the command in `api-key`";
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| unreadable(place, &error))?;
    let began = Instant::now();
    // A key fits the pipe, so the command can end before it is read; one that prints more runs out of time.
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if began.elapsed() < COMMAND_PATIENCE => std::thread::sleep(COMMAND_POLL),
            Ok(None) => {
                // It may have ended by itself in this moment, which is as well.
                let _ = child.kill();
                let _ = child.wait();
                return Err(unreadable(
                    place,
                    &format!("it took longer than {} seconds", COMMAND_PATIENCE.as_secs()),
                ));
            }
            Err(error) => return Err(unreadable(place, &error)),
        }
    };
    if !status.success() {
        return Err(unreadable(place, &format!("it failed ({status})")));
    }
    let mut bytes = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout
            .take(MAX_KEY_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| unreadable(place, &error))?;
    }
    key(place, bytes)
}

//! Sources of keys and secrets, and reading them. Their text never appears in a configuration file,
//! a message or a log.

use super::{ConfigError, Environment, paths::Scope};
use secrecy::SecretString;
use std::{
    io::{self, Read as _},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

/// The maximum length of the text, in bytes. Tokens of identity providers reach some KiB.
const MAX_BYTES: u64 = 16 * 1024;

/// The time limit of a command; the user may have to unlock something meanwhile.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// The interval at which a running command is polled.
const COMMAND_POLL: Duration = Duration::from_millis(20);

/// The time that a signal which ended a command has to stop this process as well.
const SIGNAL_GRACE: Duration = Duration::from_millis(200);

/// The purpose of a source, for messages.
#[derive(Clone, Debug)]
pub(super) struct Purpose {
    /// The text that is there, such as "the model server's key".
    pub(super) what: String,
    /// The key that names the source, such as `api-key`.
    pub(super) setting: &'static str,
    /// The section or item of that key, such as "under [openai-compat]".
    pub(super) of: String,
}

/// The source of a key or a secret.
#[derive(Clone, Debug)]
pub(super) struct Source {
    purpose: Purpose,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
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

impl Source {
    /// Parses the value of `key`: `env:NAME`, `file:PATH` or `cmd:COMMAND`. Errors do not repeat
    /// the text, which may be the secret itself.
    pub(super) fn parse(
        text: &str,
        key: &str,
        purpose: Purpose,
        scope: Scope<'_>,
    ) -> Result<Self, ConfigError> {
        let kind = match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() => {
                return Ok(Self::variable(name, purpose, scope.environment));
            }
            Some(("file", path)) if !path.is_empty() => Kind::File(scope.resolve_path(key, path)?),
            Some(("cmd", command)) if !command.trim().is_empty() => {
                Kind::Command(command.to_owned())
            }
            Some(_) | None => {
                let Purpose { what, setting, of } = purpose;
                return Err(ConfigError::new(
                    key,
                    format!(
                        "`{setting}` {of} does not say where {what} is; the text itself has no \
                         place in a file that is shared and committed"
                    ),
                    "write `env:NAME`, `file:PATH` or `cmd:COMMAND` (and replace what was there)",
                ));
            }
        };
        Ok(Self { purpose, kind })
    }

    /// Creates the source of an environment variable.
    pub(super) fn variable(name: &str, purpose: Purpose, environment: &Environment) -> Self {
        Self {
            purpose,
            kind: Kind::Variable {
                name: name.to_owned(),
                value: environment.variable(name).map(SecretString::from),
            },
        }
    }

    /// Returns where the user sets it, for messages.
    pub(super) fn name(&self) -> String {
        match &self.kind {
            Kind::Variable { name, .. } => name.clone(),
            Kind::File(path) => path.display().to_string(),
            Kind::Command(_) => format!("the command in `{}`", self.purpose.setting),
        }
    }

    /// Returns the file, which no guest may see; absent for other sources.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.kind {
            Kind::File(path) => Some(path),
            Kind::Variable { .. } | Kind::Command(_) => None,
        }
    }

    /// Reads the text, which may open the file or run the command, and takes up to a minute.
    /// Dropping the future ends the command.
    ///
    /// # Errors
    /// The text is not there, or is not one line.
    pub(super) async fn read(&self) -> Result<SecretString, ConfigError> {
        match &self.kind {
            Kind::Variable {
                value: Some(value), ..
            } => Ok(value.clone()),
            Kind::Variable { name, value: None } => {
                let Purpose { what, setting, of } = &self.purpose;
                Err(ConfigError::new(
                    "",
                    format!("{what} should be in the variable {name}, which is not set"),
                    format!("set it, or change `{setting}` {of}"),
                ))
            }
            Kind::File(path) => {
                let mut bytes = Vec::new();
                std::fs::File::open(path)
                    .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
                    .map_err(|error| self.unusable(&error))?;
                self.line(bytes)
            }
            Kind::Command(command) => self.run(command).await,
        }
    }

    /// Returns the error for text that cannot be used.
    pub(super) fn unusable(&self, why: &dyn std::fmt::Display) -> ConfigError {
        let Purpose { what, setting, of } = &self.purpose;
        let source = match &self.kind {
            Kind::Variable { .. } => format!("the variable {}", self.name()),
            Kind::File(_) => format!("the file {}", self.name()),
            Kind::Command(_) => self.name(),
        };
        ConfigError::new(
            "",
            format!("cannot read {what} from {source}: {why}"),
            format!("correct `{setting}` {of}"),
        )
    }

    /// Checks that the bytes are one line of text, and trims it.
    fn line(&self, bytes: Vec<u8>) -> Result<SecretString, ConfigError> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(self.too_long());
        }
        let text = String::from_utf8(bytes).map_err(|_| self.unusable(&"it is not text"))?;
        let line = text.trim();
        if line.is_empty() {
            return Err(self.unusable(&"it is empty"));
        }
        if line.contains(char::is_control) {
            return Err(self.unusable(&"there is more than one line"));
        }
        Ok(SecretString::from(line))
    }

    /// Runs the command in the shell. Its stderr reaches the user; its stdin is empty.
    async fn run(&self, command: &str) -> Result<SecretString, ConfigError> {
        let child = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| self.unusable(&error))?;
        let mut running = Running(child);
        let mut printed = Printed::of(&mut running.0).map_err(|error| self.unusable(&error))?;
        let began = Instant::now();
        let status = loop {
            let status = running.0.try_wait();
            // After the poll: the output before its end is in the pipe.
            printed.read().map_err(|error| self.unusable(&error))?;
            if printed.bytes.len() as u64 > MAX_BYTES {
                return Err(self.too_long());
            }
            match status {
                Ok(Some(status)) => break status,
                Ok(None) if began.elapsed() < COMMAND_TIMEOUT => {
                    tokio::time::sleep(COMMAND_POLL).await;
                }
                Ok(None) => {
                    return Err(self.unusable(&format!(
                        "it took longer than {} seconds",
                        COMMAND_TIMEOUT.as_secs()
                    )));
                }
                Err(error) => return Err(self.unusable(&error)),
            }
        };
        if status.signal().is_some() {
            // Ctrl-C reaches the command and this process: the caller that stops for it comes first.
            tokio::time::sleep(SIGNAL_GRACE).await;
        }
        if !status.success() {
            return Err(self.unusable(&format!("it failed ({status})")));
        }
        self.line(printed.bytes)
    }

    fn too_long(&self) -> ConfigError {
        self.unusable(&format!("there are more than {MAX_BYTES} bytes"))
    }
}

/// The output of a command. Reading it never blocks, not even for a process that the command left
/// behind with its pipe.
struct Printed {
    pipe: ChildStdout,
    bytes: Vec<u8>,
}

impl Printed {
    fn of(command: &mut Child) -> io::Result<Self> {
        let no_pipe = || io::Error::other("it has no standard output");
        let pipe = command.stdout.take().ok_or_else(no_pipe)?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Self {
            pipe,
            bytes: Vec::new(),
        })
    }

    /// Takes the available bytes, up to one more than the maximum.
    fn read(&mut self) -> io::Result<()> {
        let left = (MAX_BYTES + 1).saturating_sub(self.bytes.len() as u64);
        match (&mut self.pipe).take(left).read_to_end(&mut self.bytes) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A command that is killed and reaped on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail if it has ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

//! Sources of keys and secrets, and reading them. Their text never appears in a configuration file,
//! a message or a log.

use super::{ConfigError, Environment, paths::Scope};
use agent_host_process::{Child, ChildKind};
use secrecy::SecretString;
use std::{
    io::{self, Read as _},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    pin::pin,
    process::{Command, Stdio},
    time::Duration,
};
use tokio::{io::AsyncReadExt as _, net::unix::pipe};

/// The maximum length of the text, in bytes. Tokens of identity providers reach some KiB.
const MAX_BYTES: u64 = 16 * 1024;

/// The time limit of a command; the user may have to unlock something meanwhile.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// The time for reading what an ended command printed, if another process holds the pipe open.
const PIPE_GRACE: Duration = Duration::from_millis(100);

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

impl Purpose {
    pub(super) fn new(
        what: impl Into<String>,
        setting: &'static str,
        of: impl Into<String>,
    ) -> Self {
        Self {
            what: what.into(),
            setting,
            of: of.into(),
        }
    }
}

/// A text of the configuration, which may be a secret all the same, or the source of one.
#[derive(Clone, Debug)]
pub(super) enum ConfigText {
    Literal(SecretString),
    Source(ValueSource),
}

impl ConfigText {
    /// Returns the text, which is read if it is in a source.
    ///
    /// # Errors
    /// It is not there, or is not one line.
    pub(super) async fn read(&self) -> Result<SecretString, ConfigError> {
        match self {
            Self::Literal(text) => Ok(text.clone()),
            Self::Source(source) => source.read().await,
        }
    }

    /// Returns the source of a text that is not written in the configuration.
    pub(super) fn source(&self) -> Option<&ValueSource> {
        match self {
            Self::Literal(_) => None,
            Self::Source(source) => Some(source),
        }
    }

    /// Returns the file with the text, which no guest may see.
    pub(super) fn file(&self) -> Option<&Path> {
        self.source()?.file()
    }
}

/// The source of a key or a secret.
#[derive(Clone, Debug)]
pub(super) struct ValueSource {
    purpose: Purpose,
    kind: SourceKind,
}

#[derive(Clone, Debug)]
enum SourceKind {
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

impl ValueSource {
    /// True for a text that begins as a source.
    pub(super) fn is_meant(text: &str) -> bool {
        let kinds = ["env:", "file:", "cmd:"];
        kinds.iter().any(|kind| text.starts_with(kind))
    }

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
            Some(("file", path)) if !path.is_empty() => {
                SourceKind::File(scope.resolve_path(key, path)?)
            }
            Some(("cmd", command)) if !command.trim().is_empty() => {
                SourceKind::Command(command.to_owned())
            }
            Some(_) | None => {
                let Purpose { what, setting, of } = purpose;
                return Err(ConfigError::new(
                    key,
                    format!(
                        "`{setting}` {of} does not name the source of {what}; the value itself does not belong in a \
                         file that is shared and committed"
                    ),
                    "write `env:NAME`, `file:PATH` or `cmd:COMMAND` (and change the exposed value)",
                ));
            }
        };
        Ok(Self { purpose, kind })
    }

    /// Creates the source of an environment variable.
    pub(super) fn variable(name: &str, purpose: Purpose, environment: &Environment) -> Self {
        Self {
            purpose,
            kind: SourceKind::Variable {
                name: name.to_owned(),
                value: environment.variable(name).map(SecretString::from),
            },
        }
    }

    /// Returns where the user sets it, for messages.
    pub(super) fn name(&self) -> String {
        match &self.kind {
            SourceKind::Variable { name, .. } => name.clone(),
            SourceKind::File(path) => path.display().to_string(),
            SourceKind::Command(_) => format!("the command in `{}`", self.purpose.setting),
        }
    }

    /// Returns the file, which no guest may see; absent for other sources.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.kind {
            SourceKind::File(path) => Some(path),
            SourceKind::Variable { .. } | SourceKind::Command(_) => None,
        }
    }

    /// Reads the text, which may open the file or run the command, and takes up to a minute.
    /// Dropping the future ends the command.
    ///
    /// # Errors
    /// The text is not there, or is not one line.
    pub(super) async fn read(&self) -> Result<SecretString, ConfigError> {
        match &self.kind {
            SourceKind::Variable {
                value: Some(value), ..
            } => Ok(value.clone()),
            SourceKind::Variable { name, value: None } => {
                let Purpose { what, setting, of } = &self.purpose;
                Err(ConfigError::new(
                    "",
                    format!("{what} should be in the variable {name}, which is not set"),
                    format!("set it, or change `{setting}` {of}"),
                ))
            }
            SourceKind::File(path) => {
                let mut bytes = Vec::new();
                std::fs::File::open(path)
                    .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
                    .map_err(|error| self.unusable(&error))?;
                self.line(bytes)
            }
            SourceKind::Command(command) => self.run(command).await,
        }
    }

    /// Returns the error for text that cannot be used.
    pub(super) fn unusable(&self, why: &dyn std::fmt::Display) -> ConfigError {
        let Purpose { what, setting, of } = &self.purpose;
        let source = match &self.kind {
            SourceKind::Variable { .. } => format!("the variable {}", self.name()),
            SourceKind::File(_) => format!("the file {}", self.name()),
            SourceKind::Command(_) => self.name(),
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
            return Err(self.unusable(&"it has more than one line"));
        }
        Ok(SecretString::from(line))
    }

    /// Runs the command in the shell. Its stderr reaches the user; its stdin is empty.
    async fn run(&self, command: &str) -> Result<SecretString, ConfigError> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let started = Child::spawn(shell, ChildKind::Foreground).await;
        let (mut child, pipes) = started.map_err(|error| self.unusable(&error))?;
        let ended = tokio::time::timeout(COMMAND_TIMEOUT, printed(&mut child, pipes.output));
        let printed = ended.await.map_err(|_| {
            let limit = COMMAND_TIMEOUT.as_secs();
            self.unusable(&format!("it took longer than {limit} seconds"))
        })?;
        let bytes = printed.map_err(|error| self.unusable(&error))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(self.too_long());
        }
        let status = child.status();
        if status.is_some_and(|status| status.signal().is_some()) {
            // Ctrl-C reaches the command and this process: the caller that stops for it comes
            // first.
            tokio::time::sleep(SIGNAL_GRACE).await;
        }
        match status {
            Some(status) if status.success() => self.line(bytes),
            Some(status) => Err(self.unusable(&format!("it failed ({status})"))),
            None => Err(self.unusable(&"cannot read its status")),
        }
    }

    fn too_long(&self) -> ConfigError {
        self.unusable(&format!("it has more than {MAX_BYTES} bytes"))
    }
}

/// Returns what a command prints until its end, at most one byte more than the maximum. A process
/// that the command left behind may hold the pipe open, so it is not read to its end.
async fn printed(child: &mut Child, output: Option<pipe::Receiver>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let Some(output) = output else {
        return Ok(bytes);
    };
    let mut output = output.take(MAX_BYTES + 1);
    {
        let mut read = pin!(output.read_to_end(&mut bytes));
        tokio::select! {
            read = &mut read => { read?; }
            _ = child.wait() => {
                // The output before its end is in the pipe.
                if let Ok(read) = tokio::time::timeout(PIPE_GRACE, read).await {
                    read?;
                }
            }
        }
    }
    if bytes.len() as u64 <= MAX_BYTES {
        child.wait().await;
    }
    Ok(bytes)
}

/// The parts of words that tell a secret by the name of its variable.
const SECRET_PARTS: [&str; 7] = [
    "AUTHORIZATION",
    "TOKEN",
    "SECRET",
    "PASSW",
    "PASSPHRASE",
    "CREDENTIAL",
    "APIKEY",
];

/// The words that tell a secret by the name of its variable.
const SECRET_WORDS: [&str; 7] = ["KEY", "PASS", "AUTH", "BEARER", "COOKIE", "JWT", "PAT"];

/// True if the name of a variable says that its value is a secret.
pub(super) fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| {
        SECRET_PARTS.iter().any(|part| word.contains(part)) || SECRET_WORDS.contains(&word)
    })
}

/// True if a value, or the name under which it stands, shows that it is a secret.
pub(crate) fn may_be_secret(name: &str, value: &str) -> bool {
    names_secret(name) || password(value).is_some()
}

/// Returns the password in an address such as `postgres://user:password@host/`.
pub(super) fn password(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    Some(user.split_once(':')?.1)
}

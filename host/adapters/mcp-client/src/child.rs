//! A server that is a child process: its start, the end of its stderr, and its termination.

use crate::config::ServerCommand;
use agent_host_engine::secrets::Secrets;
use agent_host_process::{Child, ChildKind, Pipes};
use secrecy::ExposeSecret as _;
use std::{
    io,
    process::{self, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{io::AsyncReadExt as _, net::unix::pipe, task::JoinHandle};

/// The maximum of bytes kept of a stderr line. A longer one counts as several.
const MAX_LINE_BYTES: usize = 4 * 1024;

/// The time to wait for the stderr of an ended server. It is in the pipe already, unless another
/// process holds the pipe open.
const STDERR_TIMEOUT: Duration = Duration::from_millis(500);

/// A running server. Dropping it sends SIGTERM to its supervisor, or to a server without one. The
/// owner of its input closes that.
pub(crate) struct ServerProcess {
    child: Child,
    stderr: Arc<Mutex<StderrTail>>,
    reader: JoinHandle<()>,
}

pub(crate) struct Streams {
    pub(crate) input: pipe::Sender,
    pub(crate) output: pipe::Receiver,
}

/// The end of a server's stderr.
struct StderrTail {
    secrets: Arc<Secrets>,
    /// The incomplete line.
    open: Vec<u8>,
    /// The last complete line that is not blank.
    last: String,
}

impl ServerProcess {
    /// Starts a server with the configured environment and its streams and nothing else of this
    /// process.
    pub(crate) async fn start(
        command: &ServerCommand,
        secrets: Arc<Secrets>,
    ) -> io::Result<(Self, Streams)> {
        let (child, pipes) = Child::spawn(prepare(command), ChildKind::Service).await?;
        let Pipes {
            input: Some(input),
            output: Some(output),
            errors: Some(errors),
        } = pipes
        else {
            return Err(io::Error::other("it has no standard streams"));
        };
        let stderr = Arc::new(Mutex::new(StderrTail {
            secrets,
            open: Vec::new(),
            last: String::new(),
        }));
        let server = Self {
            child,
            reader: tokio::spawn(read_stderr(errors, Arc::clone(&stderr))),
            stderr,
        };
        Ok((server, Streams { input, output }))
    }

    /// Returns how the server ended and its last line on stderr, as a clause that begins with `, `;
    /// empty if there is neither. Waits up to [`STDERR_TIMEOUT`] for both.
    pub(crate) async fn exit_clause(&mut self) -> String {
        let last = async {
            self.child.wait().await;
            // Another call may have awaited it.
            if !self.reader.is_finished() {
                let _ = (&mut self.reader).await;
            }
        };
        let _ = tokio::time::timeout(STDERR_TIMEOUT, last).await;
        self.exit_clause_so_far()
    }

    /// Returns the clause without waiting.
    pub(crate) fn exit_clause_so_far(&self) -> String {
        let ended = match self.child.status() {
            Some(status) => format!(", it exited ({status})"),
            None => String::new(),
        };
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        match stderr.last_line() {
            line if line.is_empty() => ended,
            line => format!("{ended}, and its last line on stderr was: {line}"),
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

fn prepare(command: &ServerCommand) -> Command {
    let ServerCommand {
        program,
        args,
        env,
        directory,
        supervisor,
    } = command;
    let mut prepared = match supervisor {
        Some(supervisor) => {
            let mut prepared = Command::new(&supervisor.exe);
            prepared
                .args(&supervisor.args)
                .arg(process::id().to_string())
                .arg(program);
            prepared
        }
        None => Command::new(program),
    };
    prepared
        .args(args)
        .env_clear()
        .envs(
            env.iter()
                .map(|(name, value)| (name, value.expose_secret())),
        )
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    prepared
}

/// Reads stderr to its end and keeps the last line.
async fn read_stderr(mut errors: pipe::Receiver, stderr: Arc<Mutex<StderrTail>>) {
    let mut piece = [0; 1024];
    while let Ok(count @ 1..) = errors.read(&mut piece).await {
        let mut stderr = stderr.lock().unwrap_or_else(PoisonError::into_inner);
        for byte in piece.iter().take(count) {
            stderr.push(*byte);
        }
    }
}

impl StderrTail {
    fn push(&mut self, byte: u8) {
        if byte != b'\n' {
            self.open.push(byte);
        }
        if byte == b'\n' || self.open.len() == MAX_LINE_BYTES {
            let line = self.redacted();
            tracing::debug!(target: "agent_host::mcp", "{line}");
            self.open.clear();
            if !line.is_empty() {
                self.last = line;
            }
        }
    }

    /// Returns the incomplete line, redacted.
    fn redacted(&self) -> String {
        let line = String::from_utf8_lossy(&self.open);
        self.secrets.text(line.trim()).into_owned()
    }

    fn last_line(&self) -> String {
        match self.redacted() {
            line if line.is_empty() => self.last.clone(),
            line => line,
        }
    }
}

//! A server that is a child process: its start, the end of its stderr, and its termination.

use crate::config::ServerCommand;
use agent_host_engine::secrets::Secrets;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use secrecy::ExposeSecret as _;
use std::{
    io,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    process::{self, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};
use tokio::{
    io::AsyncReadExt as _,
    net::unix::pipe,
    sync::{oneshot, watch},
    task::JoinHandle,
};

/// The maximum of bytes kept of a stderr line. A longer one counts as several.
const MAX_LINE_BYTES: usize = 4 * 1024;

/// The time to wait for the stderr of an ended server. It is in the pipe already, unless another
/// process holds the pipe open.
const STDERR_TIMEOUT: Duration = Duration::from_millis(500);

/// A running server. Dropping it terminates the server.
pub(crate) struct Child {
    process: Arc<Process>,
    stderr: Arc<Mutex<StderrTail>>,
    reader: JoinHandle<()>,
    ended: watch::Receiver<Option<ExitStatus>>,
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

/// The process of a server, whose id is valid until it is reaped.
struct Process {
    id: Pid,
    reaped: Mutex<bool>,
}

/// The handles passed from a server's thread once the process runs.
struct Started {
    process: Arc<Process>,
    input: OwnedFd,
    output: OwnedFd,
    errors: OwnedFd,
    ended: watch::Receiver<Option<ExitStatus>>,
}

impl Child {
    /// Starts a server in its own process group, with the configured environment and its streams
    /// and nothing else of this process.
    pub(crate) async fn start(
        command: &ServerCommand,
        secrets: Arc<Secrets>,
    ) -> io::Result<(Self, Streams)> {
        let command = command.clone();
        let (sender, started) = oneshot::channel();
        // The parent-death signal fires at the end of the thread that spawned the child, so this
        // thread stays until the child is reaped.
        thread::Builder::new()
            .name("mcp-server".to_owned())
            .spawn(move || run(&command, sender))?;
        let started = started
            .await
            .map_err(|_| io::Error::other("its thread ended"))??;
        let streams = Streams {
            input: pipe::Sender::from_owned_fd(started.input)?,
            output: pipe::Receiver::from_owned_fd(started.output)?,
        };
        let stderr = Arc::new(Mutex::new(StderrTail {
            secrets,
            open: Vec::new(),
            last: String::new(),
        }));
        let errors = pipe::Receiver::from_owned_fd(started.errors)?;
        let child = Self {
            process: started.process,
            reader: tokio::spawn(read_stderr(errors, Arc::clone(&stderr))),
            stderr,
            ended: started.ended,
        };
        Ok((child, streams))
    }

    /// Returns how the server ended and its last line on stderr, as a clause that begins with `, `;
    /// empty if there is neither. Waits up to [`STDERR_TIMEOUT`] for both.
    pub(crate) async fn exit_clause(&mut self) -> String {
        let last = async {
            // A dropped sender has reaped it, too.
            let _ = self.ended.wait_for(Option::is_some).await;
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
        let ended = match *self.ended.borrow() {
            Some(status) => format!(", it ended ({status})"),
            None => String::new(),
        };
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        match stderr.last_line() {
            line if line.is_empty() => ended,
            line => format!("{ended}, and its last line on stderr is: {line}"),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.reader.abort();
        self.process.terminate();
    }
}

impl Process {
    /// Sends SIGTERM to the supervisor, or to a server without one. The owner of its input closes
    /// that.
    fn terminate(&self) {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if !*reaped {
            // Fails only if it has ended.
            let _ = kill_process(self.id, Signal::TERM);
        }
    }

    /// Waits for the end, kills the rest of the group, and reaps.
    fn wait(&self, process: &mut process::Child) -> Option<ExitStatus> {
        // Observed first and reaped later: until then the group's id is not reused.
        let seen = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(self.id), seen));
        let _ = kill_process_group(self.id, Signal::KILL);
        let mut reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        *reaped = true;
        process.wait().ok()
    }
}

/// Starts the process and returns once it is reaped.
fn run(command: &ServerCommand, sender: oneshot::Sender<io::Result<Started>>) {
    let mut process = match spawn(command) {
        Ok(process) => process,
        Err(error) => return drop(sender.send(Err(error))),
    };
    let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
    let pipes = (
        id,
        process.stdin.take(),
        process.stdout.take(),
        process.stderr.take(),
    );
    let (Some(id), Some(input), Some(output), Some(errors)) = pipes else {
        let _ = sender.send(Err(io::Error::other("it has no streams")));
        return;
    };
    let owned = Arc::new(Process {
        id,
        reaped: Mutex::new(false),
    });
    let (ending, ended) = watch::channel(None);
    let started = Started {
        process: Arc::clone(&owned),
        input: input.into(),
        output: output.into(),
        errors: errors.into(),
        ended,
    };
    if sender.send(Ok(started)).is_err() {
        // The caller is gone.
        owned.terminate();
    }
    let status = owned.wait(&mut process);
    ending.send_replace(status);
}

fn spawn(command: &ServerCommand) -> io::Result<process::Child> {
    let ServerCommand {
        program,
        args,
        env,
        directory,
        supervisor,
    } = command;
    let mut spawned = match supervisor {
        Some(supervisor) => {
            let mut spawned = Command::new(&supervisor.exe);
            spawned
                .args(&supervisor.args)
                .arg(process::id().to_string())
                .arg(program);
            spawned
        }
        None => Command::new(program),
    };
    spawned
        .args(args)
        .env_clear()
        .envs(
            env.iter()
                .map(|(name, value)| (name, value.expose_secret())),
        )
        .current_dir(directory)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
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

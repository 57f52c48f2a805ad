//! A server that is a child process: starting it, keeping the end of what it writes to stderr, and ending it.

use crate::config::ServerCommand;
use agent_host_engine::secrets::Secrets;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
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

/// The longest line of stderr that is kept, in bytes. A longer one is taken for several.
const MAX_LINE: usize = 4 * 1024;

/// How long the words of a server that ended are waited for. They are in the pipe already, unless another process holds it.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A running server. Dropping it ends it.
pub(crate) struct Child {
    process: Arc<Process>,
    words: Arc<Mutex<Words>>,
    listening: JoinHandle<()>,
    ended: watch::Receiver<Option<ExitStatus>>,
}

/// The streams on which a server speaks.
pub(crate) struct Streams {
    pub(crate) input: pipe::Sender,
    pub(crate) output: pipe::Receiver,
}

/// The end of what a server wrote to stderr.
struct Words {
    /// The secrets that it was given, which no reader sees.
    secrets: Arc<Secrets>,
    /// The line that has not ended yet.
    open: Vec<u8>,
    /// The last one that has, and is not blank.
    last: String,
}

/// The process of a server, which is nobody else's as long as it is not reaped.
struct Process {
    id: Pid,
    reaped: Mutex<bool>,
}

/// What the thread of a server hands over when it runs.
struct Started {
    process: Arc<Process>,
    input: OwnedFd,
    output: OwnedFd,
    errors: OwnedFd,
    ended: watch::Receiver<Option<ExitStatus>>,
}

impl Child {
    /// Starts a server in a process group of its own, with its environment and streams and nothing else of this process.
    pub(crate) async fn start(
        command: &ServerCommand,
        secrets: Arc<Secrets>,
    ) -> io::Result<(Self, Streams)> {
        let command = command.clone();
        let (sender, started) = oneshot::channel();
        // The kernel counts the end of the thread that started a child as the end of its parent, so this one stays until the
        // child is reaped.
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
        let words = Arc::new(Mutex::new(Words {
            secrets,
            open: Vec::new(),
            last: String::new(),
        }));
        let errors = pipe::Receiver::from_owned_fd(started.errors)?;
        let child = Self {
            process: started.process,
            listening: tokio::spawn(listen(errors, Arc::clone(&words))),
            words,
            ended: started.ended,
        };
        Ok((child, streams))
    }

    /// The end of what it wrote to stderr so far, and how it ended, as a clause that begins with `, `; empty where there is
    /// neither.
    pub(crate) async fn last_assistant_text(&mut self) -> String {
        let last = async {
            // A sender that is gone has reaped it, too.
            let _ = self.ended.wait_for(Option::is_some).await;
            // Another call may have seen its end.
            if !self.listening.is_finished() {
                let _ = (&mut self.listening).await;
            }
        };
        // One that runs on has said what it has said.
        let _ = tokio::time::timeout(LAST_WORDS, last).await;
        self.words_so_far()
    }

    /// The same without waiting.
    pub(crate) fn words_so_far(&self) -> String {
        let ended = match *self.ended.borrow() {
            Some(status) => format!(", it ended ({status})"),
            None => String::new(),
        };
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        match words.last_line() {
            line if line.is_empty() => ended,
            line => format!("{ended}, and its last line on stderr is: {line}"),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.listening.abort();
        self.process.ask_to_end();
    }
}

impl Process {
    /// Asks the supervisor, or a server without one, to end. Its input is closed by whoever holds it.
    fn ask_to_end(&self) {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if !*reaped {
            // An error means that it has ended.
            let _ = kill_process(self.id, Signal::TERM);
        }
    }

    /// Waits for the end, ends what is left of the group, and reaps.
    fn wait(&self, process: &mut process::Child) -> Option<ExitStatus> {
        // Seen first and reaped later: until then the id of the group is nobody else's.
        let seen = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(self.id), seen));
        let _ = kill_process_group(self.id, Signal::KILL);
        let mut reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        *reaped = true;
        process.wait().ok()
    }
}

/// Starts the process and stays until it is reaped.
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
        // Nobody waited for it any more.
        owned.ask_to_end();
    }
    let status = owned.wait(&mut process);
    ending.send_replace(status);
}

fn spawn(command: &ServerCommand) -> io::Result<process::Child> {
    let ServerCommand {
        program,
        args,
        env,
        folder,
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
        .envs(env.iter().map(|(name, value)| (name, value)))
        .current_dir(folder)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// Reads stderr to its end, and keeps the last of it.
async fn listen(mut errors: pipe::Receiver, words: Arc<Mutex<Words>>) {
    let mut piece = [0; 1024];
    while let Ok(count @ 1..) = errors.read(&mut piece).await {
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        for byte in piece.iter().take(count) {
            words.push(*byte);
        }
    }
}

impl Words {
    fn push(&mut self, byte: u8) {
        if byte != b'\n' {
            self.open.push(byte);
        }
        if byte == b'\n' || self.open.len() == MAX_LINE {
            let line = self.redacted();
            tracing::debug!(target: "agent_host::mcp", "{line}");
            self.open.clear();
            if !line.is_empty() {
                self.last = line;
            }
        }
    }

    /// The open line as it may be shown.
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

//! The child process. It is killed and reaped even if the parent's future is dropped.

use crate::config::{CompileLimits, CompileWorker};
use bytes::Bytes;
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    io,
    num::NonZeroUsize,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    process::{self, Command, ExitStatus, Stdio},
    thread,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::unix::pipe,
    runtime::Handle,
};

/// The bound on the compiler's threads, each of which takes address space.
const MAX_THREADS: usize = 8;

/// The bytes of the child's stderr that are read: the first line of a panic.
const MAX_STDERR: u64 = 4 * 1024;

/// The child's outputs until it closed them, as it does by exiting.
pub(super) struct ChildOutput {
    pub(super) reply: Vec<u8>,
    pub(super) stderr: String,
}

/// Why the exchange with the child failed.
pub(super) enum ChildError {
    OutputTooLarge,
    Io(io::Error),
}

/// A running child. Dropping it kills it.
pub(super) struct Child {
    /// Absent once its reaping has started.
    process: Option<process::Child>,
    /// The runtime whose blocking threads reap it.
    runtime: Handle,
}

impl Child {
    /// Starts the worker in its own process group, with pipes for its input and outputs. It
    /// inherits nothing else. Needs a tokio runtime.
    pub(super) fn start(worker: &CompileWorker, limits: CompileLimits) -> io::Result<Self> {
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = threads.min(MAX_THREADS).to_string();
        let process = Command::new(&worker.exe)
            .args(&worker.args)
            .args([limits.memory_bytes, limits.cpu_seconds].map(|limit| limit.to_string()))
            .env_clear()
            // For the compiler's thread pool and the C library: each further thread would take 2
            // MiB of address space for its stack and 64 MiB for its heap arena.
            .env("RAYON_NUM_THREADS", &threads)
            .env("MALLOC_ARENA_MAX", &threads)
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        Ok(Self {
            process: Some(process),
            runtime: Handle::current(),
        })
    }

    /// Sends the input and reads both outputs to their ends, concurrently, so that no pipe blocks.
    pub(super) async fn exchange(
        &mut self,
        header: &[u8],
        component: Bytes,
        max_reply: usize,
    ) -> Result<ChildOutput, ChildError> {
        let (input, output, errors) = self.pipes().map_err(ChildError::Io)?;
        let send = async move {
            let mut input = pipe::Sender::from_owned_fd(input)?;
            // A child that does not read all of its input gives the reason in its reply or exit.
            if input.write_all(header).await.is_ok() {
                let _ = input.write_all(&component).await;
            }
            Ok::<_, io::Error>(())
        };
        let send = async { send.await.map_err(ChildError::Io) };
        let receive = async {
            let reply = read(output, max_reply as u64 + 1).await?;
            if reply.len() > max_reply {
                return Err(ChildError::OutputTooLarge);
            }
            Ok(reply)
        };
        let ((), reply, stderr) = tokio::try_join!(send, receive, read(errors, MAX_STDERR))?;
        Ok(ChildOutput {
            reply,
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        })
    }

    fn pipes(&mut self) -> io::Result<(OwnedFd, OwnedFd, OwnedFd)> {
        let pipes = self.process.as_mut().and_then(|process| {
            Some((
                process.stdin.take()?.into(),
                process.stdout.take()?.into(),
                process.stderr.take()?.into(),
            ))
        });
        pipes.ok_or_else(|| io::Error::other("they are in use"))
    }

    /// Kills the child if it still runs, reaps it, and returns its status. A child that has ended
    /// by itself, or is ending, keeps its own status.
    pub(super) async fn end(mut self) -> io::Result<ExitStatus> {
        let Some(mut process) = self.process.take() else {
            return Err(io::Error::other("it was waited for before"));
        };
        kill(&process);
        let ended = self.runtime.spawn_blocking(move || process.wait());
        ended.await.map_err(io::Error::other)?
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            kill(&process);
            self.runtime.spawn_blocking(move || process.wait());
        }
    }
}

/// Kills the child's process group. The child is not reaped yet, so its id is not reused.
fn kill(process: &process::Child) {
    let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
    if let Some(id) = id {
        // An error means that it has exited.
        let _ = kill_process_group(id, Signal::KILL);
    }
}

/// Reads at most `max` bytes.
async fn read(pipe: OwnedFd, max: u64) -> Result<Vec<u8>, ChildError> {
    let read = async {
        let mut bytes = Vec::new();
        pipe::Receiver::from_owned_fd(pipe)?
            .take(max)
            .read_to_end(&mut bytes)
            .await?;
        Ok(bytes)
    };
    read.await.map_err(ChildError::Io)
}

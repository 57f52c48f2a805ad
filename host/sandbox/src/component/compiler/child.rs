//! The child process from its parent's side. Whatever becomes of the parent's future, the child is killed and reaped.

use super::{CompileLimits, CompileWorker};
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

/// The threads of the compiler. Each takes address space of its own, and a component has only so many functions.
const MAX_THREADS: usize = 8;

/// What is kept of the child's stderr, in bytes: the first line of a panic.
const MAX_WORDS: u64 = 4 * 1024;

/// What the child wrote until it closed its outputs, as it does by ending.
pub(super) struct Said {
    pub(super) answer: Vec<u8>,
    pub(super) words: String,
}

/// Why the talk with the child was broken off.
pub(super) enum Stop {
    /// It wrote more than is taken.
    TooMuch,
    /// Its pipes do not work.
    Io(io::Error),
}

/// A running child. Dropping it kills it.
pub(super) struct Child {
    /// Absent once it is being reaped.
    process: Option<process::Child>,
    /// The runtime whose blocking threads reap it.
    runtime: Handle,
}

impl Child {
    /// Starts the worker in a process group of its own, with pipes for its input and outputs and nothing else of this
    /// process. To be called on a runtime.
    pub(super) fn start(worker: &CompileWorker, limits: CompileLimits) -> io::Result<Self> {
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = threads.min(MAX_THREADS).to_string();
        let process = Command::new(&worker.exe)
            .args(&worker.args)
            .args([limits.memory_bytes, limits.cpu_seconds].map(|limit| limit.to_string()))
            .env_clear()
            // Read by the thread pool of the compiler and by the C library: each thread more would take 2 MiB of address space
            // for its stack and 64 MiB for its share of the heap.
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

    /// Sends the input and reads both outputs to their ends, all at once, so that neither side waits for the other.
    pub(super) async fn talk(
        &mut self,
        header: &[u8],
        component: Bytes,
        max_answer: usize,
    ) -> Result<Said, Stop> {
        let (input, output, errors) = self.pipes().map_err(Stop::Io)?;
        let send = async move {
            let mut input = pipe::Sender::from_owned_fd(input)?;
            // A child that does not read its input to the end tells why by its answer or by how it ends.
            if input.write_all(header).await.is_ok() {
                let _ = input.write_all(&component).await;
            }
            Ok::<_, io::Error>(())
        };
        let send = async { send.await.map_err(Stop::Io) };
        let listen = async {
            let answer = read(output, max_answer as u64 + 1).await?;
            if answer.len() > max_answer {
                return Err(Stop::TooMuch);
            }
            Ok(answer)
        };
        let ((), answer, words) = tokio::try_join!(send, listen, read(errors, MAX_WORDS))?;
        Ok(Said {
            answer,
            words: String::from_utf8_lossy(&words).into_owned(),
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

    /// Kills the child if it still runs, reaps it, and says how it ended. A child that had already ended by itself, or was
    /// ending, keeps its own status.
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

/// Kills the child with all that it may have started. It is not reaped yet, so its id is nobody else's.
fn kill(process: &process::Child) {
    let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
    if let Some(id) = id {
        // An error means that it has ended.
        let _ = kill_process_group(id, Signal::KILL);
    }
}

/// Reads to the end, or, where there is more, `max` bytes.
async fn read(pipe: OwnedFd, max: u64) -> Result<Vec<u8>, Stop> {
    let read = async {
        let mut bytes = Vec::new();
        pipe::Receiver::from_owned_fd(pipe)?
            .take(max)
            .read_to_end(&mut bytes)
            .await?;
        Ok(bytes)
    };
    read.await.map_err(Stop::Io)
}

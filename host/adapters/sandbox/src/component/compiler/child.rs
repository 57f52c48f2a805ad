//! The compile worker's process, and the exchange with it.

use crate::config::{CompileLimits, CompileWorker};
use agent_host_process::{Child, ChildKind, Pipes};
use bytes::Bytes;
use std::{
    io,
    num::NonZeroUsize,
    process::{Command, Stdio},
    thread,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::unix::pipe,
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
pub(super) enum ExchangeError {
    OutputTooLarge,
    Io(io::Error),
}

impl From<io::Error> for ExchangeError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Starts the worker with pipes for its input and outputs. It inherits nothing else.
pub(super) async fn start(
    worker: &CompileWorker,
    limits: CompileLimits,
) -> io::Result<(Child, Pipes)> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = threads.min(MAX_THREADS).to_string();
    let mut command = Command::new(&worker.exe);
    command
        .args(&worker.args)
        .args([limits.memory_bytes, limits.cpu_seconds].map(|limit| limit.to_string()))
        .env_clear()
        // For the compiler's thread pool and the C library: each further thread would take 2 MiB of
        // address space for its stack and 64 MiB for its heap arena.
        .env("RAYON_NUM_THREADS", &threads)
        .env("MALLOC_ARENA_MAX", &threads)
        // In KiB. By default mimalloc would take 1 GiB before the limit is set.
        .env("MIMALLOC_ARENA_RESERVE", "32768")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Child::spawn(command, ChildKind::Worker).await
}

/// Sends the input and reads both outputs to their ends, concurrently, so that no pipe blocks.
pub(super) async fn exchange(
    pipes: Pipes,
    header: &[u8],
    component: Bytes,
    max_reply: usize,
) -> Result<ChildOutput, ExchangeError> {
    let send = async {
        if let Some(mut input) = pipes.input
            // A child that does not read all of its input gives the reason in its reply or exit.
            && input.write_all(header).await.is_ok()
        {
            let _ = input.write_all(&component).await;
        }
        Ok(())
    };
    let receive = async {
        let reply = read(pipes.output, max_reply as u64 + 1).await?;
        if reply.len() > max_reply {
            return Err(ExchangeError::OutputTooLarge);
        }
        Ok(reply)
    };
    let ((), reply, stderr) = tokio::try_join!(send, receive, read(pipes.errors, MAX_STDERR))?;
    Ok(ChildOutput {
        reply,
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    })
}

/// Reads at most `max` bytes.
async fn read(pipe: Option<pipe::Receiver>, max: u64) -> Result<Vec<u8>, ExchangeError> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(max).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

//! A child process, which is signalled on drop and always reaped.

#[cfg(test)]
mod tests;

use crate::descriptors::restore_for;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use std::{
    convert::Infallible,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    process::{self, Command, ExitStatus},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};
use tokio::{
    net::unix::pipe,
    sync::{oneshot, watch},
};

/// How long a cancelled start is waited for. Starting takes milliseconds, unless the program lies on
/// a file system that does not answer.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// How a child relates to this process, and how it is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildKind {
    /// A process group of its own, which is killed.
    Worker,
    /// A process group of its own. Its leader gets SIGTERM; once it has ended, the rest of the
    /// group is killed.
    Service,
    /// A member of this process's group, so that it can use the terminal and gets its signals. It
    /// is killed without its own children.
    Foreground,
}

/// A child process. Dropping it stops it, without waiting for its end.
///
/// A thread of its own starts and reaps it. `PR_SET_PDEATHSIG`, which children use to end with this
/// process, fires when the *thread* that started them ends.
#[derive(Debug)]
pub struct Child {
    process: Arc<Process>,
    ended: watch::Receiver<Option<ExitStatus>>,
}

/// The piped standard streams of a child.
#[derive(Debug)]
pub struct Pipes {
    /// The child's standard input, if piped.
    pub input: Option<pipe::Sender>,
    /// The child's standard output, if piped.
    pub output: Option<pipe::Receiver>,
    /// The child's standard error, if piped.
    pub errors: Option<pipe::Receiver>,
}

#[derive(Debug)]
struct Process {
    id: Pid,
    kind: ChildKind,
    /// Once true, the id may belong to another process.
    reaped: Mutex<bool>,
}

/// The values passed from the child's thread once the process runs.
struct StartedChild {
    child: Child,
    streams: [Option<OwnedFd>; 3],
}

/// The start of a child, from a thread of its own. Dropping it before its end waits until the thread
/// has handed the child over, and stops that child: this process may exit next, and a child that it
/// had not heard of would outlive it.
struct Starting {
    started: oneshot::Receiver<io::Result<StartedChild>>,
    /// Disconnected once the result has been sent.
    handed_over: mpsc::Receiver<Infallible>,
}

impl Drop for Starting {
    fn drop(&mut self) {
        let _ = self.handed_over.recv_timeout(START_TIMEOUT);
    }
}

impl Child {
    /// Starts the command. Needs a tokio runtime with IO.
    ///
    /// # Errors
    /// The thread, the process or its pipes cannot be created.
    pub async fn spawn(command: Command, kind: ChildKind) -> io::Result<(Self, Pipes)> {
        let (sender, started) = oneshot::channel();
        let (handing_over, handed_over) = mpsc::channel();
        thread::Builder::new()
            .name("child".to_owned())
            .spawn(move || run(command, kind, sender, handing_over))?;
        let mut starting = Starting {
            started,
            handed_over,
        };
        let started = (&mut starting.started)
            .await
            .map_err(|_| io::Error::other("its thread has ended"))??;
        let [input, output, errors] = started.streams;
        let pipes = Pipes {
            input: input.map(pipe::Sender::from_owned_fd).transpose()?,
            output: output.map(pipe::Receiver::from_owned_fd).transpose()?,
            errors: errors.map(pipe::Receiver::from_owned_fd).transpose()?,
        };
        Ok((started.child, pipes))
    }

    /// Stops it if it still runs. A child that is exiting keeps its own status.
    pub fn stop(&self) {
        self.process.stop();
    }

    /// Returns its status if it has ended and was reaped.
    #[must_use]
    pub fn status(&self) -> Option<ExitStatus> {
        *self.ended.borrow()
    }

    /// Waits for its end. Returns `None` if its status cannot be read. Cancel safe.
    pub async fn wait(&mut self) -> Option<ExitStatus> {
        // The sender is dropped after the child was reaped.
        let ended = self.ended.wait_for(Option::is_some).await;
        ended.ok().and_then(|status| *status)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Process {
    fn stop(&self) {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if *reaped {
            return;
        }
        // These fail only if it has ended.
        let _ = match self.kind {
            ChildKind::Worker => kill_process_group(self.id, Signal::KILL),
            ChildKind::Service => kill_process(self.id, Signal::TERM),
            ChildKind::Foreground => kill_process(self.id, Signal::KILL),
        };
    }

    /// Waits for its end, kills the rest of its group, and reaps it.
    fn reap(&self, process: &mut process::Child) -> Option<ExitStatus> {
        // Observed first and reaped later: until then the group's id is not reused.
        let seen = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(self.id), seen));
        let mut reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if self.kind != ChildKind::Foreground {
            let _ = kill_process_group(self.id, Signal::KILL);
        }
        *reaped = true;
        process.wait().ok()
    }
}

/// Starts the process and returns once it is reaped. Drops `handing_over` after it has sent the
/// result.
fn run(
    mut command: Command,
    kind: ChildKind,
    sender: oneshot::Sender<io::Result<StartedChild>>,
    handing_over: mpsc::Sender<Infallible>,
) {
    if kind != ChildKind::Foreground {
        command.process_group(0);
    }
    let spawned = command.spawn().and_then(|process| {
        let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
        let id = id.ok_or_else(|| io::Error::other("it has no process id"))?;
        restore_for(id);
        Ok((process, id))
    });
    // It holds this process's ends of the streams that are no pipes.
    drop(command);
    let (mut process, id) = match spawned {
        Ok(spawned) => spawned,
        Err(error) => return drop(sender.send(Err(error))),
    };
    let owned = Arc::new(Process {
        id,
        kind,
        reaped: Mutex::new(false),
    });
    let (ending, ended) = watch::channel(None);
    let started = StartedChild {
        child: Child {
            process: Arc::clone(&owned),
            ended,
        },
        streams: [
            process.stdin.take().map(OwnedFd::from),
            process.stdout.take().map(OwnedFd::from),
            process.stderr.take().map(OwnedFd::from),
        ],
    };
    // If the caller is gone, this drops the child, which stops it.
    let _ = sender.send(Ok(started));
    drop(handing_over);
    ending.send_replace(owned.reap(&mut process));
}

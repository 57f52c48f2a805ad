//! SIGINT and SIGTERM. During a turn, the first one asks the turn to end: running calls are stopped
//! and answered, and the journal is written. The second one exits at once; the next resume repairs
//! what is missing. A run is drained by a SIGTERM that comes first: what runs ends, nothing else
//! starts, and the next signal is the first one above. Before a turn, and in commands without one,
//! the first signal exits at once, with the same exit code; a prompt's terminal modes are restored
//! before.
//!
//! In a conversation, the first SIGINT ends the answer that runs, the second ends the conversation,
//! and the third exits at once. Ctrl-C and Escape are the same, by [`interrupt`]: the terminal
//! sends no signal for them there.
//!
//! SIGXFSZ is caught, too: by default it kills a process that writes beyond `ulimit -f`.

use crate::{
    exit::{Exit, end_now},
    terminal::Terminal,
};
use rustix::process::Signal;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag::register_conditional_shutdown,
};
use std::{
    io,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// True until [`exit_cleanly`]: a signal exits the process at once.
static EXIT_ON_FIRST: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// The turns that signals end, from [`Stop::listen`] or [`Stop::draining`] on.
static TURNS: OnceLock<Turns> = OnceLock::new();

/// Cancels the answer of a conversation that runs now.
static ANSWER: Mutex<Option<CancellationToken>> = Mutex::new(None);

/// The turns of a command.
#[derive(Debug)]
struct Turns {
    /// Cancels them.
    cancel: CancellationToken,
    /// Drains them; absent where SIGTERM is as SIGINT.
    drain: Option<CancellationToken>,
}

/// Makes SIGINT and SIGTERM exit the process with code 130 from now on. Call it before anything
/// else.
///
/// # Errors
/// When a signal handler cannot be installed.
pub(crate) fn exit_on_first_signal() -> io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        let code = Exit::Cancelled.code().into();
        register_conditional_shutdown(signal, code, Arc::clone(&EXIT_ON_FIRST))?;
    }
    Ok(())
}

/// Leaves the exit by a signal to a task, which a signal handler cannot do: it restores the
/// terminal, whose modes an open prompt has changed.
///
/// # Errors
/// When a signal handler cannot be installed.
pub(crate) fn exit_cleanly() -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        let mut is_cancelled = false;
        loop {
            let is_terminate = tokio::select! {
                _ = interrupt.recv() => false,
                _ = terminate.recv() => true,
            };
            match TURNS.get() {
                Some(Turns {
                    drain: Some(drain), ..
                }) if is_terminate && !is_cancelled && !drain.is_cancelled() => drain.cancel(),
                Some(turns) if !is_cancelled => {
                    if is_terminate || !cancel_answer() {
                        turns.cancel.cancel();
                        is_cancelled = true;
                    }
                }
                // Exit even if something hangs: the user asked again.
                Some(_) | None => break,
            }
        }
        end_now(Exit::Cancelled);
    });
    EXIT_ON_FIRST.store(false, Ordering::SeqCst);
    Ok(())
}

/// Does what SIGINT does, for a key of a conversation.
pub(crate) fn interrupt() {
    if cancel_answer() {
        return;
    }
    match TURNS.get() {
        Some(turns) if !turns.cancel.is_cancelled() => turns.cancel.cancel(),
        // Exit even if something hangs: the user asked again.
        Some(_) | None => end_now(Exit::Cancelled),
    }
}

/// Cancels the answer of a conversation; returns false if none runs that is not cancelled yet.
fn cancel_answer() -> bool {
    match answer().as_ref() {
        Some(answer) if !answer.is_cancelled() => {
            answer.cancel();
            true
        }
        Some(_) | None => false,
    }
}

fn answer() -> MutexGuard<'static, Option<CancellationToken>> {
    ANSWER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a signal exit the process at once again, where the task of [`exit_cleanly`] has ended.
pub(crate) fn exit_at_once() {
    EXIT_ON_FIRST.store(true, Ordering::SeqCst);
}

/// Makes a write beyond `ulimit -f` fail like one on a full disk, for the rest of the process.
/// Otherwise one write of a guest could kill the host.
///
/// # Errors
/// When the signal handler cannot be installed.
pub(crate) fn survive_file_size_limit() -> io::Result<()> {
    // The handler outlives the stream, and does nothing then.
    signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop)
}

/// Cancellation of a run from outside.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    /// Cancelled by the first signal, by the deadline, and by a failed write to stdout.
    pub(crate) token: CancellationToken,
    /// Cancelled by a SIGTERM that comes first, in a command that can be drained.
    pub(crate) drain: CancellationToken,
    /// Cancelled by the deadline alone, to tell it from a signal.
    deadline: CancellationToken,
}

impl Stop {
    /// Listens for signals. From now on the first one ends the turn only. A command calls this or
    /// [`Self::draining`], once.
    pub(crate) fn listen(terminal: &Terminal) -> Self {
        let stop = Self::new(terminal);
        TURNS.get_or_init(|| Turns {
            cancel: stop.token.clone(),
            drain: None,
        });
        stop
    }

    /// Listens for signals, of which SIGTERM drains the turns if it comes first, and starts the
    /// timeout.
    pub(crate) fn draining(terminal: &Terminal, timeout: Option<Duration>) -> Self {
        let stop = Self::new(terminal);
        TURNS.get_or_init(|| Turns {
            cancel: stop.token.clone(),
            drain: Some(stop.drain.clone()),
        });
        if let Some(timeout) = timeout {
            let (token, deadline) = (stop.token.clone(), stop.deadline.clone());
            tokio::spawn(async move {
                tokio::time::sleep(timeout).await;
                deadline.cancel();
                token.cancel();
            });
        }
        stop
    }

    fn new(terminal: &Terminal) -> Self {
        Self {
            token: terminal.stdout_failed().child_token(),
            drain: CancellationToken::new(),
            deadline: CancellationToken::new(),
        }
    }

    /// Begins an answer of a conversation, which the first SIGINT ends alone until it is dropped.
    pub(crate) fn begin_answer(&self) -> RunningAnswer {
        let stop = Self {
            token: self.token.child_token(),
            ..self.clone()
        };
        *answer() = Some(stop.token.clone());
        RunningAnswer { stop }
    }

    /// Ends the run as a signal does.
    pub(crate) fn request(&self) {
        self.token.cancel();
    }

    /// Whether the run is to end: at once, or when it is drained.
    pub(crate) fn is_requested(&self) -> bool {
        self.token.is_cancelled() || self.drain.is_cancelled()
    }

    /// Waits until the run is to end.
    pub(crate) async fn requested(&self) {
        tokio::select! {
            () = self.token.cancelled() => {}
            () = self.drain.cancelled() => {}
        }
    }

    /// Returns the exit of a run that was cancelled or drained.
    pub(crate) fn exit(&self) -> Exit {
        if self.deadline.is_cancelled() {
            Exit::TimedOut
        } else {
            Exit::Cancelled
        }
    }
}

/// An answer of a conversation that runs.
#[derive(Debug)]
pub(crate) struct RunningAnswer {
    /// Its cancellation; that of the conversation cancels it, too.
    pub(crate) stop: Stop,
}

impl Drop for RunningAnswer {
    fn drop(&mut self) {
        *answer() = None;
    }
}

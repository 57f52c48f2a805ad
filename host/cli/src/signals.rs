//! SIGINT and SIGTERM. During a turn, the first one asks the turn to end: running calls are stopped
//! and answered, and the journal is written. The second one exits at once; the next resume repairs
//! what is missing. Before a turn, and in commands without one, the first signal exits at once,
//! with the same exit code.
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
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// True until [`Stop::listen`]: a signal exits the process at once.
static EXIT_ON_FIRST: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// Makes SIGINT and SIGTERM exit the process with code 130 from now on. Call it before anything
/// else.
///
/// # Errors
/// When a signal handler cannot be installed.
pub(crate) fn exit_on_first_signal() -> std::io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        let code = Exit::Cancelled.code().into();
        register_conditional_shutdown(signal, code, Arc::clone(&EXIT_ON_FIRST))?;
    }
    Ok(())
}

/// Makes a write beyond `ulimit -f` fail like one on a full disk, for the rest of the process.
/// Otherwise one write of a guest could kill the host.
///
/// # Errors
/// When the signal handler cannot be installed.
pub(crate) fn survive_file_size_limit() -> std::io::Result<()> {
    // The handler outlives the stream, and does nothing then.
    signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop)
}

/// Cancellation of a run from outside.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    /// Cancelled by the first signal, by the deadline, and by a failed write to stdout.
    pub(crate) token: CancellationToken,
    /// Cancelled by the deadline alone, to tell it from a signal.
    deadline: CancellationToken,
}

impl Stop {
    /// Starts to listen for signals, and starts the timeout. From now on the first signal ends the
    /// turn only.
    ///
    /// # Errors
    /// When the signal handlers cannot be installed.
    pub(crate) fn listen(terminal: &Terminal, timeout: Option<Duration>) -> std::io::Result<Self> {
        let stop = Self {
            token: terminal.stdout_failed().child_token(),
            deadline: CancellationToken::new(),
        };
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        EXIT_ON_FIRST.store(false, Ordering::SeqCst);
        let token = stop.token.clone();
        tokio::spawn(async move {
            tokio::select! { _ = interrupt.recv() => {} _ = terminate.recv() => {} }
            token.cancel();
            tokio::select! { _ = interrupt.recv() => {} _ = terminate.recv() => {} }
            // Exit even if something hangs: the user asked twice.
            end_now(Exit::Cancelled);
        });
        if let Some(timeout) = timeout {
            let (token, deadline) = (stop.token.clone(), stop.deadline.clone());
            tokio::spawn(async move {
                tokio::time::sleep(timeout).await;
                deadline.cancel();
                token.cancel();
            });
        }
        Ok(stop)
    }

    /// Returns the exit of a cancelled run.
    pub(crate) fn exit(&self) -> Exit {
        if self.deadline.is_cancelled() {
            Exit::TimedOut
        } else {
            Exit::Cancelled
        }
    }
}

//! Ctrl-C and SIGTERM. Where there is a turn, the first one asks it to end: running calls are stopped and answered, and the
//! journal is written. The second ends the process at once; the next resume mends what is missing. Before there is a turn, and
//! in commands without one, the first one ends the process at once, with the same exit code.
//!
//! And SIGXFSZ, which ends a process that writes a file beyond `ulimit -f`, unless somebody listens.

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

/// True until [`Stop::listen`]: a signal ends the process at once.
static AT_ONCE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// Makes SIGINT and SIGTERM end the process with exit code 130 from now on. To be called before anything else.
///
/// # Errors
/// When a signal handler cannot be installed.
pub(crate) fn end_at_once() -> std::io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        let code = Exit::Cancelled.code().into();
        register_conditional_shutdown(signal, code, Arc::clone(&AT_ONCE))?;
    }
    Ok(())
}

/// Makes a write beyond the bound on the size of files (`ulimit -f`) fail like one on a full disk, for as long as the process
/// lives. Otherwise one write of a guest could end the host.
///
/// # Errors
/// When the signal handler cannot be installed.
pub(crate) fn outlive_file_bounds() -> std::io::Result<()> {
    // The handler stays when nobody listens any more, and does nothing then.
    signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop)
}

/// What stops a run from outside.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    /// Cancelled by the first signal, by the deadline, and by a failed write to stdout.
    pub(crate) token: CancellationToken,
    /// Cancelled by the deadline alone, so that the two can be told apart.
    deadline: CancellationToken,
}

impl Stop {
    /// Begins to listen, and to count the time where there is a limit. From now on the first signal ends nothing but the turn.
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
        AT_ONCE.store(false, Ordering::SeqCst);
        let token = stop.token.clone();
        tokio::spawn(async move {
            tokio::select! { _ = interrupt.recv() => {} _ = terminate.recv() => {} }
            token.cancel();
            tokio::select! { _ = interrupt.recv() => {} _ = terminate.recv() => {} }
            // Whatever hangs, this was asked for twice.
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

    /// How a cancelled run ends.
    pub(crate) fn exit(&self) -> Exit {
        if self.deadline.is_cancelled() {
            Exit::TimedOut
        } else {
            Exit::Cancelled
        }
    }
}

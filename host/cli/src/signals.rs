//! Ctrl-C and SIGTERM. The first one asks the turn to end: running calls are stopped and answered, and the journal is
//! written. The second ends the process at once; the next resume mends what is missing.
//!
//! And SIGXFSZ, which ends a process that writes a file beyond `ulimit -f`, unless somebody listens.

use crate::{exit::Exit, terminal::close_input};
use rustix::process::Signal;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

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
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    /// Cancelled by the first signal or by the deadline.
    pub(crate) token: CancellationToken,
    /// Cancelled by the deadline alone, so that the two can be told apart.
    deadline: CancellationToken,
}

impl Stop {
    /// Begins to listen, and to count the time where there is a limit.
    ///
    /// # Errors
    /// When the signal handlers cannot be installed.
    pub(crate) fn listen(timeout: Option<Duration>) -> std::io::Result<Self> {
        let stop = Self::default();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let token = stop.token.clone();
        tokio::spawn(async move {
            tokio::select! { _ = interrupt.recv() => {} _ = terminate.recv() => {} }
            token.cancel();
            tokio::select! { _ = interrupt.recv() => {} _ = terminate.recv() => {} }
            exit_now();
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

#[expect(
    clippy::exit,
    reason = "the second signal means: end now, whatever hangs; destructors are what may hang"
)]
fn exit_now() -> ! {
    close_input();
    std::process::exit(130)
}

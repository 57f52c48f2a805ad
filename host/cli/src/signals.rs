//! Ctrl-C and SIGTERM. The first one asks the turn to end: running calls are stopped and answered, and the journal is
//! written. The second ends the process at once; the next resume mends what is missing.

use crate::exit::Exit;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

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
    std::process::exit(130)
}

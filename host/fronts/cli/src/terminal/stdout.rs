//! Standard output. Every write of the process passes through this module, which keeps the first
//! error: nothing is written after it, and a turn stops for it as for a signal.

use std::{
    io::{self, Write},
    sync::{LazyLock, OnceLock},
};
use tokio_util::sync::CancellationToken;

/// The first failed write of this process.
static FAILURE: LazyLock<Failure> = LazyLock::new(Failure::default);

#[derive(Default)]
struct Failure {
    error: OnceLock<io::Error>,
    /// Cancelled once there is an error.
    token: CancellationToken,
}

/// Returns the token that is cancelled when a write to stdout fails.
pub(super) fn failed() -> &'static CancellationToken {
    &FAILURE.token
}

/// Returns the first error of a write to stdout.
pub(super) fn error() -> Option<&'static io::Error> {
    FAILURE.error.get()
}

/// A writer to stdout that never fails: it keeps the first error and discards what follows.
pub(super) struct ErrorRecorder<W>(pub(super) W);

impl<W: Write> ErrorRecorder<W> {
    fn record(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) {
        if error().is_some() {
            return;
        }
        if let Err(error) = write(&mut self.0) {
            // If two threads fail at once, either error will do.
            let _ = FAILURE.error.set(error);
            FAILURE.token.cancel();
        }
    }
}

impl<W: Write> Write for ErrorRecorder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.record(|out| out.write_all(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.record(Write::flush);
        Ok(())
    }
}

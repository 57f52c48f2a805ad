//! `agent:tool/progress`: messages for the person who waits. A report never changes a result, and reports that come too fast
//! are dropped.

use crate::{bindings::progress, store::CallState, text};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// The longest message, in bytes.
const MAX_MESSAGE_BYTES: usize = 512;

/// The reports that may wait to be shown.
const MAX_WAITING: usize = 16;

/// The time between two reports. Nobody reads faster, and a guest that reports in a loop must not keep the loop's thread busy.
const MIN_INTERVAL: Duration = Duration::from_millis(20);

/// One report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Report {
    pub(crate) message: String,
    /// Between 0 and 1, where it is known.
    pub(crate) fraction: Option<f64>,
}

/// The guest's end of the way to the person.
pub(crate) struct Progress {
    sender: mpsc::Sender<Report>,
    last: Option<Instant>,
}

/// A way for the reports of one call.
pub(crate) fn channel() -> (Progress, mpsc::Receiver<Report>) {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    (Progress { sender, last: None }, receiver)
}

impl progress::Host for CallState {
    async fn report(&mut self, message: String, fraction: Option<f64>) -> wasmtime::Result<()> {
        let now = Instant::now();
        let progress = &mut self.progress;
        let due = progress
            .last
            .is_none_or(|last| now.duration_since(last) >= MIN_INTERVAL);
        if due {
            progress.last = Some(now);
            let report = Report {
                message: text::shown(&message, MAX_MESSAGE_BYTES),
                fraction: fraction
                    .filter(|fraction| !fraction.is_nan())
                    .map(|fraction| fraction.clamp(0.0, 1.0)),
            };
            // A full channel or a caller who has gone: the report is dropped, as the contract allows.
            let _ = progress.sender.try_send(report);
        }
        Ok(())
    }
}

//! `agent:tool/progress`: messages for the user who waits. A report never changes a result, and
//! reports that come too fast are dropped.

use crate::{bindings::progress, caps::telemetry::Telemetry, mutex::lock, text};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::sync::Notify;

const MAX_MESSAGE_BYTES: usize = 512;

const MAX_WAITING: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProgressReport {
    pub(crate) message: String,
    /// Between 0 and 1, if known.
    pub(crate) fraction: Option<f64>,
}

/// The queued reports of one call.
#[derive(Default)]
pub(crate) struct Reports {
    waiting: Mutex<VecDeque<ProgressReport>>,
    arrived: Notify,
}

impl Reports {
    /// Queues a report, or drops it if the queue is full, as the contract allows.
    fn push(&self, report: ProgressReport) {
        let mut waiting = lock(&self.waiting);
        if waiting.len() < MAX_WAITING {
            waiting.push_back(report);
        }
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Takes the oldest report.
    pub(crate) fn take(&self) -> Option<ProgressReport> {
        lock(&self.waiting).pop_front()
    }

    /// Takes the oldest report when there is one. Cancel-safe; for one caller at a time.
    pub(crate) async fn next(&self) -> ProgressReport {
        loop {
            if let Some(report) = self.take() {
                return report;
            }
            self.arrived.notified().await;
        }
    }
}

/// The progress reports of one call.
pub(crate) struct ProgressCtx {
    telemetry: Arc<Telemetry>,
    /// The least time between two reports.
    interval: Duration,
    last: Option<Instant>,
}

impl ProgressCtx {
    pub(crate) fn new(telemetry: Arc<Telemetry>, interval: Duration) -> Self {
        Self {
            telemetry,
            interval,
            last: None,
        }
    }
}

impl progress::Host for ProgressCtx {
    async fn report(&mut self, message: String, fraction: Option<f64>) -> wasmtime::Result<()> {
        let now = Instant::now();
        let due = self
            .last
            .is_none_or(|last| now.duration_since(last) >= self.interval);
        if due {
            self.last = Some(now);
            let report = ProgressReport {
                message: text::sanitize(&message, MAX_MESSAGE_BYTES),
                fraction: fraction
                    .filter(|fraction| !fraction.is_nan())
                    .map(|fraction| fraction.clamp(0.0, 1.0)),
            };
            self.telemetry.reports.push(report);
        }
        Ok(())
    }
}

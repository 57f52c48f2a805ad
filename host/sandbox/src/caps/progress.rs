//! `agent:tool/progress`: messages for the person who waits. A report never changes a result, and reports that come too fast
//! are dropped.

use crate::{bindings::progress, store::CallState, telemetry::Telemetry, text};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::Notify;

/// The longest message, in bytes.
const MAX_MESSAGE_BYTES: usize = 512;

/// The reports that may wait to be shown.
const MAX_WAITING: usize = 16;

/// One report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Report {
    pub(crate) message: String,
    /// Between 0 and 1, where it is known.
    pub(crate) fraction: Option<f64>,
}

/// The reports of one call that wait to be shown.
#[derive(Default)]
pub(crate) struct Reports {
    waiting: Mutex<VecDeque<Report>>,
    arrived: Notify,
}

impl Reports {
    /// Adds a report. When too many wait it is dropped, as the contract allows.
    fn push(&self, report: Report) {
        let mut waiting = self.lock();
        if waiting.len() < MAX_WAITING {
            waiting.push_back(report);
        }
        drop(waiting);
        self.arrived.notify_one();
    }

    /// The report that has waited longest.
    pub(crate) fn take(&self) -> Option<Report> {
        self.lock().pop_front()
    }

    /// The same, as soon as there is one. May be dropped and called again; one caller at a time.
    pub(crate) async fn next(&self) -> Report {
        loop {
            if let Some(report) = self.take() {
                return report;
            }
            self.arrived.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Report>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The guest's end of the way to the person.
pub(crate) struct Progress {
    telemetry: Arc<Telemetry>,
    /// The time between two reports.
    interval: Duration,
    last: Option<Instant>,
}

impl Progress {
    pub(crate) fn new(telemetry: Arc<Telemetry>, interval: Duration) -> Self {
        Self {
            telemetry,
            interval,
            last: None,
        }
    }
}

impl progress::Host for CallState {
    async fn report(&mut self, message: String, fraction: Option<f64>) -> wasmtime::Result<()> {
        let now = Instant::now();
        let progress = &mut self.progress;
        let due = progress
            .last
            .is_none_or(|last| now.duration_since(last) >= progress.interval);
        if due {
            progress.last = Some(now);
            let report = Report {
                message: text::sanitize(&message, MAX_MESSAGE_BYTES),
                fraction: fraction
                    .filter(|fraction| !fraction.is_nan())
                    .map(|fraction| fraction.clamp(0.0, 1.0)),
            };
            progress.telemetry.reports.push(report);
        }
        Ok(())
    }
}

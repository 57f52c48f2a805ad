//! The task that sends metrics.

use crate::{FLUSH_TIME, Metrics, TelemetrySettings, Url, export::MetricSender};
use opentelemetry_sdk::error::OTelSdkResult;
use std::time::Duration;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};

/// Sends metrics again and again, and once more at the end.
#[derive(Debug)]
pub(crate) struct Pusher {
    flushes: mpsc::Sender<oneshot::Sender<OTelSdkResult>>,
    server: String,
}

impl Pusher {
    /// Starts the task. It ends with this.
    pub(crate) fn start(
        settings: &TelemetrySettings,
        endpoint: &Url,
        sender: MetricSender,
        metrics: Metrics,
    ) -> Self {
        let (flushes, receiver) = mpsc::channel(1);
        let server = endpoint.origin().ascii_serialization();
        let logged = settings.logs_losses.then(|| server.clone());
        let interval = settings.metric_interval;
        tokio::spawn(push(sender, metrics, interval, logged, receiver));
        Self { flushes, server }
    }

    /// Sends the metrics as they are, within [`FLUSH_TIME`]. Returns a sentence, if they were not
    /// taken.
    pub(crate) async fn flush(&self) -> Option<String> {
        let sent = async {
            let (report, sent) = oneshot::channel();
            self.flushes.send(report).await.ok()?;
            sent.await.ok()
        };
        let server = &self.server;
        let error = match timeout(FLUSH_TIME, sent).await {
            Ok(Some(Ok(()))) => return None,
            Ok(Some(Err(error))) => format!("{server}: {error}"),
            Ok(None) => format!("{server}: the task that sends them ended"),
            Err(_) => format!(
                "{server} did not accept them within {} s",
                FLUSH_TIME.as_secs()
            ),
        };
        Some(format!("metrics were not sent: {error}"))
    }
}

/// Sends metrics at each interval, and when it is asked. `logged` is the server as the log names
/// it.
async fn push(
    sender: MetricSender,
    metrics: Metrics,
    interval: Duration,
    logged: Option<String>,
    mut flushes: mpsc::Receiver<oneshot::Sender<OTelSdkResult>>,
) {
    let mut tick = interval_at(Instant::now() + interval, interval);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_lost = false;
    loop {
        let flush = tokio::select! {
            flush = flushes.recv() => match flush {
                Some(flush) => Some(flush),
                None => return,
            },
            _ = tick.tick() => None,
        };
        let sent = sender.send(&metrics.collect()).await;
        match (flush, &logged) {
            (Some(flush), _) => {
                // The caller may have given up.
                let _ = flush.send(sent);
            }
            (None, Some(server)) => {
                // Told once, until they are taken again.
                if let Err(error) = &sent
                    && !is_lost
                {
                    tracing::warn!("metrics are not sent to {server}: {error}");
                }
                is_lost = sent.is_err();
            }
            (None, None) => {}
        }
    }
}

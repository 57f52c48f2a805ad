//! OpenTelemetry traces of sessions, made from the journal and sent over OTLP/HTTP.
//!
//! An [`Observer`] tells a task which session has new events. The task reads them from the journal,
//! makes spans of them after the fact, and sends them in batches. So a run is never delayed by it
//! and never fails because of it, and a resumed session continues where it was: the ids of traces
//! and spans are derived from the session.
//!
//! Content (messages, arguments, results) is sent only where the operator chose it, every value is
//! cut at 4 KiB, and no tool is ever told the id of a trace.

mod conventions;
mod export;
mod ids;
mod reader;
mod spans;
mod worker;

pub use ids::RemoteParent;
pub use reqwest::Url;

use agent_host_engine::observer::{Live, Observer};
use agent_host_http_client::ProxySetting;
use agent_host_journal::JournalStore;
use agent_host_types::{
    event::{Event, EventRecord},
    id::CallId,
};
use export::Exporter;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};
use worker::{Command, Report, Worker};

/// The time in which [`Telemetry::flush`] returns.
pub const FLUSH_TIME: Duration = Duration::from_secs(2);

/// The most notes about new events that wait for the task.
const MAX_NOTES: usize = 1024;

/// Where traces go, and what is in them.
#[derive(Clone, Debug)]
pub struct TelemetrySettings {
    /// The address for traces, such as `http://localhost:4318/v1/traces`.
    pub endpoint: Url,
    /// The value of `service.name`.
    pub service_name: String,
    /// Whether messages, arguments and results are sent, too.
    pub content: bool,
    /// The span that the sessions belong to, where another program started this one.
    pub parent: Option<RemoteParent>,
    /// The proxy of the requests.
    pub proxy: ProxySetting,
}

/// Why traces cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The client of the requests cannot be made.
    #[error("the client for traces cannot be made: {0}")]
    Client(String),
    /// A variable of the environment, such as `OTEL_EXPORTER_OTLP_HEADERS`, cannot be used.
    #[error("traces cannot be sent: {0}")]
    Exporter(#[from] opentelemetry_otlp::ExporterBuildError),
}

/// The traces of this process.
#[derive(Debug)]
pub struct Telemetry {
    notes: mpsc::Sender<Command>,
    /// The number of notes that the full queue refused.
    dropped: Arc<AtomicU64>,
    endpoint: Url,
}

impl Telemetry {
    /// Starts the task that sends traces of the sessions in `store`. Needs a tokio runtime.
    ///
    /// # Errors
    /// See [`TelemetryError`].
    pub fn start(
        settings: &TelemetrySettings,
        store: Arc<dyn JournalStore>,
    ) -> Result<Self, TelemetryError> {
        let (notes, receiver) = mpsc::channel(MAX_NOTES);
        let endpoint = settings.endpoint.clone();
        let exporter = Exporter::new(settings)?;
        tokio::spawn(Worker::new(settings, store, exporter).run(receiver));
        Ok(Self {
            notes,
            dropped: Arc::default(),
            endpoint,
        })
    }

    /// Returns an observer of a session and those of its agents.
    #[must_use]
    pub fn observer(&self) -> Box<dyn Observer + 'static> {
        Box::new(Tracer {
            notes: self.notes.clone(),
            dropped: Arc::clone(&self.dropped),
            agent: None,
        })
    }

    /// Sends what is left, within [`FLUSH_TIME`]. Returns a sentence about what was not sent, if
    /// anything was not.
    pub async fn flush(&self) -> Option<String> {
        let report = timeout(FLUSH_TIME, self.report()).await;
        let server = self.endpoint.origin().ascii_serialization();
        let dropped = self.dropped.load(Ordering::Relaxed);
        let why = match report {
            Err(_) => format!(
                "{server} did not take them within {} s",
                FLUSH_TIME.as_secs()
            ),
            Ok(Some(Report {
                lost: lost @ 1..,
                error,
            })) => format!("{lost} spans for {server}: {}", error.unwrap_or_default()),
            Ok(Some(_)) if dropped > 0 => format!("too many at once, {dropped} notes were dropped"),
            Ok(Some(_)) => return None,
            Ok(None) => "the task that sends them ended".to_owned(),
        };
        Some(format!("traces were not sent: {why}"))
    }

    async fn report(&self) -> Option<Report> {
        let (report, answer) = oneshot::channel();
        self.notes.send(Command::Flush(report)).await.ok()?;
        answer.await.ok()
    }
}

/// Tells the task of new events.
struct Tracer {
    notes: mpsc::Sender<Command>,
    dropped: Arc<AtomicU64>,
    agent: Option<String>,
}

impl Observer for Tracer {
    fn recorded(&self, record: &EventRecord) {
        if !ends_span(&record.event) {
            return;
        }
        let note = Command::Recorded {
            session: record.session,
            seq: record.seq,
            agent: self.agent.clone(),
        };
        if self.notes.try_send(note).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn live(&self, _live: Live<'_>) {}

    fn child<'a>(&'a self, _call_id: &'a CallId, agent: &'a str) -> Option<Box<dyn Observer + 'a>> {
        Some(Box::new(Self {
            notes: self.notes.clone(),
            dropped: Arc::clone(&self.dropped),
            agent: Some(agent.to_owned()),
        }))
    }
}

/// Whether a span may end with an event.
fn ends_span(event: &Event) -> bool {
    matches!(
        event,
        Event::InputReceived { .. }
            | Event::ModelReplied { .. }
            | Event::HistorySummarised { .. }
            | Event::TurnInterrupted { .. }
            | Event::CallSettled { .. }
            | Event::NodeSettled { .. }
            | Event::NodeRetried { .. }
            | Event::WorkflowEnded { .. }
            | Event::TurnEnded { .. }
    )
}

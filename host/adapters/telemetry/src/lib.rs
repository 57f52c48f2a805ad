//! OpenTelemetry traces and metrics of sessions, made from the journal and sent over OTLP/HTTP.
//!
//! An [`Observer`] tells a task which session has new events. The task reads them from the journal,
//! makes spans of them after the fact, and sends them in batches. So a run is never delayed by it
//! and never fails because of it, and a resumed session continues where it was: the ids of traces
//! and spans are derived from the session. [`Metrics`] counts the events as they are recorded.
//!
//! Content (messages, arguments, results) is sent only where the operator chose it, and every value
//! is cut at 4 KiB. Model servers and MCP servers are told the span of a request; no guest is, and
//! none of its requests.

mod conventions;
mod export;
mod ids;
mod losses;
mod metrics;
mod pusher;
mod reader;
mod spans;
mod worker;

pub use ids::RemoteParent;
pub use metrics::{Gauge, Metrics};
pub use reqwest::Url;

use agent_host_engine::observer::{Live, Observer, Traced};
use agent_host_http_client::ProxySetting;
use agent_host_journal::JournalStore;
use agent_host_types::{
    event::{Event, EventRecord},
    id::{CallId, SessionId},
    reason::Reason,
};
use export::{MetricSender, SpanSender};
use ids::{call_span, event_span, trace_id, traceparent};
use pusher::Pusher;
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};
use worker::{UnsentSpans, Worker, WorkerCommand};

/// The time in which [`Telemetry::flush`] returns.
pub const FLUSH_TIME: Duration = Duration::from_secs(2);

/// The most notes about new events that wait for the task.
const MAX_NOTES: usize = 1024;

/// Where traces and metrics go, and what is in them.
#[derive(Clone, Debug)]
pub struct TelemetrySettings {
    /// The address for traces, such as `http://localhost:4318/v1/traces`; `None` for no traces.
    pub traces: Option<Url>,
    /// The address for metrics, such as `http://localhost:4318/v1/metrics`; `None` for no metrics.
    pub metrics: Option<Url>,
    /// The time after which metrics are sent again.
    pub metric_interval: Duration,
    /// The value of `service.name`.
    pub service_name: String,
    /// Whether messages, arguments and results are sent, too.
    pub content: bool,
    /// The span that the sessions belong to, where another program started this one.
    pub parent: Option<RemoteParent>,
    /// Whether what is lost is logged while the program runs, and not at its end alone.
    pub logs_losses: bool,
    /// The proxy of the requests.
    pub proxy: ProxySetting,
}

/// The traces and metrics that this process sends.
#[derive(Debug)]
pub struct Telemetry {
    traces: Option<Traces>,
    pusher: Option<Pusher>,
}

/// The traces of this process.
#[derive(Debug)]
struct Traces {
    notes: mpsc::Sender<WorkerCommand>,
    /// The number of notes that the full queue refused.
    dropped: Arc<AtomicU64>,
    parent: Option<RemoteParent>,
    server: String,
}

impl Telemetry {
    /// Starts the tasks that send traces of the sessions in `store`, and metrics. Needs a tokio
    /// runtime.
    ///
    /// # Errors
    /// The client of the requests cannot be made, or a variable of the environment, such as
    /// `OTEL_EXPORTER_OTLP_HEADERS`, cannot be used.
    pub fn start(
        settings: &TelemetrySettings,
        store: Arc<dyn JournalStore>,
        metrics: &Metrics,
    ) -> Result<Self, Reason> {
        let traces = match &settings.traces {
            Some(endpoint) => Some(Traces::start(settings, endpoint, store)?),
            None => None,
        };
        let pusher = match &settings.metrics {
            Some(endpoint) => {
                let sender = MetricSender::new(settings, endpoint)?;
                Some(Pusher::start(settings, endpoint, sender, metrics.clone()))
            }
            None => None,
        };
        Ok(Self { traces, pusher })
    }

    /// Returns an observer of a session and those of its agents, where traces are sent.
    #[must_use]
    pub fn observer(&self) -> Option<Box<dyn Observer + 'static>> {
        let traces = self.traces.as_ref()?;
        Some(Box::new(Tracer {
            notes: traces.notes.clone(),
            dropped: Arc::clone(&traces.dropped),
            parent: traces.parent,
            root: OnceLock::new(),
            agent: None,
        }))
    }

    /// Sends what is left, within [`FLUSH_TIME`]. Returns a sentence about what was not sent, if
    /// anything was not.
    pub async fn flush(&self) -> Option<String> {
        let traces = async { self.traces.as_ref()?.flush().await };
        let metrics = async { self.pusher.as_ref()?.flush().await };
        let (traces, metrics) = tokio::join!(traces, metrics);
        // A collector that is not there is told of once.
        traces.or(metrics)
    }
}

impl Traces {
    fn start(
        settings: &TelemetrySettings,
        endpoint: &Url,
        store: Arc<dyn JournalStore>,
    ) -> Result<Self, Reason> {
        let (notes, receiver) = mpsc::channel(MAX_NOTES);
        let dropped = Arc::<AtomicU64>::default();
        let sender = SpanSender::new(settings, endpoint)?;
        let worker = Worker::new(settings, store, sender, Arc::clone(&dropped));
        tokio::spawn(worker.run(receiver));
        Ok(Self {
            notes,
            dropped,
            parent: settings.parent,
            server: endpoint.origin().ascii_serialization(),
        })
    }

    async fn flush(&self) -> Option<String> {
        let report = timeout(FLUSH_TIME, self.report()).await;
        let server = &self.server;
        let dropped = self.dropped.load(Ordering::Relaxed);
        let why = match report {
            Err(_) => format!(
                "{server} did not accept them within {} s",
                FLUSH_TIME.as_secs()
            ),
            Ok(Some(UnsentSpans {
                lost: lost @ 1..,
                error,
            })) => format!("{lost} spans for {server}: {}", error.unwrap_or_default()),
            Ok(Some(_)) if dropped > 0 => format!("too many at once; {dropped} notes were dropped"),
            Ok(Some(_)) => return None,
            Ok(None) => "the task that sends them ended".to_owned(),
        };
        Some(format!("traces were not sent: {why}"))
    }

    async fn report(&self) -> Option<UnsentSpans> {
        let (report, answer) = oneshot::channel();
        self.notes.send(WorkerCommand::Flush(report)).await.ok()?;
        answer.await.ok()
    }
}

/// Tells the task of new events.
struct Tracer {
    notes: mpsc::Sender<WorkerCommand>,
    dropped: Arc<AtomicU64>,
    parent: Option<RemoteParent>,
    /// The session that no call started, of which the session is part.
    root: OnceLock<SessionId>,
    agent: Option<String>,
}

impl Observer for Tracer {
    fn recorded(&self, record: &Arc<EventRecord>) {
        self.root.get_or_init(|| record.session);
        if !ends_span(&record.event) {
            return;
        }
        let note = WorkerCommand::Recorded {
            session: record.session,
            seq: record.seq,
            agent: self.agent.clone(),
        };
        if self.notes.try_send(note).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn live(&self, _live: Live<'_>) {}

    fn traceparent(&self, session: SessionId, request: Traced<'_>) -> Option<String> {
        let span = match request {
            Traced::Request(seq) => event_span(session, seq),
            Traced::Call(call_id) => call_span(session, call_id),
        };
        let (trace, is_sampled) = match self.parent {
            Some(remote) => (remote.trace, remote.is_sampled),
            // Nothing of a session was asked before its agents were.
            None => (trace_id(*self.root.get_or_init(|| session)), true),
        };
        Some(traceparent(trace, span, is_sampled))
    }

    fn child<'a>(&'a self, _call_id: &'a CallId, agent: &'a str) -> Option<Box<dyn Observer + 'a>> {
        Some(Box::new(Self {
            notes: self.notes.clone(),
            dropped: Arc::clone(&self.dropped),
            parent: self.parent,
            root: self.root.clone(),
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
            | Event::WorkflowEnded { .. }
            | Event::TurnEnded { .. }
    ) || event.call_end().is_some()
}

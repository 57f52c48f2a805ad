//! The metrics of the server for Prometheus: those of the host, and figures of the moment.

use crate::{Service, access::Caller, problem::Problem};
use agent_host_app::{MetricGauge, Metrics, runs::MAX_WAITING};
use agent_host_types::session_status::SessionStatus;
use axum::{extract::State, response::IntoResponse};
use http::header::CONTENT_TYPE;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// The media type of Prometheus' text.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4";

/// The number of streams of events that are open, and the most that may be.
#[derive(Clone, Debug)]
pub(crate) struct ReaderCount {
    open: Arc<AtomicUsize>,
    most: usize,
}

/// A stream that is counted until it is dropped.
#[derive(Debug)]
pub(crate) struct CountedReader(ReaderCount);

impl ReaderCount {
    /// Creates the count of a server with a number of connections: a quarter of them stay free for
    /// requests that end.
    pub(crate) fn for_connections(connections: usize) -> Self {
        Self {
            open: Arc::default(),
            most: connections - connections / 4,
        }
    }

    /// Counts a stream.
    pub(crate) fn count(&self) -> CountedReader {
        self.open.fetch_add(1, Ordering::Relaxed);
        CountedReader(self.clone())
    }

    /// Whether there are as many as there may be.
    pub(crate) fn is_full(&self) -> bool {
        self.open.load(Ordering::Relaxed) >= self.most
    }
}

impl Drop for CountedReader {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads the metrics: of the sessions that the token sees, and of this process unless the token
/// sees its own sessions alone.
pub(crate) async fn read(
    State(service): State<Service>,
    caller: Caller,
) -> Result<impl IntoResponse, Problem> {
    let (store, scope) = (service.store(), service.scope(&caller));
    let counts = store.count_statuses(scope.clone()).await?;
    let waiting_approvals = counts.get(&SessionStatus::WaitingForApproval);
    let mut running = store.infos(service.runs.running()).await?;
    running.retain(|session| scope.has(session.ownership.as_ref()));
    let waiting_runs = match service.runs.shared() {
        Some(shared) => shared.waiting_runs(MAX_WAITING, scope.clone()).await?,
        None => 0,
    };
    let mut gauges = vec![
        MetricGauge {
            name: "agent_host_sessions",
            help: "Sessions by status, not counting those of agents.",
            label: Some("state"),
            values: by_status(&counts),
        },
        gauge(
            "agent_host_waiting_approvals",
            "Sessions that wait for an approval of one of their own or their agents' calls.",
            waiting_approvals.copied().unwrap_or_default(),
        ),
        gauge(
            "agent_host_runs",
            "Runs of this server.",
            running.len() as u64,
        ),
        gauge(
            "agent_host_waiting_runs",
            "Runs that wait for a host of the store, counted up to 10,000.",
            waiting_runs.into(),
        ),
    ];
    if scope.owner().is_some() {
        // The other figures are those of all tokens.
        let text = Metrics::new("agent-host").text(&gauges);
        return Ok(([(CONTENT_TYPE, MEDIA_TYPE)], text));
    }
    gauges.push(gauge(
        "agent_host_event_readers",
        "Open event streams.",
        service.readers.open.load(Ordering::Relaxed) as u64,
    ));
    if let Some(instances) = service.host.agents().registry().live_instances() {
        gauges.push(gauge(
            "agent_host_guest_instances",
            "Instances of components in the pool of the sandbox.",
            instances,
        ));
    }
    let text = service.host.metrics().text(&gauges);
    Ok(([(CONTENT_TYPE, MEDIA_TYPE)], text))
}

fn gauge(name: &'static str, help: &'static str, value: u64) -> MetricGauge {
    MetricGauge {
        name,
        help,
        label: None,
        values: vec![(String::new(), value)],
    }
}

/// Returns the number of sessions with each status.
fn by_status(counts: &BTreeMap<SessionStatus, u64>) -> Vec<(String, u64)> {
    let count = |status| counts.get(&status).copied().unwrap_or_default();
    let all = SessionStatus::ALL.map(|status| (status.as_str().to_owned(), count(status)));
    all.into()
}

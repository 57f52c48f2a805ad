//! The metrics of the server for Prometheus: those of the host, and figures of the moment.

use crate::{Service, access::Caller, problem::Problem};
use agent_host_app::{MetricGauge, Metrics, runs::MAX_WAITING};
use agent_host_journal::{OutcomeCount, SessionInfo};
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

/// The state of a session whose first turn has not ended.
const NEW: &str = "new";

/// The state of a session that runs in this server.
const RUNNING: &str = "running";

/// The outcome of a turn that ended because calls wait for approval.
const AWAITS_APPROVAL: &str = "awaiting-confirmation";

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
    pub(crate) fn of(connections: usize) -> Self {
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
    let (store, scope) = (service.host.store(), service.scope(&caller));
    let counts = store.count_outcomes(scope.clone()).await?;
    let mut running = store.infos(service.runs.running()).await?;
    running.retain(|session| scope.has(session.ownership.as_ref()));
    let waiting_runs = match service.runs.shared() {
        Some(shared) => shared.waiting_runs(MAX_WAITING, scope.clone()).await?,
        None => 0,
    };
    let mut gauges = vec![
        MetricGauge {
            name: "agent_host_sessions",
            help: "Sessions by the outcome of their last turn, those of agents left out.",
            label: Some("state"),
            values: by_state(&counts, &running),
        },
        gauge(
            "agent_host_waiting_approvals",
            "Requests for approval that wait, those of agents included.",
            waiting_approvals(&counts, &running),
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
        "Streams of events that are open.",
        service.readers.open.load(Ordering::Relaxed) as u64,
    ));
    if let Some(instances) = service.host.registry().live_instances() {
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

/// Returns the number of sessions in each state. The states are the outcomes that the engine knows.
fn by_state(counts: &[OutcomeCount], running: &[SessionInfo]) -> Vec<(String, u64)> {
    let state = |outcome: &Option<String>| outcome.clone().unwrap_or_else(|| NEW.to_owned());
    let mut states = BTreeMap::from([(RUNNING.to_owned(), 0)]);
    for count in counts.iter().filter(|count| !count.is_of_agent) {
        *states.entry(state(&count.outcome)).or_default() += count.sessions;
    }
    // A session that runs has a last turn as well, so that it is counted once.
    for session in running {
        if let Some(count) = states.get_mut(&state(&session.outcome)) {
            *count = count.saturating_sub(1);
        }
        *states.entry(RUNNING.to_owned()).or_default() += 1;
    }
    states.retain(|state, count| *count > 0 || state == RUNNING);
    states.into_iter().collect()
}

/// Returns the number of sessions that wait for approval. One that runs waits no more; that of an
/// agent waits as long as the session that started it.
fn waiting_approvals(counts: &[OutcomeCount], running: &[SessionInfo]) -> u64 {
    let waits = |outcome: &Option<String>| outcome.as_deref() == Some(AWAITS_APPROVAL);
    let all = counts.iter().filter(|count| waits(&count.outcome));
    let all: u64 = all.map(|count| count.sessions).sum();
    let running = running.iter().filter(|session| waits(&session.outcome));
    all.saturating_sub(running.count() as u64)
}

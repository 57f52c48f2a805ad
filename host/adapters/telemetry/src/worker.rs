//! The task that follows sessions and sends their spans.

use crate::{
    TelemetrySettings, export::SpanSender, ids::RemoteParent, losses::LossLog,
    reader::SessionReader,
};
use agent_host_engine::journal::JournalError;
use agent_host_journal::JournalStore;
use agent_host_types::id::SessionId;
use opentelemetry_sdk::trace::SpanData;
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{MissedTickBehavior, interval},
};

/// The time after which waiting spans are sent.
const INTERVAL: Duration = Duration::from_secs(5);

/// The number of spans of one request.
const BATCH: usize = 512;

/// The most sessions that are followed at once. One that is forgotten is read again.
const MAX_SESSIONS: usize = 256;

/// A note to the task.
pub(crate) enum WorkerCommand {
    /// An event became durable.
    Recorded {
        session: SessionId,
        seq: u64,
        /// The name of the agent, for the session of one.
        agent: Option<String>,
    },
    /// Send everything that is left, and answer.
    Flush(oneshot::Sender<UnsentSpans>),
}

/// The spans that were not sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnsentSpans {
    /// The number of spans.
    pub(crate) lost: u64,
    /// The first error.
    pub(crate) error: Option<String>,
}

pub(crate) struct Worker {
    store: Arc<dyn JournalStore>,
    exporter: SpanSender,
    remote: Option<RemoteParent>,
    with_content: bool,
    sessions: HashMap<SessionId, SessionReader>,
    waiting: Vec<SpanData>,
    report: UnsentSpans,
    /// The number of notes that the full queue refused.
    dropped: Arc<AtomicU64>,
    losses: Option<LossLog>,
}

impl Worker {
    pub(crate) fn new(
        settings: &TelemetrySettings,
        store: Arc<dyn JournalStore>,
        exporter: SpanSender,
        dropped: Arc<AtomicU64>,
    ) -> Self {
        Self {
            store,
            exporter,
            remote: settings.parent,
            with_content: settings.content,
            sessions: HashMap::new(),
            waiting: Vec::new(),
            report: UnsentSpans::default(),
            dropped,
            losses: settings.logs_losses.then(LossLog::default),
        }
    }

    /// Runs until the last sender of notes is gone.
    pub(crate) async fn run(mut self, mut notes: mpsc::Receiver<WorkerCommand>) {
        let mut tick = interval(INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let note = tokio::select! {
                note = notes.recv() => note,
                _ = tick.tick() => {
                    self.send().await;
                    self.log_losses();
                    continue;
                }
            };
            match note {
                None => return,
                Some(WorkerCommand::Recorded {
                    session,
                    seq,
                    agent,
                }) => self.follow(session, seq, agent).await,
                Some(WorkerCommand::Flush(answer)) => {
                    self.send().await;
                    // The caller may have given up.
                    let _ = answer.send(self.report.clone());
                }
            }
        }
    }

    /// Makes spans of the new events of a session.
    async fn follow(&mut self, session: SessionId, seq: u64, agent: Option<String>) {
        if self.sessions.len() >= MAX_SESSIONS && !self.sessions.contains_key(&session) {
            self.sessions.clear();
        }
        if let Err(error) = self.read(session, seq, agent).await {
            self.sessions.remove(&session);
            self.lose(1, error.to_string());
        }
        if self.waiting.len() >= BATCH {
            self.send().await;
        }
    }

    async fn read(
        &mut self,
        session: SessionId,
        seq: u64,
        agent: Option<String>,
    ) -> Result<(), JournalError> {
        let store = self.store.as_ref();
        let reader = match self.sessions.entry(session) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let (remote, content) = (self.remote, self.with_content);
                let opened = SessionReader::open(store, session, seq, agent, remote, content);
                entry.insert(opened.await?)
            }
        };
        self.waiting.extend(reader.read(store).await?);
        Ok(())
    }

    async fn send(&mut self) {
        while !self.waiting.is_empty() {
            let count = self.waiting.len().min(BATCH);
            let batch: Vec<SpanData> = self.waiting.drain(..count).collect();
            // An unsampled trace is read and not sent.
            if self.remote.is_some_and(|remote| !remote.is_sampled) {
                continue;
            }
            if let Err(error) = self.exporter.send(batch).await {
                self.lose(count as u64, error.to_string());
            }
        }
    }

    /// Logs what was lost since the last time, where that is asked for.
    fn log_losses(&mut self) {
        let dropped = self.dropped.load(Ordering::Relaxed);
        let Some(losses) = &mut self.losses else {
            return;
        };
        let error = self.report.error.as_deref();
        if let Some(line) = losses.line(self.report.lost, dropped, error, Instant::now()) {
            tracing::warn!("{line}");
        }
    }

    fn lose(&mut self, spans: u64, error: String) {
        self.report.lost = self.report.lost.saturating_add(spans);
        self.report.error.get_or_insert(error);
    }
}

//! The runs of sessions in this process, and the feeds of those who watch them. `serve` and `acp`
//! start turns and follow them by this; neither has logic of a turn.

mod agents;
mod claims;
mod feed;
mod follower;
mod relay;
mod shared;
mod unattended;

use agents::AgentFeeds;
pub use claims::take_part;
use feed::Feeds;
pub use feed::{Feed, FeedItem, FeedReader};
pub use follower::{Followed, Follower};
pub use shared::MAX_WAITING;
pub use unattended::UNATTENDED_EXPIRY_MS;

use crate::{Host, HostError, HostTurn, LOG_CONTEXT, config::TriggerKind};
use agent_host_engine::{
    BoxFuture,
    session::Session,
    stream::{StreamLine, StreamObserver, WriteLine},
    turn::{Actors, Agent, RunFront, drive},
};
use agent_host_journal::{RunClaim, RunState};
use agent_host_types::{
    id::{Digest, SessionId},
    output::Blob,
    turn::{AgentInput, TurnEnd, TurnError, TurnReport},
};
use relay::Relays;
use shared::{HostRuns, fairness_key};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{oneshot, watch},
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

/// The time in which a run gives up its session after its last event: a reader of events may answer
/// that before.
const END_GRACE: Duration = Duration::from_millis(500);

/// The start of a run: its first durable event, or how it ended before one.
pub type Started = Result<u64, Box<TurnEnd>>;

/// A run in this process.
#[derive(Clone, Debug, Default)]
struct LocalRun {
    cancel: CancellationToken,
    canceller: Arc<OnceLock<String>>,
    drain: CancellationToken,
    /// Cancelled to leave the run as it is, for another host.
    abandon: CancellationToken,
    /// The agent and the sender.
    fairness_key: Arc<OnceLock<String>>,
}

/// The sessions that run, and the feeds of those that are watched.
#[derive(Debug)]
pub struct Runs {
    runs: Mutex<HashMap<SessionId, LocalRun>>,
    feeds: Mutex<Feeds>,
    /// The number of runs.
    count: watch::Sender<usize>,
    /// Cancelled when no run may start any more.
    closed: CancellationToken,
    /// The most runs, and the memory of the process beyond which none is taken, in bytes.
    max_runs: u32,
    max_memory_bytes: Option<u64>,
    /// Absent if no other host continues them.
    shared: Option<HostRuns>,
    relays: Relays,
}

impl Default for Runs {
    fn default() -> Self {
        Self {
            runs: Mutex::default(),
            feeds: Mutex::default(),
            count: watch::Sender::new(0),
            closed: CancellationToken::new(),
            max_runs: u32::MAX,
            max_memory_bytes: None,
            shared: None,
            relays: Relays::default(),
        }
    }
}

/// Why a run cannot start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The session runs.
    Running,
    /// The server is about to end.
    ShuttingDown,
    /// As many run as may, or wait for a host.
    Full,
}

/// A place for the run of a session, which is given back when it is dropped.
#[derive(Debug)]
pub struct Slot {
    runs: Arc<Runs>,
    session: SessionId,
    /// The sender of the input, for the journal.
    by: Option<String>,
    /// The digest of the idempotency key of the input, and that of the input, for the journal.
    key: Option<(String, Digest)>,
    run: LocalRun,
    /// The claim on a run of another host.
    claim: Option<RunClaim>,
    /// Whether no other host can continue the run.
    stays: bool,
}

impl Slot {
    /// Has the input of the run, which has this digest, recorded as sent under an idempotency key,
    /// of which this is the digest.
    #[must_use]
    pub fn keyed(mut self, key: String, input: Digest) -> Self {
        self.key = Some((key, input));
        self
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // A run that panicked or was abandoned has left its reply open.
        self.runs.feed(self.session).forget_recent();
        lock(&self.runs.runs).remove(&self.session);
        self.runs.count.send_modify(|count| *count -= 1);
        self.runs.forget_unwatched(self.session);
    }
}

impl Runs {
    /// Creates the runs of a host, which other hosts of its store continue, within its limits.
    #[must_use]
    pub fn for_host(host: &Host) -> Self {
        let limits = &host.config().hosts;
        Self {
            max_runs: limits.max_runs,
            max_memory_bytes: limits.max_memory_bytes,
            shared: HostRuns::for_host(host),
            ..Self::default()
        }
    }

    /// Takes the place for the run of a session. A second run of it is refused, unless the first is
    /// about to end. `by` is the sender of the run's input, as the front end names it.
    pub async fn reserve(
        self: &Arc<Self>,
        session: SessionId,
        by: Option<String>,
    ) -> Result<Slot, Refused> {
        let slot = self.hold(session, by).await?;
        match self.is_full().await {
            true => Err(Refused::Full),
            false => Ok(slot),
        }
    }

    /// Takes the place for the run of a session, as [`Self::reserve`] does, for something that runs
    /// no turn and needs none of the places.
    pub async fn hold(
        self: &Arc<Self>,
        session: SessionId,
        by: Option<String>,
    ) -> Result<Slot, Refused> {
        let mut ends = self.count.subscribe();
        let deadline = Instant::now() + END_GRACE;
        loop {
            match self.try_hold(session, by.clone()) {
                Err(Refused::Running) if timeout_at(deadline, ends.changed()).await.is_ok() => {}
                held => return held,
            }
        }
    }

    fn try_hold(self: &Arc<Self>, session: SessionId, by: Option<String>) -> Result<Slot, Refused> {
        let mut runs = lock(&self.runs);
        // Looked at under the lock, so that a run that starts now is drained.
        if self.closed.is_cancelled() {
            return Err(Refused::ShuttingDown);
        }
        if runs.contains_key(&session) {
            return Err(Refused::Running);
        }
        let run = LocalRun::default();
        runs.insert(session, run.clone());
        self.count.send_modify(|count| *count += 1);
        Ok(Slot {
            runs: Arc::clone(self),
            session,
            by,
            key: None,
            run,
            claim: None,
            stays: false,
        })
    }

    /// Whether a session runs in this process.
    pub fn is_running(&self, session: SessionId) -> bool {
        lock(&self.runs).contains_key(&session)
    }

    /// Returns whether a session runs in this process, after waiting for a run that only ends.
    pub async fn is_running_on(&self, session: SessionId) -> bool {
        let mut ends = self.count.subscribe();
        let deadline = Instant::now() + END_GRACE;
        while self.is_running(session) {
            if timeout_at(deadline, ends.changed()).await.is_err() {
                return true;
            }
        }
        false
    }

    /// Returns the sessions that run in this process.
    #[must_use]
    pub fn running(&self) -> Vec<SessionId> {
        lock(&self.runs).keys().copied().collect()
    }

    /// Cancels the run of a session, and returns whether there is one. `by` is who asks, as the
    /// front end names them.
    pub fn cancel(&self, session: SessionId, by: Option<String>) -> bool {
        let Some(run) = lock(&self.runs).get(&session).cloned() else {
            return false;
        };
        if let Some(by) = by.filter(|_| !run.cancel.is_cancelled()) {
            // The first one cancelled it.
            let _ = run.canceller.set(by);
        }
        run.cancel.cancel();
        true
    }

    /// Drains the run of a session, and returns whether there is one: what runs ends, nothing else
    /// starts, and the session can be resumed.
    pub fn drain_run(&self, session: SessionId) -> bool {
        let run = lock(&self.runs).get(&session).cloned();
        run.inspect(|run| run.drain.cancel()).is_some()
    }

    /// Drains all runs, and refuses further ones.
    pub fn drain(&self) {
        self.closed.cancel();
        for run in lock(&self.runs).values() {
            run.drain.cancel();
        }
    }

    /// Ends all runs: those that another host can continue as they are, and the others are
    /// cancelled.
    pub fn end_all(&self) {
        for run in lock(&self.runs).values() {
            match run.fairness_key.get() {
                Some(_) => run.abandon.cancel(),
                None => run.cancel.cancel(),
            }
        }
    }

    /// Whether a session runs on any host, or waits for one.
    pub async fn is_running_anywhere(&self, session: SessionId) -> bool {
        self.is_running(session)
            || match &self.shared {
                Some(shared) => {
                    let runs = shared.runs.runs_of(vec![session]).await.unwrap_or_default();
                    runs.iter().any(|run| run.state != RunState::Stopped)
                }
                None => false,
            }
    }

    /// Whether runs can start.
    pub fn is_open(&self) -> bool {
        !self.closed.is_cancelled()
    }

    /// Waits until nothing runs.
    pub async fn ended(&self) {
        // The sender lives as long as `self`, so there is no error.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// Runs turns of a session as [`run`] does, in a task of its own. Returns once its first event is
/// durable.
///
/// # Errors
/// How the run ended, if nothing became durable.
pub async fn start(
    slot: Slot,
    host: Arc<Host>,
    agent: Agent,
    session: Session,
    input: AgentInput,
) -> Started {
    let (started, first) = oneshot::channel();
    tokio::spawn(run(slot, host, agent, session, input, Some(started)));
    // A task that panicked has no first event.
    first.await.unwrap_or(Err(Box::new(TurnEnd::Cancelled)))
}

/// Runs turns of a session until one ends that the loop cannot continue, and returns that end.
/// `started` is told the first durable event. The session is given up before the slot.
pub fn run(
    slot: Slot,
    host: Arc<Host>,
    mut agent: Agent,
    session: Session,
    input: AgentInput,
    started: Option<oneshot::Sender<Started>>,
) -> BoxFuture<'static, TurnEnd> {
    Box::pin(async move {
        unattended::bound(&mut agent, slot.by.as_deref(), &session, &input);
        let runs = Arc::clone(&slot.runs);
        let (feed, agents) = (runs.feed(session.id()), AgentFeeds::new(&runs));
        let started = Mutex::new(started);
        let tell = |start: Started| {
            if let Some(started) = lock(&started).take() {
                // The client may be gone; the run continues.
                let _ = started.send(start);
            }
        };
        let write = |line: Arc<StreamLine>| {
            agents.publish(&line);
            if let Some(seq) = feed.publish(line) {
                tell(Ok(seq));
            }
        };
        let context = tracing::info_span!(target: LOG_CONTEXT, "run", session = %session.id());
        let running = run_listed(slot, &host, &agent, session, input, &write);
        let end = running.instrument(context.clone()).await;
        context.in_scope(|| tracing::info!(outcome = end.kind(), "the run ended"));
        tell(Err(Box::new(end.clone())));
        end
    })
}

/// Runs turns of a session, which is listed meanwhile if hosts share their runs. Where this host
/// has no place, the input is recorded, and another one continues from there.
async fn run_listed(
    mut slot: Slot,
    host: &Host,
    agent: &Agent,
    mut session: Session,
    input: AgentInput,
    write: &WriteLine<'_>,
) -> TurnEnd {
    let runs = Arc::clone(&slot.runs);
    let Some(shared) = runs.shared.as_ref().filter(|_| !slot.stays) else {
        let end = run_turns(&slot, host, agent, &mut session, input, write).await;
        host.sessions().give_up(session).await;
        return end;
    };
    let key = fairness_key(&session, slot.by.as_deref());
    let must_wait = slot.must_wait(&key);
    let claim = match slot.list(shared, &mut session, key).await {
        Ok(claim) => claim,
        Err(error) => return journal_end(&error),
    };
    if must_wait {
        slot.run.drain.cancel();
    }
    let end = tokio::select! {
        end = run_turns(&slot, host, agent, &mut session, input, write) => end,
        () = slot.run.abandon.cancelled() => TurnEnd::NeedsMoreTurns,
    };
    let is_handed_over = must_wait || !runs.is_open();
    let must_continue = shared.settle(claim, &end, is_handed_over).await;
    host.sessions().give_up(session).await;
    if must_continue {
        shared.hand_over(claim, &end, !must_wait).await;
    }
    end
}

/// The front of a run in this process, which leaves a paused run paused.
struct SlotFront<'a> {
    slot: &'a Slot,
    host: &'a Host,
    agent: &'a Agent,
    setup: Blob,
    /// The sender of the first input; the others are the loop's own.
    sender: Option<&'a str>,
    /// The idempotency key of the first input.
    key: Option<&'a (String, Digest)>,
    /// The sources of text in the input besides the user.
    sources: Vec<String>,
    write: &'a WriteLine<'a>,
}

impl RunFront for SlotFront<'_> {
    type Error = HostError;

    fn run_turn<'a>(
        &'a mut self,
        session: &'a mut Session,
        input: AgentInput,
    ) -> BoxFuture<'a, Result<TurnReport, HostError>> {
        let turn = HostTurn {
            host: self.host,
            agent: self.agent,
            setup: &self.setup,
            observers: vec![Box::new(StreamObserver::new(self.write))],
            cancel: &self.slot.run.cancel,
            drain: &self.slot.run.drain,
            actors: Actors {
                sender: self.sender.take(),
                key: self.key.take(),
                canceller: Some(&self.slot.run.canceller),
                sources: &self.sources,
            },
        };
        Box::pin(async move {
            let ran = turn.run(session, input).await?;
            if let Some(error) = ran.not_remembered {
                let session = session.id();
                tracing::error!("approvals of session {session} are not remembered: {error}");
            }
            Ok(ran.report)
        })
    }

    fn is_drained(&self) -> bool {
        self.slot.run.drain.is_cancelled()
    }
}

async fn run_turns(
    slot: &Slot,
    host: &Host,
    agent: &Agent,
    session: &mut Session,
    input: AgentInput,
    write: &WriteLine<'_>,
) -> TurnEnd {
    let mut front = SlotFront {
        slot,
        host,
        agent,
        setup: agent.setup(),
        sender: slot.by.as_deref(),
        sources: slot
            .by
            .iter()
            .filter_map(|by| TriggerKind::source(by))
            .collect(),
        key: slot.key.as_ref(),
        write,
    };
    match drive(&mut front, session, input).await {
        Ok(report) => report.end,
        Err(error) => journal_end(&error),
    }
}

/// Returns the end of a run whose journal failed.
fn journal_end(error: &dyn std::error::Error) -> TurnEnd {
    TurnEnd::Error {
        error: TurnError::Journal {
            message: error.to_string(),
        },
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

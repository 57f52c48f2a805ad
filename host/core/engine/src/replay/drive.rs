//! Drives a replay: gives the loop the recorded inputs, turn by turn, until an event differs.

use super::{
    difference::Difference,
    input::{RecordedTurn, is_outside},
    journal::ReplayJournal,
    observer::ReplayObserver,
    parts::Common,
    recording::{Recording, Unreplayable},
    tape::{CurrentTurn, Tape},
    trigger::Trigger,
};
use crate::{
    BoxFuture,
    journal::JournalError,
    observer::Unobserved,
    session::{Session, SessionStart},
    setup::LoopSetup,
    turn::{Actors, Agent, TurnContext},
};
use agent_host_types::{
    approval::ApprovalRule,
    continuation::Awaiting,
    event::{Event, EventRecord},
    id::SessionId,
    output::Blob,
    turn::{AgentInput, RunOutcome, TurnEnd, TurnReport},
};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::{task::yield_now, time::sleep};

/// How often a replay that does not get on is polled before it counts as waiting: more than any
/// chain of tasks that wake each other is long.
const POLLS: u32 = 256;

/// How long a replay waits beside the recorded time for something that takes time: the end of a
/// cancelled call, a retry or a timeout of a node.
const PATIENCE: Duration = Duration::from_secs(1);

/// The result of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// The number of events that were equal, those of the sessions of agents included.
    pub events: u64,
    /// The first event that was not.
    pub difference: Option<Difference>,
}

/// Replays a recorded session. One that is unfinished is replayed as far as its records go, and of
/// a copy the original first.
///
/// # Errors
/// It cannot be replayed at all.
pub fn replay(recording: &Recording) -> BoxFuture<'_, Result<Replayed, Unreplayable>> {
    Box::pin(async move {
        recording.check()?;
        let (mut before, mut start) = (0, 0);
        if let Some(copy) = recording.copied() {
            let replayed = replay(&copy.original).await?;
            if replayed.difference.is_some() {
                return Ok(replayed);
            }
            if let Some(difference) = copy.difference {
                return Ok(Replayed {
                    events: replayed.events,
                    difference: Some(difference),
                });
            }
            (before, start) = (replayed.events, copy.start);
        }
        let mut driver = Driver::new(recording, start).await?;
        let difference = driver.drive().await?;
        Ok(Replayed {
            events: before + driver.tape.replayed(),
            difference,
        })
    })
}

struct Driver<'r> {
    recording: &'r Recording,
    tape: Arc<Tape>,
    common: Common,
    /// Absent before the first event.
    session: Option<Session>,
    agent: Option<Agent>,
    approvals: Vec<ApprovalRule>,
}

impl<'r> Driver<'r> {
    async fn new(recording: &'r Recording, start: usize) -> Result<Self, Unreplayable> {
        let tape = Tape::new(recording, start);
        let mut driver = Self {
            common: Common::new(&tape, recording),
            recording,
            tape,
            session: None,
            agent: None,
            approvals: Vec::new(),
        };
        if start > 0 {
            driver.resume().await?;
        }
        Ok(driver)
    }

    fn root(&self) -> SessionId {
        self.recording.session()
    }

    fn journal(&self) -> Arc<ReplayJournal> {
        Arc::new(ReplayJournal {
            tape: Arc::clone(&self.tape),
            session: self.root(),
        })
    }

    /// Opens the session anew, from what was replayed.
    async fn resume(&mut self) -> Result<(), Unreplayable> {
        self.session = Some(Session::resume(self.journal()).await?);
        Ok(())
    }

    fn position(&self) -> usize {
        let position = self.tape.track(self.root(), |track| track.position);
        position.unwrap_or_default()
    }

    async fn drive(&mut self) -> Result<Option<Difference>, Unreplayable> {
        let records = self.recording.records();
        let mut was_cut = false;
        loop {
            let position = self.position();
            let start = position + usize::from(self.configure(position)?);
            let Some(record) = records.get(start) else {
                if start > position {
                    return Ok(None);
                }
                if !was_cut && self.is_behind() {
                    self.turn(position).await?;
                }
                return Ok(match was_cut {
                    true => None,
                    false => self.tape.difference().or_else(|| self.unreached()),
                });
            };
            if is_outside(records, start) {
                self.outside(record).await?;
            } else {
                was_cut = self.turn(start).await?;
            }
            if let Some(difference) = self.tape.difference() {
                return Ok(Some(difference));
            }
            if self.position() == position {
                return Ok(Some(self.tape.missing(self.root(), None)));
            }
        }
    }

    /// Whether the session waits for agents that are further than it knows: the program ended
    /// before it recorded anything of its last turn.
    fn is_behind(&self) -> bool {
        let (Some(agent), Some(session)) = (&self.agent, &self.session) else {
            return false;
        };
        let open = agent.continuation(session).map(|open| open.awaiting);
        matches!(open, Some(Awaiting::Children { .. })) && self.unreached().is_some()
    }

    /// Returns the first recorded event of an agent that no turn reached.
    fn unreached(&self) -> Option<Difference> {
        let sessions = self.recording.sessions.keys();
        let mut short = sessions.filter(|session| {
            let is_short = self
                .tape
                .track(**session, |track| track.position < track.records.len());
            is_short == Some(true)
        });
        short
            .next()
            .map(|session| self.tape.missing(*session, None))
    }

    /// Takes the setup that is recorded at a position, if one is. The session records it before its
    /// next event.
    fn configure(&mut self, position: usize) -> Result<bool, Unreplayable> {
        let record = self.recording.records().get(position);
        let (Some(Event::LoopConfigured { setup, approvals }), Some(session)) =
            (record.map(|record| &record.event), &mut self.session)
        else {
            return Ok(false);
        };
        let read = self.recording.setup(&setup.digest)?;
        self.agent = Some(self.common.agent(&read)?);
        self.approvals.clone_from(approvals);
        let bytes = self.tape.blob(&setup.digest).cloned();
        session.configure_loop(&Blob::new(bytes.unwrap_or_default()), approvals);
        Ok(true)
    }

    /// Has the session record what the program recorded between turns.
    async fn outside(&mut self, record: &EventRecord) -> Result<(), Unreplayable> {
        if let Event::SessionStarted {
            program,
            system,
            directory,
            client,
            parent,
            labels,
        } = record.event.clone()
        {
            let start = SessionStart {
                program,
                system,
                directory,
                client,
                parent,
                labels,
            };
            self.session = Some(Session::start(self.journal(), start));
            return Ok(());
        }
        let Some(session) = &mut self.session else {
            return Err(Unreplayable::Empty);
        };
        match record.event.clone() {
            Event::ContextSet { context } => session.set_context(context),
            Event::RunConfigured { arguments } => {
                let configured = session.configure_run(arguments);
                configured.map_err(|error| Unreplayable::Journal(error.to_string()))?;
            }
            Event::RunPlaced {
                machine,
                configuration,
            } => session.place_run(&machine, &configuration),
            Event::ApprovalRevoked { rule } => {
                let revoked = session.revoke_approval(&rule, &Unobserved).await;
                revoked?;
            }
            Event::FilesRestored { paths, by } => {
                let recorded = session.record_restored(paths, by, &Unobserved).await;
                recorded?;
            }
            Event::ArtifactStored {
                name,
                media_type,
                blob,
                ..
            } => {
                let bytes = self.tape.blob(&blob.digest).cloned().unwrap_or_default();
                let stored = session.store_artifact(name.as_str(), &media_type, bytes);
                stored.map_err(|error| Unreplayable::Journal(error.to_string()))?;
            }
            Event::ArtifactDeleted { name, .. } => {
                session.delete_artifact(&name);
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes the setup that is assumed for a turn.
    fn assume(&mut self, position: usize) -> Result<(), Unreplayable> {
        let mut before = self.recording.assumed.range(..=position);
        if let Some((_, (setup, approvals))) = before.next_back() {
            let setup = LoopSetup::parse(&setup.bytes)?;
            self.agent = Some(self.common.agent(&setup)?);
            self.approvals.clone_from(approvals);
        }
        Ok(())
    }

    /// Runs the turn that begins at a position. Returns whether the program ended during it.
    async fn turn(&mut self, position: usize) -> Result<bool, Unreplayable> {
        let root = self.root();
        self.assume(position)?;
        let (Some(agent), Some(session)) = (&self.agent, &mut self.session) else {
            return Err(Unreplayable::NoSetup(position as u64));
        };
        let open = agent.continuation(session);
        let waits_for_agents = open
            .as_ref()
            .is_some_and(|open| matches!(open.awaiting, Awaiting::Children { .. }));
        let Some(turn) = RecordedTurn::at(&self.tape, root, position, open) else {
            return Err(Unreplayable::Empty);
        };
        let is_cut = turn.end.is_none();
        let current = begin(
            &self.tape,
            self.recording,
            position,
            &turn,
            waits_for_agents,
        );
        let canceller = canceller(turn.end.as_ref());
        let observer = ReplayObserver {
            tape: &self.tape,
            session: root,
        };
        let cx = TurnContext {
            observer: &observer,
            approvals: &self.approvals,
            cancel: &current.cancel,
            drain: &current.drain,
            actors: Actors {
                sender: turn.sender.as_deref(),
                key: turn.key.as_ref(),
                canceller: Some(&canceller),
                sources: &turn.sources,
            },
        };
        let report = tokio::select! {
            biased;
            report = agent.run_turn(session, turn.input, &cx) => Some(report),
            () = stalled(&self.tape, root, is_cut.then_some(turn.behind)) => None,
        };
        if self.tape.difference().is_none() && self.position() != turn.behind {
            let reason = report
                .as_ref()
                .and_then(refusal)
                .or_else(|| self.short_agent());
            self.tape.differ(self.tape.missing(root, reason));
        }
        if is_cut && self.tape.difference().is_none() {
            self.resume().await?;
        }
        Ok(is_cut)
    }

    /// Names an agent that did not get to its last event.
    fn short_agent(&self) -> Option<String> {
        let Difference { session, seq, .. } = self.unreached()?;
        let is_agent = session != self.root();
        is_agent.then(|| format!("session {session} of an agent got to event {seq}"))
    }
}

/// Begins a turn on the tape: up to where the program ended, and with what happened to it before it
/// recorded anything.
fn begin(
    tape: &Tape,
    recording: &Recording,
    position: usize,
    turn: &RecordedTurn,
    waits_for_agents: bool,
) -> CurrentTurn {
    let current = CurrentTurn {
        end: turn.end.clone(),
        has_halted: halts(recording, position, turn.behind),
        ..CurrentTurn::default()
    };
    tape.begin_turn(current.clone());
    tape.track(recording.session(), |track| {
        track.life_end = match turn.end {
            None => turn.behind,
            Some(_) => track.records.len(),
        };
        track.is_over = false;
    });
    let is_cancelled = turn.end.as_ref().is_some_and(|end| {
        matches!(&end.event, Event::TurnEnded { outcome, .. } if outcome.end == TurnEnd::Cancelled)
    });
    match tape.trigger() {
        // Agents that waited were ended, and none of them went on.
        None if is_cancelled && waits_for_agents && turn.input == AgentInput::Continue => {
            current.cancel.cancel();
        }
        None => {}
        Some(Trigger::Cancel) => current.cancel.cancel(),
        Some(Trigger::Drain) => current.drain.cancel(),
    }
    current
}

/// Returns why a turn recorded nothing.
fn refusal(report: &TurnReport) -> Option<String> {
    match report.end.run_outcome() {
        RunOutcome::Unrecorded(error) => Some(error.to_string()),
        RunOutcome::Unfinished | RunOutcome::Paused(_) | RunOutcome::Ended => None,
    }
}

/// Whether a call ends the run between two positions.
fn halts(recording: &Recording, from: usize, to: usize) -> bool {
    let events = recording.records().get(from..to).unwrap_or_default();
    events
        .iter()
        .any(|record| matches!(record.event, Event::RunHalted { .. }))
}

fn canceller(end: Option<&EventRecord>) -> OnceLock<String> {
    match end.map(|end| &end.event) {
        Some(Event::TurnEnded { by: Some(by), .. }) => OnceLock::from(by.clone()),
        _ => OnceLock::new(),
    }
}

impl From<JournalError> for Unreplayable {
    fn from(error: JournalError) -> Self {
        Self::Journal(error.to_string())
    }
}

/// Returns when the replay differs or does not get on. `dies_at` is the position at which the
/// program ended in this turn.
async fn stalled(tape: &Tape, root: SessionId, dies_at: Option<usize>) {
    let (mut steps, mut polls) = (tape.steps(), 0);
    loop {
        yield_now().await;
        if tape.difference().is_some() {
            return;
        }
        if tape.steps() != steps {
            (steps, polls) = (tape.steps(), 0);
            continue;
        }
        polls += 1;
        if polls < POLLS {
            continue;
        }
        let position = tape.track(root, |track| track.position);
        if dies_at.is_some() && position == dies_at {
            return;
        }
        let moved = tape.moved.notified();
        tokio::select! {
            () = moved => polls = 0,
            () = sleep(tape.patience(root)) => return,
        }
    }
}

impl Tape {
    /// Returns how long something may take now: the recorded time, where a workflow has retries and
    /// timeouts, and a little more.
    fn patience(&self, root: SessionId) -> Duration {
        let recorded = self.track(root, |track| {
            let replayed = track.records.get(..track.position).unwrap_or_default();
            let started =
                |record: &EventRecord| matches!(record.event, Event::WorkflowStarted { .. });
            if !replayed.iter().any(started) {
                return Duration::ZERO;
            }
            let last = replayed.last().map_or(0, |record| record.at_ms);
            let next = track.records.get(track.position);
            let gap = next.map_or(0, |record| record.at_ms.saturating_sub(last));
            Duration::from_millis(gap)
        });
        PATIENCE + recorded.unwrap_or_default()
    }
}

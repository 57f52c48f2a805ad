//! The state that all parts of a replay share: how far each session is, and what stopped the
//! replay.

use super::{
    difference::Difference,
    recording::Recording,
    trigger::{Of, Trigger},
};
use agent_host_types::{
    event::{Event, EventRecord},
    id::{CallId, Digest, SessionId},
    turn::TurnEnd,
};
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How far a session is. What was replayed is equal to what was recorded, so that the recording
/// serves as the journal.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) records: Arc<Vec<EventRecord>>,
    /// The number of replayed events.
    pub(super) position: usize,
    /// The position at which the program that recorded it ended, or the records do.
    pub(super) life_end: usize,
    /// Whether the replay has reached that.
    pub(super) is_over: bool,
    /// The position at which the model has refused a request as too long.
    pub(super) refused_at: Option<usize>,
}

impl Track {
    /// Returns the setup of the next turn: the one that is recorded before it, or the last one.
    pub(super) fn setup(&self) -> Option<Digest> {
        let setup = |record: &EventRecord| match &record.event {
            Event::LoopConfigured { setup, .. } => Some(setup.digest),
            _ => None,
        };
        let mut rest = self.records.iter().skip(self.position);
        let next = rest.find(|record| {
            // A new session begins with these, before its first turn.
            !matches!(
                record.event,
                Event::SessionStarted { .. } | Event::StateMerged { .. } | Event::ContextSet { .. }
            )
        });
        let mut before = self.records.iter().take(self.position).rev();
        next.and_then(setup).or_else(|| before.find_map(setup))
    }
}

/// Returns the position behind a setup that is recorded at a position: what follows a setup was
/// recorded with it.
pub(super) fn behind_setup(records: &[EventRecord], position: usize) -> usize {
    let next = records.get(position);
    let has_setup = next.is_some_and(|next| matches!(next.event, Event::LoopConfigured { .. }));
    position + usize::from(has_setup)
}

/// The turn of the replayed session that runs.
#[derive(Clone, Debug, Default)]
pub(super) struct CurrentTurn {
    pub(super) cancel: CancellationToken,
    pub(super) drain: CancellationToken,
    /// The recorded end, unless the program ended before it.
    pub(super) end: Option<EventRecord>,
    /// Whether a call ended the run in it, which stops the agents beside it.
    pub(super) has_halted: bool,
}

#[derive(Debug, Default)]
struct Inner {
    tracks: HashMap<SessionId, Track>,
    turn: CurrentTurn,
    /// The session whose model is asked.
    asking: Option<SessionId>,
    difference: Option<Difference>,
    /// Counts what moves the replay on.
    steps: u64,
}

/// The recorded sessions, and how far the replay is in each.
#[derive(Debug)]
pub(super) struct Tape {
    inner: Mutex<Inner>,
    /// Notified when a session gets on.
    pub(super) moved: Notify,
    blobs: HashMap<Digest, Vec<u8>>,
    root: SessionId,
    /// The number of events that were copied, and are replayed with the original.
    copied: usize,
    /// The sessions of agents, by the call.
    children: HashMap<(SessionId, CallId), SessionId>,
}

impl Tape {
    pub(super) fn new(recording: &Recording, start: usize) -> Arc<Self> {
        let mut children = HashMap::new();
        for record in recording.events() {
            if let Event::AgentSpawned {
                call_id, session, ..
            } = &record.event
            {
                children.insert((record.session, call_id.clone()), *session);
            }
        }
        let tracks = recording.sessions.iter().map(|(id, records)| {
            let is_copy =
                |record: &EventRecord| matches!(record.event, Event::SessionForked { .. });
            let position = match *id == recording.root {
                true => start,
                // The sessions of agents are copied whole, and never continue.
                false if start > 0 && records.iter().any(is_copy) => records.len(),
                false => 0,
            };
            let track = Track {
                position,
                life_end: records.len(),
                is_over: false,
                refused_at: None,
                records: Arc::new(records.clone()),
            };
            (*id, track)
        });
        let tracks: HashMap<SessionId, Track> = tracks.collect();
        let copied = tracks.values().map(|track| track.position).sum();
        let inner = Inner {
            tracks,
            ..Inner::default()
        };
        Arc::new(Self {
            inner: Mutex::new(inner),
            moved: Notify::new(),
            blobs: recording.blobs.clone(),
            root: recording.root,
            copied,
            children,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads or changes the track of a session; `None` for an unknown one.
    pub(super) fn track<T>(
        &self,
        session: SessionId,
        of: impl FnOnce(&mut Track) -> T,
    ) -> Option<T> {
        self.lock().tracks.get_mut(&session).map(of)
    }

    pub(super) fn blob(&self, digest: &Digest) -> Option<&Vec<u8>> {
        self.blobs.get(digest)
    }

    pub(super) fn child(&self, session: SessionId, call_id: &CallId) -> Option<SessionId> {
        self.children.get(&(session, call_id.clone())).copied()
    }

    pub(super) fn children(&self) -> &HashMap<(SessionId, CallId), SessionId> {
        &self.children
    }

    /// Returns the number of events that were replayed on this tape.
    pub(super) fn replayed(&self) -> u64 {
        let inner = self.lock();
        let positions = inner.tracks.values().map(|track| track.position);
        let all: usize = positions.sum();
        all.saturating_sub(self.copied) as u64
    }

    /// Begins a turn of the replayed session.
    pub(super) fn begin_turn(&self, turn: CurrentTurn) {
        self.lock().turn = turn;
    }

    pub(super) fn set_asking(&self, session: SessionId) {
        self.lock().asking = Some(session);
    }

    pub(super) fn asking(&self) -> Option<SessionId> {
        self.lock().asking
    }

    pub(super) fn difference(&self) -> Option<Difference> {
        self.lock().difference.clone()
    }

    pub(super) fn steps(&self) -> u64 {
        self.lock().steps
    }

    /// Stops the replay at a difference; the first one counts.
    pub(super) fn differ(&self, difference: Difference) {
        self.lock().difference.get_or_insert(difference);
        self.moved.notify_waiters();
    }

    /// Returns the difference of a session that got no further than this event.
    pub(super) fn missing(&self, session: SessionId, reason: Option<String>) -> Difference {
        let next = self.track(session, |track| {
            let next = track.records.get(track.position);
            (track.position, next.map(|record| json!(record.event)))
        });
        let (position, recorded) = next.unwrap_or_default();
        Difference {
            session,
            seq: position as u64,
            field: String::new(),
            recorded,
            replayed: None,
            reason,
        }
    }

    /// Compares new records with the recorded ones, and gets on by those that are equal.
    pub(super) fn append(&self, session: SessionId, records: &[EventRecord]) {
        for record in records {
            self.append_one(session, record);
        }
        self.moved.notify_waiters();
    }

    fn append_one(&self, session: SessionId, record: &EventRecord) {
        let mut inner = self.lock();
        if inner.difference.is_some() {
            return;
        }
        inner.steps += 1;
        let turn = inner.turn.clone();
        let dies = turn.end.is_none();
        let of = self.kind(&inner, session);
        let Some(track) = inner.tracks.get_mut(&session) else {
            return;
        };
        let at = usize::try_from(record.seq).unwrap_or(usize::MAX);
        if track.is_over || at >= track.life_end {
            let is_cut = track.life_end < track.records.len() || dies;
            track.is_over = true;
            if !is_cut {
                inner.difference = Some(Difference {
                    session,
                    seq: record.seq,
                    field: String::new(),
                    recorded: None,
                    replayed: Some(json!(record.event)),
                    reason: None,
                });
            }
            return;
        }
        let recorded = track.records.get(at);
        if recorded != Some(record) {
            let recorded = json!(recorded.map(|recorded| &recorded.event));
            let replayed = json!(record.event);
            let found = Difference::between(session, record.seq, &recorded, &replayed);
            // Events that have one JSON form are equal.
            if found.is_some() {
                inner.difference = found;
                return;
            }
        }
        track.position = at + 1;
        let trigger = Trigger::at(&track.records, track.position, of, &turn);
        match trigger {
            None => {}
            Some(Trigger::Cancel) => turn.cancel.cancel(),
            Some(Trigger::Drain) => turn.drain.cancel(),
        }
    }

    /// Returns whether the session of an agent has its result in the turn of its caller that runs.
    fn kind(&self, inner: &Inner, session: SessionId) -> Of {
        if session == self.root {
            let end = inner.turn.end.as_ref().map_or(0, |end| end.at_ms);
            let runs = |(id, track): (&SessionId, &Track)| {
                let next = track.records.get(track.position);
                *id != self.root
                    && next.is_some_and(|next| next.at_ms <= end)
                    && (track.position > 0 || is_spawned(inner, *id))
            };
            return match inner.tracks.iter().any(runs) {
                true => Of::Busy,
                false => Of::Root,
            };
        }
        let of_session = inner.tracks.get(&session);
        let first = of_session.and_then(|track| track.records.first());
        let parent = first.and_then(|record| match &record.event {
            Event::SessionStarted { parent, .. } => parent.as_ref(),
            _ => None,
        });
        let Some((parent, track)) =
            parent.and_then(|parent| Some((parent, inner.tracks.get(&parent.session)?)))
        else {
            return Of::Open;
        };
        let rest = track.records.get(track.position..).unwrap_or_default();
        let mut turn = rest
            .iter()
            .take_while(|record| !matches!(record.event, Event::TurnEnded { .. }));
        let settles = |record: &EventRecord| {
            let end = record.event.call_end();
            end.is_some_and(|end| *end.call_id == parent.call_id)
        };
        match turn.any(settles) {
            true => Of::Settled,
            false => Of::Open,
        }
    }

    /// Returns what happened to the turn that begins before it recorded anything.
    pub(super) fn trigger(&self) -> Option<Trigger> {
        let inner = self.lock();
        let track = inner.tracks.get(&self.root)?;
        let of = self.kind(&inner, self.root);
        Trigger::at(&track.records, track.position, of, &inner.turn)
    }

    /// Waits until the agents beside one that ended the run are where that stopped them.
    pub(super) async fn siblings(&self, parent: SessionId, session: SessionId) {
        let children = self.children.iter();
        let siblings = children.filter(|((of, _), id)| *of == parent && **id != session);
        for (_, sibling) in siblings {
            let stopped_at = self.track(*sibling, |track| {
                let mut rest = track.records.iter().enumerate().skip(track.position);
                rest.find_map(|(at, record)| match &record.event {
                    Event::TurnEnded { outcome, .. } => match outcome.end {
                        TurnEnd::NeedsMoreTurns => None,
                        // A setup before it was recorded with it.
                        TurnEnd::Cancelled => {
                            let before = at.saturating_sub(1);
                            let is_behind = behind_setup(&track.records, before) > before;
                            Some(if is_behind { before } else { at })
                        }
                        _ => Some(at + 1),
                    },
                    _ => None,
                })
            });
            if let Some(at) = stopped_at.flatten() {
                self.reached(*sibling, at).await;
            }
        }
    }

    /// Waits until a session is at a position.
    pub(super) async fn reached(&self, session: SessionId, position: usize) {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            let at = self.track(session, |track| track.position);
            if at.is_none_or(|at| at >= position) {
                return;
            }
            moved.await;
        }
    }
}

/// Whether a replayed event, or the one that is replayed now, starts the session of an agent. One
/// that starts in a later turn may have its first events in the millisecond in which this turn
/// ended.
fn is_spawned(inner: &Inner, child: SessionId) -> bool {
    let replayed = |track: &Track| {
        let end = (track.position + 1).min(track.records.len());
        let records = track.records.get(..end).unwrap_or_default();
        records.iter().rev().any(|record| {
            matches!(record.event, Event::AgentSpawned { session, .. } if session == child)
        })
    };
    inner.tracks.values().any(replayed)
}

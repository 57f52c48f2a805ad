//! The journal of a replay: it compares what is recorded with the recording, whose times it gives
//! back. It writes nothing.

use super::tape::{Tape, behind_setup};
use crate::{
    BoxFuture,
    agents::Journals,
    journal::{Clock, Journal, JournalError, RecordedFacts},
};
use agent_host_types::{
    budget::Budget,
    event::{Event, EventRecord},
    id::{CallId, Digest, SessionId},
    output::Blob,
    turn::{RunOutcome, TurnEnd, TurnReport},
};
use std::{
    future::{pending, ready},
    sync::Arc,
    time::{Duration, Instant},
};

/// The journal of one session of a replay.
#[derive(Debug)]
pub(super) struct ReplayJournal {
    pub(super) tape: Arc<Tape>,
    pub(super) session: SessionId,
}

impl Journal for ReplayJournal {
    fn session(&self) -> SessionId {
        self.session
    }

    fn append(&self, records: &[EventRecord], _blobs: Vec<Blob>) {
        self.tape.append(self.session, records);
    }

    /// A session that is as far as the program that recorded it does not get on. One that was a
    /// node of a workflow ends when it did among the others.
    fn barrier(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move {
            let is_over = self.tape.track(self.session, |track| track.is_over);
            if is_over != Some(false) || self.tape.difference().is_some() {
                pending::<()>().await;
            }
            if let Some((parent, call_id, has_halted)) = self.ended_for() {
                if has_halted {
                    self.tape.siblings(parent, self.session).await;
                }
                self.tape.landing(parent, &call_id).await;
            }
            Ok(())
        })
    }

    fn clock(&self) -> &dyn Clock {
        self
    }

    fn recorded_facts(&self, call: &CallId) -> RecordedFacts {
        let next = self.tape.track(self.session, |track| {
            let next = track.records.get(track.position)?;
            match &next.event {
                Event::FactsRead { call_id, facts } if call_id == call => Some(facts.clone()),
                _ => None,
            }
        });
        let next = next.flatten();
        next.map_or(RecordedFacts::Unchanged, RecordedFacts::Next)
    }

    fn records(&self, from: u64) -> BoxFuture<'_, Result<Vec<EventRecord>, JournalError>> {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let read = self.tape.track(self.session, |track| {
            let read = track.records.get(from..track.position);
            read.unwrap_or_default().to_vec()
        });
        Box::pin(ready(Ok(read.unwrap_or_default())))
    }

    fn blob(&self, digest: Digest) -> BoxFuture<'_, Result<Vec<u8>, JournalError>> {
        let found = self.tape.blob(&digest).cloned();
        let missing = || JournalError::not_found(format!("the recording has no blob {digest}"));
        Box::pin(ready(found.ok_or_else(missing)))
    }
}

impl ReplayJournal {
    /// Returns the call of the session that started this one, and whether this one ended the run,
    /// if it has just ended.
    fn ended_for(&self) -> Option<(SessionId, CallId, bool)> {
        let found = self.tape.track(self.session, |track| {
            let Event::SessionStarted {
                parent: Some(parent),
                ..
            } = &track.records.first()?.event
            else {
                return None;
            };
            let last = track.position.checked_sub(1)?;
            match &track.records.get(last)?.event {
                Event::TurnEnded { outcome, .. } if is_final(&outcome.end) => {
                    let has_halted = matches!(outcome.end, TurnEnd::Halted { .. });
                    Some((parent.session, parent.call_id.clone(), has_halted))
                }
                _ => None,
            }
        });
        found.flatten()
    }
}

/// Whether the session of an agent has its result with this end.
fn is_final(end: &TurnEnd) -> bool {
    match end.run_outcome() {
        RunOutcome::Ended | RunOutcome::Unrecorded(_) => true,
        RunOutcome::Unfinished | RunOutcome::Paused(_) => false,
    }
}

impl Clock for ReplayJournal {
    /// Returns the time of the event that is recorded next.
    fn now_ms(&self) -> u64 {
        let next = self.tape.track(self.session, |track| {
            let next = track.records.get(track.position).or(track.records.last());
            next.map_or(0, |record| record.at_ms)
        });
        next.unwrap_or_default()
    }

    /// Returns the time that used up the budget of a turn which ended so, once nothing else starts
    /// in it; otherwise zero.
    fn elapsed(&self, _since: Instant) -> Duration {
        let used = self.tape.track(self.session, |track| {
            let rest = track.records.get(track.position..).unwrap_or_default();
            let end = rest.iter().find_map(|record| match &record.event {
                Event::TurnEnded { outcome, .. } => Some(outcome),
                _ => None,
            })?;
            let rest = rest
                .iter()
                .take_while(|record| !matches!(record.event, Event::TurnEnded { .. }));
            let starts = |record: &EventRecord| {
                matches!(
                    record.event,
                    Event::ModelRequested { .. }
                        | Event::InputReceived { .. }
                        | Event::WorkflowStarted { .. }
                        | Event::NodeIntended { .. }
                        | Event::HistorySummarised { .. }
                        | Event::ResultsReferenced { .. }
                )
            };
            match &end.end {
                TurnEnd::BudgetExceeded {
                    budget: Budget::WallClock { used_ms, .. },
                } if !rest.clone().any(starts) => Some(*used_ms),
                _ => None,
            }
        });
        Duration::from_millis(used.flatten().unwrap_or_default())
    }

    fn stamp(&self, record: &mut EventRecord) {
        let at = usize::try_from(record.seq).unwrap_or(usize::MAX);
        self.tape.track(self.session, |track| {
            if let Some(recorded) = track.records.get(at) {
                record.at_ms = recorded.at_ms;
                stamp_event(&mut record.event, &recorded.event);
            }
        });
    }
}

/// Sets the times of an event to those of the recorded one of its kind.
fn stamp_event(event: &mut Event, recorded: &Event) {
    match (event, recorded) {
        (
            Event::ModelReplied { duration_ms, .. },
            Event::ModelReplied {
                duration_ms: recorded,
                ..
            },
        )
        | (
            Event::HistorySummarised { duration_ms, .. },
            Event::HistorySummarised {
                duration_ms: recorded,
                ..
            },
        ) => *duration_ms = *recorded,
        (
            Event::CallSettled { accounting, .. },
            Event::CallSettled {
                accounting: recorded,
                ..
            },
        )
        | (
            Event::NodeSettled { accounting, .. },
            Event::NodeSettled {
                accounting: recorded,
                ..
            },
        )
        | (
            Event::NodeRetried { accounting, .. },
            Event::NodeRetried {
                accounting: recorded,
                ..
            },
        ) => accounting.wall_us = recorded.wall_us,
        (
            Event::ApprovalRequested {
                expires_at_ms: Some(expires_at_ms),
                ..
            },
            Event::ApprovalRequested {
                expires_at_ms: Some(recorded),
                ..
            },
        ) => *expires_at_ms = *recorded,
        (
            Event::TurnEnded { outcome, .. },
            Event::TurnEnded {
                outcome: recorded, ..
            },
        ) => stamp_report(outcome, recorded),
        _ => {}
    }
}

fn stamp_report(report: &mut TurnReport, recorded: &TurnReport) {
    report.summary.duration_ms = recorded.summary.duration_ms;
    if let (
        TurnEnd::BudgetExceeded {
            budget: Budget::WallClock { used_ms, .. },
        },
        TurnEnd::BudgetExceeded {
            budget: Budget::WallClock {
                used_ms: recorded, ..
            },
        },
    ) = (&mut report.end, &recorded.end)
    {
        *used_ms = *recorded;
    }
}

/// Opens the journals of agents' sessions in a replay.
pub(super) struct ReplayJournals(pub(super) Arc<Tape>);

impl Journals for ReplayJournals {
    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<Arc<dyn Journal>, JournalError>> {
        let known = self.0.track(session, |track| {
            let behind = behind_setup(&track.records, track.position) + 1;
            let dies = |at: &usize| {
                let at = behind_setup(&track.records, *at);
                let next = track.records.get(at).map(|record| &record.event);
                matches!(next, Some(Event::TurnInterrupted { .. }))
            };
            let died = (behind..track.records.len()).find(dies);
            track.life_end = died.unwrap_or(track.records.len());
            track.is_over = false;
        });
        let opened = match known {
            Some(()) => Ok(Arc::new(ReplayJournal {
                tape: Arc::clone(&self.0),
                session,
            }) as Arc<dyn Journal>),
            None => Err(JournalError::not_found(format!(
                "the recording has no session {session}"
            ))),
        };
        Box::pin(ready(opened))
    }
}

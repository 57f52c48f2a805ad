//! Copies of sessions: the part that was copied is the recording of the original, which ends where
//! it was copied.

use super::{difference::Difference, recording::Recording};
use crate::session::{SessionCopy, ended_children};
use agent_host_types::{
    event::{Event, EventRecord},
    id::SessionId,
};
use serde_json::json;
use std::collections::BTreeMap;

/// The original of a copy.
pub(super) struct Copied {
    /// The original as far as it was copied, with its ids.
    pub(super) original: Recording,
    /// The position of the first event of the copy itself.
    pub(super) start: usize,
    /// The first difference between the events with which the copy begins and those that a copy
    /// made now would begin with.
    pub(super) difference: Option<Difference>,
}

impl Recording {
    /// Returns the original of a copy; of a copy of a copy, the one that was copied last.
    pub(super) fn copied(&self) -> Option<Copied> {
        let (at, from) = last_fork(self.records())?;
        let originals: BTreeMap<SessionId, SessionId> = self
            .sessions
            .iter()
            .filter_map(|(id, records)| Some((*id, last_fork(records)?.1)))
            .collect();
        let sessions = self.sessions.iter().filter_map(|(id, records)| {
            let (at, from) = last_fork(records)?;
            let copied = records.get(..at)?.iter();
            let restored = copied.map(|record| restored(record, *originals.get(id)?, &originals));
            Some((from, restored.collect::<Option<Vec<_>>>()?))
        });
        let original = Recording {
            root: from,
            sessions: sessions.collect(),
            blobs: self.blobs.clone(),
            assumed: self.assumed.clone(),
        };
        let (start, difference) = self.beginning(at, &original);
        Some(Copied {
            original,
            start,
            difference,
        })
    }

    /// Compares the events that a copy begins with. Returns the position behind them, too.
    fn beginning(&self, at: usize, original: &Recording) -> (usize, Option<Difference>) {
        let by = match self.records().get(at).map(|record| &record.event) {
            Some(Event::SessionForked { by, .. }) => by.clone(),
            _ => None,
        };
        let mut copy = SessionCopy::new(original.root, self.root).by(by);
        for record in original.records() {
            // A record that no session could have is found by its replay.
            let _ = copy.next(record.clone());
        }
        let begins = copy.finish().unwrap_or_default();
        let start = at + begins.len();
        let recorded = self.records().get(at..).unwrap_or_default();
        let pairs = begins.iter().enumerate().map(|(index, replayed)| {
            let recorded = recorded.get(index).map(|record| &record.event);
            let seq = (at + index) as u64;
            Difference::between(self.root, seq, &json!(recorded), &json!(replayed.event))
        });
        let difference = pairs.flatten().next();
        (start.min(self.records().len()), difference)
    }
}

/// Returns the position of the last copy of a session, and its original.
fn last_fork(records: &[EventRecord]) -> Option<(usize, SessionId)> {
    let mut forks = records.iter().enumerate().rev();
    forks.find_map(|(at, record)| match record.event {
        Event::SessionForked { from, .. } => Some((at, from)),
        _ => None,
    })
}

/// Returns a record with the ids of the originals in the place of those of the copies.
fn restored(
    record: &EventRecord,
    session: SessionId,
    originals: &BTreeMap<SessionId, SessionId>,
) -> Option<EventRecord> {
    let mut record = record.clone();
    record.session = session;
    let restore = |id: &mut SessionId| {
        if let Some(original) = originals.get(id) {
            *id = *original;
        }
    };
    match &mut record.event {
        Event::SessionStarted {
            parent: Some(parent),
            ..
        } => restore(&mut parent.session),
        Event::AgentSpawned { session, .. } => restore(session),
        Event::TurnEnded { outcome, .. } => outcome.summary.session = session,
        _ => {}
    }
    ended_children(&mut record.event).for_each(|child| restore(&mut child.session));
    Some(record)
}

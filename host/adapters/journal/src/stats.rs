//! The figures of what sessions used, as stores keep them. Beside each session is the state of its
//! fold ([`SessionStats`]), which is written with its events. What it returns is added to the sums of
//! its owner in the same transaction, mostly at the end of a run; what is not yet, a reader adds.

use crate::row::EventRow;
use agent_host_types::{
    event::Event,
    id::SessionId,
    stats::{SessionStats, StatsChange, Sums},
};
use std::sync::Arc;

/// The sums of the sessions of a scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredStats {
    /// The sums of each day, and of the subject that was asked for. A row of the subject has its
    /// last day.
    pub sums: Sums,
    /// The sessions of which nothing is counted, because an event could not be read when the sums
    /// were made, or their state cannot.
    pub unreadable: Vec<SessionId>,
}

impl StoredStats {
    /// Adds what is not in the sums of the store yet of a session, as it is stored.
    pub(crate) fn add_pending(&mut self, session: SessionId, stored: &str) {
        match parse(stored) {
            Some(mut stats) => self.sums.add_all(stats.take_pending()),
            None => self.unreadable.push(session),
        }
    }
}

/// The stored state of a session with an event that cannot be read.
pub(crate) const UNREADABLE: &str = "";

/// Parses the stored state of a session; `None` if it, or an event of the session, cannot be read.
pub(crate) fn parse(stored: &str) -> Option<SessionStats> {
    serde_json::from_str(stored).ok()
}

/// Returns the state of a session as it is stored.
pub(crate) fn to_stored(stats: &SessionStats) -> String {
    serde_json::to_string(stats).unwrap_or_else(|_| UNREADABLE.to_owned())
}

/// Adds events to the state of their session.
pub(crate) fn add_rows(stats: &mut SessionStats, rows: &[Arc<EventRow>]) {
    for row in rows {
        if let Some(change) = &row.stats {
            stats.add(u64::try_from(row.at_ms).unwrap_or(0), change);
        }
    }
}

/// Adds an event as it is stored. Returns false if it cannot be read.
pub(crate) fn add_stored(stats: &mut SessionStats, at_ms: i64, v: i64, json: &[u8]) -> bool {
    let Some(event) = decoded(v, json) else {
        return false;
    };
    if let Some(change) = StatsChange::from_event(&event) {
        stats.add(u64::try_from(at_ms).unwrap_or(0), &change);
    }
    true
}

/// Returns the name of the agent whose session an event starts, if it is this one.
pub(crate) fn agent_started(session: SessionId, v: i64, json: &[u8]) -> Option<String> {
    match decoded(v, json).as_ref().and_then(StatsChange::from_event) {
        Some(StatsChange::Spawned {
            session: started,
            agent,
        }) if started == session => Some(agent),
        _ => None,
    }
}

fn decoded(v: i64, json: &[u8]) -> Option<Event> {
    let v = u32::try_from(v).ok()?;
    Event::from_stored(v, json).ok()
}

//! The place of the next event of a session, and what the events before it came to.

use super::{stats::started, write::Owner};
use crate::{
    chain::ChainLink,
    row::{EventRow, phase_after},
    stats::{UNREADABLE, add_rows, to_stored},
};
use agent_host_types::{
    id::SessionId,
    session_status::SessionPhase,
    stats::{SessionStats, Sums},
};
use deadpool_postgres::GenericClient;
use std::sync::Arc;

/// The place of the next event of a session.
#[derive(Clone, Debug)]
pub(super) struct Position {
    /// Its number.
    pub(super) next: i64,
    /// The digest of the event before it.
    pub(super) link: ChainLink,
    /// The phase of the session before it.
    pub(super) phase: SessionPhase,
    /// The fold of the figures of the session before it; `None` if an event cannot be read.
    pub(super) stats: Option<SessionStats>,
}

impl Position {
    /// Returns the place of a session's first event.
    pub(super) fn start(session: SessionId) -> Self {
        Self {
            next: 0,
            link: ChainLink::start(session),
            phase: SessionPhase::New,
            stats: Some(SessionStats::default()),
        }
    }

    /// Whether this is the place behind events of which that of the first is `first`.
    pub(super) fn is_behind(&self, first: &Self, rows: &[Arc<EventRow>]) -> bool {
        let last = rows.last().map(|last| last.seq.saturating_add(1));
        last == Some(self.next) && links(first.link, rows).last() == Some(&self.link)
    }

    /// Returns the state of the figures as it is stored.
    pub(super) fn stored_stats(&self) -> String {
        let stats = self.stats.as_ref();
        stats.map_or_else(|| UNREADABLE.to_owned(), to_stored)
    }

    /// Whether something of the session is not in the sums.
    pub(super) fn is_uncounted(&self) -> bool {
        let stats = self.stats.as_ref();
        stats.is_none_or(|stats| !stats.pending().is_empty())
    }
}

/// Returns the position after some events, the last of which has this digest, and the figures to
/// add to the sums of the store with them. A session that is written as a whole is counted at its
/// end, since a copy begins with events that count for the original.
pub(super) async fn after(
    client: &impl GenericClient,
    owner: Owner,
    position: &Position,
    rows: &[Arc<EventRow>],
    link: Option<&ChainLink>,
) -> Result<(Position, Sums), tokio_postgres::Error> {
    let (mut next, mut due) = (position.clone(), Sums::default());
    next.next = next
        .next
        .saturating_add(i64::try_from(rows.len()).unwrap_or(i64::MAX));
    next.link = *link.unwrap_or(&next.link);
    next.phase = phase_after(next.phase, rows);
    let (session, is_whole) = match owner {
        Owner::Lease(lease) => (lease.session, false),
        Owner::Unseen(session) => (session, true),
    };
    let first = rows.first().filter(|first| first.seq == 0);
    if let Some(parent) = first.and_then(|first| first.listing.parent) {
        next.stats = Some(started(client, session, Some(&parent.to_string())).await?);
    }
    if let Some(stats) = &mut next.stats {
        add_rows(stats, rows);
        if !is_whole {
            due = stats.take_due(next.phase);
        }
    }
    Ok((next, due))
}

/// Returns the digest of each event, of which the one before has this digest.
pub(super) fn links(mut before: ChainLink, rows: &[Arc<EventRow>]) -> Vec<ChainLink> {
    let links = rows.iter().map(|row| {
        let numbers = [row.seq, row.at_ms, row.v];
        before = before.next(numbers, row.kind.as_bytes(), row.json.as_bytes());
        before
    });
    links.collect()
}

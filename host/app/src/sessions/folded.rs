//! Long sessions that ran in this process, folded, so that their next run does not read all of
//! their records again.

#[cfg(test)]
mod tests;

use agent_host_engine::session::FoldedSession;
use agent_host_types::id::SessionId;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The records from which on a session is kept. Fewer are read in a few milliseconds.
pub(super) const MIN_FOLDED_RECORDS: u64 = 500;

/// The most memory of all that are kept, by estimate: 64 MiB.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The most sessions that are kept. They are searched one by one.
const MAX_SESSIONS: usize = 64;

/// The folded sessions of a process, the one that was kept last at the end.
#[derive(Debug, Default)]
pub(super) struct FoldedSessions(Mutex<Vec<FoldedSession>>);

impl FoldedSessions {
    /// Keeps a session for its next run, and drops the oldest ones beyond the limits.
    pub(super) fn keep(&self, folded: FoldedSession) {
        if folded.memory_bytes() > MAX_BYTES {
            return;
        }
        let mut kept = self.lock();
        kept.retain(|other| other.session() != folded.session());
        kept.push(folded);
        let mut bytes = 0;
        let newest = kept.iter().rev().take_while(|session| {
            bytes += session.memory_bytes();
            bytes <= MAX_BYTES
        });
        let fitting = newest.count().min(MAX_SESSIONS);
        let surplus = kept.len() - fitting;
        kept.drain(..surplus);
    }

    /// Removes and returns a session.
    pub(super) fn take(&self, session: SessionId) -> Option<FoldedSession> {
        let mut kept = self.lock();
        let at = kept.iter().position(|kept| kept.session() == session)?;
        Some(kept.remove(at))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<FoldedSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The memory of sessions that left or came sealed.

use crate::sealed::{MAX_SEALED_SESSIONS, SealMemory, SealedSession};
use agent_host_types::id::SessionId;
use std::collections::HashMap;

/// The sealed sessions that were here, and how far they went.
#[derive(Default)]
pub(super) struct SealedSessions {
    known: HashMap<SessionId, SealedSession>,
    forgotten_until_ms: u64,
}

impl SealedSessions {
    pub(super) fn is_known(&self, session: SessionId) -> bool {
        self.known.contains_key(&session)
    }

    pub(super) fn memory(&self, session: SessionId) -> SealMemory {
        match self.known.get(&session) {
            Some(known) => SealMemory::Known(known.events),
            None => SealMemory::ForgottenUntil(self.forgotten_until_ms),
        }
    }

    /// Remembers how far a session goes, or went when it was removed.
    pub(super) fn remember(&mut self, session: SealedSession) {
        let known = self.known.entry(session.session).or_insert(session);
        known.events = known.events.max(session.events);
        known.last_ms = known.last_ms.max(session.last_ms);
        if self.known.len() <= MAX_SEALED_SESSIONS as usize {
            return;
        }
        let mut times: Vec<u64> = self.known.values().map(|known| known.last_ms).collect();
        times.sort_unstable();
        let oldest = times.get(MAX_SEALED_SESSIONS as usize / 4).copied();
        self.forgotten_until_ms = self.forgotten_until_ms.max(oldest.unwrap_or_default());
        let until = self.forgotten_until_ms;
        self.known.retain(|_, known| known.last_ms > until);
    }
}

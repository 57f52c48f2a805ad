//! Sessions that are read and stored as a whole, to copy them.

use super::{SharedMemory, state::Claim};
use crate::{
    copy::{SessionSink, SessionSource},
    error::Location,
    ownership::Ownership,
    row::{EventRow, decode_rows},
    sealed::SealedSession,
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
    output::Blob,
};
use std::sync::Arc;

/// A session that is read as a whole.
pub(super) struct StoredSession<'a> {
    pub(super) shared: &'a SharedMemory,
    pub(super) session: SessionId,
}

impl SessionSource for StoredSession<'_> {
    fn session(&self) -> SessionId {
        self.session
    }

    fn location(&self) -> &Location {
        &self.shared.location
    }

    fn events(&self) -> Result<u64, JournalError> {
        Ok(self.shared.state().events(self.session))
    }

    fn page(&self, from: u64) -> Result<Vec<EventRecord>, JournalError> {
        let rows = self.shared.state().page(self.session, from)?;
        decode_rows(&self.shared.location, self.session, &rows)
    }

    fn blobs(&self) -> Result<Vec<Digest>, JournalError> {
        let state = self.shared.state();
        Ok(state.blobs_of(self.session)?)
    }

    fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError> {
        self.shared.blob(digest)
    }

    fn agents(&self) -> Result<Vec<Box<dyn SessionSource + '_>>, JournalError> {
        let family = self.shared.state().descendants(self.session);
        let boxed = |session| {
            let shared = self.shared;
            Box::new(StoredSession { shared, session }) as Box<dyn SessionSource>
        };
        Ok(family.into_iter().map(boxed).collect())
    }
}

/// New sessions that are collected and then stored together.
pub(super) struct NewSessions {
    shared: Arc<SharedMemory>,
    claimed: Vec<NewSession>,
    /// The owner of the first one, until it has an event. Those of agents belong to it.
    ownership: Option<Ownership>,
    sealed: Option<SealedSession>,
}

/// A new session, and what is collected of it.
struct NewSession {
    claim: Claim,
    rows: Vec<Arc<EventRow>>,
    blobs: Vec<Arc<Blob>>,
}

impl NewSessions {
    pub(super) fn new(shared: &Arc<SharedMemory>, ownership: Option<Ownership>) -> Self {
        Self {
            shared: Arc::clone(shared),
            claimed: Vec::new(),
            ownership,
            sealed: None,
        }
    }

    fn current(&mut self) -> Result<&mut NewSession, JournalError> {
        let last = self.claimed.last_mut();
        last.ok_or_else(|| JournalError::storage("no session was started"))
    }

    /// Stores all of them.
    pub(super) fn store(self) -> Result<(), JournalError> {
        for new in &self.claimed {
            new.claim.write(&new.rows, &new.blobs)?;
        }
        if let Some(sealed) = self.sealed {
            self.shared.state().sealed.remember(sealed);
        }
        Ok(())
    }
}

impl SessionSink for NewSessions {
    fn begin(&mut self, session: SessionId) -> Result<(), JournalError> {
        self.claimed.push(NewSession {
            claim: self.shared.claim_new(session)?,
            rows: Vec::new(),
            blobs: Vec::new(),
        });
        Ok(())
    }

    fn event(&mut self, record: &EventRecord) -> Result<(), JournalError> {
        let row = EventRow::encode(record).map_err(JournalError::corrupt)?;
        let row = row.owned_by(&mut self.ownership);
        self.current()?.rows.push(Arc::new(row));
        Ok(())
    }

    fn blob(&mut self, blob: Blob) -> Result<(), JournalError> {
        self.current()?.blobs.push(Arc::new(blob));
        Ok(())
    }

    fn take_sealed(&mut self, session: SealedSession) -> Result<(), JournalError> {
        let memory = self.shared.state().sealed.memory(session.session);
        session.check(memory, &self.shared.location)?;
        self.sealed = Some(session);
        Ok(())
    }

    fn blobs_of(&mut self, source: &dyn SessionSource) -> Result<(), JournalError> {
        for digest in source.blobs()? {
            let blob = self.shared.state().blob(digest);
            self.current()?.blobs.extend(blob);
        }
        Ok(())
    }
}

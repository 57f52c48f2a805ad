//! The journal of a session in a store in memory.

use super::state::Claim;
use crate::{ownership::Ownership, queue::Queue, row::decode_rows};
use agent_host_engine::{
    BoxFuture,
    journal::{Journal, JournalError},
};
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
    output::Blob,
};
use std::{
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A claimed session. Dropping it stores what is queued.
pub(super) struct ClaimedSession {
    queue: Mutex<Queue>,
    claim: Claim,
}

impl ClaimedSession {
    pub(super) fn open(claim: Claim) -> Arc<dyn Journal> {
        Self::owned(claim, None)
    }

    /// Opens the journal of a new session.
    pub(super) fn owned(claim: Claim, ownership: Option<Ownership>) -> Arc<dyn Journal> {
        let queue = Mutex::new(Queue::owned_by(ownership));
        Arc::new(Self { queue, claim })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn commit(&self) -> Result<(), JournalError> {
        let mut queue = self.queue();
        queue.check()?;
        let (rows, blobs) = queue.take_unsent();
        let written = self.claim.write(&rows, &blobs);
        let written = written.map_err(Into::into);
        Ok(queue.complete(rows.len(), blobs.len(), written)?)
    }
}

impl Journal for ClaimedSession {
    fn session(&self) -> SessionId {
        self.claim.session
    }

    fn append(&self, records: &[EventRecord], blobs: Vec<Blob>) {
        self.queue().append(records, blobs);
    }

    fn barrier(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(ready(self.commit()))
    }

    fn retry(&self) -> bool {
        self.queue().retry()
    }

    fn appended_bytes(&self) -> u64 {
        self.queue().appended_bytes()
    }

    fn records(&self, from: u64) -> BoxFuture<'_, Result<Vec<EventRecord>, JournalError>> {
        let Claim { shared, session } = &self.claim;
        // Taken before the state is read: a row that is stored in between is then found there.
        let queued = self.queue().rows_from(from);
        let stored = shared.state().page(*session, from).unwrap_or_default();
        let rows = if stored.is_empty() { queued } else { stored };
        Box::pin(ready(decode_rows(&shared.location, *session, &rows)))
    }

    fn blob(&self, digest: Digest) -> BoxFuture<'_, Result<Vec<u8>, JournalError>> {
        let queued = self.queue().blob(digest);
        let blob = queued.map_or_else(|| self.claim.shared.blob(digest), Ok);
        Box::pin(ready(blob))
    }
}

impl Drop for ClaimedSession {
    fn drop(&mut self) {
        // No caller is left to receive a failure.
        let _ = self.commit();
    }
}

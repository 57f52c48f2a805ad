//! The journal of a session in a store in memory.

use super::state::{self, Batch, Claim};
use crate::{error::StoreError, row::Row};
use agent_host_engine::{
    BoxFuture,
    journal::{Journal, JournalError},
};
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
    output::Blob,
};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// A claimed session. Dropping it stores what is queued.
pub(super) struct ClaimedSession {
    queue: Mutex<Queue>,
    appended_bytes: AtomicU64,
    claim: Claim,
}

/// Everything that was appended and is not durable.
struct Queue {
    batch: Batch,
    failure: Option<Failure>,
}

/// Why nothing is stored any more.
struct Failure {
    error: JournalError,
    /// True if no retry can succeed.
    is_final: bool,
}

impl ClaimedSession {
    pub(super) fn open(claim: Claim) -> Arc<dyn Journal> {
        let batch = Batch::new(claim.session);
        Arc::new(Self {
            queue: Mutex::new(Queue {
                batch,
                failure: None,
            }),
            appended_bytes: AtomicU64::new(0),
            claim,
        })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn commit(&self) -> Result<(), JournalError> {
        let mut queue = self.queue();
        if let Some(failure) = &queue.failure {
            return Err(failure.error.clone());
        }
        let Claim { shared, session } = &self.claim;
        let written = shared
            .state()
            .write(&shared.location, *session, &queue.batch);
        written.map_err(|error| {
            let is_final = matches!(error, StoreError::OutOfOrder { .. });
            let error = JournalError::from(error);
            queue.failure = Some(Failure {
                error: error.clone(),
                is_final,
            });
            error
        })?;
        queue.batch = Batch::new(*session);
        Ok(())
    }
}

impl Journal for ClaimedSession {
    fn session(&self) -> SessionId {
        self.claim.session
    }

    fn append(&self, records: &[EventRecord], blobs: Vec<Blob>) {
        let mut queue = self.queue();
        // Nothing is stored after a final failure, so nothing is queued either.
        if queue
            .failure
            .as_ref()
            .is_some_and(|failure| failure.is_final)
        {
            return;
        }
        let mut bytes = 0;
        for record in records {
            match Row::encode(record) {
                Ok(row) => {
                    bytes += row.json.len();
                    queue.batch.rows.push(Arc::new(row));
                }
                Err(source) => {
                    let seq = record.seq;
                    queue.failure = Some(Failure {
                        error: StoreError::Unstorable { seq, source }.into(),
                        is_final: true,
                    });
                    return;
                }
            }
        }
        for blob in blobs {
            bytes += blob.bytes.len();
            queue.batch.blobs.push(Arc::new(blob));
        }
        self.appended_bytes
            .fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn barrier(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(std::future::ready(self.commit()))
    }

    fn retry(&self) -> bool {
        let mut queue = self.queue();
        if queue
            .failure
            .as_ref()
            .is_some_and(|failure| failure.is_final)
        {
            return false;
        }
        queue.failure = None;
        true
    }

    fn appended_bytes(&self) -> u64 {
        self.appended_bytes.load(Ordering::Relaxed)
    }

    fn records(&self, from: u64) -> BoxFuture<'_, Result<Vec<EventRecord>, JournalError>> {
        Box::pin(async move {
            let Claim { shared, session } = &self.claim;
            let is_next = |row: &&Arc<Row>| u64::try_from(row.seq).is_ok_and(|seq| seq >= from);
            // Taken before the state is read: a row that is stored in between is then found there.
            let queued = self
                .queue()
                .batch
                .rows
                .iter()
                .filter(is_next)
                .cloned()
                .collect();
            let stored = shared.state().page(*session, from).unwrap_or_default();
            let rows = if stored.is_empty() { queued } else { stored };
            state::decode(&shared.location, *session, &rows)
        })
    }

    fn blob(&self, digest: Digest) -> BoxFuture<'_, Result<Vec<u8>, JournalError>> {
        let queued = self.queue();
        let blob = queued.batch.blobs.iter().find(|blob| blob.digest == digest);
        let bytes = match blob {
            Some(blob) => Ok(blob.bytes.clone()),
            None => {
                let shared = &self.claim.shared;
                let blob = shared.state().blob(&shared.location, digest);
                blob.map(|blob| blob.bytes.clone()).map_err(Into::into)
            }
        };
        Box::pin(std::future::ready(bytes))
    }
}

impl Drop for ClaimedSession {
    fn drop(&mut self) {
        // No caller is left to receive a failure.
        let _ = self.commit();
    }
}

//! The journal of a claimed session: its queue, and the batches of it that go to the writer.

use super::{
    database::{Database, SharedDatabase},
    lock::{Mark, SessionLock},
    read::ReadConnection,
    writer::{Batch, Waiter},
};
use crate::{
    error::StoreError,
    ownership::Ownership,
    queue::{Queue, WriteFailure},
    row::decode_rows,
    store::blocking,
};
use agent_host_engine::{
    BoxFuture,
    journal::{CountedCall, Journal, JournalError, Tallies, TallyQuery},
};
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
    output::Blob,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

/// The size at which the queue goes to the writer before its barrier, in bytes of events and blobs,
/// so that a turn of many large results does not hold them all. A crash still leaves a prefix of
/// what was appended.
pub(crate) const MAX_QUEUED_BYTES: usize = 32 * 1024 * 1024;

/// The journal of a session that this process has claimed.
///
/// Events are queued until a barrier. Dropping the journal hands what is queued to the writer, with
/// the claim, and does not wait; a crash loses it.
pub(crate) struct SqliteJournal {
    session: SessionId,
    shared: Arc<SharedDatabase>,
    queue: Arc<ClaimedQueue>,
}

/// The queue of a session, with its lock. A batch with the writer shares it.
pub(crate) struct ClaimedQueue {
    inner: Mutex<Queue>,
    lock: SessionLock,
}

impl ClaimedQueue {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if a batch of this attempt may be written.
    pub(crate) fn accepts(&self, attempt: u64) -> bool {
        let queue = self.lock();
        queue.check().is_ok() && queue.attempt() == attempt
    }

    /// Records the result of the oldest batch with the writer, and returns what its waiter
    /// receives. The first failure stays.
    pub(crate) fn complete(
        &self,
        batch: &Batch,
        result: Result<Option<Mark>, WriteFailure>,
    ) -> Result<(), WriteFailure> {
        let mut queue = self.lock();
        queue.check()?;
        if queue.attempt() != batch.attempt {
            // Its events are in a batch of the present attempt.
            return Err(StoreError::Superseded.into());
        }
        if let Ok(Some(mark)) = &result {
            self.lock.set_mark(mark);
        }
        queue.complete(batch.rows.len(), batch.blobs.len(), result.map(drop))
    }
}

impl SqliteJournal {
    pub(crate) fn new(session: SessionId, shared: Arc<SharedDatabase>, lock: SessionLock) -> Self {
        Self::owned(session, shared, lock, None)
    }

    /// Creates the journal of a new session.
    pub(crate) fn owned(
        session: SessionId,
        shared: Arc<SharedDatabase>,
        lock: SessionLock,
        ownership: Option<Ownership>,
    ) -> Self {
        let inner = Mutex::new(Queue::owned_by(ownership));
        Self {
            session,
            shared,
            queue: Arc::new(ClaimedQueue { inner, lock }),
        }
    }

    /// Sends the unsent part of the queue to the writer. The order of sending is the order of
    /// events, so the queue stays locked meanwhile.
    fn send(&self, queue: &mut Queue, waiter: Waiter) {
        let (rows, blobs) = queue.take_unsent();
        let sent = self.shared.send(Batch {
            session: self.session,
            rows,
            blobs,
            attempt: queue.attempt(),
            queue: Arc::clone(&self.queue),
            waiter,
        });
        if !sent {
            queue.fail(StoreError::WriterStopped);
        }
    }

    /// Runs a query on a thread that may block.
    fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&ReadConnection) -> Result<T, JournalError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, JournalError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(blocking(move || query(shared.reader())))
    }
}

impl Journal for SqliteJournal {
    fn session(&self) -> SessionId {
        self.session
    }

    fn append(&self, records: &[EventRecord], blobs: Vec<Blob>) {
        let mut queue = self.queue.lock();
        queue.append(records, blobs);
        if queue.unsent_bytes() > MAX_QUEUED_BYTES && queue.check().is_ok() {
            self.send(&mut queue, Waiter::None);
        }
    }

    /// The batch is sent when this is called, not when the future is first polled; a future that is
    /// dropped only does not wait.
    fn barrier(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        let (waiter, answer) = tokio::sync::oneshot::channel();
        let sent = {
            let mut queue = self.queue.lock();
            if queue.check().is_ok() {
                self.send(&mut queue, Waiter::Barrier(waiter));
            }
            queue.check()
        };
        Box::pin(async move {
            sent?;
            let written = answer.await;
            Ok(written.unwrap_or_else(|_| Err(StoreError::WriterStopped.into()))?)
        })
    }

    fn retry(&self) -> bool {
        self.queue.lock().retry()
    }

    fn appended_bytes(&self) -> u64 {
        self.queue.lock().appended_bytes()
    }

    fn records(&self, from: u64) -> BoxFuture<'_, Result<Vec<EventRecord>, JournalError>> {
        let session = self.session;
        // Taken before the file is read: a row that leaves the queue in between is then found in
        // the file.
        let queued = self.queue.lock().rows_from(from);
        self.read(move |reader| {
            let page = reader.page(session, from)?;
            if !page.is_empty() {
                return Ok(page);
            }
            decode_rows(reader.location(), session, &queued)
        })
    }

    fn tallies(&self, query: TallyQuery) -> BoxFuture<'_, Result<Tallies, JournalError>> {
        let session = self.session;
        self.read(move |reader| reader.tallies(session, &query))
    }

    fn count_call(&self, call: CountedCall) -> BoxFuture<'_, Result<bool, JournalError>> {
        let (session, database) = (self.session, Database::of(&self.shared));
        Box::pin(blocking(move || database.count_call(session, call)))
    }

    fn blob(&self, digest: Digest) -> BoxFuture<'_, Result<Vec<u8>, JournalError>> {
        match self.queue.lock().blob(digest) {
            Some(bytes) => Box::pin(std::future::ready(Ok(bytes))),
            None => self.read(move |reader| reader.blob(digest)),
        }
    }
}

impl Drop for SqliteJournal {
    fn drop(&mut self) {
        let mut queue = self.queue.lock();
        if queue.check().is_err() || queue.is_empty() {
            return;
        }
        let (waiter, written) = mpsc::channel();
        self.send(&mut queue, Waiter::Drop(waiter));
        // No caller is left to receive a failure.
        self.shared.closing(self.session, written);
    }
}

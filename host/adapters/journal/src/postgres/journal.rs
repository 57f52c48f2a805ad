//! The journal of a claimed session: its queue, and the task that writes it.

use super::{
    database::Database, lease::Lease, position::Position, thread::StoreThread, write::Written,
};
use crate::{
    error::StoreError,
    ownership::Ownership,
    queue::{Queue, WriteFailure},
    row::{EventRow, decode_rows},
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
use std::{
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// The size at which the queue is written before its barrier, in bytes of events and blobs.
const MAX_QUEUED_BYTES: usize = 32 * 1024 * 1024;

/// The journal of a session that this process has claimed. Dropping it hands what is queued to its
/// task, with the claim, and does not wait.
pub(super) struct PostgresJournal {
    database: Arc<Database>,
    queue: Arc<ClaimedQueue>,
    batches: mpsc::UnboundedSender<Batch>,
    /// Closes when the task has ended.
    ended: watch::Receiver<()>,
    thread: Arc<StoreThread>,
}

/// The tasks of journals that were dropped.
#[derive(Default)]
pub(super) struct Closing(Mutex<Vec<watch::Receiver<()>>>);

impl Closing {
    fn lock(&self) -> MutexGuard<'_, Vec<watch::Receiver<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until what dropped journals had queued is written, and their claims are given up.
    pub(super) async fn settle(&self) {
        let tasks = self.lock().clone();
        for mut task in tasks {
            // Fails once the task has ended; nothing is ever sent.
            while task.changed().await.is_ok() {}
        }
        self.lock().retain(|task| task.has_changed().is_ok());
    }
}

/// The queue of a claimed session.
pub(super) struct ClaimedQueue {
    session: SessionId,
    inner: Mutex<Queue>,
    /// Cancelled when the claim is lost.
    lost: CancellationToken,
}

/// Events and blobs that become durable together.
struct Batch {
    rows: Vec<Arc<EventRow>>,
    blobs: Vec<Arc<Blob>>,
    /// The attempt of the queue to which it belongs.
    attempt: u64,
    waiter: Option<oneshot::Sender<Result<(), WriteFailure>>>,
}

impl ClaimedQueue {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has nothing more written: the claim is lost.
    pub(super) fn lose(&self) {
        let session = self.session;
        self.lock().fail(StoreError::LeaseLost { session });
        self.lost.cancel();
    }

    /// Checks that a batch of this attempt may be written.
    fn accept(&self, attempt: u64) -> Result<(), WriteFailure> {
        let queue = self.lock();
        queue.check()?;
        match queue.attempt() == attempt {
            true => Ok(()),
            // Its events are in a batch of the present attempt.
            false => Err(StoreError::Superseded.into()),
        }
    }
}

impl PostgresJournal {
    /// Starts the journal of a claimed session behind its last durable event. A new session has an
    /// owner.
    pub(super) fn start(
        thread: &Arc<StoreThread>,
        database: &Arc<Database>,
        lease: Lease,
        position: Position,
        ownership: Option<Ownership>,
    ) -> Self {
        let queue = Arc::new(ClaimedQueue {
            session: lease.session,
            inner: Mutex::new(Queue::owned_by(ownership)),
            lost: CancellationToken::new(),
        });
        database.leases.hold(lease, &queue);
        let (batches, received) = mpsc::unbounded_channel();
        let (running, ended) = watch::channel(());
        let writer = BatchWriter {
            database: Arc::clone(database),
            queue: Arc::clone(&queue),
            lease,
            position,
        };
        thread.handle.spawn(async move {
            writer.run(received).await;
            drop(running);
        });
        Self {
            database: Arc::clone(database),
            queue,
            batches,
            ended,
            thread: Arc::clone(thread),
        }
    }

    /// Sends the unsent part of the queue to the task. The order of sending is the order of events,
    /// so the queue stays locked meanwhile.
    fn send(&self, queue: &mut Queue, waiter: Option<oneshot::Sender<Result<(), WriteFailure>>>) {
        let (rows, blobs) = queue.take_unsent();
        let sent = self.batches.send(Batch {
            rows,
            blobs,
            attempt: queue.attempt(),
            waiter,
        });
        if sent.is_err() {
            queue.fail(StoreError::WriterStopped);
        }
    }
}

/// The task that writes the batches of a session, one after the other.
struct BatchWriter {
    database: Arc<Database>,
    queue: Arc<ClaimedQueue>,
    lease: Lease,
    position: Position,
}

impl BatchWriter {
    async fn run(mut self, mut batches: mpsc::UnboundedReceiver<Batch>) {
        while let Some(batch) = batches.recv().await {
            let written = match self.queue.accept(batch.attempt) {
                Ok(()) => self.write(&batch).await,
                Err(failure) => Err(failure),
            };
            if let Some(waiter) = batch.waiter {
                // The barrier may have been dropped.
                let _ = waiter.send(written);
            }
        }
        let stats = self.position.stats.as_ref();
        if stats.is_some_and(|stats| !stats.pending().is_empty())
            && let Err(error) = self.database.settle(self.lease).await
        {
            // The next claim does it.
            tracing::debug!("a session's usage is not in the totals yet: {error}");
        }
        if let Err(error) = self.database.release(self.lease).await {
            let session = self.lease.session;
            tracing::warn!("the claim on session {session} ends with its lease: {error}");
        }
    }

    async fn write(&mut self, batch: &Batch) -> Result<(), WriteFailure> {
        let Self {
            database,
            lease,
            position,
            ..
        } = self;
        let written = database
            .write(*lease, position, &batch.rows, &batch.blobs)
            .await;
        let session = lease.session;
        let written = match written {
            Ok(Written::Stored(next)) => {
                *position = next;
                Ok(())
            }
            Ok(Written::LeaseLost) => {
                self.queue.lose();
                Err(StoreError::LeaseLost { session }.into())
            }
            Ok(Written::OutOfOrder) => Err(StoreError::OutOfOrder {
                session,
                location: Arc::clone(&database.location),
            }
            .into()),
            Err(error) => Err(error.into()),
        };
        let mut queue = self.queue.lock();
        queue.check()?;
        queue.complete(batch.rows.len(), batch.blobs.len(), written)
    }
}

impl Journal for PostgresJournal {
    fn session(&self) -> SessionId {
        self.queue.session
    }

    fn append(&self, records: &[EventRecord], blobs: Vec<Blob>) {
        let mut queue = self.queue.lock();
        queue.append(records, blobs);
        if queue.unsent_bytes() > MAX_QUEUED_BYTES && queue.check().is_ok() {
            self.send(&mut queue, None);
        }
    }

    /// The batch is sent when this is called, not when the future is first polled; a future that is
    /// dropped only does not wait.
    fn barrier(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        let (waiter, answer) = oneshot::channel();
        let sent = {
            let mut queue = self.queue.lock();
            if queue.check().is_ok() {
                self.send(&mut queue, Some(waiter));
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

    fn given_up(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.queue.lost.cancelled())
    }

    fn appended_bytes(&self) -> u64 {
        self.queue.lock().appended_bytes()
    }

    fn records(&self, from: u64) -> BoxFuture<'_, Result<Vec<EventRecord>, JournalError>> {
        let session = self.queue.session;
        // Taken before the table is read: a row that leaves the queue in between is then found
        // there.
        let queued = self.queue.lock().rows_from(from);
        let database = Arc::clone(&self.database);
        Box::pin(self.thread.run(async move {
            let page = database.page(session, from).await?;
            match page.is_empty() {
                false => Ok(page),
                true => decode_rows(&database.location, session, &queued),
            }
        }))
    }

    fn tallies(&self, query: TallyQuery) -> BoxFuture<'_, Result<Tallies, JournalError>> {
        let (session, database) = (self.queue.session, Arc::clone(&self.database));
        Box::pin(
            self.thread
                .run(async move { database.tallies(session, query).await }),
        )
    }

    fn count_call(&self, call: CountedCall) -> BoxFuture<'_, Result<bool, JournalError>> {
        let (session, database) = (self.queue.session, Arc::clone(&self.database));
        Box::pin(
            self.thread
                .run(async move { database.count_call(session, call).await }),
        )
    }

    fn blob(&self, digest: Digest) -> BoxFuture<'_, Result<Vec<u8>, JournalError>> {
        let queued = self.queue.lock().blob(digest);
        let database = Arc::clone(&self.database);
        match queued {
            Some(bytes) => Box::pin(ready(Ok(bytes))),
            None => Box::pin(self.thread.run(async move { database.blob(digest).await })),
        }
    }
}

impl Drop for PostgresJournal {
    fn drop(&mut self) {
        let mut queue = self.queue.lock();
        if queue.check().is_ok() && !queue.is_empty() {
            // No caller is left to receive a failure.
            self.send(&mut queue, None);
        }
        self.thread.closing.lock().push(self.ended.clone());
    }
}

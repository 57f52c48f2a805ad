//! The journal of a claimed session: a queue in memory, and the batches of it that go to the writer.
//!
//! After a failed write nothing later of the session is written, so that its stored events have no gap,
//! until [`Journal::retry`]: then the next batch has everything again that is not known to be stored. The
//! writer checks that it is the next part of the session, so an attempt that was stored although it was
//! reported as failed is detected.

use super::{
    database::Shared,
    lock::{Mark, SessionLock},
    read::Reader,
    writer::{Batch, Waiter},
};
use crate::{error::StoreError, row::Row, store::blocking};
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
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};

/// The size at which the queue goes to the writer before its barrier, in bytes of events and blobs, so that
/// a turn of many large results does not hold them all. A crash still leaves a prefix of what was appended.
pub(crate) const MAX_QUEUED_BYTES: usize = 32 * 1024 * 1024;

/// How long dropping a journal waits for its last events to be written.
const DROP_TIMEOUT: Duration = Duration::from_secs(5);

/// The journal of a session that this process has claimed.
///
/// Events are queued until a barrier. Dropping the journal writes what is queued, as far as it can; a
/// crash loses it.
pub(crate) struct SqliteJournal {
    session: SessionId,
    shared: Arc<Shared>,
    queue: Arc<Queue>,
    /// The size of everything that was appended, in bytes of events and blobs.
    appended_bytes: AtomicU64,
}

/// Why a batch was not written.
#[derive(Clone, Debug)]
pub(crate) struct WriteFailure {
    pub(crate) error: Arc<StoreError>,
    /// True if no retry can succeed.
    pub(crate) is_final: bool,
}

impl WriteFailure {
    /// A failure after which a retry can succeed, such as a full disk.
    pub(crate) fn transient(error: StoreError) -> Self {
        Self {
            error: Arc::new(error),
            is_final: false,
        }
    }

    fn last(error: StoreError) -> Self {
        Self {
            error: Arc::new(error),
            is_final: true,
        }
    }
}

impl From<WriteFailure> for JournalError {
    fn from(failure: WriteFailure) -> Self {
        Self::Storage(failure.error)
    }
}

/// Everything that was appended and is not known to be durable. A batch with the writer shares it, and with
/// it the session's lock.
pub(crate) struct Queue {
    inner: Mutex<Pending>,
    lock: SessionLock,
}

#[derive(Default)]
struct Pending {
    /// Oldest first; the first `rows_sent` are with the writer.
    rows: VecDeque<Arc<Row>>,
    blobs: VecDeque<Arc<Blob>>,
    rows_sent: usize,
    blobs_sent: usize,
    /// The size of what is not with the writer, in bytes.
    unsent_bytes: usize,
    /// Why nothing further is written.
    failure: Option<WriteFailure>,
    /// Grows with each retry; batches of an earlier attempt are not written.
    attempt: u64,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if a batch of this attempt may be written.
    pub(crate) fn accepts(&self, attempt: u64) -> bool {
        let pending = self.lock();
        pending.failure.is_none() && pending.attempt == attempt
    }

    /// Records the result of the oldest batch with the writer, and returns what its waiter receives. The
    /// first failure stays.
    pub(crate) fn complete(
        &self,
        batch: &Batch,
        result: Result<Option<Mark>, WriteFailure>,
    ) -> Result<(), WriteFailure> {
        let mut pending = self.lock();
        if let Some(failure) = &pending.failure {
            return Err(failure.clone());
        }
        if pending.attempt != batch.attempt {
            // Its events are in a batch of the present attempt.
            return Err(WriteFailure::transient(StoreError::Superseded));
        }
        match result {
            Ok(mark) => {
                let (rows, blobs) = (batch.rows.len(), batch.blobs.len());
                pending.rows.drain(..rows);
                pending.blobs.drain(..blobs);
                pending.rows_sent -= rows;
                pending.blobs_sent -= blobs;
                if let Some(mark) = mark {
                    self.lock.set_mark(&mark);
                }
                Ok(())
            }
            Err(failure) => {
                pending.failure = Some(failure.clone());
                Err(failure)
            }
        }
    }
}

impl Pending {
    /// Adds to the queue, and returns by how many bytes it grew.
    fn append(&mut self, records: &[EventRecord], blobs: Vec<Blob>) -> usize {
        let before = self.unsent_bytes;
        for record in records {
            match Row::encode(record) {
                Ok(row) => {
                    self.unsent_bytes += row.json.len();
                    self.rows.push_back(Arc::new(row));
                }
                Err(source) => {
                    let seq = record.seq;
                    let error = StoreError::Unstorable { seq, source };
                    self.failure = Some(WriteFailure::last(error));
                    return self.unsent_bytes - before;
                }
            }
        }
        for blob in blobs {
            self.unsent_bytes += blob.bytes.len();
            self.blobs.push_back(Arc::new(blob));
        }
        self.unsent_bytes - before
    }

    /// Has everything sent again that is not known to be stored. Returns false if that cannot succeed.
    fn retry(&mut self) -> bool {
        match &self.failure {
            None => true,
            Some(failure) if failure.is_final => false,
            Some(_) => {
                self.failure = None;
                self.attempt += 1;
                self.rows_sent = 0;
                self.blobs_sent = 0;
                let rows: usize = self.rows.iter().map(|row| row.json.len()).sum();
                let blobs: usize = self.blobs.iter().map(|blob| blob.bytes.len()).sum();
                self.unsent_bytes = rows + blobs;
                true
            }
        }
    }

    /// Returns what is not with the writer, and counts it as sent.
    fn take_unsent(&mut self) -> (Vec<Arc<Row>>, Vec<Arc<Blob>>) {
        let rows = self.rows.iter().skip(self.rows_sent).cloned().collect();
        let blobs = self.blobs.iter().skip(self.blobs_sent).cloned().collect();
        self.rows_sent = self.rows.len();
        self.blobs_sent = self.blobs.len();
        self.unsent_bytes = 0;
        (rows, blobs)
    }
}

impl SqliteJournal {
    pub(crate) fn new(session: SessionId, shared: Arc<Shared>, lock: SessionLock) -> Self {
        let queue = Queue {
            inner: Mutex::default(),
            lock,
        };
        Self {
            session,
            shared,
            queue: Arc::new(queue),
            appended_bytes: AtomicU64::new(0),
        }
    }

    /// Sends the unsent part of the queue to the writer. The order of sending is the order of events, so the
    /// queue stays locked meanwhile.
    fn send(&self, pending: &mut Pending, waiter: Waiter) {
        let (rows, blobs) = pending.take_unsent();
        let sent = self.shared.send(Batch {
            session: self.session,
            rows,
            blobs,
            attempt: pending.attempt,
            queue: Arc::clone(&self.queue),
            waiter,
        });
        if !sent && pending.failure.is_none() {
            pending.failure = Some(writer_stopped());
        }
    }

    /// Runs a query on a thread that may block.
    fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Reader) -> Result<T, JournalError> + Send + 'static,
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
        let mut pending = self.queue.lock();
        // Nothing is written after a final failure, so nothing is queued either; the next barrier fails.
        if pending
            .failure
            .as_ref()
            .is_some_and(|failure| failure.is_final)
        {
            return;
        }
        let bytes = pending.append(records, blobs);
        self.appended_bytes
            .fetch_add(bytes as u64, Ordering::Relaxed);
        if pending.unsent_bytes > MAX_QUEUED_BYTES && pending.failure.is_none() {
            self.send(&mut pending, Waiter::None);
        }
    }

    /// The batch is sent when this is called, not when the future is first polled; a future that is dropped only does not wait.
    fn barrier(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        let (waiter, answer) = tokio::sync::oneshot::channel();
        let failure = {
            let mut pending = self.queue.lock();
            if pending.failure.is_none() {
                self.send(&mut pending, Waiter::Barrier(waiter));
            }
            pending.failure.clone()
        };
        Box::pin(async move {
            let result = match failure {
                Some(failure) => Err(failure),
                None => answer.await.unwrap_or_else(|_| Err(writer_stopped())),
            };
            Ok(result?)
        })
    }

    fn retry(&self) -> bool {
        self.queue.lock().retry()
    }

    fn appended_bytes(&self) -> u64 {
        self.appended_bytes.load(Ordering::Relaxed)
    }

    fn records(&self, from: u64) -> BoxFuture<'_, Result<Vec<EventRecord>, JournalError>> {
        let session = self.session;
        // Taken before the file is read: a row that leaves the queue in between is then found in the file.
        let queued: Vec<Arc<Row>> = self.queue.lock().rows.iter().cloned().collect();
        self.read(move |reader| {
            let page = reader.page(session, from)?;
            if !page.is_empty() {
                return Ok(page);
            }
            let is_next = |row: &&Arc<Row>| u64::try_from(row.seq).is_ok_and(|seq| seq >= from);
            let queued = queued.iter().filter(is_next);
            let records = queued.map(|row| row.decode(reader.location(), session));
            Ok(records.collect::<Result<_, _>>()?)
        })
    }

    fn blob(&self, digest: Digest) -> BoxFuture<'_, Result<Vec<u8>, JournalError>> {
        let pending = self.queue.lock();
        if let Some(blob) = pending.blobs.iter().find(|blob| blob.digest == digest) {
            return Box::pin(std::future::ready(Ok(blob.bytes.clone())));
        }
        drop(pending);
        self.read(move |reader| reader.blob(digest))
    }
}

fn writer_stopped() -> WriteFailure {
    WriteFailure::last(StoreError::WriterStopped)
}

impl Drop for SqliteJournal {
    fn drop(&mut self) {
        let (waiter, answer) = mpsc::channel();
        {
            let mut pending = self.queue.lock();
            if pending.failure.is_some() || pending.rows.is_empty() && pending.blobs.is_empty() {
                return;
            }
            self.send(&mut pending, Waiter::Drop(waiter));
        }
        // No caller is left to receive a failure.
        let _ = answer.recv_timeout(DROP_TIMEOUT);
    }
}

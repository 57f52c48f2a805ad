//! The journal of one session that is open for writing: a queue in memory, and the batches of it that go to the writer.
//!
//! After a failed write nothing later of the session is written, so that its stored events have no gap, until
//! [`Journal::retry`]: then the next batch has everything again that is not known to be stored. Whether it is the next part of
//! the session is checked where it is written, so an attempt that was stored although it was said to have failed is found out.

use crate::{
    lock::{Mark, SessionLock},
    read::Reader,
    row::Row,
    store::Shared,
    writer::{Batch, Waiter},
};
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
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};

/// How much may wait in memory for a barrier, in bytes of events and blobs. Beyond it the queue goes to the writer early,
/// so a turn of many large results does not gather them all; a crash then still leaves a prefix of what was appended.
pub(crate) const MAX_QUEUED_BYTES: usize = 32 * 1024 * 1024;

/// How long a journal that is dropped waits for its last events to be written.
const DROP_PATIENCE: Duration = Duration::from_secs(5);

/// The journal of one session on SQLite, open for writing by this process alone.
///
/// Events wait in memory until a barrier. Dropping the journal writes what still waits, as well as it can; a crash loses it.
/// After a barrier failed, every later one fails for the same reason and nothing further is written, until
/// [`Journal::retry`].
pub struct SqliteJournal {
    session: SessionId,
    shared: Arc<Shared>,
    queue: Arc<Queue>,
    /// What was appended since it was opened, in bytes of events and blobs.
    appended_bytes: AtomicU64,
}

/// Why a batch was not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// For people.
    pub(crate) why: String,
    /// Whether no further attempt can succeed.
    pub(crate) is_final: bool,
}

impl Fault {
    /// One that may pass, such as a full disk.
    pub(crate) fn passing(why: String) -> Self {
        Self {
            why,
            is_final: false,
        }
    }

    fn lasting(why: String) -> Self {
        Self {
            why,
            is_final: true,
        }
    }
}

/// What is appended and not known to be durable. The writer shares it, and holds the session's lock by it.
pub(crate) struct Queue {
    inner: Mutex<Waiting>,
    lock: SessionLock,
}

#[derive(Default)]
struct Waiting {
    /// Oldest first; those in front are with the writer.
    rows: VecDeque<Arc<Row>>,
    blobs: VecDeque<Arc<Blob>>,
    rows_sent: usize,
    blobs_sent: usize,
    /// The size of what is not with the writer, in bytes.
    unsent_bytes: usize,
    /// Why nothing further is written.
    fault: Option<Fault>,
    /// Grows with each retry; batches of an earlier attempt are not written.
    attempt: u64,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a batch of this attempt may be written.
    pub(crate) fn accepts(&self, attempt: u64) -> bool {
        let waiting = self.lock();
        waiting.fault.is_none() && waiting.attempt == attempt
    }

    /// Notes what became of the oldest batch with the writer. The first fault stays.
    pub(crate) fn settle(
        &self,
        batch: &Batch,
        result: Result<Option<Mark>, Fault>,
    ) -> Result<(), Fault> {
        let mut waiting = self.lock();
        if let Some(fault) = &waiting.fault {
            return Err(fault.clone());
        }
        if waiting.attempt != batch.attempt {
            // Its events are in a batch of the present attempt.
            let why = "cannot write the journal: an earlier write has failed; try again";
            return Err(Fault::passing(why.to_owned()));
        }
        match result {
            Ok(mark) => {
                let (rows, blobs) = (batch.rows.len(), batch.blobs.len());
                waiting.rows.drain(..rows);
                waiting.blobs.drain(..blobs);
                waiting.rows_sent -= rows;
                waiting.blobs_sent -= blobs;
                if let Some(mark) = mark {
                    self.lock.note(&mark);
                }
                Ok(())
            }
            Err(fault) => {
                waiting.fault = Some(fault.clone());
                Err(fault)
            }
        }
    }
}

impl Waiting {
    /// Adds to the queue, and returns by how many bytes it grew.
    fn append(&mut self, records: &[EventRecord], blobs: Vec<Blob>) -> usize {
        let before = self.unsent_bytes;
        for record in records {
            match Row::encode(record) {
                Ok(row) => {
                    self.unsent_bytes += row.json.len();
                    self.rows.push_back(Arc::new(row));
                }
                Err(why) => {
                    self.fault = Some(Fault::lasting(format!(
                        "cannot write the journal: event {} has no stored form ({why})",
                        record.seq
                    )));
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

    /// Has everything sent again that is not known to be stored. Returns whether that may succeed.
    fn retry(&mut self) -> bool {
        match &self.fault {
            None => true,
            Some(fault) if fault.is_final => false,
            Some(_) => {
                self.fault = None;
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

    /// What is not with the writer yet; it counts as with the writer from here on.
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

    /// Sends what waits to the writer. The order of sending is the order of events, so the queue stays locked meanwhile.
    fn send(&self, waiting: &mut Waiting, waiter: Waiter) {
        let (rows, blobs) = waiting.take_unsent();
        let sent = self.shared.send(Batch {
            session: self.session,
            rows,
            blobs,
            attempt: waiting.attempt,
            queue: Arc::clone(&self.queue),
            waiter,
        });
        if !sent && waiting.fault.is_none() {
            waiting.fault = Some(no_writer());
        }
    }

    /// Runs a query on a thread that may block.
    fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Reader) -> Result<T, JournalError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, JournalError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let reading = tokio::task::spawn_blocking(move || query(shared.reader()));
            reading.await.unwrap_or_else(|error| {
                Err(JournalError::Storage(format!(
                    "cannot read the journal: the reading was broken off ({error}); try again"
                )))
            })
        })
    }
}

impl Journal for SqliteJournal {
    fn session(&self) -> SessionId {
        self.session
    }

    fn append(&self, records: &[EventRecord], blobs: Vec<Blob>) {
        let mut waiting = self.queue.lock();
        // After a fault that does not pass nothing is written any more, so nothing is gathered either; the next barrier tells.
        if waiting.fault.as_ref().is_some_and(|fault| fault.is_final) {
            return;
        }
        let bytes = waiting.append(records, blobs);
        self.appended_bytes
            .fetch_add(bytes as u64, Ordering::Relaxed);
        if waiting.unsent_bytes > MAX_QUEUED_BYTES && waiting.fault.is_none() {
            self.send(&mut waiting, Waiter::Nobody);
        }
    }

    /// The batch is sent when this is called, not when the future is first polled; a future that is dropped only does not wait.
    fn barrier(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        let (waiter, answer) = tokio::sync::oneshot::channel();
        let fault = {
            let mut waiting = self.queue.lock();
            if waiting.fault.is_none() {
                self.send(&mut waiting, Waiter::Barrier(waiter));
            }
            waiting.fault.clone()
        };
        Box::pin(async move {
            let result = match fault {
                Some(fault) => Err(fault),
                None => answer.await.unwrap_or_else(|_| Err(no_writer())),
            };
            result.map_err(|fault| JournalError::Storage(fault.why))
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
        // Taken before the file is read: what leaves the queue in between is then found in the file.
        let waiting: Vec<Arc<Row>> = self.queue.lock().rows.iter().cloned().collect();
        self.read(move |reader| {
            let page = reader.page(session, from)?;
            if !page.is_empty() {
                return Ok(page);
            }
            let not_yet = |row: &&Arc<Row>| u64::try_from(row.seq).is_ok_and(|seq| seq >= from);
            let waiting = waiting.iter().filter(not_yet);
            waiting
                .map(|row| row.decode(reader.file(), session))
                .collect()
        })
    }

    fn blob(&self, digest: Digest) -> BoxFuture<'_, Result<Vec<u8>, JournalError>> {
        let waiting = self.queue.lock();
        if let Some(blob) = waiting.blobs.iter().find(|blob| blob.digest == digest) {
            return Box::pin(std::future::ready(Ok(blob.bytes.clone())));
        }
        drop(waiting);
        self.read(move |reader| reader.blob(digest))
    }
}

fn no_writer() -> Fault {
    let why =
        "cannot write the journal: its writer has stopped; end this program and resume the session";
    Fault::lasting(why.to_owned())
}

impl fmt::Debug for SqliteJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteJournal")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl Drop for SqliteJournal {
    fn drop(&mut self) {
        let (waiter, answer) = mpsc::channel();
        {
            let mut waiting = self.queue.lock();
            if waiting.fault.is_some() || waiting.rows.is_empty() && waiting.blobs.is_empty() {
                return;
            }
            self.send(&mut waiting, Waiter::Drop(waiter));
        }
        // There is nobody left to tell of a failure.
        let _ = answer.recv_timeout(DROP_PATIENCE);
    }
}

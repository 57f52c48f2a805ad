//! The journal of one session that is open for writing: a queue in memory, and the batches of it that go to the writer.
//!
//! A session that failed to be written stays failed: nothing later of it is written, so its stored events have no gap.

use crate::{
    lock::SessionLock,
    read::Reader,
    row::Row,
    store::Shared,
    writer::{Batch, Waiter},
};
use agent_host_core::{
    BoxFuture,
    event::EventRecord,
    id::{Digest, SessionId},
    journal::{Journal, JournalError},
    output::Blob,
};
use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
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
/// After a barrier failed, every later one fails for the same reason and nothing further is written.
pub struct SqliteJournal {
    session: SessionId,
    shared: Arc<Shared>,
    queue: Arc<Queue>,
}

/// What is appended and not known to be durable. The writer shares it, and holds the session's lock by it.
pub(crate) struct Queue {
    inner: Mutex<Waiting>,
    _lock: SessionLock,
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
    fault: Option<String>,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why nothing further is written, if a batch has failed.
    pub(crate) fn fault(&self) -> Option<String> {
        self.lock().fault.clone()
    }

    /// Notes what became of the oldest batch with the writer: of so many rows and blobs. The first fault stays.
    pub(crate) fn settle(
        &self,
        rows: usize,
        blobs: usize,
        result: Result<(), String>,
    ) -> Result<(), String> {
        let mut waiting = self.lock();
        if let Some(fault) = &waiting.fault {
            return Err(fault.clone());
        }
        if let Err(fault) = &result {
            waiting.fault = Some(fault.clone());
            return result;
        }
        waiting.rows.drain(..rows);
        waiting.blobs.drain(..blobs);
        waiting.rows_sent -= rows;
        waiting.blobs_sent -= blobs;
        Ok(())
    }
}

impl Waiting {
    fn append(&mut self, records: &[EventRecord], blobs: Vec<Blob>) {
        for record in records {
            match Row::encode(record) {
                Ok(row) => {
                    self.unsent_bytes += row.json.len();
                    self.rows.push_back(Arc::new(row));
                }
                Err(why) => {
                    self.fault = Some(format!(
                        "cannot write the journal: event {} has no stored form ({why})",
                        record.seq
                    ));
                    return;
                }
            }
        }
        for blob in blobs {
            self.unsent_bytes += blob.bytes.len();
            self.blobs.push_back(Arc::new(blob));
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
            _lock: lock,
        };
        Self {
            session,
            shared,
            queue: Arc::new(queue),
        }
    }

    /// Sends what waits to the writer. The order of sending is the order of events, so the queue stays locked meanwhile.
    fn send(&self, waiting: &mut Waiting, waiter: Waiter) {
        let (rows, blobs) = waiting.take_unsent();
        let sent = self.shared.send(Batch {
            session: self.session,
            rows,
            blobs,
            queue: Arc::clone(&self.queue),
            waiter,
        });
        if !sent && waiting.fault.is_none() {
            waiting.fault = Some(
                "cannot write the journal: its writer has stopped; end this program and resume the session"
                    .to_owned(),
            );
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
        // After a fault nothing is written any more, so nothing is gathered either; the next barrier tells.
        if waiting.fault.is_some() {
            return;
        }
        waiting.append(records, blobs);
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
                None => answer.await.unwrap_or_else(|_| {
                    Err("cannot write the journal: its writer has stopped; end this program and resume the session"
                        .to_owned())
                }),
            };
            result.map_err(JournalError::Storage)
        })
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

//! The database of a state directory, with the thread that writes to it. Its operations block.

use super::{
    SqliteOptions,
    journal::SqliteJournal,
    key,
    lock::{Mark, SessionLock, marks},
    prune::Pruner,
    read::ReadConnection,
    schema,
    state_dir::{FileId, StateDir},
    writer::{Batch, Writer},
};
use crate::{
    error::{Location, StoreError},
    find::Wanted,
    ownership::Ownership,
    signature::{RowKey, SessionEnd},
    store::LostEvents,
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{event::EventRecord, id::SessionId};
use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::AtomicU64,
        mpsc::{self, Receiver, Sender, TryRecvError},
    },
    thread::JoinHandle,
    time::Duration,
};

/// All sessions of a state directory. Clones share one database; the last clone or journal that is
/// dropped ends the writer and closes the file.
#[derive(Clone)]
pub(crate) struct Database {
    shared: Arc<SharedDatabase>,
}

/// The part of a database that its journals share.
pub(crate) struct SharedDatabase {
    dir: StateDir,
    reader: ReadConnection,
    /// Absent only while this value is being dropped.
    batches: Option<Sender<Batch>>,
    writer: Option<JoinHandle<()>>,
    /// The sessions whose journal was dropped while the writer still has a part of it, and with
    /// that the claim.
    closing: Mutex<HashMap<SessionId, Receiver<()>>>,
    lock_timeout: Duration,
    commits: Arc<AtomicU64>,
}

impl Database {
    /// Opens the journal of a state directory. A missing directory is made with mode 0700, and the
    /// database in it with mode 0600. `max_pages` bounds the database for tests of a full disk.
    pub(crate) fn open(
        state_dir: &Path,
        options: SqliteOptions,
        max_pages: Option<u32>,
    ) -> Result<Self, JournalError> {
        let SqliteOptions {
            lock_timeout,
            retention,
        } = options;
        let dir = StateDir::open(state_dir)?;
        let file = &dir.database;
        let location: Location = file.display().to_string().into();
        let (rows_key, db) = key::with_rows_key(&dir.rows_key, |key, is_new| {
            schema::open_writer(
                file,
                &location,
                &dir.locks,
                lock_timeout,
                is_new.then_some(key),
            )
        })?;
        if let Some(pages) = max_pages {
            db.pragma_update(None, "max_page_count", pages)
                .map_err(StoreError::sqlite(&location, "bound the journal"))?;
        }
        let reader =
            ReadConnection::open(file, &location, &dir.locks, lock_timeout, rows_key.clone())?;
        let commits = Arc::new(AtomicU64::new(0));
        // The log exists as long as a connection is open, and nothing replaces either file
        // meanwhile.
        let files = [file.clone(), file.with_extension("db-wal")].into_iter();
        let files = files.filter_map(|path| Some((path.clone(), FileId::at(&path).ok()?)));
        let writer = Writer {
            db,
            location,
            files: files.collect(),
            pruner: Pruner::new(retention, dir.locks.clone(), rows_key.clone()),
            commits: Arc::clone(&commits),
            rows_key,
        };
        let (batches, received) = mpsc::channel();
        let writer = std::thread::Builder::new()
            .name("journal-writer".to_owned())
            .spawn(move || writer.run(&received))
            .map_err(StoreError::Thread)?;
        Ok(Self {
            shared: Arc::new(SharedDatabase {
                dir,
                reader,
                batches: Some(batches),
                writer: Some(writer),
                closing: Mutex::default(),
                lock_timeout,
                commits,
            }),
        })
    }

    /// Returns the database of a journal.
    pub(super) fn of(shared: &Arc<SharedDatabase>) -> Self {
        Self {
            shared: Arc::clone(shared),
        }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.shared.dir.database
    }

    /// Names the database in messages.
    pub(crate) fn location(&self) -> &Location {
        self.shared.reader.location()
    }

    pub(crate) fn continuation_key(&self) -> Result<[u8; 32], JournalError> {
        Ok(key::read_or_make(&self.shared.dir.key)?)
    }

    /// The key that signs rows.
    pub(super) fn rows_key(&self) -> &RowKey {
        self.reader().rows_key()
    }

    /// The file of the key of continuations.
    pub(super) fn key_file(&self) -> &Path {
        &self.shared.dir.key
    }

    pub(crate) fn create(
        &self,
        session: SessionId,
        ownership: Option<Ownership>,
    ) -> Result<SqliteJournal, JournalError> {
        let lock = self.claim_new(session)?;
        let shared = Arc::clone(&self.shared);
        Ok(SqliteJournal::owned(session, shared, lock, ownership))
    }

    pub(crate) fn open_session(&self, session: SessionId) -> Result<SqliteJournal, JournalError> {
        let lock = self.claim_existing(session)?;
        self.check_signed(session)?;
        Ok(SqliteJournal::new(session, Arc::clone(&self.shared), lock))
    }

    /// Checks that a host of this store wrote the last event of a session, whose digest covers those
    /// before it.
    pub(super) fn check_signed(&self, session: SessionId) -> Result<(), StoreError> {
        let id = session.to_string();
        let end = self.reader().end(session)?;
        let is_signed = end.is_some_and(|(events, digest, signature)| {
            let (id, digest) = (id.as_str(), digest.as_slice());
            let end = SessionEnd { id, events, digest };
            self.rows_key().is_session(end, signature.as_deref())
        });
        match is_signed {
            true => Ok(()),
            false => {
                let location = self.location().clone();
                Err(StoreError::Unsigned { session, location })
            }
        }
    }

    /// Takes the lock of a session. A journal of this process that was dropped is written first.
    fn claim(&self, session: SessionId) -> Result<SessionLock, JournalError> {
        let closing = self.shared.lock_closing().remove(&session);
        if let Some(written) = closing {
            // It is an answer, or the writer has stopped; then the claim is free as well.
            let _ = written.recv();
        }
        SessionLock::take(self.locks(), session)
    }

    /// Takes the lock of a session that does not exist.
    pub(crate) fn claim_new(&self, session: SessionId) -> Result<SessionLock, JournalError> {
        let lock = self.claim(session)?;
        if self.reader().exists(session)? {
            return Err(JournalError::Exists(session));
        }
        Ok(lock)
    }

    /// Takes the lock of a session that exists.
    pub(crate) fn claim_existing(&self, session: SessionId) -> Result<SessionLock, JournalError> {
        // Looked up first, so that no lock file is left behind for a session that never existed.
        self.must_exist(session)?;
        let lock = self.claim(session)?;
        self.must_exist(session)?;
        Ok(lock)
    }

    /// Reads a page of the durable records of a session.
    pub(crate) fn page(
        &self,
        session: SessionId,
        from: u64,
    ) -> Result<Vec<EventRecord>, JournalError> {
        self.must_exist(session)?;
        self.reader().page(session, from)
    }

    pub(crate) fn find(&self, prefix: &str) -> Result<SessionId, JournalError> {
        let wanted = Wanted::new(prefix);
        if wanted.is_latest()
            && let Some(LostEvents {
                session, missing, ..
            }) = self.lost_events()?.first()
        {
            return Err(StoreError::LatestUnknown {
                session: *session,
                location: self.location().clone(),
                missing: *missing,
            }
            .into());
        }
        let matches = self.reader().matches(&wanted)?;
        Ok(wanted.only(matches)?)
    }

    /// Returns the sessions that have fewer events than their mark.
    pub(crate) fn lost_events(&self) -> Result<Vec<LostEvents>, JournalError> {
        let locks = self.locks();
        // The marks are read first: the database may grow meanwhile.
        let marks =
            marks(locks).map_err(|error| StoreError::io(locks, "read the directory", error))?;
        let mut lost = Vec::new();
        for (session, mark) in marks {
            let left = self.reader().count(session)?;
            // A session whose mark is gone as well was removed.
            if left < mark.events && Mark::read(locks, session).is_some() {
                let missing = mark.events - left;
                lost.push(LostEvents {
                    session,
                    left,
                    missing,
                });
            }
        }
        Ok(lost)
    }

    /// Sets the mark of a session to what the database has.
    pub(crate) fn recover(&self, session: SessionId) -> Result<u64, JournalError> {
        let lock = self.claim(session)?;
        match self.reader().mark(session)? {
            Some(mark) => {
                lock.set_mark(&mark);
                Ok(mark.events)
            }
            None => {
                lock.remove();
                Ok(0)
            }
        }
    }

    /// The directory of the session locks.
    pub(crate) fn locks(&self) -> &Path {
        &self.shared.dir.locks
    }

    /// Opens a further connection that writes.
    pub(crate) fn connect_writer(&self) -> Result<rusqlite::Connection, StoreError> {
        schema::connect_writer(self.file(), self.shared.lock_timeout)
            .map_err(StoreError::sqlite(self.location(), "write the journal"))
    }

    pub(crate) fn reader(&self) -> &ReadConnection {
        &self.shared.reader
    }

    /// The number of transactions that the writer has committed.
    pub(crate) fn commits(&self) -> u64 {
        self.shared
            .commits
            .load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Checks that a session exists.
    pub(crate) fn must_exist(&self, session: SessionId) -> Result<(), JournalError> {
        // The mark is read first: the session may be removed meanwhile.
        let mark = Mark::read(self.locks(), session);
        if self.reader().exists(session)? {
            return Ok(());
        }
        if let Some(mark) = mark
            && Mark::read(self.locks(), session).is_some()
        {
            return Err(StoreError::LostEvents {
                session,
                location: self.location().clone(),
                left: 0,
                stored: mark.events,
            }
            .into());
        }
        Err(StoreError::NoSession(session).into())
    }
}

impl SharedDatabase {
    pub(crate) fn reader(&self) -> &ReadConnection {
        &self.reader
    }

    /// Sends a batch to the writer. Returns false if the writer has stopped.
    pub(crate) fn send(&self, batch: Batch) -> bool {
        self.batches
            .as_ref()
            .is_some_and(|batches| batches.send(batch).is_ok())
    }

    /// Keeps what the writer answers to the last batch of a dropped journal, until it has.
    pub(crate) fn closing(&self, session: SessionId, written: Receiver<()>) {
        let mut closing = self.lock_closing();
        closing.retain(|_, written| written.try_recv() == Err(TryRecvError::Empty));
        closing.insert(session, written);
    }

    fn lock_closing(&self) -> MutexGuard<'_, HashMap<SessionId, Receiver<()>>> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SharedDatabase {
    fn drop(&mut self) {
        // The writer ends when nothing can be sent to it any more, and closes the file.
        self.batches = None;
        if let Some(writer) = self.writer.take() {
            // It returns nothing; had it panicked, the barriers of its journals have failed.
            let _ = writer.join();
        }
    }
}

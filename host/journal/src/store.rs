//! The store: one database in one state folder, with the thread that writes to it.

use crate::{
    SqliteJournal, database,
    fault::explain,
    folder::{FileId, StateFolder},
    key,
    lock::{Mark, SessionLock, marks},
    prune::{Keep, Pruner},
    read::{Reader, Records, SessionRow},
    writer::{Batch, Writer},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::{Digest, SessionId};
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::AtomicU64,
        mpsc::{self, Sender},
    },
    thread::JoinHandle,
    time::Duration,
};

/// How a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// How long to wait for another process that writes to the same database. Its commits take milliseconds, so that much
    /// more means that something is stuck.
    pub lock_timeout: Duration,
    /// The bounds on what is kept; the rest is removed in the background, as by [`Store::prune`]. The default keeps all.
    pub keep: Keep,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            lock_timeout: Duration::from_secs(30),
            keep: Keep::default(),
        }
    }
}

/// A session of which the database has less than was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostEvents {
    /// The session.
    pub session: SessionId,
    /// How many events the database still has.
    pub left: u64,
    /// How many of the last ones are missing.
    pub missing: u64,
}

/// All sessions of a state folder. Cheap to clone; the last clone or journal that is dropped ends the writer and closes the
/// file.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

/// What the store and its journals share.
pub(crate) struct Shared {
    folder: StateFolder,
    reader: Reader,
    /// Absent only while this value is being dropped.
    batches: Option<Sender<Batch>>,
    writer: Option<JoinHandle<()>>,
    lock_timeout: Duration,
    commits: Arc<AtomicU64>,
}

impl Store {
    /// Opens the journal in a state folder. A missing folder is made with mode 0700, and the database in it with mode 0600.
    ///
    /// # Errors
    /// [`JournalError::Storage`] when the folder cannot be made or written to, belongs to another user, or may be written to
    /// by everybody; [`JournalError::Corrupt`] when the file in it is not a journal or is from a newer version.
    pub fn open(state_dir: &Path) -> Result<Self, JournalError> {
        Self::open_with(state_dir, StoreOptions::default())
    }

    /// Opens the journal in a state directory with options.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_with(state_dir: &Path, options: StoreOptions) -> Result<Self, JournalError> {
        Self::open_bounded(state_dir, options, None)
    }

    /// Opens the journal with a bound on the size of the database in pages; tests fill the "disk" with it.
    pub(crate) fn open_bounded(
        state_dir: &Path,
        options: StoreOptions,
        max_pages: Option<u32>,
    ) -> Result<Self, JournalError> {
        let StoreOptions { lock_timeout, keep } = options;
        let folder = StateFolder::open(state_dir)?;
        let file = &folder.database;
        let db = database::open_writer(file, &folder.locks, lock_timeout)?;
        if let Some(pages) = max_pages {
            db.pragma_update(None, "max_page_count", pages)
                .map_err(|error| explain(file, "bound the journal", &error))?;
        }
        let reader = Reader::open(file, &folder.locks, lock_timeout)?;
        let commits = Arc::new(AtomicU64::new(0));
        // The log exists as long as a connection is open, and nothing replaces either file meanwhile.
        let files = [file.clone(), file.with_extension("db-wal")].into_iter();
        let files = files.filter_map(|path| Some((path.clone(), FileId::at(&path).ok()?)));
        let writer = Writer {
            db,
            file: file.clone(),
            files: files.collect(),
            pruner: Pruner::new(keep, folder.locks.clone()),
            commits: Arc::clone(&commits),
        };
        let (batches, received) = mpsc::channel();
        let writer = std::thread::Builder::new()
            .name("journal-writer".to_owned())
            .spawn(move || writer.run(&received))
            .map_err(|error| {
                JournalError::Storage(format!(
                    "cannot start the thread that writes the journal: {error}; end other programs, or raise the limit on \
                     processes and threads of this user (`ulimit -u`)"
                ))
            })?;
        Ok(Self {
            shared: Arc::new(Shared {
                folder,
                reader,
                batches: Some(batches),
                writer: Some(writer),
                lock_timeout,
                commits,
            }),
        })
    }

    /// The database file.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.shared.folder.database.clone()
    }

    /// The key with which this folder's continuations are signed; made at the first call.
    ///
    /// # Errors
    /// [`JournalError::Storage`] when it cannot be read or made, [`JournalError::Corrupt`] when it is no key.
    pub fn continuation_key(&self) -> Result<[u8; 32], JournalError> {
        key::read_or_make(&self.shared.folder.key)
    }

    /// Begins the journal of a new session. It is in the list from its first durable event on.
    ///
    /// # Errors
    /// [`JournalError::Locked`] and [`JournalError::Storage`]; the latter also when the session exists.
    pub fn create(&self, session: SessionId) -> Result<SqliteJournal, JournalError> {
        let lock = self.claim(session)?;
        Ok(SqliteJournal::new(session, Arc::clone(&self.shared), lock))
    }

    /// Opens a session for writing.
    ///
    /// # Errors
    /// [`JournalError::Locked`] names who writes to it now; [`JournalError::NotFound`] when there is no such session.
    pub fn open_session(&self, session: SessionId) -> Result<SqliteJournal, JournalError> {
        let lock = self.claim_existing(session)?;
        Ok(SqliteJournal::new(session, Arc::clone(&self.shared), lock))
    }

    /// Takes the lock of a session that is not there yet.
    pub(crate) fn claim(&self, session: SessionId) -> Result<SessionLock, JournalError> {
        let lock = SessionLock::take(&self.shared.folder.locks, session)?;
        if self.shared.reader.exists(session)? {
            return Err(JournalError::Storage(format!(
                "cannot begin session {session}: there is a session of this id; resume it, or begin one with another id"
            )));
        }
        Ok(lock)
    }

    /// Takes the lock of a session that is there, also when somebody else held it last.
    pub(crate) fn claim_existing(&self, session: SessionId) -> Result<SessionLock, JournalError> {
        // Looked for first, so that no lock is left behind of a session that never was.
        self.must_exist(session)?;
        let lock = SessionLock::take(&self.shared.folder.locks, session)?;
        self.must_exist(session)?;
        Ok(lock)
    }

    /// All sessions, the one that was written to last first.
    ///
    /// # Errors
    /// [`JournalError::Storage`] or [`JournalError::Corrupt`].
    pub fn list(&self) -> Result<Vec<SessionRow>, JournalError> {
        self.shared.reader.sessions()
    }

    /// The durable records of a session, in order. It takes no lock: a session can be read while it is written.
    ///
    /// # Errors
    /// [`JournalError::NotFound`], [`JournalError::Corrupt`] or [`JournalError::Storage`]; of the latter two also each record
    /// can be one.
    pub fn read(&self, session: SessionId) -> Result<Records, JournalError> {
        self.must_exist(session)?;
        Ok(Records::new(self.clone(), session))
    }

    /// The bytes of a blob.
    ///
    /// # Errors
    /// [`JournalError::NotFound`], or [`JournalError::Corrupt`] when the bytes do not have the digest.
    pub fn read_blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError> {
        self.shared.reader.blob(digest)
    }

    /// The session whose id begins with this text, or for `latest` the one that was written to last, whatever the clock said.
    ///
    /// # Errors
    /// [`JournalError::NotFound`]; when several sessions fit, the text names them. [`JournalError::Corrupt`] when `latest` may be
    /// another one, because the database has lost events.
    pub fn find(&self, prefix: &str) -> Result<SessionId, JournalError> {
        if prefix.trim().eq_ignore_ascii_case("latest")
            && let Some(LostEvents {
                session, missing, ..
            }) = self.lost_events()?.first()
        {
            return Err(JournalError::Corrupt(format!(
                "which session is the latest is not known: {} has lost the last {missing} events of session {session}; name \
                 the session that you mean, restore the file from a backup, or take the session as it is with \
                 `agent-host sessions recover {session}`",
                self.file().display()
            )));
        }
        self.shared.reader.find(prefix)
    }

    /// The sessions of which the database has less than was stored, as far as the notes beside it tell: a damaged write-ahead log
    /// or a restored backup has that effect, and nothing else shows it.
    ///
    /// # Errors
    /// [`JournalError::Storage`] or [`JournalError::Corrupt`].
    pub fn lost_events(&self) -> Result<Vec<LostEvents>, JournalError> {
        let locks = self.locks();
        // The notes first: the database may grow meanwhile.
        let marks = marks(locks)
            .map_err(|error| crate::fault::explain_io(locks, "read the directory", &error))?;
        let mut lost = Vec::new();
        for (session, mark) in marks {
            let left = self.reader().count(session)?;
            // One whose note is gone as well was removed.
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

    /// Takes a session as the database has it, although events that were stored are missing, and returns how many it has.
    ///
    /// # Errors
    /// [`JournalError::Locked`] while a process writes to it, or [`JournalError::Storage`].
    pub fn recover(&self, session: SessionId) -> Result<u64, JournalError> {
        let lock = SessionLock::take(self.locks(), session)?;
        match self.reader().mark(session)? {
            Some(mark) => {
                lock.note(&mark);
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
        &self.shared.folder.locks
    }

    /// Opens a further connection that writes.
    pub(crate) fn connect_writer(&self) -> Result<rusqlite::Connection, JournalError> {
        let file = &self.shared.folder.database;
        database::connect_writer(file, self.shared.lock_timeout)
            .map_err(|error| explain(file, "write the journal", &error))
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.shared.reader
    }

    /// How many transactions this store has committed.
    #[cfg(test)]
    pub(crate) fn commits(&self) -> u64 {
        self.shared
            .commits
            .load(std::sync::atomic::Ordering::Relaxed)
    }

    fn must_exist(&self, session: SessionId) -> Result<(), JournalError> {
        // The note first, as above.
        let mark = Mark::read(self.locks(), session);
        if self.shared.reader.exists(session)? {
            return Ok(());
        }
        if let Some(mark) = mark
            && Mark::read(self.locks(), session).is_some()
        {
            return Err(crate::read::lost(&self.file(), session, 0, mark.events));
        }
        Err(JournalError::NotFound(format!(
            "there is no session {session}; `agent-host sessions list` shows those that there are"
        )))
    }
}

impl Shared {
    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Hands a batch to the writer, and says whether there is still one.
    pub(crate) fn send(&self, batch: Batch) -> bool {
        self.batches
            .as_ref()
            .is_some_and(|batches| batches.send(batch).is_ok())
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("file", &self.shared.folder.database)
            .field("commits", &self.shared.commits)
            .finish_non_exhaustive()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The writer ends when nothing can be sent to it any more, and closes the file.
        self.batches = None;
        if let Some(writer) = self.writer.take() {
            // It has nothing to say; had it panicked, its journals have told so.
            let _ = writer.join();
        }
    }
}

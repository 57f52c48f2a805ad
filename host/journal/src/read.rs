//! Everything that is read from the database. Readers wait for no writer and take no lock.

use crate::{
    Store,
    chain::Link,
    database,
    fault::explain,
    lock::Mark,
    row::{StoredEvent, corrupt},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::{
    error::Error,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// How many sessions an ambiguous id names.
const MAX_NAMED: usize = 5;

/// Orders sessions by when they were last written to: by the place of their last event in the table of events, since a clock may
/// go back.
pub(crate) const LAST_WRITTEN: &str =
    "(SELECT rowid FROM events WHERE session = sessions.id ORDER BY seq DESC LIMIT 1)";

/// How much of a session is read at once, in bytes of JSON; the last event of a page may go beyond it.
const PAGE_BYTES: usize = 1024 * 1024;

/// One session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// The session.
    pub id: SessionId,
    /// When its first event happened, in milliseconds since 1970 (UTC).
    pub started_ms: u64,
    /// When its last event happened, in milliseconds since 1970 (UTC).
    pub last_ms: u64,
    /// How many events it has.
    pub events: u64,
    /// The beginning of the first thing that the person said, on one line.
    pub title: Option<String>,
    /// The working folder in which it began.
    pub folder: Option<String>,
    /// How its last turn ended, by the kebab-case name of the outcome; absent while the first turn runs or was broken off.
    pub outcome: Option<String>,
}

/// Some of a session's events as they are stored.
struct StoredPage {
    /// The digest of the event before them.
    before: Option<[u8; 32]>,
    events: Vec<StoredEvent>,
    /// Whether there are no more behind them.
    is_last: bool,
    /// How many events the session should have.
    count: u64,
}

/// The records of a session, read page by page. After an error there are no more.
#[derive(Debug)]
pub struct Records {
    store: Store,
    session: SessionId,
    next: u64,
    page: std::vec::IntoIter<EventRecord>,
}

impl Records {
    pub(crate) fn new(store: Store, session: SessionId) -> Self {
        Self {
            store,
            session,
            next: 0,
            page: Vec::new().into_iter(),
        }
    }
}

impl Iterator for Records {
    type Item = Result<EventRecord, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.len() == 0 {
            match self.store.reader().page(self.session, self.next) {
                Ok(page) => self.page = page.into_iter(),
                Err(error) => {
                    self.next = u64::MAX;
                    return Some(Err(error));
                }
            }
        }
        let record = self.page.next()?;
        self.next = record.seq + 1;
        Some(Ok(record))
    }
}

/// The connection that reads.
pub(crate) struct Reader {
    db: Mutex<Connection>,
    file: PathBuf,
    /// The directory of the session locks, which note what is known to be stored.
    locks: PathBuf,
}

impl Reader {
    pub(crate) fn open(
        file: &Path,
        locks: &Path,
        lock_timeout: Duration,
    ) -> Result<Self, JournalError> {
        Ok(Self {
            db: Mutex::new(database::open_reader(file, lock_timeout)?),
            file: file.to_owned(),
            locks: locks.to_owned(),
        })
    }

    /// The database file, for messages.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A query that panicked has left no transaction behind: unwinding ended it.
        self.db.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fault(&self, error: &rusqlite::Error) -> JournalError {
        explain(&self.file, "read the journal", error)
    }

    pub(crate) fn exists(&self, session: SessionId) -> Result<bool, JournalError> {
        let query = "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1)";
        self.lock()
            .query_row(query, [session.to_string()], |row| row.get(0))
            .map_err(|error| self.fault(&error))
    }

    /// The next durable records from this number on, in order; none behind the last and for a session that is not there.
    pub(crate) fn page(
        &self,
        session: SessionId,
        from: u64,
    ) -> Result<Vec<EventRecord>, JournalError> {
        // Noted after the commit, so it is never ahead of what is read after it.
        let mark = Mark::read(&self.locks, session);
        let stored = self
            .stored(session, from)
            .map_err(|error| self.fault(&error))?;
        let mut link = match stored.before {
            Some(before) => Link(before),
            None if from == 0 => Link::before_first(session),
            None => return Ok(Vec::new()),
        };
        let mut records = Vec::with_capacity(stored.events.len());
        for (event, expected) in stored.events.iter().zip(from..) {
            records.push(event.read(&self.file, session, expected, &mut link)?);
        }
        let found = from + records.len() as u64;
        if stored.is_last && found != stored.count {
            return Err(corrupt(
                &self.file,
                session,
                &format!(
                    "its last events are missing ({found} of {} are there)",
                    stored.count
                ),
            ));
        }
        if let Some(mark) = mark.filter(|_| stored.is_last) {
            self.check_mark(session, mark, found)?;
        }
        Ok(records)
    }

    /// Checks that the database has the event that was stored last, as far as that is known.
    fn check_mark(&self, session: SessionId, mark: Mark, found: u64) -> Result<(), JournalError> {
        if found < mark.events {
            return Err(lost(&self.file, session, found, mark.events));
        }
        let stored = self.digest(session, mark.events.saturating_sub(1));
        if stored.map_err(|error| self.fault(&error))? == Some(mark.digest) {
            return Ok(());
        }
        Err(JournalError::Corrupt(format!(
            "cannot read session {session} from {}: its event {} is another one than was stored, so another copy of the file is \
             in its place; put the right one back, or take the session as it is: `agent-host sessions recover {session}`",
            self.file.display(),
            mark.events.saturating_sub(1)
        )))
    }

    /// The digest of an event.
    fn digest(&self, session: SessionId, seq: u64) -> Result<Option<[u8; 32]>, rusqlite::Error> {
        let query = "SELECT digest FROM events WHERE session = ?1 AND seq = ?2";
        let seq = i64::try_from(seq).unwrap_or(i64::MAX);
        self.lock()
            .prepare_cached(query)?
            .query_row(params![session.to_string(), seq], |row| row.get(0))
            .optional()
    }

    /// What is stored of a session; nothing of one that is not there.
    pub(crate) fn mark(&self, session: SessionId) -> Result<Option<Mark>, JournalError> {
        let events = self.count(session)?;
        let Some(last) = events.checked_sub(1) else {
            return Ok(None);
        };
        let digest = self
            .digest(session, last)
            .map_err(|error| self.fault(&error))?;
        Ok(digest.map(|digest| Mark { events, digest }))
    }

    /// The events of a page as they are stored.
    fn stored(&self, session: SessionId, from: u64) -> Result<StoredPage, rusqlite::Error> {
        let id = session.to_string();
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        let mut db = self.lock();
        // In one transaction all statements see the same moment.
        let moment = db.transaction()?;
        let count = moment
            .prepare_cached("SELECT events FROM sessions WHERE id = ?1")?
            .query_row([&id], |row| positive(row, 0))
            .optional()?;
        let before = moment
            .prepare_cached("SELECT digest FROM events WHERE session = ?1 AND seq = ?2 - 1")?
            .query_row(params![id, from], |row| row.get(0))
            .optional()?;
        let mut query = moment.prepare_cached(
            "SELECT seq, at_ms, v, kind, json, digest FROM events WHERE session = ?1 AND seq >= ?2 ORDER BY seq",
        )?;
        let mut rows = query.query(params![id, from])?;
        let (mut events, mut bytes) = (Vec::new(), 0);
        let is_last = loop {
            if bytes >= PAGE_BYTES {
                break false;
            }
            let Some(row) = rows.next()? else {
                break true;
            };
            let event = stored_event(row)?;
            bytes += event.json.len();
            events.push(event);
        };
        Ok(StoredPage {
            before,
            events,
            is_last,
            count: count.unwrap_or(0),
        })
    }

    pub(crate) fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError> {
        let query = "SELECT bytes FROM blobs WHERE digest = ?1";
        let found: Option<Vec<u8>> = self
            .lock()
            .query_row(query, [digest.to_string()], |row| row.get(0))
            .optional()
            .map_err(|error| self.fault(&error))?;
        let bytes = found.ok_or_else(|| {
            JournalError::NotFound(format!(
                "there is no blob {digest} in {}; check the digest",
                self.file.display()
            ))
        })?;
        if Digest::of(&bytes) != digest {
            return Err(JournalError::Corrupt(format!(
                "the bytes of blob {digest} in {} have changed since they were stored; restore the file from a backup",
                self.file.display()
            )));
        }
        Ok(bytes)
    }

    /// How many durable events a session has.
    pub(crate) fn count(&self, session: SessionId) -> Result<u64, JournalError> {
        let query = "SELECT events FROM sessions WHERE id = ?1";
        let found = self
            .lock()
            .query_row(query, [session.to_string()], |row| positive(row, 0))
            .optional();
        Ok(found.map_err(|error| self.fault(&error))?.unwrap_or(0))
    }

    /// The blobs that a session refers to, in a fixed order.
    pub(crate) fn blobs_of(&self, session: SessionId) -> Result<Vec<Digest>, JournalError> {
        let query = || -> Result<Vec<Digest>, rusqlite::Error> {
            let db = self.lock();
            let mut query = db.prepare_cached(
                "SELECT digest FROM blob_references WHERE session = ?1 ORDER BY digest",
            )?;
            let rows = query.query_map([session.to_string()], parsed)?;
            rows.collect()
        };
        query().map_err(|error| self.fault(&error))
    }

    /// All sessions, the one that was written to last first.
    pub(crate) fn sessions(&self) -> Result<Vec<SessionRow>, JournalError> {
        self.session_rows().map_err(|error| self.fault(&error))
    }

    fn session_rows(&self) -> Result<Vec<SessionRow>, rusqlite::Error> {
        let db = self.lock();
        let mut query = db.prepare_cached(&format!(
            "SELECT id, started_ms, last_ms, events, title, folder, outcome
             FROM sessions ORDER BY {LAST_WRITTEN} DESC",
        ))?;
        let rows = query.query_map([], |row| {
            Ok(SessionRow {
                id: parsed(row)?,
                started_ms: positive(row, 1)?,
                last_ms: positive(row, 2)?,
                events: positive(row, 3)?,
                title: row.get(4)?,
                folder: row.get(5)?,
                outcome: row.get(6)?,
            })
        })?;
        rows.collect()
    }

    /// The one session whose id begins so, or the latest one for `latest`.
    pub(crate) fn find(&self, prefix: &str) -> Result<SessionId, JournalError> {
        let wanted = prefix.trim().to_ascii_lowercase();
        let found = self.matching(&wanted).map_err(|error| self.fault(&error))?;
        match found.as_slice() {
            [one] => Ok(*one),
            [] if wanted == "latest" => Err(JournalError::NotFound(
                "there is no session yet; begin one with `agent-host run`".to_owned(),
            )),
            [] => Err(JournalError::NotFound(format!(
                "there is no session whose id begins with `{}`; `agent-host sessions list` shows those that there are",
                prefix.escape_debug()
            ))),
            several => {
                let mut named: Vec<String> = several
                    .iter()
                    .take(MAX_NAMED)
                    .map(ToString::to_string)
                    .collect();
                if several.len() > MAX_NAMED {
                    named.push("...".to_owned());
                }
                Err(JournalError::NotFound(format!(
                    "several sessions have an id that begins with `{}`: {}; give more of the id",
                    prefix.escape_debug(),
                    named.join(", ")
                )))
            }
        }
    }

    fn matching(&self, wanted: &str) -> Result<Vec<SessionId>, rusqlite::Error> {
        let db = self.lock();
        if wanted == "latest" {
            let query = format!("SELECT id FROM sessions ORDER BY {LAST_WRITTEN} DESC LIMIT 1");
            return db.prepare_cached(&query)?.query_map([], parsed)?.collect();
        }
        let query = format!(
            "SELECT id FROM sessions WHERE substr(id, 1, length(?1)) = ?1
             ORDER BY {LAST_WRITTEN} DESC LIMIT ?2"
        );
        // One more than is named shows that there are more.
        let limit = i64::try_from(MAX_NAMED + 1).unwrap_or(i64::MAX);
        let mut query = db.prepare_cached(&query)?;
        query
            .query_map(rusqlite::params![wanted, limit], parsed)?
            .collect()
    }
}

/// The error of a session that has fewer events than were stored.
pub(crate) fn lost(file: &Path, session: SessionId, left: u64, stored: u64) -> JournalError {
    JournalError::Corrupt(format!(
        "cannot read session {session} from {}: its last {} events are missing ({left} of {stored} are there): the file's \
         write-ahead log was damaged or removed, or the file was replaced by an older one; restore it from a backup, or take \
         the session as it is: `agent-host sessions recover {session}`",
        file.display(),
        stored - left
    ))
}

fn stored_event(row: &rusqlite::Row<'_>) -> Result<StoredEvent, rusqlite::Error> {
    let bytes = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_bytes()?.to_vec());
    Ok(StoredEvent {
        seq: row.get(0)?,
        at_ms: row.get(1)?,
        v: row.get(2)?,
        kind: bytes(3)?,
        json: bytes(4)?,
        digest: bytes(5)?,
    })
}

/// The first column as an id or a digest.
pub(crate) fn parsed<T>(row: &rusqlite::Row<'_>) -> Result<T, rusqlite::Error>
where
    T: FromStr<Err: Error + Send + Sync + 'static>,
{
    let text: String = row.get(0)?;
    text.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
    })
}

pub(crate) fn positive(row: &rusqlite::Row<'_>, column: usize) -> Result<u64, rusqlite::Error> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

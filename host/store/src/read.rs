//! Everything that is read from the database. Readers wait for no writer and take no lock.

use crate::{
    database,
    fault::explain,
    row::{StoredEvent, corrupt},
};
use agent_host_core::{
    event::EventRecord,
    id::{Digest, SessionId},
    journal::JournalError,
};
use rusqlite::{Connection, OptionalExtension as _};
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// How many sessions an ambiguous id names.
const MAX_NAMED: usize = 5;

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

/// The connection that reads.
pub(crate) struct Reader {
    db: Mutex<Connection>,
    file: PathBuf,
}

impl Reader {
    pub(crate) fn open(file: &Path) -> Result<Self, JournalError> {
        Ok(Self {
            db: Mutex::new(database::open_reader(file)?),
            file: file.to_owned(),
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

    /// The durable records, in order; none for a session that is not there.
    pub(crate) fn records(&self, session: SessionId) -> Result<Vec<EventRecord>, JournalError> {
        let (stored, count) = self.stored(session).map_err(|error| self.fault(&error))?;
        let found = stored.len() as u64;
        let records: Vec<_> = stored
            .into_iter()
            .zip(0..)
            .map(|(event, expected)| event.decode(&self.file, session, expected))
            .collect::<Result<_, _>>()?;
        if found != count {
            return Err(corrupt(
                &self.file,
                session,
                &format!("its last events are missing ({found} of {count} are there)"),
            ));
        }
        Ok(records)
    }

    /// The events as they are stored, and how many there should be.
    fn stored(&self, session: SessionId) -> Result<(Vec<StoredEvent>, u64), rusqlite::Error> {
        let id = session.to_string();
        let mut db = self.lock();
        // In one transaction both statements see the same moment.
        let moment = db.transaction()?;
        let count = moment
            .prepare_cached("SELECT events FROM sessions WHERE id = ?1")?
            .query_row([&id], |row| positive(row, 0))
            .optional()?;
        let mut query = moment.prepare_cached(
            "SELECT seq, at_ms, v, json FROM events WHERE session = ?1 ORDER BY seq",
        )?;
        let rows = query.query_map([&id], |row| {
            Ok(StoredEvent {
                seq: row.get(0)?,
                at_ms: row.get(1)?,
                v: row.get(2)?,
                json: row.get(3)?,
            })
        })?;
        Ok((rows.collect::<Result<_, _>>()?, count.unwrap_or(0)))
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

    /// All sessions, the one that was written to last first.
    pub(crate) fn sessions(&self) -> Result<Vec<SessionRow>, JournalError> {
        self.session_rows().map_err(|error| self.fault(&error))
    }

    fn session_rows(&self) -> Result<Vec<SessionRow>, rusqlite::Error> {
        let db = self.lock();
        let mut query = db.prepare_cached(
            "SELECT id, started_ms, last_ms, events, title, folder, outcome
             FROM sessions ORDER BY last_ms DESC, id DESC",
        )?;
        let rows = query.query_map([], |row| {
            Ok(SessionRow {
                id: session_id(row)?,
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
            let query = "SELECT id FROM sessions ORDER BY last_ms DESC, id DESC LIMIT 1";
            return db
                .prepare_cached(query)?
                .query_map([], session_id)?
                .collect();
        }
        let query = "SELECT id FROM sessions WHERE substr(id, 1, length(?1)) = ?1
             ORDER BY last_ms DESC, id DESC LIMIT ?2";
        // One more than is named shows that there are more.
        let limit = i64::try_from(MAX_NAMED + 1).unwrap_or(i64::MAX);
        let mut query = db.prepare_cached(query)?;
        query
            .query_map(rusqlite::params![wanted, limit], session_id)?
            .collect()
    }
}

fn session_id(row: &rusqlite::Row<'_>) -> Result<SessionId, rusqlite::Error> {
    let text: String = row.get(0)?;
    text.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
    })
}

fn positive(row: &rusqlite::Row<'_>, column: usize) -> Result<u64, rusqlite::Error> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

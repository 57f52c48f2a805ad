//! The statements that read. Readers wait for no writer and take no lock.

use super::{database::Database, lock::Mark, owners::owner_of, schema};
use crate::{
    chain::{ChainLink, StoredEvent},
    copy::SessionSource,
    error::{Damage, Location, StoreError},
    find::Wanted,
    row::{PAGE_BYTES, damaged},
    signature::RowKey,
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

/// The session whose call started this one, for the session of an agent, if it exists.
pub(crate) const PARENT: &str =
    "(SELECT parents.id FROM sessions AS parents WHERE parents.id = sessions.parent)";

/// The end of each session: the number of its events, the digest of the last one, and the
/// signature of both.
pub(super) const ENDS: &str =
    "SELECT id, sessions.events, last.digest, sessions.signature FROM sessions
     JOIN events AS last ON last.session = id AND last.seq = sessions.events - 1";

/// The number of events of a session, the digest of the last one, and the signature of both.
type StoredEnd = (i64, Vec<u8>, Option<Vec<u8>>);

/// Returns the sessions of a session's agents, and of theirs; each after the one that started it. One
/// of another owner is not among them, whatever its first event says: no host of this store wrote
/// that.
pub(crate) fn descendants(
    db: &Connection,
    session: SessionId,
    key: &RowKey,
) -> Result<Vec<SessionId>, rusqlite::Error> {
    let owner = owner_of(db, session, key)?;
    let mut query = db.prepare_cached("SELECT id FROM sessions WHERE parent = ?1")?;
    let mut found = vec![session];
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        let children = query.query_map([parent.to_string()], parsed)?;
        for child in children.collect::<Result<Vec<SessionId>, _>>()? {
            if owner_of(db, child, key)? == owner {
                found.push(child);
            }
        }
        next += 1;
    }
    found.remove(0);
    Ok(found)
}

/// A page of a session's events as they are stored.
struct StoredPage {
    /// The digest of the event before the page.
    before: Option<[u8; 32]>,
    events: Vec<StoredEvent>,
    /// True if no event follows the page.
    is_last: bool,
    /// The number of events that the session should have.
    count: u64,
}

/// The connection that reads.
pub(crate) struct ReadConnection {
    db: Mutex<Connection>,
    location: Location,
    /// The directory of the session locks with the marks.
    pub(super) locks: PathBuf,
    /// Says which rows are believed.
    rows_key: RowKey,
}

impl ReadConnection {
    pub(crate) fn open(
        file: &Path,
        location: &Location,
        locks: &Path,
        lock_timeout: Duration,
        rows_key: RowKey,
    ) -> Result<Self, StoreError> {
        let db = schema::open_reader(file, lock_timeout)
            .map_err(StoreError::sqlite(location, "read the journal"))?;
        Ok(Self {
            db: Mutex::new(db),
            location: location.clone(),
            locks: locks.to_owned(),
            rows_key,
        })
    }

    /// The key that signs rows.
    pub(super) fn rows_key(&self) -> &RowKey {
        &self.rows_key
    }

    pub(crate) fn location(&self) -> &Location {
        &self.location
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A query that panicked has left no transaction behind: unwinding ended it.
        self.db.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a query.
    pub(crate) fn query<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, rusqlite::Error> {
        query(&self.lock())
    }

    /// Runs a query of the journal.
    pub(super) fn read<T>(
        &self,
        query: impl FnOnce(&mut Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, StoreError> {
        query(&mut self.lock()).map_err(StoreError::sqlite(&self.location, "read the journal"))
    }

    /// Reads the session whose call started this one, and the sessions of its agents.
    pub(crate) fn family(
        &self,
        session: SessionId,
    ) -> Result<(Option<SessionId>, Vec<SessionId>), StoreError> {
        let query = format!("SELECT {PARENT} FROM sessions WHERE id = ?1");
        self.read(|db| {
            let key = &self.rows_key;
            let found = db.query_row(&query, [session.to_string()], |row| parent(row, 0));
            let parent = match found.optional()?.flatten() {
                Some(parent) if owner_of(db, parent, key)? == owner_of(db, session, key)? => {
                    Some(parent)
                }
                _ => None,
            };
            Ok((parent, descendants(db, session, key)?))
        })
    }

    pub(crate) fn exists(&self, session: SessionId) -> Result<bool, StoreError> {
        let query = "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1)";
        self.read(|db| db.query_row(query, [session.to_string()], |row| row.get(0)))
    }

    /// Reads the next durable records from number `from` on, in order; none behind the last and for
    /// a session that does not exist.
    pub(crate) fn page(
        &self,
        session: SessionId,
        from: u64,
    ) -> Result<Vec<EventRecord>, JournalError> {
        // Written after the commit, so the mark is never ahead of what is read after it.
        let mark = Mark::read(&self.locks, session);
        let stored = self.read(|db| stored(db, session, from))?;
        let mut link = match stored.before {
            Some(before) => ChainLink(before),
            None if from == 0 => ChainLink::start(session),
            None => return Ok(Vec::new()),
        };
        let mut records = Vec::with_capacity(stored.events.len());
        for (event, expected) in stored.events.iter().zip(from..) {
            records.push(event.check(&self.location, session, expected, &mut link)?);
        }
        let found = from + records.len() as u64;
        if stored.is_last && found != stored.count {
            let expected = stored.count;
            let damage = Damage::Truncated { found, expected };
            return Err(damaged(&self.location, session, damage).into());
        }
        if let Some(mark) = mark.filter(|_| stored.is_last) {
            self.check_mark(session, mark, found)?;
        }
        Ok(records)
    }

    /// Checks that the database has the last event that is known to be stored.
    fn check_mark(&self, session: SessionId, mark: Mark, found: u64) -> Result<(), StoreError> {
        if found < mark.events {
            return Err(StoreError::LostEvents {
                session,
                location: self.location.clone(),
                left: found,
                stored: mark.events,
            });
        }
        let seq = mark.events.saturating_sub(1);
        if self.digest(session, seq)? == Some(mark.digest) {
            return Ok(());
        }
        Err(StoreError::ReplacedEvent {
            session,
            location: self.location.clone(),
            seq,
        })
    }

    /// Reads the digest of an event.
    fn digest(&self, session: SessionId, seq: u64) -> Result<Option<[u8; 32]>, StoreError> {
        let query = "SELECT digest FROM events WHERE session = ?1 AND seq = ?2";
        let seq = i64::try_from(seq).unwrap_or(i64::MAX);
        self.read(|db| {
            db.prepare_cached(query)?
                .query_row(params![session.to_string(), seq], |row| row.get(0))
                .optional()
        })
    }

    /// Reads the number of events of a session, the digest of the last one, and the signature of
    /// both; `None` if there are none.
    pub(crate) fn end(&self, session: SessionId) -> Result<Option<StoredEnd>, StoreError> {
        let query = format!("{ENDS} WHERE id = ?1");
        self.read(|db| {
            db.prepare_cached(&query)?
                .query_row([session.to_string()], |row| {
                    Ok((row.get(1)?, row.get(2)?, row.get(3)?))
                })
                .optional()
        })
    }

    /// Returns the mark that fits what is stored of a session; nothing if it does not exist.
    pub(crate) fn mark(&self, session: SessionId) -> Result<Option<Mark>, StoreError> {
        let events = self.count(session)?;
        let Some(last) = events.checked_sub(1) else {
            return Ok(None);
        };
        let digest = self.digest(session, last)?;
        Ok(digest.map(|digest| Mark { events, digest }))
    }

    pub(crate) fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError> {
        let query = "SELECT bytes FROM blobs WHERE digest = ?1";
        let found: Option<Vec<u8>> = self.read(|db| {
            db.query_row(query, [digest.to_string()], |row| row.get(0))
                .optional()
        })?;
        let location = self.location.clone();
        match found {
            Some(bytes) if Digest::of(&bytes) == digest => Ok(bytes),
            Some(_) => Err(StoreError::ChangedBlob { digest, location }.into()),
            None => Err(StoreError::NoBlob { digest, location }.into()),
        }
    }

    /// Reads the number of durable events of a session.
    pub(crate) fn count(&self, session: SessionId) -> Result<u64, StoreError> {
        let query = "SELECT events FROM sessions WHERE id = ?1";
        let found = self.read(|db| {
            db.query_row(query, [session.to_string()], |row| positive(row, 0))
                .optional()
        });
        Ok(found?.unwrap_or(0))
    }

    /// Reads the blobs that a session refers to, in order.
    fn blobs_of(&self, session: SessionId) -> Result<Vec<Digest>, StoreError> {
        let query = "SELECT digest FROM blob_references WHERE session = ?1 ORDER BY digest";
        self.read(|db| {
            let mut query = db.prepare_cached(query)?;
            query.query_map([session.to_string()], parsed)?.collect()
        })
    }

    /// Reads the ids that match, the session that was written to last first. An id is of digits and
    /// letters before `g`, so the ids with a beginning are a range.
    pub(crate) fn matches(&self, wanted: &Wanted<'_>) -> Result<Vec<SessionId>, StoreError> {
        let limit = i64::try_from(wanted.limit()).unwrap_or(i64::MAX);
        if wanted.is_latest() {
            let query = format!(
                "SELECT id FROM sessions WHERE {PARENT} IS NULL ORDER BY last_write DESC LIMIT ?1"
            );
            return self.read(|db| {
                let mut query = db.prepare_cached(&query)?;
                query.query_map([limit], parsed)?.collect()
            });
        }
        let query = "SELECT id FROM sessions WHERE id IN (
                 SELECT id FROM sessions WHERE id >= ?1 AND id < ?1 || 'g'
                 UNION SELECT id FROM sessions
                     WHERE ?2 AND substr(id, -8) = substr(?1, -8) AND substr(id, -length(?1)) = ?1
                 UNION SELECT session FROM names WHERE name = ?3)
             ORDER BY last_write DESC LIMIT ?4";
        let (prefix, name) = (&wanted.prefix, wanted.given.trim());
        self.read(|db| {
            let mut query = db.prepare_cached(query)?;
            query
                .query_map(params![prefix, wanted.may_be_end(), name, limit], parsed)?
                .collect()
        })
    }
}

/// A session that is read as a whole.
pub(crate) struct StoredSession<'a> {
    pub(crate) database: &'a Database,
    pub(crate) session: SessionId,
}

impl SessionSource for StoredSession<'_> {
    fn session(&self) -> SessionId {
        self.session
    }

    fn location(&self) -> &Location {
        self.database.location()
    }

    fn events(&self) -> Result<u64, JournalError> {
        Ok(self.database.reader().count(self.session)?)
    }

    fn page(&self, from: u64) -> Result<Vec<EventRecord>, JournalError> {
        self.database.page(self.session, from)
    }

    fn blobs(&self) -> Result<Vec<Digest>, JournalError> {
        Ok(self.database.reader().blobs_of(self.session)?)
    }

    fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError> {
        self.database.reader().blob(digest)
    }

    fn agents(&self) -> Result<Vec<Box<dyn SessionSource + '_>>, JournalError> {
        let (_, family) = self.database.reader().family(self.session)?;
        let boxed = |session| {
            let database = self.database;
            Box::new(StoredSession { database, session }) as Box<dyn SessionSource>
        };
        Ok(family.into_iter().map(boxed).collect())
    }
}

/// Reads the events of a page as they are stored.
fn stored(
    db: &mut Connection,
    session: SessionId,
    from: u64,
) -> Result<StoredPage, rusqlite::Error> {
    let id = session.to_string();
    let from = i64::try_from(from).unwrap_or(i64::MAX);
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

pub(super) fn stored_event(row: &rusqlite::Row<'_>) -> Result<StoredEvent, rusqlite::Error> {
    let bytes = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_bytes()?.to_vec());
    Ok(StoredEvent {
        numbers: [row.get(0)?, row.get(1)?, row.get(2)?],
        kind: bytes(3)?,
        json: bytes(4)?,
        digest: bytes(5)?,
    })
}

/// Parses the first column as an id or a digest.
pub(crate) fn parsed<T>(row: &rusqlite::Row<'_>) -> Result<T, rusqlite::Error>
where
    T: FromStr<Err: Error + Send + Sync + 'static>,
{
    let text: String = row.get(0)?;
    text.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
    })
}

/// Reads a column with [`PARENT`].
pub(super) fn parent(
    row: &rusqlite::Row<'_>,
    column: usize,
) -> Result<Option<SessionId>, rusqlite::Error> {
    let text: Option<String> = row.get(column)?;
    let parsed = text.map(|text| text.parse::<SessionId>()).transpose();
    parsed.map_err(|error| {
        let error = Box::new(error);
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error)
    })
}

/// Returns a number as a column has it.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the number of a column; 0 for a negative one, which no host writes: its row has no valid
/// signature.
pub(super) fn non_negative(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// Reads a column that holds no negative number.
pub(crate) fn positive(row: &rusqlite::Row<'_>, column: usize) -> Result<u64, rusqlite::Error> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

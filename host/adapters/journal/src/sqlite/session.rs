//! Sessions that are written or removed as a whole: in one transaction on a connection of its own,
//! so that a crash or an error leaves all of it or nothing. The sessions are claimed meanwhile.
//! Other writers wait, which takes about 15 s for a million events.

use super::{
    database::Database, lock::SessionLock, read::StoredSession, sealed, stats,
    writer::SessionTarget,
};
use crate::{
    copy::{self, SessionSink, SessionSource},
    error::{Location, StoreError},
    ownership::{Copier, Ownership},
    row::EventRow,
    sealed::SealedSession,
    transfer::{self, ImportAs, ImportSource},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{event::EventRecord, id::SessionId, output::Blob};
use rusqlite::{Transaction, TransactionBehavior};
use std::{io::Write, sync::Arc};

/// A session in a transaction.
pub(crate) struct SessionWriter<'a> {
    tx: &'a Transaction<'a>,
    location: &'a Location,
    session: SessionId,
}

impl<'a> SessionWriter<'a> {
    pub(crate) fn new(tx: &'a Transaction<'a>, location: &'a Location, session: SessionId) -> Self {
        Self {
            tx,
            location,
            session,
        }
    }

    /// Refers to all blobs of another session.
    fn add_blobs_of(&self, other: SessionId) -> Result<(), StoreError> {
        let ids = [self.session.to_string(), other.to_string()];
        self.execute(
            "INSERT INTO blob_references SELECT ?1, digest FROM blob_references WHERE session = ?2",
            &ids,
        )
    }

    /// Removes the session as if it had never been.
    pub(crate) fn remove(&self) -> Result<(), StoreError> {
        let subtracted = stats::subtract(self.tx, &self.session.to_string());
        subtracted.map_err(StoreError::sqlite(self.location, "write the journal"))?;
        self.prune()
    }

    /// Adds all that the session used to the sums of the store.
    fn settle(&self) -> Result<(), StoreError> {
        let settled = stats::settle(self.tx, &self.session.to_string());
        settled.map_err(StoreError::sqlite(self.location, "write the journal"))
    }

    /// Removes the session with the blobs to which no other session refers. What it used stays in
    /// the sums of the store.
    pub(crate) fn prune(&self) -> Result<(), StoreError> {
        self.settle()?;
        // The rows that refer to others go last.
        let deferred = self.tx.pragma_update(None, "defer_foreign_keys", true);
        deferred.map_err(StoreError::sqlite(self.location, "write the journal"))?;
        let id = [self.session.to_string()];
        for statement in [
            "DELETE FROM blobs WHERE digest IN (SELECT digest FROM blob_references WHERE session = ?1)
             AND NOT EXISTS (SELECT 1 FROM blob_references AS other WHERE other.digest = blobs.digest AND other.session <> ?1)",
            "DELETE FROM blob_references WHERE session = ?1",
            "DELETE FROM events WHERE session = ?1",
            sealed::REMOVE,
            "DELETE FROM names WHERE session = ?1",
            "DELETE FROM owners WHERE session = ?1",
            "DELETE FROM links WHERE session = ?1",
            "DELETE FROM sessions WHERE id = ?1",
        ] {
            self.execute(statement, &id)?;
        }
        Ok(())
    }

    fn execute(&self, statement: &str, texts: &[String]) -> Result<(), StoreError> {
        let executed = self
            .tx
            .execute(statement, rusqlite::params_from_iter(texts));
        executed
            .map(drop)
            .map_err(StoreError::sqlite(self.location, "write the journal"))
    }
}

/// New sessions in one transaction, each claimed.
struct NewSessions<'a> {
    database: &'a Database,
    tx: &'a Transaction<'a>,
    /// The session that is written, and its lock, after those that are complete.
    claimed: Vec<(SessionId, SessionLock)>,
    /// The owner of the first one, until it has an event. Those of agents belong to it.
    ownership: Option<Ownership>,
    /// The events that are not written yet.
    rows: Vec<Arc<EventRow>>,
}

/// The most events that are written together. Each write reads and writes the session's own row.
const ROWS_TOGETHER: usize = 64;

impl NewSessions<'_> {
    /// Returns the session that is written.
    fn current(&self) -> Result<SessionId, JournalError> {
        let last = self.claimed.last().map(|(session, _)| *session);
        last.ok_or_else(|| JournalError::storage("no session was started"))
    }

    /// Writes blobs behind the events before them.
    fn write(&mut self, blobs: &[Arc<Blob>]) -> Result<(), JournalError> {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() && blobs.is_empty() {
            return Ok(());
        }
        let to = SessionTarget {
            tx: self.tx,
            location: self.database.location(),
            key: self.database.rows_key(),
            session: self.current()?,
            is_whole: true,
        };
        to.write(&rows, blobs)?;
        Ok(())
    }

    /// Ends the session that is written, if there is one.
    fn end(&mut self) -> Result<(), JournalError> {
        self.write(&[])?;
        if let Some((session, _)) = self.claimed.last() {
            SessionWriter::new(self.tx, self.database.location(), *session).settle()?;
        }
        Ok(())
    }
}

impl SessionSink for NewSessions<'_> {
    fn begin(&mut self, session: SessionId) -> Result<(), JournalError> {
        self.end()?;
        let lock = self.database.claim_new(session)?;
        self.claimed.push((session, lock));
        Ok(())
    }

    fn event(&mut self, record: &EventRecord) -> Result<(), JournalError> {
        let row = EventRow::encode(record).map_err(JournalError::corrupt)?;
        let row = row.owned_by(&mut self.ownership);
        self.rows.push(Arc::new(row));
        match self.rows.len() {
            ROWS_TOGETHER.. => self.write(&[]),
            _ => Ok(()),
        }
    }

    fn blob(&mut self, blob: Blob) -> Result<(), JournalError> {
        self.write(&[Arc::new(blob)])
    }

    fn blobs_of(&mut self, source: &dyn SessionSource) -> Result<(), JournalError> {
        self.write(&[])?;
        let writer = SessionWriter::new(self.tx, self.database.location(), self.current()?);
        Ok(writer.add_blobs_of(source.session())?)
    }

    fn take_sealed(&mut self, session: SealedSession) -> Result<(), JournalError> {
        self.write(&[])?;
        let location = self.database.location();
        let failed = StoreError::sqlite(location, "remember the sealed session");
        let known = sealed::known(self.tx, session.session).map_err(failed)?;
        session.check(known, location)?;
        Ok(sealed::remember(self.tx, &[session]).map_err(failed)?)
    }
}

impl Database {
    /// Runs the operation in one transaction, which is rolled back if it fails.
    pub(super) fn transact<T>(
        &self,
        operation: impl FnOnce(&Transaction<'_>) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let failed = StoreError::sqlite(self.location(), "write the journal");
        let mut db = self.connect_writer()?;
        let tx = db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let done = operation(&tx)?;
        tx.commit().map_err(failed)?;
        Ok(done)
    }

    /// Writes new sessions in one transaction.
    fn create_all<T>(
        &self,
        ownership: Option<Ownership>,
        operation: impl FnOnce(&mut dyn SessionSink) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let (done, claimed) = self.transact(|tx| {
            let mut new = NewSessions {
                database: self,
                tx,
                claimed: Vec::new(),
                ownership,
                rows: Vec::new(),
            };
            let done = operation(&mut new)?;
            new.end()?;
            Ok((done, new.claimed))
        })?;
        for (session, lock) in claimed {
            if let Some(mark) = self.reader().mark(session)? {
                lock.set_mark(&mark);
            }
        }
        Ok(done)
    }

    pub(super) fn stored(&self, session: SessionId) -> Result<StoredSession<'_>, JournalError> {
        self.must_exist(session)?;
        let database = self;
        Ok(StoredSession { database, session })
    }

    pub(crate) fn fork(
        &self,
        from: SessionId,
        at: Option<u64>,
        by: Option<Copier>,
    ) -> Result<SessionId, JournalError> {
        let into = SessionId::new();
        let source = self.stored(from)?;
        let (by, owner) = by.map(|by| (by.name, by.owner)).unzip();
        let ownership = self.reader().ownership(from)?.map(|original| Ownership {
            owner: owner.flatten(),
            ..original
        });
        self.create_all(ownership, |new| copy::fork(&source, into, at, by, new))?;
        Ok(into)
    }

    pub(crate) fn export(
        &self,
        session: SessionId,
        out: &mut dyn Write,
    ) -> Result<(), JournalError> {
        transfer::export(&self.stored(session)?, out)
    }

    pub(crate) fn import(
        &self,
        source: ImportSource,
        how: ImportAs,
        ownership: Option<Ownership>,
    ) -> Result<SessionId, JournalError> {
        self.create_all(ownership, |new| transfer::import(source, how, new))
    }

    pub(crate) fn delete(&self, session: SessionId) -> Result<(), JournalError> {
        let (parent, mut family) = self.reader().family(session)?;
        if let Some(parent) = parent {
            return Err(StoreError::OfAgent { session, parent }.into());
        }
        family.insert(0, session);
        let locks = family.iter().map(|session| self.claim_existing(*session));
        let locks = locks.collect::<Result<Vec<_>, _>>()?;
        // Those of agents go first, so that none is left without the one that started it.
        for (session, lock) in family.into_iter().zip(locks).rev() {
            self.transact(|tx| Ok(SessionWriter::new(tx, self.location(), session).remove()?))?;
            lock.remove();
        }
        Ok(())
    }
}

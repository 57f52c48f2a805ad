//! Sessions that are written or removed as a whole: each in one transaction on a connection of its own,
//! so that a crash or an error leaves all of it or nothing. The session is claimed meanwhile. Other
//! writers wait, which takes about 15 s for a million events.

use super::{database::Database, lock::SessionLock, read::StoredSession, writer::write};
use crate::{
    copy::{self, SessionSink},
    error::{Location, StoreError},
    row::Row,
    transfer::{self, Import},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{event::EventRecord, id::SessionId, output::Blob};
use rusqlite::{Transaction, TransactionBehavior};
use std::{
    io::{BufRead, Write},
    sync::Arc,
};

/// A claimed session in a transaction.
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

    /// Removes the session with the blobs to which no other session refers.
    pub(crate) fn remove(&self) -> Result<(), StoreError> {
        // The rows that refer to others go last.
        let deferred = self.tx.pragma_update(None, "defer_foreign_keys", true);
        deferred.map_err(StoreError::sqlite(self.location, "write the journal"))?;
        let id = [self.session.to_string()];
        for statement in [
            "DELETE FROM blobs WHERE digest IN (SELECT digest FROM blob_references WHERE session = ?1)
             AND NOT EXISTS (SELECT 1 FROM blob_references AS other WHERE other.digest = blobs.digest AND other.session <> ?1)",
            "DELETE FROM blob_references WHERE session = ?1",
            "DELETE FROM events WHERE session = ?1",
            "DELETE FROM names WHERE session = ?1",
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

impl SessionSink for SessionWriter<'_> {
    fn event(&mut self, record: &EventRecord) -> Result<(), JournalError> {
        let row = Row::encode(record).map_err(JournalError::corrupt)?;
        write(self.tx, self.location, self.session, &[Arc::new(row)], &[])?;
        Ok(())
    }

    fn blob(&mut self, blob: Blob) -> Result<(), JournalError> {
        write(self.tx, self.location, self.session, &[], &[Arc::new(blob)])?;
        Ok(())
    }
}

impl Database {
    /// Runs the operation on a claimed session in one transaction, which is rolled back if it fails.
    fn transact<T>(
        &self,
        session: SessionId,
        lock: &SessionLock,
        operation: impl FnOnce(&mut SessionWriter<'_>) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let failed = StoreError::sqlite(self.location(), "write the journal");
        let mut db = self.connect_writer()?;
        let tx = db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let done = operation(&mut SessionWriter::new(&tx, self.location(), session))?;
        tx.commit().map_err(failed)?;
        if let Some(mark) = self.reader().mark(session)? {
            lock.set_mark(&mark);
        }
        Ok(done)
    }

    fn stored(&self, session: SessionId) -> Result<StoredSession<'_>, JournalError> {
        self.must_exist(session)?;
        let database = self;
        Ok(StoredSession { database, session })
    }

    pub(crate) fn fork(&self, from: SessionId, at: Option<u64>) -> Result<SessionId, JournalError> {
        let into = SessionId::new();
        let source = self.stored(from)?;
        let lock = self.claim_new(into)?;
        self.transact(into, &lock, |new| {
            copy::fork(&source, into, at, new)?;
            Ok(new.add_blobs_of(from)?)
        })?;
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
        file: &mut dyn BufRead,
        as_new: bool,
    ) -> Result<SessionId, JournalError> {
        let import = Import::open(file, as_new)?;
        let into = import.target();
        let lock = self.claim_new(into)?;
        self.transact(into, &lock, |new| import.read(new))?;
        Ok(into)
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
            self.transact(session, &lock, |gone| Ok(gone.remove()?))?;
            lock.remove();
        }
        Ok(())
    }
}

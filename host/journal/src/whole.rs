//! Sessions that are written or removed as a whole: each in one transaction on a connection of its own, so that a crash or an
//! error leaves all of it or nothing. Whoever begins a copy or a removal holds the session's lock until its end. Other writers
//! wait meanwhile, which takes about 15 s for a million events.

use crate::{
    Store,
    fault::explain,
    lock::SessionLock,
    row::Row,
    writer::{WriteError, write_blobs, write_rows},
};
use agent_host_engine::{journal::JournalError, session::SessionCopy};
use agent_host_types::{
    event::{Event, EventRecord},
    id::SessionId,
    output::Blob,
};
use rusqlite::{Transaction, TransactionBehavior};
use std::{path::Path, sync::Arc};

/// The session that is written or removed.
pub(crate) struct Whole<'a> {
    tx: &'a Transaction<'a>,
    file: &'a Path,
    session: SessionId,
}

impl<'a> Whole<'a> {
    /// The session, in a transaction on the database in this file. Its lock has to be held.
    pub(crate) fn new(tx: &'a Transaction<'a>, file: &'a Path, session: SessionId) -> Self {
        Self { tx, file, session }
    }

    /// Adds its next event.
    pub(crate) fn event(&self, record: &EventRecord) -> Result<(), JournalError> {
        let row = Row::encode(record).map_err(|why| {
            JournalError::Corrupt(format!(
                "cannot write session {}: event {} has no stored form ({why})",
                self.session, record.seq
            ))
        })?;
        self.told(write_rows(self.tx, self.session, &[Arc::new(row)]))
            .map(drop)
    }

    /// Adds a blob that it refers to.
    pub(crate) fn blob(&self, blob: Blob) -> Result<(), JournalError> {
        let written = write_blobs(self.tx, self.session, &[Arc::new(blob)]);
        self.told(written.map_err(WriteError::Sqlite))
    }

    /// Refers to all blobs of another session.
    fn blobs_of(&self, other: SessionId) -> Result<(), JournalError> {
        let ids = [self.session.to_string(), other.to_string()];
        self.run(
            "INSERT INTO blob_references SELECT ?1, digest FROM blob_references WHERE session = ?2",
            &ids,
        )
    }

    /// Removes it with the blobs to which no other session refers.
    pub(crate) fn remove(&self) -> Result<(), JournalError> {
        // The rows that refer to others go last.
        let deferred = self.tx.pragma_update(None, "defer_foreign_keys", true);
        self.told(deferred.map_err(WriteError::Sqlite))?;
        let id = [self.session.to_string()];
        for statement in [
            "DELETE FROM blobs WHERE digest IN (SELECT digest FROM blob_references WHERE session = ?1)
             AND NOT EXISTS (SELECT 1 FROM blob_references AS other WHERE other.digest = blobs.digest AND other.session <> ?1)",
            "DELETE FROM blob_references WHERE session = ?1",
            "DELETE FROM events WHERE session = ?1",
            "DELETE FROM sessions WHERE id = ?1",
        ] {
            self.run(statement, &id)?;
        }
        Ok(())
    }

    fn run(&self, statement: &str, texts: &[String]) -> Result<(), JournalError> {
        let texts = rusqlite::params_from_iter(texts);
        let done = self.tx.execute(statement, texts).map(drop);
        self.told(done.map_err(WriteError::Sqlite))
    }

    fn told<T>(&self, result: Result<T, WriteError>) -> Result<T, JournalError> {
        result.map_err(|error| error.explain(self.file))
    }
}

impl Store {
    /// Does the work on a session in one transaction, of which nothing is left if the work fails.
    pub(crate) fn whole<T>(
        &self,
        session: SessionId,
        lock: &SessionLock,
        work: impl FnOnce(&Whole<'_>) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let file = &self.file();
        let fault = |error: rusqlite::Error| explain(file, "write the journal", &error);
        let mut db = self.connect_writer()?;
        let tx = db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(fault)?;
        let done = work(&Whole::new(&tx, file, session))?;
        tx.commit().map_err(fault)?;
        if let Some(mark) = self.reader().mark(session)? {
            lock.note(&mark);
        }
        Ok(done)
    }

    /// Copies a session into a new one: up to the end of a turn, or with all that it has. What waited or was allowed in the
    /// original does not wait and is not allowed in the copy (see [`SessionCopy`]).
    ///
    /// # Errors
    /// As for [`Self::read`]; [`JournalError::NotFound`] also when no turn ends at that place.
    pub fn fork(&self, from: SessionId, at: Option<u64>) -> Result<SessionId, JournalError> {
        let into = SessionId::new();
        let records = self.read(from)?;
        let lock = self.claim(into)?;
        self.whole(into, &lock, |new| {
            let mut copy = SessionCopy::new(from, into);
            let mut is_end = at.is_none();
            for record in records {
                let record = record?;
                if at.is_some_and(|at| record.seq > at) {
                    break;
                }
                is_end = at.is_none()
                    || at == Some(record.seq) && matches!(record.event, Event::TurnEnded { .. });
                new.event(&copy.next(record)?)?;
            }
            if !is_end {
                return Err(JournalError::NotFound(format!(
                    "no turn of session {from} ends at event {}; `agent-host sessions show {from}` numbers its events",
                    at.unwrap_or_default()
                )));
            }
            for record in copy.finish()? {
                new.event(&record)?;
            }
            new.blobs_of(from)?;
            Ok(into)
        })
    }

    /// Removes a session, and the blobs to which no other session refers.
    ///
    /// # Errors
    /// [`JournalError::Locked`] while a process writes to it, [`JournalError::NotFound`], or [`JournalError::Storage`].
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method by itself is for one lifetime, and this is for any"
    )]
    pub fn delete(&self, session: SessionId) -> Result<(), JournalError> {
        let lock = self.claim_existing(session)?;
        self.whole(session, &lock, |whole| whole.remove())?;
        lock.remove();
        Ok(())
    }
}

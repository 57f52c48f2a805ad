//! The operations of `agent-host store` on a state directory.

use super::{
    SqliteStore,
    database::Database,
    key,
    lock::{SessionLock, moving},
    session::SessionWriter,
};
use crate::{
    claim::{mover_to, moves_to},
    error::StoreError,
    maintenance::{Maintenance, ORPHANS, WRONG_NUMBER},
    ownership::SessionScope,
    sealed::SealedSession,
    signature::UnsignedRow,
    store::{JournalStore, StoreFuture},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;

/// The sessions whose number of events is wrong.
const NUMBERS: &str = "SELECT id FROM sessions WHERE events <>
    (SELECT count(*) FROM events WHERE events.session = sessions.id) ORDER BY id";

impl Maintenance for SqliteStore {
    fn identity(&self) -> StoreFuture<'_, String> {
        let file = self.file().display().to_string();
        Box::pin(async move { Ok(format!("the file {file}")) })
    }

    fn orphans(&self) -> StoreFuture<'_, Vec<String>> {
        self.run(Database::orphans)
    }

    fn unsigned(&self) -> StoreFuture<'_, Vec<UnsignedRow>> {
        self.run(Database::unsigned)
    }

    fn remove_unsigned(&self, rows: Vec<UnsignedRow>) -> StoreFuture<'_, u64> {
        self.run(move |db| db.remove_unsigned(&rows))
    }

    fn hold(&self, session: SessionId, to: String) -> StoreFuture<'_, Vec<SessionId>> {
        self.run(move |db| db.hold(session, &to))
    }

    fn release_held(&self, session: SessionId) -> StoreFuture<'_, ()> {
        self.run(move |db| {
            let family = db.with_agents(session)?.into_iter();
            family
                .rev()
                .try_for_each(|session| moving::clear(db.locks(), session))
        })
    }

    fn remove_held(&self, session: SessionId) -> StoreFuture<'_, ()> {
        self.run(move |db| db.remove_held(session))
    }

    fn forget_moved(&self) -> StoreFuture<'_, ()> {
        self.run(|db| {
            for session in moving::all(db.locks()) {
                if !db.reader().exists(session)? {
                    moving::clear(db.locks(), session)?;
                }
            }
            Ok(())
        })
    }

    fn adopt_continuation_key(&self, key: [u8; 32]) -> StoreFuture<'_, bool> {
        self.run(move |db| {
            if db.continuation_key()? == key {
                return Ok(true);
            }
            if !db.reader().sessions(&SessionScope::All)?.is_empty() {
                return Ok(false);
            }
            key::replace(db.key_file(), key)?;
            Ok(true)
        })
    }

    fn sealed_sessions(&self) -> StoreFuture<'_, Vec<SealedSession>> {
        self.run(Database::sealed_sessions)
    }

    fn adopt_sealed_sessions(&self, sessions: Vec<SealedSession>) -> StoreFuture<'_, ()> {
        self.run(move |db| db.adopt_sealed_sessions(&sessions))
    }

    fn as_store(&self) -> &dyn JournalStore {
        self
    }
}

impl Database {
    fn orphans(&self) -> Result<Vec<String>, JournalError> {
        let mut found = Vec::new();
        for (what, query) in ORPHANS.into_iter().chain([(WRONG_NUMBER, NUMBERS)]) {
            let rows = self.reader().query(|db| {
                let mut query = db.prepare(query)?;
                let rows = query.query_map([], |row| row.get::<_, String>(0))?;
                rows.collect::<Result<Vec<_>, _>>()
            });
            let rows = rows.map_err(StoreError::sqlite(self.location(), "check the journal"))?;
            found.extend(rows.iter().map(|row| format!("{what}: {row}")));
        }
        Ok(found)
    }

    /// Returns a session and those of its agents, each after the one that started it.
    fn with_agents(&self, session: SessionId) -> Result<Vec<SessionId>, JournalError> {
        let (parent, mut family) = self.reader().family(session)?;
        if let Some(parent) = parent {
            return Err(StoreError::OfAgent { session, parent }.into());
        }
        family.insert(0, session);
        Ok(family)
    }

    fn hold(&self, session: SessionId, to: &str) -> Result<Vec<SessionId>, JournalError> {
        self.must_exist(session)?;
        let family = self.with_agents(session)?;
        let mut locks = Vec::with_capacity(family.len());
        for session in &family {
            // The other store would sign it.
            self.check_signed(*session)?;
            // A journal of this process that was dropped is written first.
            let lock = match moving::owner(self.locks(), *session)? {
                None => self.claim_existing(*session)?,
                Some(owner) => {
                    if let Some(other) = moves_to(&owner).filter(|other| *other != to) {
                        let (session, to) = (*session, other.to_owned());
                        return Err(StoreError::MovingElsewhere { session, to }.into());
                    }
                    SessionLock::take_moving(self.locks(), *session)?
                }
            };
            locks.push(lock);
        }
        let owner = mover_to(to);
        for session in &family {
            moving::set(self.locks(), *session, &owner)?;
        }
        Ok(family)
    }

    fn remove_held(&self, session: SessionId) -> Result<(), JournalError> {
        let family = self.with_agents(session)?;
        let mut locks = Vec::with_capacity(family.len());
        for session in &family {
            if moving::owner(self.locks(), *session)?.is_none() {
                let (session, owner) = (*session, None);
                return Err(JournalError::Locked { session, owner });
            }
            locks.push(SessionLock::take_moving(self.locks(), *session)?);
        }
        // Those of agents go first, so that none is left without the one that started it.
        for (session, lock) in family.into_iter().zip(locks).rev() {
            self.transact(|tx| Ok(SessionWriter::new(tx, self.location(), session).remove()?))?;
            lock.remove();
            moving::clear(self.locks(), session)?;
        }
        Ok(())
    }
}

//! The memory of sessions that left or came sealed: one row for each, and one without a name for
//! those that were forgotten.

use super::{
    database::Database,
    read::{parsed, positive},
};
use crate::{
    error::StoreError,
    sealed::{MAX_SEALED_SESSIONS, SealMemory, SealedSession},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;
use rusqlite::{OptionalExtension as _, Transaction, params};

/// Remembers how far a session went that is removed.
pub(super) const REMOVE: &str = "UPDATE sealed_sessions SET
        events = max(events, coalesce((SELECT events FROM sessions WHERE id = ?1), 0)),
        last_ms = max(last_ms, coalesce((SELECT last_ms FROM sessions WHERE id = ?1), 0))
    WHERE session = ?1";

const REMEMBER: &str = "INSERT INTO sealed_sessions (session, events, last_ms) VALUES (?1, ?2, ?3)
    ON CONFLICT (session) DO UPDATE SET events = max(events, excluded.events),
        last_ms = max(last_ms, excluded.last_ms)";

/// Reads what is remembered of a session.
pub(super) fn known(
    tx: &Transaction<'_>,
    session: SessionId,
) -> Result<SealMemory, rusqlite::Error> {
    let mut query =
        tx.prepare_cached("SELECT events, last_ms FROM sealed_sessions WHERE session = ?1")?;
    let mut read = |name: &str| {
        let row = query.query_row([name], |row| Ok((positive(row, 0)?, positive(row, 1)?)));
        row.optional()
    };
    if let Some((events, _)) = read(&session.to_string())? {
        return Ok(SealMemory::Known(events));
    }
    let forgotten = read("")?;
    Ok(SealMemory::ForgottenUntil(
        forgotten.map_or(0, |(_, last_ms)| last_ms),
    ))
}

/// Remembers sessions, and forgets the oldest ones beyond the bound.
pub(super) fn remember(
    tx: &Transaction<'_>,
    sessions: &[SealedSession],
) -> Result<(), rusqlite::Error> {
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    for session in sessions {
        let (events, last_ms) = (signed(session.events), signed(session.last_ms));
        tx.execute(
            REMEMBER,
            params![session.session.to_string(), events, last_ms],
        )?;
    }
    let count: u32 = tx.query_row("SELECT count(*) FROM sealed_sessions", [], |row| row.get(0))?;
    if count <= MAX_SEALED_SESSIONS {
        return Ok(());
    }
    let until: i64 = tx.query_row(
        "SELECT last_ms FROM sealed_sessions ORDER BY last_ms LIMIT 1 OFFSET ?1",
        [MAX_SEALED_SESSIONS / 4],
        |row| row.get(0),
    )?;
    tx.execute(REMEMBER, params!["", 0, until])?;
    let forget = "DELETE FROM sealed_sessions WHERE session <> '' AND last_ms <=
        (SELECT last_ms FROM sealed_sessions WHERE session = '')";
    tx.execute(forget, []).map(drop)
}

impl Database {
    pub(crate) fn remember_sealed(&self, session: SessionId) -> Result<(), JournalError> {
        self.must_exist(session)?;
        let (_, agents) = self.reader().family(session)?;
        for session in agents.into_iter().chain([session]) {
            // The other store would sign it.
            self.check_signed(session)?;
        }
        let failed = StoreError::sqlite(self.location(), "remember the sealed session");
        self.transact(|tx| {
            let query = "SELECT events, last_ms FROM sessions WHERE id = ?1";
            let found = tx.query_row(query, [session.to_string()], |row| {
                Ok(SealedSession {
                    session,
                    events: positive(row, 0)?,
                    last_ms: positive(row, 1)?,
                })
            });
            let found = found.optional().map_err(failed)?;
            let found = found.ok_or(StoreError::NoSession(session))?;
            Ok(remember(tx, &[found]).map_err(failed)?)
        })
    }

    pub(crate) fn sealed_sessions(&self) -> Result<Vec<SealedSession>, JournalError> {
        let failed = StoreError::sqlite(self.location(), "read the sealed sessions");
        let query = "SELECT session, events, last_ms FROM sealed_sessions
            WHERE session <> '' ORDER BY last_ms";
        let sessions = self.reader().query(|db| {
            let mut query = db.prepare(query)?;
            let rows = query.query_map([], |row| {
                Ok(SealedSession {
                    session: parsed(row)?,
                    events: positive(row, 1)?,
                    last_ms: positive(row, 2)?,
                })
            })?;
            rows.collect()
        });
        Ok(sessions.map_err(failed)?)
    }

    pub(crate) fn adopt_sealed_sessions(
        &self,
        sessions: &[SealedSession],
    ) -> Result<(), JournalError> {
        let failed = StoreError::sqlite(self.location(), "remember the sealed sessions");
        self.transact(|tx| Ok(remember(tx, sessions).map_err(failed)?))
    }
}

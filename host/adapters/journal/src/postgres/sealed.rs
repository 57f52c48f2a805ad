//! The memory of sessions that left or came sealed: one row for each, and one without a name for
//! those that were forgotten.

use super::{
    database::Database,
    read::{parsed, positive, signed},
};
use crate::{
    error::StoreError,
    sealed::{MAX_SEALED_SESSIONS, SealMemory, SealedSession},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;
use deadpool_postgres::GenericClient;

/// Remembers how far sessions went that are removed.
pub(super) const REMOVE: &str = "UPDATE sealed_sessions AS known SET
        events = greatest(known.events, w.events), last_ms = greatest(known.last_ms, w.last_ms)
    FROM progress w WHERE w.session = known.session AND known.session = ANY ($1)";

const REMEMBER: &str = "INSERT INTO sealed_sessions AS known (session, events, last_ms)
    VALUES ($1, $2, $3) ON CONFLICT (session) DO UPDATE SET
        events = greatest(known.events, excluded.events),
        last_ms = greatest(known.last_ms, excluded.last_ms)";

/// Reads what is remembered of a session.
pub(super) async fn known(
    client: &impl GenericClient,
    session: SessionId,
) -> Result<SealMemory, tokio_postgres::Error> {
    let query = "SELECT events, last_ms FROM sealed_sessions WHERE session = $1";
    let found = client.query_opt(query, &[&session.to_string()]).await?;
    if let Some(row) = found {
        return Ok(SealMemory::Known(positive(row.get(0))));
    }
    let forgotten = client.query_opt(query, &[&""]).await?;
    let until = forgotten.map_or(0, |row| positive(row.get(1)));
    Ok(SealMemory::ForgottenUntil(until))
}

/// Remembers sessions, and forgets the oldest ones beyond the bound.
pub(super) async fn remember(
    client: &impl GenericClient,
    sessions: &[SealedSession],
) -> Result<(), tokio_postgres::Error> {
    for session in sessions {
        let (events, last_ms) = (signed(session.events), signed(session.last_ms));
        let id = session.session.to_string();
        client.execute(REMEMBER, &[&id, &events, &last_ms]).await?;
    }
    let count = client.query_one("SELECT count(*) FROM sealed_sessions", &[]);
    let count: i64 = count.await?.get(0);
    if count <= i64::from(MAX_SEALED_SESSIONS) {
        return Ok(());
    }
    let oldest = "SELECT last_ms FROM sealed_sessions ORDER BY last_ms LIMIT 1 OFFSET $1";
    let offset = i64::from(MAX_SEALED_SESSIONS / 4);
    let until: i64 = client.query_one(oldest, &[&offset]).await?.get(0);
    client.execute(REMEMBER, &[&"", &0_i64, &until]).await?;
    let forget = "DELETE FROM sealed_sessions WHERE session <> '' AND last_ms <=
        (SELECT last_ms FROM sealed_sessions WHERE session = '')";
    client.execute(forget, &[]).await.map(drop)
}

impl Database {
    pub(super) async fn remember_sealed(&self, session: SessionId) -> Result<(), JournalError> {
        let query = "SELECT events, last_ms FROM progress WHERE session = $1";
        let rows = self.read(query, &[&session.to_string()]).await?;
        let Some(row) = rows.first() else {
            return Err(StoreError::NoSession(session).into());
        };
        for session in self
            .descendants(session)
            .await?
            .into_iter()
            .chain([session])
        {
            // The other store would sign it.
            self.signed_position(session).await?;
        }
        let known = SealedSession {
            session,
            events: positive(row.get(0)),
            last_ms: positive(row.get(1)),
        };
        let failed = self.failed("remember the sealed session");
        let client = self.client().await?;
        Ok(remember(&client, &[known]).await.map_err(failed)?)
    }

    pub(super) async fn sealed_sessions(&self) -> Result<Vec<SealedSession>, JournalError> {
        let query = "SELECT session, events, last_ms FROM sealed_sessions
            WHERE session <> '' ORDER BY last_ms";
        let rows = self.read(query, &[]).await?;
        let sealed = |row: &tokio_postgres::Row| {
            Ok(SealedSession {
                session: parsed(row.get(0))?,
                events: positive(row.get(1)),
                last_ms: positive(row.get(2)),
            })
        };
        rows.iter().map(sealed).collect()
    }

    pub(super) async fn adopt_sealed_sessions(
        &self,
        sessions: &[SealedSession],
    ) -> Result<(), JournalError> {
        let failed = self.failed("remember the sealed sessions");
        let mut client = self.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        remember(&tx, sessions).await.map_err(failed)?;
        Ok(tx.commit().await.map_err(failed)?)
    }
}

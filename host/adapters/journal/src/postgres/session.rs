//! Sessions that are written or removed as a whole: in one transaction, so that a crash or an error
//! leaves all of it or nothing.

use super::{
    database::{Database, Lock, Parameters, lock},
    lease::Lease,
    position::Position,
    read::{StoredSession, parsed},
    sealed, stats,
    write::{Owner, size, write_blobs, write_rows},
};
use crate::{
    copy::{self, SessionSink, SessionSource},
    error::StoreError,
    ownership::{Copier, Ownership, SessionScope},
    row::EventRow,
    sealed::SealedSession,
    session_list::SessionName,
    store::{KeepReason, Pruned, Retention},
    transfer::{self, ImportAs, ImportSource},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{event::EventRecord, id::SessionId, output::Blob};
use deadpool_postgres::Object;
use std::{collections::HashSet, io::Write, mem, sync::Arc, time::Duration};
use tokio::time::interval;

/// The time between two passes over what exceeds the retention.
const PASS_EVERY: Duration = Duration::from_secs(60 * 60);

/// The events of a new session that are written at once.
const ROWS: usize = 256;

impl Database {
    /// Returns a session that exists, for a thread that may block.
    fn stored(&self, session: SessionId) -> Result<StoredSession<'_>, JournalError> {
        self.wait(self.must_exist(session))?;
        let database = self;
        Ok(StoredSession { database, session })
    }

    pub(super) fn fork(
        &self,
        from: SessionId,
        at: Option<u64>,
        by: Option<Copier>,
    ) -> Result<SessionId, JournalError> {
        let (source, into) = (self.stored(from)?, SessionId::new());
        let (by, owner) = by.map(|by| (by.name, by.owner)).unzip();
        let original = self.wait(self.ownership(from))?;
        let ownership = original.map(|original| Ownership {
            owner: owner.flatten(),
            ..original
        });
        self.create_all(ownership, |new| copy::fork(&source, into, at, by, new))?;
        Ok(into)
    }

    pub(super) fn export(
        &self,
        session: SessionId,
        out: &mut dyn Write,
    ) -> Result<(), JournalError> {
        transfer::export(&self.stored(session)?, out)
    }

    pub(super) fn import(
        &self,
        source: ImportSource,
        how: ImportAs,
        ownership: Option<Ownership>,
    ) -> Result<SessionId, JournalError> {
        self.create_all(ownership, |new| transfer::import(source, how, new))
    }

    /// Stores the new sessions that an operation writes, or none of them.
    fn create_all<T>(
        &self,
        ownership: Option<Ownership>,
        write: impl FnOnce(&mut dyn SessionSink) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let client = self.wait(self.client())?;
        let mut new = NewSessions {
            database: self,
            client: Some(client),
            position: None,
            rows: Vec::new(),
            ownership,
        };
        new.execute("BEGIN")?;
        let written = write(&mut new)?;
        new.end()?;
        new.execute("COMMIT")?;
        // It is in no transaction any more, and may go back to the others.
        new.position = None;
        drop(new.client.take());
        Ok(written)
    }

    pub(super) async fn name_session(
        &self,
        session: SessionId,
        name: SessionName,
    ) -> Result<(), JournalError> {
        self.must_exist(session).await?;
        let failed = self.failed("name a session");
        let mut client = self.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        lock(&tx, Lock::Names).await.map_err(failed)?;
        let (id, text) = (session.to_string(), name.as_str());
        let other = tx
            .query_opt(
                "SELECT o.id FROM sessions o JOIN sessions s ON s.id = $2
             WHERE o.name = $1 AND o.id <> $2 AND o.directory IS NOT DISTINCT FROM s.directory
             AND o.project IS NOT DISTINCT FROM s.project AND o.owner IS NOT DISTINCT FROM s.owner",
                &[&text, &id],
            )
            .await;
        if let Some(row) = other.map_err(failed)? {
            let (other, name) = (parsed(row.get(0))?, name.as_str().to_owned());
            return Err(StoreError::NameTaken { other, name }.into());
        }
        let named = "UPDATE sessions SET name = $1 WHERE id = $2";
        tx.execute(named, &[&text, &id]).await.map_err(failed)?;
        Ok(tx.commit().await.map_err(failed)?)
    }

    pub(super) async fn delete(&self, session: SessionId) -> Result<(), JournalError> {
        if let Some(parent) = self.parent(session).await? {
            return Err(StoreError::OfAgent { session, parent }.into());
        }
        let leases = self.claim_family(session).await?;
        self.remove(&leases, false).await
    }

    /// Claims a session and those of its agents, or none of them.
    pub(super) async fn claim_family(
        &self,
        session: SessionId,
    ) -> Result<Vec<Lease>, JournalError> {
        let mut family = vec![session];
        family.extend(self.descendants(session).await?);
        let mut leases = Vec::with_capacity(family.len());
        for session in family {
            match self.try_claim_existing(session).await {
                Ok(lease) => leases.push(lease),
                Err(error) => {
                    for lease in leases {
                        self.release(lease).await?;
                    }
                    return Err(error);
                }
            }
        }
        Ok(leases)
    }

    /// Removes a claimed family of sessions with their claims, and the blobs to which no other session
    /// refers. What they used stays in the sums of the store, or is subtracted.
    pub(super) async fn remove(&self, leases: &[Lease], stays: bool) -> Result<(), JournalError> {
        let failed = self.failed("write the journal");
        let sessions: Vec<String> = leases
            .iter()
            .map(|lease| lease.session.to_string())
            .collect();
        let epochs: Vec<i64> = leases.iter().map(|lease| lease.epoch).collect();
        let mut client = self.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        let held = "SELECT session FROM leases
            WHERE epoch = ANY ($1) AND until > clock_timestamp() FOR UPDATE";
        let held = tx.query(held, &[&epochs]).await.map_err(failed)?;
        if let Some(lost) = leases.iter().find(|lease| {
            let id = lease.session.to_string();
            !held.iter().any(|row| row.get::<_, &str>(0) == id)
        }) {
            let session = lost.session;
            return Err(StoreError::LeaseLost { session }.into());
        }
        stats::leave(&tx, &sessions, stays).await.map_err(failed)?;
        lock(&tx, Lock::Blobs).await.map_err(failed)?;
        for statement in [
            "DELETE FROM blobs WHERE digest IN (SELECT digest FROM blob_references WHERE session = ANY ($1))
             AND NOT EXISTS (SELECT 1 FROM blob_references AS other
                 WHERE other.digest = blobs.digest AND other.session <> ALL ($1))",
            "DELETE FROM blob_references WHERE session = ANY ($1)",
            "DELETE FROM events WHERE session = ANY ($1)",
            sealed::REMOVE,
            "DELETE FROM progress WHERE session = ANY ($1)",
            "DELETE FROM sessions WHERE id = ANY ($1)",
            // One that was added meanwhile was waited for.
            "DELETE FROM links WHERE session = ANY ($1)",
            "DELETE FROM runs WHERE session = ANY ($1)",
            "DELETE FROM leases WHERE session = ANY ($1)",
        ] {
            tx.execute(statement, &[&sessions]).await.map_err(failed)?;
        }
        Ok(tx.commit().await.map_err(failed)?)
    }

    pub(super) async fn prune(&self, retention: Retention) -> Result<Pruned, JournalError> {
        let mut pruned = Pruned::default();
        if retention == Retention::default() {
            return Ok(pruned);
        }
        let too_old = match retention.age {
            Some(age) => self.older_than(age).await?,
            None => HashSet::new(),
        };
        for info in self.sessions(&SessionScope::All).await?.into_iter().rev() {
            let is_too_old = too_old.contains(&info.id);
            if info.parent.is_some() || !is_too_old && !self.is_too_large(retention).await? {
                continue;
            }
            let session = info.id;
            if info.status.is_waiting() {
                pruned.kept.push((session, KeepReason::Awaiting));
                continue;
            }
            if !self.runs_of(vec![session]).await?.is_empty() {
                pruned.kept.push((session, KeepReason::InUse));
                continue;
            }
            match self.claim_family(session).await {
                Ok(leases) => {
                    self.remove(&leases, true).await?;
                    pruned.removed.push(session);
                }
                Err(JournalError::Locked { .. }) => {
                    pruned.kept.push((session, KeepReason::InUse));
                }
                // Another host has pruned it.
                Err(JournalError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(pruned)
    }

    /// Reads the sessions that were not written to within a time, by the clock of the server: a
    /// host whose clock is ahead removes nothing because of it.
    async fn older_than(&self, age: Duration) -> Result<HashSet<SessionId>, JournalError> {
        let query = "SELECT session FROM progress
            WHERE written <= clock_timestamp() - make_interval(secs => $1)";
        let rows = self.read(query, &[&age.as_secs_f64()]).await?;
        rows.iter().map(|row| parsed(row.get(0))).collect()
    }

    /// Starts the task that prunes as long as the store lives. Hosts that do so at the same time
    /// share the work: a session that one of them removes is in use for the others.
    pub(super) fn prune_always(database: &Arc<Self>, retention: Retention) {
        if retention == Retention::default() {
            return;
        }
        let database = Arc::downgrade(database);
        tokio::spawn(async move {
            let mut passes = interval(PASS_EVERY);
            loop {
                passes.tick().await;
                let Some(database) = database.upgrade() else {
                    return;
                };
                if let Err(error) = database.prune(retention).await {
                    tracing::warn!("sessions past their retention are not removed: {error}");
                }
            }
        });
    }

    async fn is_too_large(&self, retention: Retention) -> Result<bool, StoreError> {
        let Some(most) = retention.bytes else {
            return Ok(false);
        };
        let query = "SELECT coalesce(sum(bytes), 0)::bigint FROM progress";
        let rows = self.read(query, &[]).await?;
        let bytes = rows.first().map_or(0, |row| row.get::<_, i64>(0));
        Ok(u64::try_from(bytes).unwrap_or_default() > most)
    }
}

/// New sessions in one transaction.
struct NewSessions<'a> {
    database: &'a Database,
    /// The connection with the transaction. One that is not committed is closed with it.
    client: Option<Object>,
    /// The session that is written, and the place of its next event.
    position: Option<(SessionId, Position)>,
    /// Its events that are not written yet.
    rows: Vec<Arc<EventRow>>,
    /// The owner of the first one, until it has an event. Those of agents belong to it.
    ownership: Option<Ownership>,
}

impl Drop for NewSessions<'_> {
    fn drop(&mut self) {
        // Closing the connection ends the transaction.
        drop(self.client.take().map(Object::take));
    }
}

impl NewSessions<'_> {
    fn client(&self) -> Result<&Object, JournalError> {
        let client = self.client.as_ref();
        client.ok_or_else(|| JournalError::storage("the transaction has ended"))
    }

    /// Returns the session that is written.
    fn current(&self) -> Result<SessionId, JournalError> {
        let none = || JournalError::storage("no session was started");
        let position = self.position.as_ref();
        position.map(|(session, _)| *session).ok_or_else(none)
    }

    fn execute(&self, statement: &str) -> Result<(), JournalError> {
        let failed = self.database.failed("write the journal");
        let executed = self.database.wait(self.client()?.batch_execute(statement));
        Ok(executed.map_err(failed)?)
    }

    fn query(&self, query: &str, parameters: Parameters<'_>) -> Result<bool, JournalError> {
        let failed = self.database.failed("write the journal");
        let found = self.database.wait(self.client()?.query(query, parameters));
        Ok(!found.map_err(failed)?.is_empty())
    }

    /// Writes the events that are not written yet, with blobs.
    fn write(&mut self, blobs: &[Arc<Blob>]) -> Result<(), JournalError> {
        let rows = mem::take(&mut self.rows);
        let Some((session, position)) = &self.position else {
            return Ok(());
        };
        let session = *session;
        let failed = self.database.failed("write the journal");
        let (client, key) = (self.client()?, self.database.rows_key()?);
        let stored = self.database.wait(async {
            let owner = Owner::Unseen(session);
            let bytes = size(&rows, blobs);
            let stored = write_rows(client, key, owner, position, &rows, bytes).await?;
            if stored.is_some() && !blobs.is_empty() {
                write_blobs(client, session, blobs).await?;
            }
            Ok(stored)
        });
        let Some(next) = stored.map_err(failed)? else {
            return Err(match position.next {
                0 => JournalError::Exists(session),
                _ => JournalError::storage("the events of the session are out of order"),
            });
        };
        self.position = Some((session, next));
        Ok(())
    }

    /// Ends the session that is written, if there is one.
    fn end(&mut self) -> Result<(), JournalError> {
        self.flush()?;
        let Ok(session) = self.current().map(|session| session.to_string()) else {
            return Ok(());
        };
        let settled = self.database.wait(stats::settle(self.client()?, &session));
        Ok(settled.map_err(self.database.failed("write the journal"))?)
    }

    fn flush(&mut self) -> Result<(), JournalError> {
        self.write(&[])
    }
}

impl SessionSink for NewSessions<'_> {
    fn begin(&mut self, session: SessionId) -> Result<(), JournalError> {
        self.end()?;
        let id = session.to_string();
        let claimed = "SELECT 1 FROM leases WHERE session = $1 AND until > clock_timestamp()";
        if self.query(claimed, &[&id])? {
            let owner = None;
            return Err(JournalError::Locked { session, owner });
        }
        if self.query("SELECT 1 FROM sessions WHERE id = $1", &[&id])? {
            return Err(JournalError::Exists(session));
        }
        self.position = Some((session, Position::start(session)));
        Ok(())
    }

    fn event(&mut self, record: &EventRecord) -> Result<(), JournalError> {
        let row = EventRow::encode(record).map_err(JournalError::corrupt)?;
        let row = row.owned_by(&mut self.ownership);
        self.rows.push(Arc::new(row));
        match self.rows.len() < ROWS {
            true => Ok(()),
            false => self.flush(),
        }
    }

    fn blob(&mut self, blob: Blob) -> Result<(), JournalError> {
        self.write(&[Arc::new(blob)])
    }

    fn take_sealed(&mut self, session: SealedSession) -> Result<(), JournalError> {
        let failed = self.database.failed("remember the sealed session");
        let client = self.client()?;
        let known = sealed::known(client, session.session);
        let known = self.database.wait(known).map_err(failed)?;
        session.check(known, &self.database.location)?;
        let remembered = sealed::remember(client, std::slice::from_ref(&session));
        Ok(self.database.wait(remembered).map_err(failed)?)
    }

    fn blobs_of(&mut self, source: &dyn SessionSource) -> Result<(), JournalError> {
        self.flush()?;
        let session = self.current()?;
        self.execute(&format!(
            "SELECT pg_advisory_xact_lock_shared({})",
            Lock::Blobs as i64
        ))?;
        let refer = "INSERT INTO blob_references SELECT $1, digest FROM blob_references WHERE session = $2 RETURNING 1";
        self.query(
            refer,
            &[&session.to_string(), &source.session().to_string()],
        )?;
        Ok(())
    }
}

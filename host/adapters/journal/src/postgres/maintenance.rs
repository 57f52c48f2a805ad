//! The operations of `agent-host store` on a database. A session that moves has a lease without an
//! end.

use super::{PostgresStore, database::Database, lease::Lease, read::parsed};
use crate::{
    claim::{mover_to, moves_to},
    error::StoreError,
    maintenance::{Maintenance, ORPHANS, WRONG_NUMBER},
    sealed::SealedSession,
    signature::UnsignedRow,
    store::{JournalStore, StoreFuture},
};
use agent_host_engine::journal::{JournalError, SessionOwner};
use agent_host_types::id::{Digest, SessionId};
use tokio::time::Instant;

/// The name of the secret that tells two databases apart, whatever their addresses are.
const IDENTITY: &str = "store-id";

/// The sessions whose number of events is wrong.
const NUMBERS: &str = "SELECT session FROM progress WHERE events <>
    (SELECT count(*) FROM events WHERE events.session = progress.session) ORDER BY session";

impl Maintenance for PostgresStore {
    fn identity(&self) -> StoreFuture<'_, String> {
        self.run(|database| async move {
            let mut random = [0_u8; 16];
            getrandom::fill(&mut random).map_err(JournalError::storage)?;
            let stored = database.keep_secret(IDENTITY, &random).await?;
            let mut id = Digest::of(&stored).hex();
            id.truncate(16);
            Ok(format!("the {} ({id})", database.location))
        })
    }

    fn orphans(&self) -> StoreFuture<'_, Vec<String>> {
        self.run(|database| async move {
            let mut found = Vec::new();
            for (what, query) in ORPHANS.into_iter().chain([(WRONG_NUMBER, NUMBERS)]) {
                let rows = database.read(query, &[]).await?;
                let rows = rows.iter().map(|row| row.get::<_, String>(0));
                found.extend(rows.map(|row| format!("{what}: {row}")));
            }
            Ok(found)
        })
    }

    fn unsigned(&self) -> StoreFuture<'_, Vec<UnsignedRow>> {
        self.run(|database| async move { database.unsigned().await })
    }

    fn remove_unsigned(&self, rows: Vec<UnsignedRow>) -> StoreFuture<'_, u64> {
        self.run(move |database| async move { database.remove_unsigned(rows).await })
    }

    fn hold(&self, session: SessionId, to: String) -> StoreFuture<'_, Vec<SessionId>> {
        self.run(move |database| async move { database.hold(session, &to).await })
    }

    fn release_held(&self, session: SessionId) -> StoreFuture<'_, ()> {
        self.run(move |database| async move {
            for lease in database.held(session).await? {
                database.release(lease).await?;
            }
            Ok(())
        })
    }

    fn remove_held(&self, session: SessionId) -> StoreFuture<'_, ()> {
        self.run(move |database| async move {
            let leases = database.held(session).await?;
            database.remove(&leases, false).await
        })
    }

    fn forget_moved(&self) -> StoreFuture<'_, ()> {
        // A lease goes with its session.
        Box::pin(async { Ok(()) })
    }

    fn adopt_continuation_key(&self, key: [u8; 32]) -> StoreFuture<'_, bool> {
        self.run(move |database| async move {
            if database.continuation_key()? == key {
                return Ok(true);
            }
            Ok(database.adopt_continuation_key(key).await?)
        })
    }

    fn sealed_sessions(&self) -> StoreFuture<'_, Vec<SealedSession>> {
        self.run(|database| async move { database.sealed_sessions().await })
    }

    fn adopt_sealed_sessions(&self, sessions: Vec<SealedSession>) -> StoreFuture<'_, ()> {
        self.run(move |database| async move { database.adopt_sealed_sessions(&sessions).await })
    }

    fn as_store(&self) -> &dyn JournalStore {
        self
    }
}

impl Database {
    async fn hold(&self, session: SessionId, to: &str) -> Result<Vec<SessionId>, JournalError> {
        self.must_exist(session).await?;
        if let Some(parent) = self.parent(session).await? {
            return Err(StoreError::OfAgent { session, parent }.into());
        }
        let mut family = vec![session];
        family.extend(self.descendants(session).await?);
        for session in &family {
            // The other store would sign it.
            self.signed_position(*session).await?;
        }
        let query = "SELECT owner FROM leases WHERE session = $1 AND until = 'infinity'";
        let held = self.read(query, &[&session.to_string()]).await?;
        if let Some(row) = held.first() {
            let owner: Option<SessionOwner> = serde_json::from_str(row.get(0)).ok();
            return match owner.as_ref().and_then(moves_to) {
                Some(other) if other == to => Ok(family),
                Some(other) => {
                    let to = other.to_owned();
                    Err(StoreError::MovingElsewhere { session, to }.into())
                }
                None => Err(JournalError::Locked { session, owner }),
            };
        }
        let leases = self.claim_family(session).await?;
        let epochs: Vec<i64> = leases.iter().map(|lease| lease.epoch).collect();
        let owner = serde_json::to_string(&mover_to(to)).map_err(JournalError::storage)?;
        let statement = "UPDATE leases SET until = 'infinity', owner = $2
            WHERE epoch = ANY ($1) AND until > clock_timestamp() RETURNING epoch";
        let held = self.change(statement, &[&epochs, &owner]).await?;
        match held.len() == leases.len() {
            true => Ok(leases.iter().map(|lease| lease.session).collect()),
            false => Err(StoreError::LeaseLost { session }.into()),
        }
    }

    /// Reads the leases without an end of a session and those of its agents.
    async fn held(&self, session: SessionId) -> Result<Vec<Lease>, JournalError> {
        let mut family = vec![session.to_string()];
        let agents = self.descendants(session).await?;
        family.extend(agents.iter().map(SessionId::to_string));
        let query =
            "SELECT session, epoch FROM leases WHERE session = ANY ($1) AND until = 'infinity'";
        let rows = self.read(query, &[&family]).await?;
        if rows.len() != family.len() {
            let owner = None;
            return Err(JournalError::Locked { session, owner });
        }
        let lease = |row: &tokio_postgres::Row| {
            Ok(Lease {
                session: parsed(row.get(0))?,
                epoch: row.get(1),
                began: Instant::now(),
            })
        };
        rows.iter().map(lease).collect()
    }
}

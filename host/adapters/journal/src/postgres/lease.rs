//! The claims on sessions: leases by the server's clock. Each acquisition has an epoch of its own,
//! which every write of the session proves, so that a host whose lease has ended writes nothing.

use super::{database::Database, journal::ClaimedQueue};
use crate::{claim::this_process, error::StoreError, shared_runs::HostId};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;
use deadpool_postgres::GenericClient;
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

/// The renewals of a lease while it lasts. One that none of them reached is lost a part before its
/// end, so that its calls are stopped when another host may claim the session.
const RENEWALS: u32 = 5;

/// How often between two renewals leases are looked for that are about to end.
const LOOKS: u32 = 4;

/// The time in which a host gives a session up after its last event.
const RELEASE_GRACE: Duration = Duration::from_millis(300);

/// The leases of this store.
pub(super) struct Leases {
    pub(super) host: HostId,
    length: Duration,
    /// The claimed sessions by their epochs.
    held: Mutex<HashMap<i64, Held>>,
}

/// A claimed session.
struct Held {
    session: SessionId,
    queue: Weak<ClaimedQueue>,
    /// The end of the lease by the clock of this machine: not later than that of the server.
    until: Instant,
}

/// A claim on a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease {
    pub(super) session: SessionId,
    /// The fencing token.
    pub(super) epoch: i64,
    /// The time when it was asked for.
    pub(super) began: Instant,
}

impl Leases {
    pub(super) fn new(host: HostId, length: Duration) -> Self {
        Self {
            host,
            length,
            held: Mutex::default(),
        }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<i64, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a lease renewed as long as its queue lives.
    pub(super) fn hold(&self, lease: Lease, queue: &Arc<ClaimedQueue>) {
        let held = Held {
            session: lease.session,
            queue: Arc::downgrade(queue),
            until: lease.began + self.length,
        };
        self.held().insert(lease.epoch, held);
    }

    /// Returns the fencing token of a session that this process has claimed.
    pub(super) fn epoch_of(&self, session: SessionId) -> Option<i64> {
        let held = self.held();
        let of_session = held.iter().filter(|(_, held)| held.session == session);
        of_session.map(|(epoch, _)| *epoch).max()
    }

    /// Returns the fencing tokens of all claimed sessions.
    pub(super) fn epochs(&self) -> Vec<i64> {
        self.held().keys().copied().collect()
    }

    /// Gives up the sessions whose leases end before this time.
    fn lose_before(&self, end: Instant) {
        let lost: Vec<Held> = {
            let mut held = self.held();
            held.extract_if(|_, held| held.until < end)
                .map(|(_, held)| held)
                .collect()
        };
        for queue in lost.iter().filter_map(|held| held.queue.upgrade()) {
            queue.lose();
        }
    }

    /// Starts the tasks that renew all leases of a store as long as the store lives, and give up those
    /// that no renewal reached.
    pub(super) fn keep(database: &Arc<Database>) {
        let every = database.leases.length / RENEWALS;
        let database = Arc::downgrade(database);
        // On its own: a renewal that is not answered must not delay it.
        let losing = Weak::clone(&database);
        tokio::spawn(async move {
            let mut ticks = interval(every / LOOKS);
            loop {
                ticks.tick().await;
                let Some(database) = losing.upgrade() else {
                    return;
                };
                database.leases.lose_before(Instant::now() + every);
            }
        });
        tokio::spawn(async move {
            let mut ticks = interval(every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Some(database) = database.upgrade() else {
                    return;
                };
                match timeout(every, database.renew()).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => {
                        tracing::warn!("the claims on sessions are not renewed: {error}");
                    }
                    Err(_) => tracing::warn!("the claims on sessions are not renewed in time"),
                }
                // At once those that another host has claimed, of which the renewal tells.
                database.leases.lose_before(Instant::now() + every);
            }
        });
    }
}

impl Database {
    /// The length of a lease, in seconds.
    pub(super) fn lease_seconds(&self) -> f64 {
        self.leases.length.as_secs_f64()
    }

    /// Claims a session. One that is about to be given up is waited for.
    pub(super) async fn claim(&self, session: SessionId) -> Result<Lease, JournalError> {
        let deadline = Instant::now() + RELEASE_GRACE;
        loop {
            match self.try_claim(session).await {
                Err(JournalError::Locked { .. }) if Instant::now() < deadline => {
                    sleep(RELEASE_GRACE / 10).await;
                }
                claimed => return claimed,
            }
        }
    }

    /// Accepts a session as it is, and returns the number of its events.
    pub(super) async fn recover(&self, session: SessionId) -> Result<u64, JournalError> {
        let lease = self.claim(session).await?;
        let count = self.count(session).await;
        self.release(lease).await?;
        Ok(count?.unwrap_or_default())
    }

    /// Claims a session, unless it is claimed right now.
    pub(super) async fn try_claim(&self, session: SessionId) -> Result<Lease, JournalError> {
        let failed = self.failed("claim a session");
        let client = self.client().await?;
        if let Some(lease) = self.insert_lease(&client, session).await.map_err(failed)? {
            return Ok(lease);
        }
        drop(client);
        let query = "SELECT owner FROM leases WHERE session = $1";
        let owner = self.read(query, &[&session.to_string()]).await?;
        let owner = owner.first().map(|row| row.get::<_, String>(0));
        Err(JournalError::Locked {
            session,
            owner: owner.and_then(|owner| serde_json::from_str(&owner).ok()),
        })
    }

    /// Claims a session, unless it is claimed.
    pub(super) async fn insert_lease(
        &self,
        client: &impl GenericClient,
        session: SessionId,
    ) -> Result<Option<Lease>, tokio_postgres::Error> {
        let owner = json!(this_process()).to_string();
        let began = Instant::now();
        let statement = client
            .prepare_cached(
                "INSERT INTO leases (session, epoch, owner, host, until)
                 VALUES ($1, nextval('epochs'), $2, $3, clock_timestamp() + make_interval(secs => $4))
                 ON CONFLICT (session) DO UPDATE SET epoch = excluded.epoch, owner = excluded.owner,
                     host = excluded.host, until = excluded.until, request = NULL
                     WHERE leases.until < clock_timestamp()
                 RETURNING epoch",
            )
            .await?;
        let (id, host) = (session.to_string(), &self.leases.host.0);
        let taken = client
            .query_opt(&statement, &[&id, &owner, host, &self.lease_seconds()])
            .await?;
        Ok(taken.map(|row| Lease {
            session,
            epoch: row.get(0),
            began,
        }))
    }

    /// Claims a session that does not exist.
    pub(super) async fn claim_new(&self, session: SessionId) -> Result<Lease, JournalError> {
        let lease = self.claim(session).await?;
        match self.count(session).await? {
            None => Ok(lease),
            Some(_) => {
                self.release(lease).await?;
                Err(JournalError::Exists(session))
            }
        }
    }

    /// Claims a session that exists.
    pub(super) async fn claim_existing(&self, session: SessionId) -> Result<Lease, JournalError> {
        self.must_exist(session).await?;
        let lease = self.claim(session).await?;
        self.check_claimed(lease).await
    }

    /// Claims a session that exists, unless it is claimed right now.
    pub(super) async fn try_claim_existing(
        &self,
        session: SessionId,
    ) -> Result<Lease, JournalError> {
        self.must_exist(session).await?;
        let lease = self.try_claim(session).await?;
        self.check_claimed(lease).await
    }

    /// Gives a claim up if its session was removed meanwhile.
    async fn check_claimed(&self, lease: Lease) -> Result<Lease, JournalError> {
        match self.must_exist(lease.session).await {
            Ok(()) => Ok(lease),
            Err(error) => {
                self.release(lease).await?;
                Err(error)
            }
        }
    }

    /// Gives a claim up, unless it is another's already.
    pub(super) async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.leases.held().remove(&lease.epoch);
        let query = "DELETE FROM leases WHERE session = $1 AND epoch = $2";
        let session = lease.session.to_string();
        self.change(query, &[&session, &lease.epoch])
            .await
            .map(drop)
    }

    /// Renews all leases that are held, in one statement. The journal of one that has ended writes
    /// nothing more.
    async fn renew(&self) -> Result<(), StoreError> {
        let epochs: Vec<i64> = {
            let mut held = self.leases.held();
            held.retain(|_, held| held.queue.strong_count() > 0);
            held.keys().copied().collect()
        };
        if epochs.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        // One that a barrier holds right now is renewed the next time: no write waits for a
        // renewal, and no renewal for a large write.
        self.change(
            "UPDATE leases SET until = clock_timestamp() + make_interval(secs => $1)
             WHERE session IN (SELECT session FROM leases
                 WHERE epoch = ANY ($2) AND until > clock_timestamp() FOR UPDATE SKIP LOCKED)",
            &[&self.lease_seconds(), &epochs],
        )
        .await?;
        let query =
            "SELECT epoch, until >= clock_timestamp() + make_interval(secs => $2::float8 / 2)
            FROM leases WHERE epoch = ANY ($1) AND until > clock_timestamp()";
        let valid = self.read(query, &[&epochs, &self.lease_seconds()]).await?;
        let valid: HashMap<i64, bool> = valid.iter().map(|row| (row.get(0), row.get(1))).collect();
        let mut held = self.leases.held();
        for epoch in epochs {
            let Some(held) = held.get_mut(&epoch) else {
                continue;
            };
            match valid.get(&epoch) {
                Some(true) => held.until = began + self.leases.length,
                // A large write holds it; it keeps its end.
                Some(false) => {}
                None => held.until = began,
            }
        }
        Ok(())
    }
}

//! The runs that hosts continue for each other: a row for each run that has not ended. The claim on
//! the session is that on the run.

use super::{
    PostgresStore,
    database::Database,
    journal::PostgresJournal,
    lease::Lease,
    read::{parsed, within},
    stored_run::{StoredRun, refuse},
};
use crate::{
    error::StoreError,
    ownership::SessionScope,
    shared_runs::{
        CLAIMS_WITHOUT_PROGRESS, Claimant, ClaimedRun, HostId, HostMessage, HostReport, HostStatus,
        Placement, RunClaim, RunListing, RunRequest, RunState, SharedRun, SharedRuns,
    },
    store::StoreFuture,
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;
use deadpool_postgres::Transaction;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::broadcast;
use tokio_postgres::{Row, types::ToSql};

/// The runs at which a claim looks whose sessions turn out to be in use.
const CLAIM_ATTEMPTS: usize = 8;

/// The first interrupted run of a host that does not answer.
const INTERRUPTED: &str = "SELECT r.session, r.fairness_key, r.placement, r.signature
    FROM leases l JOIN runs r ON r.session = l.session
    WHERE l.until < clock_timestamp() AND r.state = 'claimed' AND r.placement = ANY ($1)
    ORDER BY l.until LIMIT 1 FOR UPDATE OF r, l SKIP LOCKED";

/// The first run that waits. Its queues are found one by one in the index, whatever they hold: the
/// one of runs that had begun first, and then that of which this host runs the fewest.
const WAITING: &str = "WITH RECURSIVE queues (placement, queue) AS (
        SELECT place.placement, first.queue FROM unnest($1::text[]) AS place (placement),
        LATERAL (SELECT queue FROM runs WHERE state = 'waiting' AND runs.placement = place.placement
            ORDER BY queue LIMIT 1) first
    UNION ALL
        SELECT queues.placement, next.queue FROM queues,
        LATERAL (SELECT queue FROM runs WHERE state = 'waiting' AND runs.placement = queues.placement
            AND runs.queue > queues.queue ORDER BY queue LIMIT 1) next
    )
    SELECT first.session, first.fairness_key, queues.placement, first.signature FROM queues
    LEFT JOIN unnest($2::text[], $3::bigint[]) AS mine (key, running) ON mine.key = queues.queue
    CROSS JOIN LATERAL (
        SELECT session, fairness_key, since, signature FROM runs
        WHERE state = 'waiting' AND runs.placement = queues.placement AND runs.queue = queues.queue
        ORDER BY since LIMIT 1 FOR UPDATE SKIP LOCKED) first
    ORDER BY queues.queue <> '', coalesce(mine.running, 0), first.since LIMIT 1";

/// Counts the claim, and starts anew if the session has got an event since the last one.
const CLAIM: &str = "UPDATE runs SET state = 'claimed', queue = '', epoch = $2, host = $3,
        claims = CASE WHEN runs.events = found.events THEN claims + 1 ELSE 1 END,
        events = found.events
    FROM (SELECT coalesce((SELECT events FROM progress WHERE session = $1), 0) AS events) AS found
    WHERE session = $1 RETURNING claims";

/// The seconds after which a host that has not reported is taken for ended.
const REPORT_SECONDS: f64 = 30.0;

impl Database {
    async fn list_run(
        &self,
        session: SessionId,
        run: RunListing,
    ) -> Result<RunClaim, JournalError> {
        let lost = StoreError::LeaseLost { session };
        let Some(epoch) = self.leases.epoch_of(session) else {
            return Err(lost.into());
        };
        let run = StoredRun {
            session: session.to_string(),
            fairness_key: run.fairness_key.replace('\0', "\u{fffd}"),
            placement: run.placement.key(),
            signature: None,
        };
        let signature = run.sign(self.rows_key()?);
        let listed = self
            .change(
                "INSERT INTO runs (session, placement, fairness_key, queue, since, state, epoch, host, events, claims,
                 signature)
             SELECT session, $3, $4, '', clock_timestamp(), 'claimed', epoch, host,
                 coalesce((SELECT events FROM progress WHERE session = $1), 0), 0, $5
             FROM leases WHERE session = $1 AND epoch = $2 AND until > clock_timestamp()
             ON CONFLICT (session) DO UPDATE SET placement = excluded.placement,
                 fairness_key = excluded.fairness_key, queue = '', since = excluded.since,
                 state = 'claimed', epoch = excluded.epoch, host = excluded.host,
                 events = excluded.events, claims = 0, reason = NULL,
                 signature = excluded.signature
             RETURNING epoch",
                &[
                    &run.session,
                    &epoch,
                    &run.placement,
                    &run.fairness_key,
                    &signature.as_slice(),
                ],
            )
            .await?;
        match listed.is_empty() {
            false => Ok(RunClaim { session, epoch }),
            true => Err(lost.into()),
        }
    }

    async fn end_run(&self, run: RunClaim) -> Result<(), JournalError> {
        let statement = "DELETE FROM runs WHERE session = $1 AND epoch = $2";
        let session = run.session.to_string();
        let ended = self.change(statement, &[&session, &run.epoch]).await;
        Ok(ended.map(drop)?)
    }

    async fn hand_over(&self, run: RunClaim, has_begun: bool) -> Result<(), JournalError> {
        let session = run.session.to_string();
        // A host that gives a run up did not end by it.
        let statement = "UPDATE runs SET state = 'waiting', claims = 0, since = clock_timestamp(),
                queue = CASE WHEN $3 THEN '' ELSE fairness_key END
            WHERE session = $1 AND epoch = $2 AND state = 'claimed'";
        self.change(statement, &[&session, &run.epoch, &has_begun])
            .await?;
        self.send(None, &HostMessage::RunWaits).await
    }

    async fn stop_run(&self, run: RunClaim, reason: String) -> Result<(), JournalError> {
        let session = run.session.to_string();
        let reason = reason.replace('\0', "\u{fffd}");
        let statement = "UPDATE runs SET state = 'stopped', reason = $3, signature = NULL
            WHERE session = $1 AND epoch = $2 AND state = 'claimed'";
        let stopped = self
            .change(statement, &[&session, &run.epoch, &reason])
            .await;
        Ok(stopped.map(drop)?)
    }

    /// Claims the next run, with the key of fairness.
    async fn claim_run(
        &self,
        claimant: &Claimant,
    ) -> Result<Option<(Lease, String)>, JournalError> {
        let failed = self.failed("claim a run");
        let mut client = self.client().await?;
        for _ in 0..CLAIM_ATTEMPTS {
            let tx = client.transaction().await.map_err(failed)?;
            let Some(run) = next_run(&tx, claimant).await.map_err(failed)? else {
                return Ok(None);
            };
            if !run.is_believed(self.rows_key()?) {
                refuse(&tx, &run).await.map_err(failed)?;
                tx.commit().await.map_err(failed)?;
                continue;
            }
            let (session, key) = (run.session, run.fairness_key);
            let id: SessionId = parsed(&session)?;
            let lease = self.insert_lease(&tx, id).await.map_err(failed)?;
            let claimed = match lease {
                Some(lease) => self.count_claim(&tx, lease).await.map_err(failed)?,
                None => {
                    // Its user has it, past the hosts.
                    let later = "UPDATE runs SET since = clock_timestamp() WHERE session = $1";
                    tx.execute(later, &[&session]).await.map_err(failed)?;
                    None
                }
            };
            tx.commit().await.map_err(failed)?;
            if let Some(lease) = claimed {
                let host = self.leases.host.clone();
                let session = lease.session;
                self.send(None, &HostMessage::RunClaimed { session, host })
                    .await?;
                return Ok(Some((lease, key)));
            }
        }
        Ok(None)
    }

    /// Writes down the claim on a run; `None` if it is one too many.
    async fn count_claim(
        &self,
        tx: &Transaction<'_>,
        lease: Lease,
    ) -> Result<Option<Lease>, tokio_postgres::Error> {
        let session = lease.session.to_string();
        let host = &self.leases.host.0;
        let row = tx.query_one(CLAIM, &[&session, &lease.epoch, host]).await?;
        let claims: i32 = row.get(0);
        if claims <= i32::from(CLAIMS_WITHOUT_PROGRESS) {
            return Ok(Some(lease));
        }
        let reason = format!(
            "{CLAIMS_WITHOUT_PROGRESS} hosts in a row ended or lost it before it recorded a new event; find out why \
             they ended, and resume it"
        );
        let stop = "UPDATE runs SET state = 'stopped', reason = $2, signature = NULL
            WHERE session = $1";
        tx.execute(stop, &[&session, &reason]).await?;
        let free = "DELETE FROM leases WHERE session = $1 AND epoch = $2";
        tx.execute(free, &[&session, &lease.epoch]).await?;
        Ok(None)
    }

    /// Reads the runs of sessions.
    pub(super) async fn runs_of(
        &self,
        sessions: Vec<SessionId>,
    ) -> Result<Vec<SharedRun>, JournalError> {
        let ids: Vec<String> = sessions.iter().map(SessionId::to_string).collect();
        let rows = self
            .read(
                "SELECT r.session, r.state, r.placement, r.host, r.reason, l.until > clock_timestamp()
             FROM runs r LEFT JOIN leases l ON l.session = r.session WHERE r.session = ANY ($1)",
                &[&ids],
            )
            .await?;
        let shared = |row: &Row| {
            let placement = Placement::parse(row.get(2))?;
            let is_held: Option<bool> = row.get(5);
            let state = match (row.get(1), is_held) {
                ("waiting", _) => RunState::Waiting,
                ("stopped", _) => RunState::Stopped,
                (_, Some(true)) => RunState::Running,
                (_, Some(false) | None) => RunState::Interrupted,
            };
            Ok(SharedRun {
                session: parsed(row.get(0))?,
                state,
                host: Some(HostId(row.get(3))),
                configuration: placement.configuration,
                machine: placement.machine,
                reason: row.get(4),
            })
        };
        rows.iter().map(shared).collect()
    }

    async fn claims_of(
        &self,
        sessions: Vec<SessionId>,
    ) -> Result<Vec<(SessionId, HostId)>, JournalError> {
        let ids: Vec<String> = sessions.iter().map(SessionId::to_string).collect();
        let query = "SELECT session, host FROM leases
            WHERE session = ANY ($1) AND until > clock_timestamp()";
        let rows = self.read(query, &[&ids]).await?;
        let claim = |row: &Row| Ok((parsed(row.get(0))?, HostId(row.get(1))));
        rows.iter().map(claim).collect()
    }

    async fn waiting_runs(&self, most: u32, scope: &SessionScope) -> Result<u32, JournalError> {
        let most_rows = i64::from(most);
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&most_rows];
        let within = within(scope, "s.project", &mut parameters);
        let sessions = match scope {
            SessionScope::All => "",
            SessionScope::Project(_) | SessionScope::Own { .. } => {
                "JOIN sessions s ON s.id = runs.session"
            }
        };
        let query = format!(
            "SELECT count(*) FROM (SELECT 1 FROM runs {sessions} WHERE state = 'waiting' {within} LIMIT $1) AS counted"
        );
        let rows = self.read(&query, &parameters).await?;
        let count: i64 = rows.first().map_or(0, |row| row.get(0));
        Ok(u32::try_from(count).unwrap_or(most))
    }

    async fn ask_host(
        &self,
        session: SessionId,
        request: &RunRequest,
    ) -> Result<bool, JournalError> {
        // A run that is to be cancelled is not drained.
        let asked = self
            .change(
                "UPDATE leases SET request = CASE WHEN request LIKE '%\"cancel\"%' THEN request ELSE $2 END
             WHERE session = $1 AND until > clock_timestamp() RETURNING host",
                &[&session.to_string(), &json!(request).to_string()],
            )
            .await?;
        let Some(row) = asked.first() else {
            return Ok(false);
        };
        let host = HostId(row.get(0));
        self.send(Some(&host), &HostMessage::RunRequested).await?;
        Ok(true)
    }

    async fn requests(&self) -> Result<Vec<(SessionId, RunRequest)>, JournalError> {
        let rows = self
            .change(
                "WITH asked AS (SELECT session, request FROM leases
                 WHERE epoch = ANY ($1) AND request IS NOT NULL FOR UPDATE)
             UPDATE leases l SET request = NULL FROM asked WHERE l.session = asked.session
             RETURNING asked.session, asked.request",
                &[&self.leases.epochs()],
            )
            .await?;
        let mut requests = Vec::with_capacity(rows.len());
        for row in rows {
            let session = parsed(row.get(0))?;
            match serde_json::from_str(row.get(1)) {
                Ok(request) => requests.push((session, request)),
                Err(error) => tracing::warn!(
                    "a request about session {session} from another host, perhaps of a newer version, is dropped: \
                     {error}"
                ),
            }
        }
        Ok(requests)
    }

    async fn report_host(&self, status: &HostStatus) -> Result<(), JournalError> {
        let status = json!(status).to_string();
        self.change(
            "INSERT INTO hosts (host, since, reported, status)
             VALUES ($1, clock_timestamp(), clock_timestamp(), $2)
             ON CONFLICT (host) DO UPDATE SET reported = excluded.reported, status = excluded.status",
            &[&self.leases.host.0, &status],
        )
        .await?;
        self.change(
            "DELETE FROM hosts WHERE reported < clock_timestamp() - interval '1 hour'",
            &[],
        )
        .await?;
        // The host ended between the end of the run and that of its claim, or the other way round.
        self.change(
            "UPDATE runs SET state = 'waiting', queue = '', since = clock_timestamp()
             WHERE state = 'claimed' AND since < clock_timestamp() - interval '10 seconds'
                 AND NOT EXISTS (SELECT 1 FROM leases WHERE leases.session = runs.session)",
            &[],
        )
        .await?;
        Ok(())
    }

    async fn hosts(&self) -> Result<Vec<HostReport>, JournalError> {
        let query = "SELECT host, status FROM hosts
            WHERE reported > clock_timestamp() - make_interval(secs => $1) ORDER BY since, host";
        let rows = self.read(query, &[&REPORT_SECONDS]).await?;
        let report = |row: &Row| {
            let host = HostId(row.get(0));
            match serde_json::from_str(row.get(1)) {
                Ok(status) => Some(HostReport { host, status }),
                Err(error) => {
                    tracing::debug!(
                        "host {}, perhaps of a newer version, is left out: {error}",
                        host.0
                    );
                    None
                }
            }
        };
        Ok(rows.iter().filter_map(report).collect())
    }

    async fn leave(&self) -> Result<(), JournalError> {
        let statement = "DELETE FROM hosts WHERE host = $1";
        let left = self.change(statement, &[&self.leases.host.0]).await;
        Ok(left.map(drop)?)
    }
}

/// Returns the next run for a host, locked until the transaction ends.
async fn next_run(
    tx: &Transaction<'_>,
    claimant: &Claimant,
) -> Result<Option<StoredRun>, tokio_postgres::Error> {
    let placements = claimant.placements();
    let interrupted = tx.prepare_cached(INTERRUPTED).await?;
    let mut found = tx.query_opt(&interrupted, &[&placements]).await?;
    if found.is_none() {
        let running = claimant.running.iter().cloned();
        let (keys, numbers): (Vec<String>, Vec<i64>) = running
            .map(|(key, number)| (key, i64::from(number)))
            .unzip();
        let waiting = tx.prepare_cached(WAITING).await?;
        found = tx
            .query_opt(&waiting, &[&placements, &keys, &numbers])
            .await?;
    }
    Ok(found.as_ref().map(StoredRun::read))
}

impl SharedRuns for PostgresStore {
    fn host(&self) -> &HostId {
        &self.database.leases.host
    }

    fn list_run(&self, session: SessionId, run: RunListing) -> StoreFuture<'_, RunClaim> {
        self.run(move |database| async move { database.list_run(session, run).await })
    }

    fn end_run(&self, run: RunClaim) -> StoreFuture<'_, ()> {
        self.run(move |database| async move { database.end_run(run).await })
    }

    fn hand_over(&self, run: RunClaim, has_begun: bool) -> StoreFuture<'_, ()> {
        self.run(move |database| async move { database.hand_over(run, has_begun).await })
    }

    fn stop_run(&self, run: RunClaim, reason: String) -> StoreFuture<'_, ()> {
        self.run(move |database| async move { database.stop_run(run, reason).await })
    }

    fn claim_run(&self, claimant: Claimant) -> StoreFuture<'_, Option<ClaimedRun>> {
        let claimed = self.run(move |database| async move {
            let Some((lease, fairness_key)) = database.claim_run(&claimant).await? else {
                return Ok(None);
            };
            match database.signed_position(lease.session).await {
                Ok(position) => Ok(Some((lease, fairness_key, position))),
                // The run is continued once the claim is found to be missing.
                Err(error) => {
                    database.release(lease).await?;
                    Err(error.into())
                }
            }
        });
        Box::pin(async move {
            let claimed = claimed.await?;
            Ok(claimed.map(|(lease, fairness_key, position)| ClaimedRun {
                claim: RunClaim {
                    session: lease.session,
                    epoch: lease.epoch,
                },
                fairness_key,
                journal: Arc::new(PostgresJournal::start(
                    &self.thread,
                    &self.database,
                    lease,
                    position,
                    None,
                )),
            }))
        })
    }

    fn runs_of(&self, sessions: Vec<SessionId>) -> StoreFuture<'_, Vec<SharedRun>> {
        self.run(move |database| async move { database.runs_of(sessions).await })
    }

    fn claims_of(&self, sessions: Vec<SessionId>) -> StoreFuture<'_, Vec<(SessionId, HostId)>> {
        self.run(move |database| async move { database.claims_of(sessions).await })
    }

    fn waiting_runs(&self, most: u32, scope: SessionScope) -> StoreFuture<'_, u32> {
        self.run(move |database| async move { database.waiting_runs(most, &scope).await })
    }

    fn ask_host(&self, session: SessionId, request: RunRequest) -> StoreFuture<'_, bool> {
        self.run(move |database| async move { database.ask_host(session, &request).await })
    }

    fn requests(&self) -> StoreFuture<'_, Vec<(SessionId, RunRequest)>> {
        self.run(|database| async move { database.requests().await })
    }

    fn report_host(&self, status: HostStatus) -> StoreFuture<'_, ()> {
        self.run(move |database| async move { database.report_host(&status).await })
    }

    fn leave(&self) -> StoreFuture<'_, ()> {
        self.run(|database| async move { database.leave().await })
    }

    fn hosts(&self) -> StoreFuture<'_, Vec<HostReport>> {
        self.run(|database| async move { database.hosts().await })
    }

    fn send(&self, to: Option<HostId>, message: HostMessage) -> StoreFuture<'_, ()> {
        self.run(move |database| async move { database.send(to.as_ref(), &message).await })
    }

    fn messages(&self) -> broadcast::Receiver<HostMessage> {
        Database::received(&self.database)
    }
}

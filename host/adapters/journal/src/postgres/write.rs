//! The writes of a claimed session. Each proves in one statement that the claim holds by the
//! server's clock and that its events are the next ones; if not, nothing is stored.

use super::{
    database::{Database, Lock, Parameters, lock_shared},
    lease::Lease,
    owners::owner_of,
    position::{Position, after, links},
    stats::{OF_NEW, OF_STORED, add_statement, as_parameter},
};
use crate::{
    chain::ChainLink,
    error::{PostgresError, StoreError},
    ownership::Ownership,
    row::{EventRow, ListingUpdate},
    signature::{RowKey, SessionEnd},
    stats::parse,
};
use agent_host_types::{id::SessionId, output::Blob, session_status::SessionPhase};
use deadpool_postgres::{GenericClient, Transaction};
use std::{sync::Arc, time::Duration};
use tokio::time::sleep;
use tokio_postgres::error::SqlState;

/// Holds the row of the lease until the transaction ends: another host that claims the session
/// waits, and then finds these events.
const OWN: &str = "WITH own AS MATERIALIZED (
    SELECT session FROM leases
    WHERE session = $1 AND epoch = $2 AND until > clock_timestamp() FOR UPDATE
)";

/// Takes a session without a lease: one that no other transaction can see yet.
const UNSEEN: &str = "WITH own AS (SELECT $1::text AS session WHERE $2::bigint IS NOT NULL)";

/// Stores the rows of a new session.
const BEGIN: &str = "line AS (
    INSERT INTO sessions (id, started_ms, title, directory, parent, project, owner,
        owner_signature)
    SELECT own.session, $16::bigint, $6::text, $7::text, $9::text, $19::text, $20::text, $23::bytea
    FROM own WHERE $3::bigint = 0
    ON CONFLICT (id) DO NOTHING RETURNING id, project
), progress AS (
    INSERT INTO progress (session, last_ms, events, outcome, model, cost_micros, bytes, last_write,
        project, signature, phase, stats, uncounted)
    SELECT id, $4::bigint, $5::bigint, $8::text, $10::text, $11::bigint, $12::bigint,
        nextval('writes'), project, $21::bytea, $22::text, $24::text, $25::boolean
    FROM line
)";

/// Updates the rows of a session that has exactly the events before these.
const CONTINUE: &str = "line AS (
    UPDATE progress SET last_ms = $4::bigint, events = $5::bigint,
        outcome = coalesce($8::text, outcome),
        model = CASE WHEN $8::text IS NULL THEN model ELSE $10::text END,
        cost_micros = CASE WHEN $8::text IS NULL THEN cost_micros ELSE $11::bigint END,
        bytes = bytes + $12::bigint, last_write = nextval('writes'), written = clock_timestamp(),
        signature = $21::bytea, phase = $22::text, stats = $24::text, uncounted = $25::boolean
    FROM own WHERE progress.session = own.session AND events = $3::bigint AND $16::bigint IS NOT NULL
        AND $19::text IS NULL AND $20::text IS NULL AND $23::bytea IS NULL
    RETURNING progress.session AS id
), named AS (
    UPDATE sessions SET title = coalesce(title, $6::text), directory = coalesce(directory, $7::text),
        parent = coalesce(parent, $9::text)
    FROM line WHERE sessions.id = line.id AND coalesce($6, $7, $9) IS NOT NULL
)";

/// Stores the events; the number of rows says whether all of it is so.
const EVENTS: &str = "INSERT INTO events (session, seq, at_ms, v, kind, json, digest)
    SELECT line.id, $3::bigint + place - 1, event.at_ms, event.v, event.kind, event.json, event.digest
    FROM line, unnest($13::bigint[], $14::bigint[], $15::text[], $17::text[], $18::bytea[])
        WITH ORDINALITY AS event (at_ms, v, kind, json, digest, place)";

/// The times that a write is tried again whose connection ended, and the pause before the first;
/// each later one is longer by as much. A server that restarts is back by then.
const RECONNECTS: u32 = 8;
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);

/// The proof that a write gives before anything else.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    /// That the claim holds.
    Lease(Lease),
    /// Nothing: the session is made in the same transaction.
    Unseen(SessionId),
}

/// The outcome of a write.
#[derive(Debug)]
pub(super) enum Written {
    /// It is stored; the next event has this place.
    Stored(Position),
    /// The claim is another's, or has ended.
    LeaseLost,
    /// The events are not the next ones.
    OutOfOrder,
}

impl Database {
    /// Stores the next events of a session with their blobs, or nothing of them. Whether a commit
    /// was carried out whose answer was lost is found out by reading it.
    pub(super) async fn write(
        &self,
        lease: Lease,
        position: &Position,
        rows: &[Arc<EventRow>],
        blobs: &[Arc<Blob>],
    ) -> Result<Written, StoreError> {
        if rows.is_empty() && blobs.is_empty() {
            return Ok(Written::Stored(position.clone()));
        }
        let mut attempts = 0;
        loop {
            match self.try_write(lease, position, rows, blobs).await {
                Err(error) if is_cut_off(&error) && attempts < RECONNECTS => attempts += 1,
                // An earlier attempt may have been carried out.
                Ok(written @ (Written::LeaseLost | Written::OutOfOrder)) if attempts > 0 => {
                    let found = self.position(lease.session).await?;
                    return Ok(match found.is_behind(position, rows) {
                        true => Written::Stored(found),
                        false => written,
                    });
                }
                written => return written,
            }
            sleep(RECONNECT_PAUSE * attempts).await;
            match self.position(lease.session).await {
                Ok(found) if found.is_behind(position, rows) => {
                    return Ok(Written::Stored(found));
                }
                // Nothing of it is stored, or that is not known yet: it proves its place again.
                Ok(_) => {}
                Err(error) if is_cut_off(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn try_write(
        &self,
        lease: Lease,
        position: &Position,
        rows: &[Arc<EventRow>],
        blobs: &[Arc<Blob>],
    ) -> Result<Written, StoreError> {
        let mut client = self.client().await?;
        let failed = self.failed("write the journal");
        if blobs.is_empty() {
            let bytes = size(rows, blobs);
            let owner = Owner::Lease(lease);
            let stored = write_rows(&client, self.rows_key()?, owner, position, rows, bytes).await;
            return match stored.map_err(failed)? {
                Some(next) => Ok(Written::Stored(next)),
                None => {
                    drop(client);
                    self.refusal(lease).await
                }
            };
        }
        let tx = client.transaction().await.map_err(failed)?;
        let (owner, bytes) = (Owner::Lease(lease), size(rows, blobs));
        let stored = match rows.is_empty() {
            false => write_rows(&tx, self.rows_key()?, owner, position, rows, bytes).await,
            true => holds(&tx, lease)
                .await
                .map(|holds| holds.then(|| position.clone())),
        };
        let Some(next) = stored.map_err(failed)? else {
            drop(tx);
            drop(client);
            return self.refusal(lease).await;
        };
        write_blobs(&tx, lease.session, blobs)
            .await
            .map_err(failed)?;
        tx.commit().await.map_err(failed)?;
        Ok(Written::Stored(next))
    }

    /// Returns why nothing was stored.
    async fn refusal(&self, lease: Lease) -> Result<Written, StoreError> {
        let query =
            "SELECT 1 FROM leases WHERE session = $1 AND epoch = $2 AND until > clock_timestamp()";
        let session = lease.session.to_string();
        let held = self.read(query, &[&session, &lease.epoch]).await?;
        match held.is_empty() {
            true => Ok(Written::LeaseLost),
            false => Ok(Written::OutOfOrder),
        }
    }

    /// Reads the place of the next event of a claimed session, and checks that a host of this store
    /// wrote the last event, whose digest covers those before it.
    pub(super) async fn signed_position(&self, session: SessionId) -> Result<Position, StoreError> {
        let position = self.position(session).await?;
        if position.next == 0 {
            // Whatever is read of it is damaged.
            return Ok(position);
        }
        let id = session.to_string();
        let query = "SELECT signature FROM progress WHERE session = $1";
        let rows = self.read(query, &[&id]).await?;
        let signature = rows
            .first()
            .and_then(|row| row.get::<_, Option<Vec<u8>>>(0));
        let end = SessionEnd {
            id: &id,
            events: position.next,
            digest: &position.link.0,
        };
        match self.rows_key()?.is_session(end, signature.as_deref()) {
            true => Ok(position),
            false => {
                let location = Arc::clone(&self.location);
                Err(StoreError::Unsigned { session, location })
            }
        }
    }

    /// Reads the place of the next event of a session.
    pub(super) async fn position(&self, session: SessionId) -> Result<Position, StoreError> {
        let query = "SELECT seq, digest, phase, stats
            FROM events LEFT JOIN progress ON progress.session = events.session
            WHERE events.session = $1 ORDER BY seq DESC LIMIT 1";
        let rows = self.read(query, &[&session.to_string()]).await?;
        let start = Position::start(session);
        Ok(rows.first().map_or(start.clone(), |row| {
            let digest: &[u8] = row.get(1);
            let (phase, stats): (Option<&str>, Option<&str>) = (row.get(2), row.get(3));
            Position {
                // Lists say so of one that is not known.
                phase: phase
                    .and_then(SessionPhase::from_stored)
                    .unwrap_or(start.phase),
                stats: stats.and_then(parse),
                next: row.get::<_, i64>(0).saturating_add(1),
                // One of another length is no event's, and the next read says so.
                link: digest.try_into().map_or(start.link, ChainLink),
            }
        }))
    }
}

/// Whether the connection ended before the answer, so that what became of the write is not known.
fn is_cut_off(error: &StoreError) -> bool {
    let StoreError::Postgres(PostgresError::Operation { source, .. }) = error else {
        return false;
    };
    source
        .code()
        .is_none_or(|code| [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN].contains(code))
}

pub(super) fn size(rows: &[Arc<EventRow>], blobs: &[Arc<Blob>]) -> i64 {
    let rows = rows.iter().map(|row| row.json.len());
    let bytes: usize = rows.chain(blobs.iter().map(|blob| blob.bytes.len())).sum();
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Whether a claim holds; if so, until the transaction ends.
pub(super) async fn holds(
    tx: &Transaction<'_>,
    lease: Lease,
) -> Result<bool, tokio_postgres::Error> {
    let query = format!("{OWN} SELECT 1 FROM own JOIN sessions ON id = session");
    let rows = tx
        .query(&query, &[&lease.session.to_string(), &lease.epoch])
        .await?;
    Ok(!rows.is_empty())
}

/// Stores events and the row of their session, and returns the place behind them; `None` if the claim
/// does not hold or they are not the next ones.
pub(super) async fn write_rows(
    client: &impl GenericClient,
    key: &RowKey,
    owner: Owner,
    position: &Position,
    rows: &[Arc<EventRow>],
    bytes: i64,
) -> Result<Option<Position>, tokio_postgres::Error> {
    let (lease, claim) = match owner {
        Owner::Lease(lease) => ((lease.session, lease.epoch), OWN),
        Owner::Unseen(session) => ((session, 0), UNSEEN),
    };
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return Ok(Some(position.clone()));
    };
    if first.seq != position.next || !(first.seq..).zip(rows).all(|(seq, row)| row.seq == seq) {
        return Ok(None);
    }
    let links = links(position.link, rows);
    let (next, due) = after(client, owner, position, rows, links.last()).await?;
    let statement = statement(claim, first.seq == 0, !due.is_empty());
    let statement = client.prepare_cached(&statement).await?;
    let listing = ListingUpdate::of_rows(rows);
    let id = lease.0.to_string();
    let (project, owner, owner_signature) = owner_columns(client, key, &id, rows).await?;
    let signature = key.sign_session(SessionEnd {
        id: &id,
        events: next.next,
        digest: &next.link.0,
    });
    let cost = listing.cost_micros;
    let cost = cost.map(|cost| i64::try_from(cost).unwrap_or(i64::MAX));
    let (title, directory) = (text(listing.title), text(listing.directory));
    let parent = listing.parent.map(|parent| parent.to_string());
    let columns = Columns::of(rows, &links);
    let (signature, phase) = (signature.as_slice(), next.phase.as_str());
    let (stats, is_uncounted) = (next.stored_stats(), next.is_uncounted());
    let sums = as_parameter(&due);
    let (listed, events): (Parameters<'_>, Parameters<'_>) = (
        &[
            &id,
            &lease.1,
            &first.seq,
            &last.at_ms,
            &next.next,
            &title,
            &directory,
        ],
        &[
            &listing.outcome,
            &parent,
            &listing.model,
            &cost,
            &bytes,
            &columns.times,
            &columns.versions,
        ],
    );
    let (others, state): (Parameters<'_>, Parameters<'_>) = (
        &[
            &columns.kinds,
            &first.at_ms,
            &columns.jsons,
            &columns.digests,
            &project,
            &owner,
            &signature,
        ],
        &[&phase, &owner_signature, &stats, &is_uncounted],
    );
    let mut parameters = [listed, events, others, state].concat();
    if !due.is_empty() {
        parameters.push(&sums);
    }
    let stored = client.execute(&statement, &parameters).await?;
    Ok((stored == rows.len() as u64).then_some(next))
}

/// Returns the statement that stores events under a claim: the first ones of a session, or others, and
/// with sums that are due.
fn statement(claim: &str, begins: bool, adds: bool) -> String {
    let (line, whose) = match begins {
        true => (BEGIN, OF_NEW),
        false => (CONTINUE, OF_STORED),
    };
    match adds {
        true => {
            let add = add_statement(whose, "$26");
            format!("{claim}, {line}, summed AS ({add}) {EVENTS}")
        }
        false => format!("{claim}, {line} {EVENTS}"),
    }
}

/// Returns a text without NUL, which PostgreSQL's texts do not have.
fn text(text: Option<String>) -> Option<String> {
    text.map(|text| text.replace('\0', "\u{fffd}"))
}

/// The columns of events.
struct Columns<'r> {
    times: Vec<i64>,
    versions: Vec<i64>,
    kinds: Vec<&'r str>,
    jsons: Vec<&'r str>,
    digests: Vec<&'r [u8]>,
}

impl<'r> Columns<'r> {
    fn of(rows: &'r [Arc<EventRow>], links: &'r [ChainLink]) -> Self {
        Self {
            times: rows.iter().map(|row| row.at_ms).collect(),
            versions: rows.iter().map(|row| row.v).collect(),
            kinds: rows.iter().map(|row| row.kind).collect(),
            jsons: rows.iter().map(|row| row.json.as_str()).collect(),
            digests: links.iter().map(|link| link.0.as_slice()).collect(),
        }
    }
}

/// Returns the columns of whose a new session is, of which these are the first events: project, owner
/// and signature. Without its first event, there is nothing to write.
async fn owner_columns(
    client: &impl GenericClient,
    key: &RowKey,
    id: &str,
    rows: &[Arc<EventRow>],
) -> Result<(Option<String>, Option<String>, Option<Vec<u8>>), tokio_postgres::Error> {
    let Some(first) = rows.first().filter(|first| first.seq == 0) else {
        return Ok((None, None, None));
    };
    // One read more for the session of an agent, which is owned as the one that started it.
    let starter = match first.listing {
        ListingUpdate {
            ownership: None,
            parent: Some(parent),
            ..
        } => owner_of(client, parent).await?,
        _ => None,
    };
    let starter = starter.and_then(|stored| stored.believed(key));
    let mut ownership = Ownership::of_new(rows, starter);
    if let Some(ownership) = &mut ownership {
        // PostgreSQL's texts have no NUL.
        ownership.project = ownership.project.replace('\0', "\u{fffd}");
    }
    let signature = Ownership::sign(ownership.as_ref(), id, key).to_vec();
    let (project, owner) = match ownership {
        Some(Ownership { project, owner }) => (Some(project), owner),
        None => (None, None),
    };
    Ok((project, owner, Some(signature)))
}

/// Stores blobs that are not stored yet, and that the session refers to them.
pub(super) async fn write_blobs(
    client: &impl GenericClient,
    session: SessionId,
    blobs: &[Arc<Blob>],
) -> Result<(), tokio_postgres::Error> {
    lock_shared(client, Lock::Blobs).await?;
    let session = session.to_string();
    for blob in blobs {
        let digest = blob.digest.to_string();
        client
            .execute(
                "INSERT INTO blobs (digest, bytes) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING",
                &[&digest, &blob.bytes],
            )
            .await?;
        client.execute(
            "INSERT INTO blob_references (session, digest) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            &[&session, &digest],
        )
        .await?;
    }
    Ok(())
}

//! The figures of what sessions used: the state of the fold beside each session, which its claim
//! alone changes, and the sums of each owner. Hosts add to the same rows of these, always in one
//! order, and mostly once a run.

use super::{
    database::{Database, Parameters},
    lease::Lease,
    read::{PAGE_EVENTS, parsed},
    write::holds,
};
use crate::{
    error::StoreError,
    ownership::{Ownership, SessionScope},
    stats::{StoredStats, UNREADABLE, add_stored, agent_started, parse, to_stored},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    id::SessionId,
    stats::{STATS_KINDS, SUM_COLUMNS, SessionStats, StatsBy, SumKey, Sums},
};
use deadpool_postgres::{GenericClient, Transaction};
use serde_json::{Map, Value};
use tokio_postgres::{Error, IsolationLevel};

/// Whose a new session is, by the parameters that store it.
pub(super) const OF_NEW: &str =
    "(SELECT coalesce($19::text, '') AS project, coalesce($20::text, '') AS owner)";

/// Whose a stored session is.
pub(super) const OF_STORED: &str = "(SELECT coalesce(project, '') AS project,
    coalesce(owner, '') AS owner FROM sessions WHERE id = $1)";

/// Returns the statement that adds the sums of a parameter to those of an owner, for each row of
/// `line`.
pub(super) fn add_statement(whose: &str, parameter: &str) -> String {
    let columns = SUM_COLUMNS.join(", ");
    let typed = SUM_COLUMNS.map(|column| format!("{column} bigint"));
    let added = SUM_COLUMNS.map(|column| format!("{column} = sums.{column} + excluded.{column}"));
    format!(
        "INSERT INTO sums (project, owner, day, subject, name, {columns})
        SELECT whose.project, whose.owner, added.* FROM line, {whose} AS whose,
            json_to_recordset({parameter}::text::json)
                AS added (day bigint, subject text, name text, {})
        ORDER BY added.day, added.subject COLLATE \"C\", added.name COLLATE \"C\"
        ON CONFLICT (project, owner, day, subject, name) DO UPDATE SET {}",
        typed.join(", "),
        added.join(", ")
    )
}

/// Returns sums as the parameter of [`add_statement`].
pub(super) fn as_parameter(sums: &Sums) -> String {
    let rows = sums.iter().map(|((day, by, name), sum)| {
        let columns = SUM_COLUMNS.iter().zip(sum);
        let mut row: Map<String, Value> = columns
            .map(|(column, value)| ((*column).to_owned(), (*value).into()))
            .collect();
        row.insert("day".to_owned(), (*day).into());
        row.insert("subject".to_owned(), by.as_str().into());
        row.insert("name".to_owned(), name.as_str().into());
        Value::Object(row)
    });
    Value::from_iter(rows).to_string()
}

/// Adds to the sums of the owner of a session.
async fn add_sums(client: &impl GenericClient, id: &str, sums: &Sums) -> Result<(), Error> {
    if sums.is_empty() {
        return Ok(());
    }
    let statement = format!("WITH line AS (SELECT 1) {}", add_statement(OF_STORED, "$2"));
    let statement = client.prepare_cached(&statement).await?;
    let sums = as_parameter(sums);
    client.execute(&statement, &[&id, &sums]).await.map(drop)
}

/// Returns the start of the fold of a new session, which a call of another one started or none.
pub(super) async fn started(
    client: &impl GenericClient,
    session: SessionId,
    parent: Option<&str>,
) -> Result<SessionStats, Error> {
    let Some(parent) = parent else {
        return Ok(SessionStats::default());
    };
    // It was started by one of the last events, unless it is a copy.
    let query = "SELECT seq, v, json FROM events
        WHERE session = $1 AND seq < $2 AND kind = 'agent-spawned' ORDER BY seq DESC LIMIT 16";
    let query = client.prepare_cached(query).await?;
    let mut before = i64::MAX;
    loop {
        let rows = client.query(&query, &[&parent, &before]).await?;
        let name = |row: &tokio_postgres::Row| {
            agent_started(session, row.get(1), row.get::<_, &str>(2).as_bytes())
        };
        if let Some(name) = rows.iter().find_map(name) {
            return Ok(SessionStats::of_agent(Some(&name)));
        }
        match rows.last() {
            Some(last) => before = last.get(0),
            None => return Ok(SessionStats::of_agent(None)),
        }
    }
}

/// Folds the events of a session; `None` if one cannot be read.
async fn folded(
    client: &impl GenericClient,
    id: &str,
    mut stats: SessionStats,
) -> Result<Option<SessionStats>, Error> {
    let query = "SELECT seq, at_ms, v, json FROM events
        WHERE session = $1 AND seq > $2 AND kind = ANY ($3) ORDER BY seq LIMIT $4";
    let query = client.prepare_cached(query).await?;
    let (mut last, kinds) = (-1_i64, STATS_KINDS.as_slice());
    loop {
        let page: Parameters<'_> = &[&id, &last, &kinds, &PAGE_EVENTS];
        let rows = client.query(&query, page).await?;
        let Some(end) = rows.last() else {
            return Ok(Some(stats));
        };
        last = end.get(0);
        for row in &rows {
            let json: &str = row.get(3);
            if !add_stored(&mut stats, row.get(1), row.get(2), json.as_bytes()) {
                return Ok(None);
            }
        }
    }
}

/// Makes the sums of the sessions that are there.
pub(super) async fn make(tx: &Transaction<'_>) -> Result<(), Error> {
    for row in tx.query("SELECT id, parent FROM sessions", &[]).await? {
        let (id, parent): (String, Option<String>) = (row.get(0), row.get(1));
        let folded = match id.parse() {
            Ok(session) => {
                let start = started(tx, session, parent.as_deref()).await?;
                folded(tx, &id, start).await?
            }
            Err(_) => None,
        };
        match folded {
            Some(mut stats) => {
                add_sums(tx, &id, &stats.take_pending()).await?;
                store(tx, &id, &to_stored(&stats), false).await?;
            }
            None => store(tx, &id, UNREADABLE, true).await?,
        }
    }
    Ok(())
}

async fn store(
    client: &impl GenericClient,
    id: &str,
    stats: &str,
    is_uncounted: bool,
) -> Result<(), Error> {
    let statement = "UPDATE progress SET stats = $2, uncounted = $3 WHERE session = $1";
    let statement = client.prepare_cached(statement).await?;
    let row: Parameters<'_> = &[&id, &stats, &is_uncounted];
    client.execute(&statement, row).await.map(drop)
}

/// Reads the state of a session; `None` if it, or an event of the session, cannot be read.
async fn read(client: &impl GenericClient, id: &str) -> Result<Option<SessionStats>, Error> {
    let query = "SELECT stats FROM progress WHERE session = $1";
    let query = client.prepare_cached(query).await?;
    let found = client.query_opt(&query, &[&id]).await?;
    Ok(found.and_then(|row| parse(row.get(0))))
}

/// Adds what is not in the sums yet of a session that no other host has claimed.
pub(super) async fn settle(client: &impl GenericClient, id: &str) -> Result<(), Error> {
    let Some(mut stats) = read(client, id).await? else {
        return Ok(());
    };
    let pending = stats.take_pending();
    if pending.is_empty() {
        return Ok(());
    }
    add_sums(client, id, &pending).await?;
    store(client, id, &to_stored(&stats), false).await
}

/// Prepares the sums for the removal of a family of sessions, the first of which owns it: adds what
/// is not in them yet, and subtracts all of it unless it stays. A session whose events cannot be read
/// stays.
pub(super) async fn leave(
    client: &impl GenericClient,
    family: &[String],
    stays: bool,
) -> Result<(), Error> {
    let mut sums = Sums::default();
    for id in family {
        let Some(mut stats) = read(client, id).await? else {
            continue;
        };
        sums.add_all(stats.take_pending());
        if !stays && let Some(mut all) = folded(client, id, stats.restarted()).await? {
            sums.subtract(all.take_pending());
        }
    }
    if let Some(first) = family.first() {
        add_sums(client, first, &sums).await?;
    }
    if !stays {
        let empty = "DELETE FROM sums WHERE sessions <= 0";
        client.execute(empty, &[]).await?;
    }
    Ok(())
}

impl Database {
    /// Adds what is not in the sums yet of a session whose claim ends, if it still holds.
    pub(super) async fn settle(&self, lease: Lease) -> Result<(), StoreError> {
        let failed = self.failed("write the journal");
        let mut client = self.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        if holds(&tx, lease).await.map_err(failed)? {
            let id = lease.session.to_string();
            settle(&tx, &id).await.map_err(failed)?;
        }
        tx.commit().await.map_err(failed)
    }

    /// Reads the sums of a scope.
    pub(super) async fn stats(
        &self,
        scope: &SessionScope,
        by: StatsBy,
        since: u32,
    ) -> Result<StoredStats, JournalError> {
        let failed = self.failed("read the journal");
        let columns = SUM_COLUMNS.map(|column| format!("sum({column})::bigint"));
        let query = format!(
            "SELECT max(day), subject, name, {} FROM sums
            WHERE subject IN ('day', $1) AND day >= $2
                AND ($3::text IS NULL OR project = $3) AND ($4::text IS NULL OR owner = $4)
            GROUP BY subject, name, CASE WHEN subject = 'day' THEN day ELSE 0 END",
            columns.join(", ")
        );
        let mut client = self.client().await?;
        // Both statements see the same moment.
        let moment = client.build_transaction().read_only(true);
        let moment = moment.isolation_level(IsolationLevel::RepeatableRead);
        let tx = moment.start().await.map_err(failed)?;
        let query = tx.prepare_cached(&query).await.map_err(failed)?;
        let (project, owner) = (scope.project(), scope.owner());
        let (name, since) = (by.as_str(), i64::from(since));
        let parameters: Parameters<'_> = &[&name, &since, &project, &owner];
        let mut stats = StoredStats::default();
        for row in tx.query(&query, parameters).await.map_err(failed)? {
            let day = u32::try_from(row.get::<_, i64>(0)).unwrap_or(u32::MAX);
            let is_by = row.get::<_, &str>(1) == name;
            let subject = if is_by { by } else { StatsBy::Day };
            let key: SumKey = (day, subject, row.get(2));
            let mut sum = [0; SUM_COLUMNS.len()];
            for (column, value) in (3..).zip(&mut sum) {
                *value = row.get(column);
            }
            stats.sums.add(key, sum);
        }
        let query = "SELECT w.session, w.stats, s.project, s.owner
            FROM progress w JOIN sessions s ON s.id = w.session
            WHERE w.uncounted ORDER BY w.session";
        for row in tx.query(query, &[]).await.map_err(failed)? {
            let owner: Option<String> = row.get(3);
            let project: Option<String> = row.get(2);
            let owned = project.map(|project| Ownership { project, owner });
            if scope.has(owned.as_ref()) {
                stats.add_pending(parsed(row.get(0))?, row.get(1));
            }
        }
        Ok(stats)
    }
}

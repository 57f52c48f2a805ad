//! The figures of what sessions used: the state of the fold in the row of each session, and the sums
//! of each owner, whose rows of one day are side by side.

use super::{
    database::Database,
    phase,
    read::{ReadConnection, parsed},
};
use crate::{
    error::StoreError,
    ownership::{Ownership, SessionScope},
    row::EventRow,
    stats::{self, StoredStats},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    id::SessionId,
    stats::{STATS_KINDS, SUM_COLUMNS, SessionStats, StatsBy, SumKey, Sums},
};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params, types::Value};
use std::sync::Arc;

/// The columns and the index of the sessions of which something is not in the sums yet. A session
/// without an owner has an empty project, and one of the user an empty owner.
const TABLES: &str = "
ALTER TABLE sessions ADD COLUMN stats TEXT NOT NULL DEFAULT '{}';
ALTER TABLE sessions ADD COLUMN uncounted INTEGER NOT NULL DEFAULT 0;
CREATE INDEX sessions_uncounted ON sessions (id) WHERE uncounted > 0;
CREATE TABLE sums (
    project TEXT NOT NULL,
    owner TEXT NOT NULL,
    day INTEGER NOT NULL,
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
";

/// The sessions that are not in the sums as a whole up to which a reader adds them by itself.
const MAX_UNCOUNTED: usize = 256;

/// Adds the tables, with the sums of the sessions that are there.
pub(super) fn add_tables(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    let columns = SUM_COLUMNS.map(|column| format!("    {column} INTEGER NOT NULL,\n"));
    let key = "    PRIMARY KEY (project, owner, day, subject, name)\n) STRICT, WITHOUT ROWID;";
    tx.execute_batch(&format!("{TABLES}{}{key}", columns.concat()))?;
    let sessions: Vec<String> = tx
        .prepare("SELECT id FROM sessions")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in sessions {
        let start = started(tx, &id)?;
        match folded(tx, &id, start)? {
            Some(mut stats) => {
                add_sums(tx, &id, &stats.take_pending())?;
                store(tx, &id, &stats::to_stored(&stats), false)?;
            }
            None => store(tx, &id, stats::UNREADABLE, true)?,
        }
    }
    Ok(())
}

/// Returns the start of the fold of a session.
fn started(tx: &Transaction<'_>, id: &str) -> Result<SessionStats, rusqlite::Error> {
    let mut query = tx.prepare_cached("SELECT parent FROM sessions WHERE id = ?1")?;
    let parent: Option<String> = query.query_row([id], |row| row.get(0))?;
    let (Some(parent), Ok(session)) = (parent, id.parse()) else {
        return Ok(SessionStats::default());
    };
    // It was started by one of the last events, unless it is a copy.
    let mut query = tx.prepare_cached(
        "SELECT v, json FROM events WHERE session = ?1 AND kind = 'agent-spawned'
         ORDER BY seq DESC",
    )?;
    let mut rows = query.query([parent])?;
    while let Some(row) = rows.next()? {
        let name = stats::agent_started(session, row.get(0)?, row.get_ref(1)?.as_bytes()?);
        if name.is_some() {
            return Ok(SessionStats::of_agent(name.as_deref()));
        }
    }
    Ok(SessionStats::of_agent(None))
}

/// Folds the events of a session; `None` if one cannot be read.
fn folded(
    tx: &Transaction<'_>,
    id: &str,
    mut stats: SessionStats,
) -> Result<Option<SessionStats>, rusqlite::Error> {
    let query = format!(
        "SELECT at_ms, v, json FROM events WHERE session = ?1 AND kind IN ('{}') ORDER BY seq",
        STATS_KINDS.join("', '")
    );
    let mut query = tx.prepare_cached(&query)?;
    let mut rows = query.query([id])?;
    while let Some(row) = rows.next()? {
        let json = row.get_ref(2)?.as_bytes()?;
        if !stats::add_stored(&mut stats, row.get(0)?, row.get(1)?, json) {
            return Ok(None);
        }
    }
    Ok(Some(stats))
}

/// Adds the figures of events that were stored with the row of their session. Those of a session
/// that is written as a whole are [settled](settle) at its end, since a copy begins with events that
/// count for the original.
pub(super) fn count(
    tx: &Transaction<'_>,
    id: &str,
    rows: &[Arc<EventRow>],
    is_whole: bool,
) -> Result<(), rusqlite::Error> {
    let changes = |row: &Arc<EventRow>| {
        row.stats.is_some() || row.listing.parent.is_some() || row.listing.outcome.is_some()
    };
    if !rows.iter().any(changes) {
        return Ok(());
    }
    let mut query =
        tx.prepare_cached("SELECT stats, uncounted, phase FROM sessions WHERE id = ?1")?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let (before, is_uncounted, phase): (String, bool, String) = query.query_row([id], read)?;
    let is_new = rows.first().is_some_and(|first| first.seq == 0);
    let stats = match is_new {
        true => Some(started(tx, id)?),
        false => stats::parse(&before),
    };
    let Some(mut stats) = stats else {
        return Ok(());
    };
    stats::add_rows(&mut stats, rows);
    if !is_whole {
        let due = stats.take_due(phase::from_stored(tx, id, &phase)?);
        add_sums(tx, id, &due)?;
    }
    let has_pending = !stats.pending().is_empty();
    let after = stats::to_stored(&stats);
    if after != before {
        let mut set = tx.prepare_cached("UPDATE sessions SET stats = ?2 WHERE id = ?1")?;
        set.execute(params![id, after])?;
    }
    // Only a change writes a page of the index.
    if has_pending != is_uncounted {
        let mut set = tx.prepare_cached("UPDATE sessions SET uncounted = ?2 WHERE id = ?1")?;
        set.execute(params![id, has_pending])?;
    }
    Ok(())
}

/// Adds what is not in the sums yet of a session.
pub(super) fn settle(tx: &Transaction<'_>, id: &str) -> Result<(), rusqlite::Error> {
    let Some(mut stats) = read(tx, id)? else {
        return Ok(());
    };
    let pending = stats.take_pending();
    if pending.is_empty() {
        return Ok(());
    }
    add_sums(tx, id, &pending)?;
    store(tx, id, &stats::to_stored(&stats), false)
}

/// Subtracts a session that is about to be removed; one whose events cannot be read stays.
pub(super) fn subtract(tx: &Transaction<'_>, id: &str) -> Result<(), rusqlite::Error> {
    settle(tx, id)?;
    let Some(stats) = read(tx, id)? else {
        return Ok(());
    };
    if let Some(mut stats) = folded(tx, id, stats.restarted())? {
        let mut gone = Sums::default();
        gone.subtract(stats.take_pending());
        add_sums(tx, id, &gone)?;
        tx.execute("DELETE FROM sums WHERE sessions <= 0", [])?;
    }
    Ok(())
}

/// Reads the state of a session; `None` if it, or an event of the session, cannot be read.
fn read(tx: &Transaction<'_>, id: &str) -> Result<Option<SessionStats>, rusqlite::Error> {
    let mut query = tx.prepare_cached("SELECT stats FROM sessions WHERE id = ?1")?;
    let stored: Option<String> = query.query_row([id], |row| row.get(0)).optional()?;
    Ok(stored.as_deref().and_then(stats::parse))
}

fn store(
    tx: &Transaction<'_>,
    id: &str,
    stats: &str,
    is_uncounted: bool,
) -> Result<(), rusqlite::Error> {
    tx.prepare_cached("UPDATE sessions SET stats = ?2, uncounted = ?3 WHERE id = ?1")?
        .execute(params![id, stats, is_uncounted])
        .map(drop)
}

/// Adds to the sums of the owner of a session.
fn add_sums(tx: &Transaction<'_>, id: &str, sums: &Sums) -> Result<(), rusqlite::Error> {
    if sums.is_empty() {
        return Ok(());
    }
    let mut query = tx.prepare_cached(
        "SELECT coalesce(project, ''), coalesce(owner, '') FROM owners WHERE session = ?1",
    )?;
    let owner = query.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)));
    let (project, owner): (String, String) = owner.optional()?.unwrap_or_default();
    let values = "?, ".repeat(SUM_COLUMNS.len() + 4);
    let added = SUM_COLUMNS.map(|column| format!("{column} = {column} + excluded.{column}"));
    let mut insert = tx.prepare_cached(&format!(
        "INSERT INTO sums VALUES ({values}?) ON CONFLICT DO UPDATE SET {}",
        added.join(", ")
    ))?;
    for ((day, by, name), sum) in sums.iter() {
        let key = [
            Value::Text(project.clone()),
            Value::Text(owner.clone()),
            Value::Integer(i64::from(*day)),
            Value::Text(by.as_str().to_owned()),
            Value::Text(name.clone()),
        ];
        let sum = sum.iter().map(|value| Value::Integer(*value));
        insert.execute(rusqlite::params_from_iter(key.into_iter().chain(sum)))?;
    }
    Ok(())
}

/// Reads the sums of a scope, each of the subject with its last day.
fn sums_of(
    db: &Connection,
    scope: &SessionScope,
    by: StatsBy,
    since: u32,
) -> Result<Sums, rusqlite::Error> {
    let filter = match scope.project() {
        None => "?3 IS NULL AND ?4 IS NULL",
        Some(_) => "project = ?3 AND (?4 IS NULL OR owner = ?4)",
    };
    let columns = SUM_COLUMNS.map(|column| format!("sum({column})"));
    let query = format!(
        "SELECT max(day), subject, name, {} FROM sums
         WHERE subject IN ('day', ?1) AND day >= ?2 AND {filter}
         GROUP BY subject, name, iif(subject = 'day', day, 0)",
        columns.join(", ")
    );
    let mut query = db.prepare_cached(&query)?;
    let parameters = params![by.as_str(), since, scope.project(), scope.owner()];
    let mut rows = query.query(parameters)?;
    let mut sums = Sums::default();
    while let Some(row) = rows.next()? {
        let subject: String = row.get(1)?;
        let subject = if subject == by.as_str() {
            by
        } else {
            StatsBy::Day
        };
        let key: SumKey = (row.get(0)?, subject, row.get(2)?);
        let mut sum = [0; SUM_COLUMNS.len()];
        for (column, value) in (3..).zip(&mut sum) {
            *value = row.get(column)?;
        }
        sums.add(key, sum);
    }
    Ok(sums)
}

impl Database {
    /// Reads the sums of a scope. Of many sessions that are not in them as a whole, the rest is
    /// added to them.
    pub(crate) fn stats(
        &self,
        scope: &SessionScope,
        by: StatsBy,
        since: u32,
    ) -> Result<StoredStats, JournalError> {
        let uncounted = self.reader().uncounted()?;
        if uncounted.len() > MAX_UNCOUNTED {
            self.transact(|tx| {
                let settled = uncounted.iter().try_for_each(|id| settle(tx, id));
                Ok(settled.map_err(StoreError::sqlite(self.location(), "write the journal"))?)
            })?;
        }
        Ok(self.reader().stats(scope, by, since)?)
    }
}

impl ReadConnection {
    /// Reads the sessions that are not in the sums as a whole.
    fn uncounted(&self) -> Result<Vec<String>, StoreError> {
        self.read(|db| {
            let query = "SELECT id FROM sessions WHERE uncounted > 0 AND stats <> ''";
            let mut query = db.prepare_cached(query)?;
            query.query_map([], |row| row.get(0))?.collect()
        })
    }

    fn stats(
        &self,
        scope: &SessionScope,
        by: StatsBy,
        since: u32,
    ) -> Result<StoredStats, StoreError> {
        self.read(|db| {
            // In one transaction both statements see the same moment.
            let moment = db.transaction()?;
            let mut stats = StoredStats {
                sums: sums_of(&moment, scope, by, since)?,
                unreadable: Vec::new(),
            };
            let mut query = moment.prepare_cached(
                "SELECT id, stats, owners.project, owner FROM sessions
                 LEFT JOIN owners ON session = id WHERE uncounted > 0 ORDER BY id",
            )?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let (session, stored): (SessionId, String) = (parsed(row)?, row.get(1)?);
                let (project, owner): (Option<String>, _) = (row.get(2)?, row.get(3)?);
                let owned = project.map(|project| Ownership { project, owner });
                if scope.has(owned.as_ref()) {
                    stats.add_pending(session, &stored);
                }
            }
            Ok(stats)
        })
    }
}

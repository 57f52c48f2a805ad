//! The calls that rules count.

use super::{database::Database, owners::owner_of, read::ReadConnection};
use crate::{
    error::StoreError,
    tally::{StoredTally, TallyRows, TallySeries, beginnings},
};
use agent_host_engine::journal::{CountedCall, JournalError, Tallies, TallyQuery};
use agent_host_types::id::SessionId;
use rusqlite::{Connection, OptionalExtension as _, Params, Row, Transaction, params};

const COLUMNS: &str = "project, owner, tool, number, at_ms, session, call, amounts, signature";

/// The table, which files of before version 7 are without.
const TABLE: &str = "
CREATE TABLE tallies (
    project TEXT NOT NULL,
    owner TEXT NOT NULL,
    tool TEXT NOT NULL,
    number INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    session TEXT NOT NULL,
    call TEXT NOT NULL,
    amounts TEXT NOT NULL,
    signature BLOB,
    PRIMARY KEY (project, owner, tool, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX tallies_by_time ON tallies (project, owner, tool, at_ms, number);
CREATE UNIQUE INDEX tallies_by_call ON tallies (session, call);
";

const LAST: &str = "project = ?1 AND owner = ?2 AND tool = ?3 ORDER BY number DESC LIMIT 1";

const OWN: &str = "session = ?1 AND call = ?2";

const BEFORE: &str = "project = ?1 AND owner = ?2 AND tool = ?3 AND at_ms <= ?4
    ORDER BY at_ms DESC, number DESC LIMIT 1";

pub(super) fn add_table(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    tx.execute_batch(TABLE)
}

/// Returns the statements that read for a decision.
#[cfg(test)]
pub(crate) fn tally_queries() -> [String; 3] {
    [LAST, BEFORE, OWN].map(query_of)
}

fn query_of(which: &str) -> String {
    format!("SELECT {COLUMNS} FROM tallies WHERE {which}")
}

/// Reads all rows as they are stored.
pub(super) fn stored(db: &Connection) -> Result<Vec<StoredTally>, rusqlite::Error> {
    let query = format!("SELECT {COLUMNS} FROM tallies ORDER BY project, owner, tool, number");
    let mut query = db.prepare(&query)?;
    query.query_map([], read)?.collect()
}

impl ReadConnection {
    /// Reads what earlier calls amount to.
    pub(crate) fn tallies(
        &self,
        session: SessionId,
        query: &TallyQuery,
    ) -> Result<Tallies, JournalError> {
        let (rows, owner) = self.read(|db| {
            let ownership = owner_of(db, session, self.rows_key())?;
            let owner = ownership.as_ref().and_then(|own| own.owner.clone());
            let rows = match query.windows.is_empty() {
                true => TallyRows::default(),
                false => rows(
                    db,
                    session,
                    &TallySeries::new(ownership, &query.tool),
                    query,
                )?,
            };
            Ok((rows, owner))
        })?;
        let believed = (self.rows_key(), self.location());
        Ok(rows.tallies(query, owner, believed)?)
    }
}

/// Reads the rows from which tallies follow, the last one first: one that is written meanwhile is
/// not among them.
fn rows(
    db: &Connection,
    session: SessionId,
    series: &TallySeries,
    query: &TallyQuery,
) -> Result<TallyRows, rusqlite::Error> {
    let last = last(db, series)?;
    let before = beginnings(query).into_iter().map(|at_ms| {
        let values = params![series.project, series.owner, series.tool, at_ms];
        one(db, BEFORE, values)
    });
    let before = before.collect::<Result<_, _>>()?;
    let own = one(db, OWN, params![session.to_string(), query.call.0])?;
    Ok(TallyRows { last, before, own })
}

fn last(db: &Connection, series: &TallySeries) -> Result<Option<StoredTally>, rusqlite::Error> {
    one(db, LAST, [&series.project, &series.owner, &series.tool])
}

fn one(
    db: &Connection,
    which: &str,
    values: impl Params,
) -> Result<Option<StoredTally>, rusqlite::Error> {
    let mut query = db.prepare_cached(&query_of(which))?;
    query.query_row(values, read).optional()
}

impl Database {
    /// Counts a call, unless another one was counted since the decision about it.
    pub(super) fn count_call(
        &self,
        session: SessionId,
        call: CountedCall,
    ) -> Result<bool, JournalError> {
        let failed = StoreError::sqlite(self.location(), "count a call");
        let believed = (self.rows_key(), self.location());
        self.transact(|tx| {
            let owner = owner_of(tx, session, self.rows_key()).map_err(failed)?;
            let series = TallySeries::new(owner, &call.tool);
            let last = last(tx, &series).map_err(failed)?;
            let row = StoredTally::next(series, last.as_ref(), session, call, believed)?;
            match row {
                Some(row) => Ok(insert(tx, &row).map_err(failed)?),
                None => Ok(false),
            }
        })
    }
}

/// Adds a row, and removes those that no window reaches, but the last of them.
fn insert(tx: &Transaction<'_>, row: &StoredTally) -> Result<bool, rusqlite::Error> {
    let insert = format!(
        "INSERT INTO tallies ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT DO NOTHING"
    );
    let series = &row.series;
    let inserted = tx.prepare_cached(&insert)?.execute(params![
        series.project,
        series.owner,
        series.tool,
        row.number,
        row.at_ms,
        row.session,
        row.call,
        row.amounts,
        row.signature,
    ])?;
    let remove = format!(
        "DELETE FROM tallies WHERE project = ?1 AND owner = ?2 AND tool = ?3 AND number <
             (SELECT number FROM tallies WHERE {BEFORE})"
    );
    let kept = params![series.project, series.owner, series.tool, row.kept_from()];
    tx.prepare_cached(&remove)?.execute(kept)?;
    Ok(inserted == 1)
}

fn read(row: &Row<'_>) -> Result<StoredTally, rusqlite::Error> {
    Ok(StoredTally {
        series: TallySeries {
            project: row.get(0)?,
            owner: row.get(1)?,
            tool: row.get(2)?,
        },
        number: row.get(3)?,
        at_ms: row.get(4)?,
        session: row.get(5)?,
        call: row.get(6)?,
        amounts: row.get(7)?,
        signature: row.get(8)?,
    })
}

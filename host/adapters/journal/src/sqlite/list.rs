//! The lists of sessions: the columns that they are read from, their rows, and how many have each
//! status. A page of a list visits the sessions of that page, however many others there are.

use super::{
    lock::is_claimed,
    owners::{self, COLUMNS},
    phase,
    read::{PARENT, ReadConnection, parent, parsed, positive},
};
use crate::{
    error::StoreError,
    ownership::SessionScope,
    session_list::{ListPage, SessionInfo},
    store::WAITING,
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    id::SessionId,
    session_status::{SessionClaim, SessionPhase, SessionStatus},
};
use rusqlite::{Params, Transaction, params};
use serde_json::json;
use std::collections::BTreeMap;

/// The columns that the writer keeps up to date for lists: the session whose call started this one,
/// the model and the cost of the last turn, the number of the last write, by which sessions are
/// ordered, since a clock may go back, and a copy of the project.
const TABLE: &str = "
ALTER TABLE sessions ADD COLUMN parent TEXT;
ALTER TABLE sessions ADD COLUMN model TEXT;
ALTER TABLE sessions ADD COLUMN cost_micros INTEGER;
ALTER TABLE sessions ADD COLUMN last_write INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN project TEXT;
";

/// Fills the columns of the sessions that are there, except for the project. An event that is
/// damaged is found when it is shown.
const FILL: &str = "
UPDATE sessions SET
    parent = (
        SELECT CASE WHEN json_valid(json) THEN json_extract(json, '$.parent.session') END
        FROM events WHERE session = sessions.id AND seq = 0),
    last_write = coalesce((SELECT max(rowid) FROM events WHERE session = sessions.id), 0);
WITH ends (session, summary) AS (
    SELECT session, json_extract(json, '$.outcome.summary') FROM events AS ended
    WHERE kind = 'turn-ended' AND json_valid(json) AND NOT EXISTS (
        SELECT 1 FROM events AS later
        WHERE later.session = ended.session AND later.kind = 'turn-ended' AND later.seq > ended.seq)
) UPDATE sessions SET
    model = json_extract(summary, '$.provenance.provider') || ':'
        || json_extract(summary, '$.provenance.model'),
    cost_micros = json_extract(summary, '$.total_usage.cost_micros')
FROM ends WHERE ends.session = sessions.id;
";

/// Fills the copies of the projects, and makes the indexes by which sessions are listed and found:
/// names and the ends of ids stand for sessions, too.
const INDEXES: &str = "
UPDATE sessions SET project = (SELECT project FROM owners WHERE session = sessions.id);
DROP INDEX IF EXISTS owners_by_project;
CREATE INDEX sessions_by_last_write ON sessions (last_write);
CREATE INDEX sessions_by_project ON sessions (project, last_write);
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;
CREATE INDEX sessions_by_end ON sessions (substr(id, -8));
CREATE INDEX names_by_name ON names (name);
";

/// Adds the columns to a file without them.
pub(super) fn add_columns(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    tx.execute_batch(TABLE)?;
    tx.execute_batch(FILL)
}

/// Adds the indexes to a file that has the columns and whose the sessions are.
pub(super) fn add_indexes(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    tx.execute_batch(INDEXES)
}

/// Returns the condition of a scope, whose project and owner are the parameters. Whether the owner
/// is believed is seen when the row is read.
fn filter(scope: &SessionScope) -> &'static str {
    match scope.project() {
        None => "?1 IS NULL AND ?2 IS NULL",
        Some(_) => "sessions.project = ?1 AND (?2 IS NULL OR owners.owner = ?2)",
    }
}

/// Returns the query of the rows of the sessions of a scope, the one that was written to last first.
pub(crate) fn list_query(scope: &SessionScope) -> String {
    format!("{} ORDER BY last_write DESC", rows_query(filter(scope)))
}

/// Returns the query of a page of the list: of sessions that no other started.
pub(crate) fn page_query(scope: &SessionScope) -> String {
    let filter = filter(scope);
    let filter = format!("{filter} AND {PARENT} IS NULL AND (?5 IS NULL OR directory = ?5)");
    let query = rows_query(&filter);
    format!("{query} ORDER BY last_write DESC LIMIT ?3 OFFSET ?4")
}

/// Returns the query of the rows of the sessions that a condition finds.
fn rows_query(filter: &str) -> String {
    format!(
        "SELECT id, started_ms, last_ms, events, title, directory, outcome, {PARENT}, names.name, model,
             cost_micros, phase, {COLUMNS}
         FROM sessions LEFT JOIN names ON names.session = sessions.id
         LEFT JOIN owners ON owners.session = sessions.id
         WHERE {filter}"
    )
}

/// A row of a list, whose status is not known yet.
type ListedRow = Result<(SessionInfo, SessionPhase), rusqlite::Error>;

impl ReadConnection {
    /// Reads the sessions of a scope, the one that was written to last first.
    pub(crate) fn sessions(&self, scope: &SessionScope) -> Result<Vec<SessionInfo>, JournalError> {
        let parameters = params![scope.project(), scope.owner()];
        let mut listed = self.listed(&list_query(scope), parameters, |rows| rows.collect())?;
        listed.retain(|info| scope.has(info.ownership.as_ref()));
        Ok(listed)
    }

    /// Reads a part of the sessions of a scope that no other started, the one that was written to last
    /// first. A search looks at the rows of the scope until the part is full.
    pub(crate) fn list_page(&self, page: &ListPage) -> Result<Vec<SessionInfo>, JournalError> {
        let (scope, words) = (&page.scope, page.words());
        let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let (limit, offset) = match words.is_empty() {
            true => (number(page.limit), number(page.offset)),
            false => (-1, 0),
        };
        let parameters = params![
            scope.project(),
            scope.owner(),
            limit,
            offset,
            page.directory
        ];
        let mut listed = self.listed(&page_query(scope), parameters, |rows| {
            if words.is_empty() {
                return rows.collect();
            }
            let has_words = |row: &ListedRow| {
                let info = row.as_ref().map(|(info, _)| info);
                info.map_or(true, |info| info.has_words(&words))
            };
            let found = rows.filter(has_words);
            found.skip(page.offset).take(page.limit).collect()
        })?;
        listed.retain(|info| scope.has(info.ownership.as_ref()));
        Ok(listed)
    }

    /// Reads the rows of sessions in lists, in no order.
    pub(crate) fn infos(&self, sessions: &[SessionId]) -> Result<Vec<SessionInfo>, JournalError> {
        let query = rows_query("sessions.id IN (SELECT value FROM json_each(?1))");
        let ids = json!(sessions).to_string();
        self.listed(&query, params![ids], |rows| rows.collect())
    }

    /// Reads the rows of the sessions with a name, the one that was written to last first.
    pub(crate) fn named(&self, name: &str) -> Result<Vec<SessionInfo>, JournalError> {
        let query = format!("{} ORDER BY last_write DESC", rows_query("names.name = ?1"));
        self.listed(&query, params![name], |rows| rows.collect())
    }

    /// Reads the sessions that wait and that no other started, the one that was written to longest
    /// ago first.
    pub(crate) fn waiting(&self) -> Result<Vec<SessionInfo>, JournalError> {
        let query = rows_query(&format!("phase IN {WAITING} AND {PARENT} IS NULL"));
        let query = format!("{query} ORDER BY last_write");
        let mut waiting = self.listed(&query, params![], |rows| rows.collect())?;
        waiting.retain(|info| info.status.is_waiting());
        Ok(waiting)
    }

    /// Counts the sessions of a scope that no other started by status. Those whose status depends on
    /// a claim are looked at one by one.
    pub(crate) fn count_statuses(
        &self,
        scope: &SessionScope,
    ) -> Result<BTreeMap<SessionStatus, u64>, JournalError> {
        let filter = filter(scope);
        let query = format!(
            "SELECT sessions.id, phase, count(*) FROM sessions
             LEFT JOIN owners ON owners.session = sessions.id
             WHERE {PARENT} IS NULL AND {filter}
             GROUP BY phase, iif(phase IN ('new', 'open', 'client-open'), sessions.id, NULL)"
        );
        let phases: Vec<(SessionId, SessionPhase, u64)> = self.read(|db| {
            let mut query = db.prepare_cached(&query)?;
            let parameters = params![scope.project(), scope.owner()];
            let rows = query.query_map(parameters, |row| {
                let id: SessionId = parsed(row)?;
                let stored: String = row.get(1)?;
                let phase = phase::from_stored(db, &id.to_string(), &stored)?;
                Ok((id, phase, positive(row, 2)?))
            })?;
            rows.collect()
        })?;
        let mut counts = BTreeMap::new();
        for (id, phase, sessions) in phases {
            *counts.entry(self.status(id, phase)?).or_default() += sessions;
        }
        Ok(counts)
    }

    /// Reads the part of the rows of a query that is wanted.
    fn listed(
        &self,
        query: &str,
        parameters: impl Params,
        wanted: impl FnOnce(
            &mut dyn Iterator<Item = ListedRow>,
        ) -> Result<Vec<(SessionInfo, SessionPhase)>, rusqlite::Error>,
    ) -> Result<Vec<SessionInfo>, JournalError> {
        let read = self.read(|db| {
            let mut query = db.prepare_cached(query)?;
            let mut rows = query.query_map(parameters, |row| {
                let id = parsed(row)?;
                let stored: String = row.get(11)?;
                let session = SessionId::to_string(&id);
                let phase = phase::from_stored(db, &session, &stored)?;
                let owner = owners::stored(row, 12, session)?;
                let cost_micros: Option<i64> = row.get(10)?;
                let info = SessionInfo {
                    id,
                    // The claim is looked at when nothing is read any more.
                    status: phase.status(SessionClaim::None),
                    started_ms: positive(row, 1)?,
                    last_ms: positive(row, 2)?,
                    events: positive(row, 3)?,
                    title: row.get(4)?,
                    directory: row.get(5)?,
                    outcome: row.get(6)?,
                    parent: parent(row, 7)?,
                    name: row.get(8)?,
                    model: row.get(9)?,
                    cost_micros: cost_micros.and_then(|cost| u64::try_from(cost).ok()),
                    ownership: owner.believed(self.rows_key()),
                };
                Ok((info, phase))
            })?;
            wanted(&mut rows)
        })?;
        let with_status = |(info, phase): (SessionInfo, SessionPhase)| {
            let status = self.status(info.id, phase)?;
            Ok(SessionInfo { status, ..info })
        };
        read.into_iter().map(with_status).collect()
    }

    /// Returns the status of a session whose phase was read.
    fn status(&self, session: SessionId, phase: SessionPhase) -> Result<SessionStatus, StoreError> {
        if !phase.depends_on_claim() {
            return Ok(phase.status(SessionClaim::None));
        }
        if is_claimed(&self.locks, session) {
            return Ok(phase.status(SessionClaim::Held));
        }
        // The process may have ended the turn, and given the session up, since the phase was read.
        let phase = self.read(|db| phase::read(db, &session.to_string()))?;
        Ok(phase.status(SessionClaim::None))
    }
}

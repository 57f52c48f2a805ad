//! The lists of sessions: their rows, and how many have each status.

use super::{
    lock::is_claimed,
    owners::{self, COLUMNS, filter},
    phase,
    read::{LAST_WRITTEN, PARENT, Reader, parent, parsed, positive},
};
use crate::{
    error::StoreError, ownership::SessionScope, row::model_name, session_list::SessionInfo,
    store::WAITING,
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    id::SessionId,
    session_status::{SessionClaim, SessionPhase, SessionStatus},
    turn::TurnSummary,
};
use rusqlite::{Params, params};
use serde_json::json;
use std::collections::BTreeMap;

/// The figures of a session's last turn; none before it, or if the event is damaged.
const LAST_SUMMARY: &str =
    "(SELECT CASE WHEN json_valid(json) THEN json_extract(json, '$.outcome.summary') END FROM events
     WHERE session = sessions.id AND kind = 'turn-ended' ORDER BY seq DESC LIMIT 1)";

/// Returns the query of the rows of sessions, the one that was written to last first.
pub(crate) fn list_query(filter: &str) -> String {
    format!(
        "SELECT id, started_ms, last_ms, events, title, directory, outcome, {PARENT}, names.name, {LAST_SUMMARY},
             phase, {COLUMNS}
         FROM sessions LEFT JOIN names ON names.session = sessions.id
         LEFT JOIN owners ON owners.session = sessions.id
         WHERE {filter} ORDER BY {LAST_WRITTEN} DESC",
    )
}

impl Reader {
    /// Reads the sessions of a scope, the one that was written to last first.
    pub(crate) fn sessions(&self, scope: &SessionScope) -> Result<Vec<SessionInfo>, JournalError> {
        let parameters = params![scope.project(), scope.owner()];
        let mut listed = self.listed(filter(scope), parameters)?;
        listed.retain(|info| scope.has(info.ownership.as_ref()));
        Ok(listed)
    }

    /// Reads the rows of sessions in lists.
    pub(crate) fn infos(&self, sessions: &[SessionId]) -> Result<Vec<SessionInfo>, JournalError> {
        let filter = "sessions.id IN (SELECT value FROM json_each(?1))";
        self.listed(filter, params![json!(sessions).to_string()])
    }

    /// Reads the sessions that wait and that no other started, the one that was written to longest
    /// ago first.
    pub(crate) fn waiting(&self) -> Result<Vec<SessionInfo>, JournalError> {
        let filter = format!("phase IN {WAITING} AND {PARENT} IS NULL");
        let mut waiting = self.listed(&filter, params![])?;
        waiting.retain(|info| info.status.is_waiting());
        waiting.reverse();
        Ok(waiting)
    }

    /// Counts the sessions of a scope that no other started by status.
    pub(crate) fn count_statuses(
        &self,
        scope: &SessionScope,
    ) -> Result<BTreeMap<SessionStatus, u64>, JournalError> {
        let filter = filter(scope);
        let query = format!("SELECT id, phase FROM sessions WHERE {PARENT} IS NULL AND {filter}");
        let phases: Vec<(SessionId, SessionPhase)> = self.read(|db| {
            let mut query = db.prepare_cached(&query)?;
            let parameters = params![scope.project(), scope.owner()];
            let rows = query.query_map(parameters, |row| {
                let id: SessionId = parsed(row)?;
                let stored: String = row.get(1)?;
                let phase = phase::from_stored(db, &id.to_string(), &stored)?;
                Ok((id, phase))
            })?;
            rows.collect()
        })?;
        let mut counts = BTreeMap::new();
        for (id, phase) in phases {
            *counts.entry(self.status(id, phase)?).or_default() += 1;
        }
        Ok(counts)
    }

    /// Reads the sessions that a condition finds.
    fn listed(
        &self,
        filter: &str,
        parameters: impl Params,
    ) -> Result<Vec<SessionInfo>, JournalError> {
        let query = list_query(filter);
        let read = self.read(|db| {
            let mut query = db.prepare_cached(&query)?;
            let rows = query.query_map(parameters, |row| {
                let summary = last_summary(row, 9)?;
                let id = parsed(row)?;
                let stored: String = row.get(10)?;
                let session = SessionId::to_string(&id);
                let phase = phase::from_stored(db, &session, &stored)?;
                let owner = owners::stored(row, 11, session)?;
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
                    model: summary
                        .as_ref()
                        .map(|summary| model_name(&summary.provenance)),
                    cost_micros: summary.and_then(|summary| summary.total_usage.cost_micros),
                    ownership: owner.believed(self.rows_key()),
                };
                Ok((info, phase))
            })?;
            rows.collect::<Result<Vec<_>, _>>()
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
/// Reads a column with [`LAST_SUMMARY`]; an event that cannot be read is found when it is shown.
fn last_summary(
    row: &rusqlite::Row<'_>,
    column: usize,
) -> Result<Option<TurnSummary>, rusqlite::Error> {
    let text: Option<String> = row.get(column)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

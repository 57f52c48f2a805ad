//! The phases of sessions: the state of [`SessionPhase`] beside each session, for lists.
//!
//! The columns are added to files that were made without them. A program that does not know them
//! writes events all the same, so a phase has the number of events that it covers, and one that
//! does not cover all is read from the last events again.

use agent_host_types::{
    event::Event,
    session_status::{PhaseChange, SessionPhase},
};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

/// The columns and their indexes: of sessions whose phase is behind, and of those that wait.
const COLUMNS: &str = "
ALTER TABLE sessions ADD COLUMN phase TEXT;
ALTER TABLE sessions ADD COLUMN phase_events INTEGER;
CREATE INDEX sessions_behind ON sessions (id) WHERE phase_events IS NOT events;
CREATE INDEX sessions_waiting ON sessions (id)
    WHERE phase IN ('waiting-for-approval', 'waiting-for-answer', 'waiting-for-results');
";

/// The column of a session's phase; none if it is behind.
pub(super) const STORED: &str = "CASE WHEN phase_events IS events THEN phase END";

/// The most events at the end of a session from which its phase is read. An event in the midst of a
/// turn is enough; only those between turns change nothing.
const LAST_EVENTS: u32 = 64;

/// Adds the columns to a file without them.
pub(super) fn add_columns(db: &mut Connection) -> Result<(), rusqlite::Error> {
    if has_columns(db)? {
        return Ok(());
    }
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have added them meanwhile.
    if !has_columns(&tx)? {
        tx.execute_batch(COLUMNS)?;
    }
    tx.commit()
}

fn has_columns(db: &Connection) -> Result<bool, rusqlite::Error> {
    let query = "SELECT EXISTS (SELECT 1 FROM pragma_table_info('sessions') WHERE name = 'phase')";
    db.query_row(query, [], |row| row.get(0))
}

/// Brings the phases that are behind up to date.
pub(super) fn update_all(db: &mut Connection) -> Result<(), rusqlite::Error> {
    let behind = "SELECT EXISTS (SELECT 1 FROM sessions WHERE phase_events IS NOT events)";
    if !db.query_row(behind, [], |row| row.get(0))? {
        return Ok(());
    }
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let behind: Vec<String> = tx
        .prepare("SELECT id FROM sessions WHERE phase_events IS NOT events")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for session in behind {
        let phase = from_events(&tx, &session)?;
        tx.execute(
            "UPDATE sessions SET phase = ?2, phase_events = events WHERE id = ?1",
            params![session, phase.as_str()],
        )?;
    }
    tx.commit()
}

/// Reads the phase of a session; that of a new one if it does not exist.
pub(super) fn read(db: &Connection, session: &str) -> Result<SessionPhase, rusqlite::Error> {
    let mut query = db.prepare_cached(&format!("SELECT {STORED} FROM sessions WHERE id = ?1"))?;
    let stored: Option<Option<String>> = query.query_row([session], |row| row.get(0)).optional()?;
    from_stored(db, session, stored.flatten().as_deref())
}

/// Returns the phase of a session from the column [`STORED`].
pub(super) fn from_stored(
    db: &Connection,
    session: &str,
    stored: Option<&str>,
) -> Result<SessionPhase, rusqlite::Error> {
    match stored.and_then(SessionPhase::from_stored) {
        Some(phase) => Ok(phase),
        None => from_events(db, session),
    }
}

/// Reads the phase of a session from its last events.
fn from_events(db: &Connection, session: &str) -> Result<SessionPhase, rusqlite::Error> {
    let mut changes = Vec::new();
    let mut last = db.prepare_cached(
        "SELECT v, json FROM events WHERE session = ?1 ORDER BY seq DESC LIMIT ?2",
    )?;
    let mut rows = last.query(params![session, LAST_EVENTS])?;
    let mut is_absolute = false;
    while let Some(row) = rows.next()?.filter(|_| !is_absolute) {
        let found = change(row)?;
        is_absolute = found.is_some_and(PhaseChange::is_absolute);
        changes.extend(found);
    }
    if !is_absolute {
        // Who drives the loop.
        let mut first =
            db.prepare_cached("SELECT v, json FROM events WHERE session = ?1 AND seq = 0")?;
        changes.extend(first.query_row([session], change).optional()?.flatten());
    }
    let changes = changes.into_iter().rev();
    Ok(changes.fold(SessionPhase::New, SessionPhase::after))
}

/// Returns what a stored event does to the phase; nothing if it cannot be read, which is found when
/// it is shown.
fn change(row: &rusqlite::Row<'_>) -> Result<Option<PhaseChange>, rusqlite::Error> {
    let v: i64 = row.get(0)?;
    let event = u32::try_from(v)
        .ok()
        .and_then(|v| Some((v, row.get_ref(1).ok()?.as_bytes().ok()?)))
        .and_then(|(v, json)| Event::from_stored(v, json).ok());
    Ok(event.as_ref().and_then(PhaseChange::from_event))
}

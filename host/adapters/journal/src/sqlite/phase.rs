//! The phases of sessions: the state of [`SessionPhase`] beside each session, for lists.
//!
//! The writer keeps it up to date with each event. That of sessions of version 1 is read from their
//! last events once.

use agent_host_types::{
    event::Event,
    session_status::{PhaseChange, SessionPhase},
};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

/// The column, and the index of sessions that wait.
const COLUMN: &str = "
ALTER TABLE sessions ADD COLUMN phase TEXT NOT NULL DEFAULT 'new';
CREATE INDEX sessions_waiting ON sessions (id)
    WHERE phase IN ('waiting-for-approval', 'waiting-for-answer', 'waiting-for-results');
";

/// The most events at the end of a session from which its phase is read. An event in the midst of a
/// turn is enough; only those between turns change nothing.
const LAST_EVENTS: u32 = 64;

/// Adds the column, with the phase of each session that is there.
pub(super) fn add_column(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    tx.execute_batch(COLUMN)?;
    let sessions: Vec<String> = tx
        .prepare("SELECT id FROM sessions")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut set = tx.prepare("UPDATE sessions SET phase = ?2 WHERE id = ?1")?;
    for session in sessions {
        let phase = from_events(tx, &session)?;
        set.execute(params![session, phase.as_str()])?;
    }
    Ok(())
}

/// Reads the phase of a session; that of a new one if it does not exist.
pub(super) fn read(db: &Connection, session: &str) -> Result<SessionPhase, rusqlite::Error> {
    let mut query = db.prepare_cached("SELECT phase FROM sessions WHERE id = ?1")?;
    let stored: Option<String> = query.query_row([session], |row| row.get(0)).optional()?;
    stored.map_or(Ok(SessionPhase::New), |stored| {
        from_stored(db, session, &stored)
    })
}

/// Returns the phase of a session from its column. One that is not known is read from the events.
pub(super) fn from_stored(
    db: &Connection,
    session: &str,
    stored: &str,
) -> Result<SessionPhase, rusqlite::Error> {
    SessionPhase::from_stored(stored).map_or_else(|| from_events(db, session), Ok)
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

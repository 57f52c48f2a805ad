//! Databases of earlier formats, brought into the present one. Each step is one transaction: a crash in it leaves the file in
//! the format that it had, so no copy of it is needed. Events keep the bytes that they have; what is damaged stays so, and is
//! named when its session is read.

use crate::{
    chain::Link,
    database::{BLOB_REFERENCES, EVENTS, FORMAT_VERSION},
};
use agent_host_types::id::SessionId;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

/// How a digest begins where an event refers to a blob: in a file part, or in the note in a shortened text.
const DIGEST_PREFIX: &[u8] = b"sha256:";
/// How long a digest is as text.
const DIGEST_LENGTH: usize = 7 + 64;

/// From format 1: each event gets its digest, and each blob the sessions that refer to it.
///
/// A program of format 1 that has the file open meanwhile can still read it; what it writes is refused, since it knows no
/// digests.
pub(crate) fn from_1(db: &mut Connection) -> Result<(), rusqlite::Error> {
    // Events without a session are damage that nobody can reach. They must not keep all others from being read.
    db.pragma_update(None, "foreign_keys", false)?;
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch("ALTER TABLE events RENAME TO events_1")?;
    tx.execute_batch(EVENTS)?;
    tx.execute_batch(BLOB_REFERENCES)?;
    for session in sessions(&tx)? {
        chain(&tx, &session)?;
    }
    tx.execute_batch("DROP TABLE events_1")?;
    tx.execute("UPDATE meta SET format_version = ?1", [FORMAT_VERSION])?;
    tx.commit()?;
    db.pragma_update(None, "foreign_keys", true)
}

fn sessions(tx: &Transaction<'_>) -> Result<Vec<String>, rusqlite::Error> {
    // In the order in which they were last written to, which the new table then has.
    let mut query =
        tx.prepare("SELECT session FROM events_1 GROUP BY session ORDER BY max(rowid)")?;
    let rows = query.query_map([], |row| row.get(0))?;
    rows.collect()
}

/// Copies the events of a session with their digests.
fn chain(tx: &Transaction<'_>, session: &str) -> Result<(), rusqlite::Error> {
    // An id that is none is damage, and its events are found by nobody; any beginning of their chain will do.
    let mut link = Link::before_first(session.parse().unwrap_or_else(|_| SessionId::new()));
    let mut copy = tx.prepare_cached(
        "INSERT INTO events SELECT session, seq, at_ms, v, kind, json, ?3 FROM events_1 WHERE session = ?1 AND seq = ?2",
    )?;
    let mut refer = tx.prepare_cached(
        "INSERT INTO blob_references SELECT ?1, digest FROM blobs WHERE digest = ?2 ON CONFLICT DO NOTHING",
    )?;
    let mut query = tx.prepare_cached(
        "SELECT seq, at_ms, v, kind, json FROM events_1 WHERE session = ?1 ORDER BY seq",
    )?;
    let mut rows = query.query([session])?;
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        let (kind, json) = (row.get_ref(3)?.as_bytes()?, row.get_ref(4)?.as_bytes()?);
        link = link.next(seq, row.get(1)?, row.get(2)?, kind, json);
        copy.execute(params![session, seq, link.0])?;
        for digest in digests(json) {
            refer.execute(params![session, digest])?;
        }
    }
    Ok(())
}

/// What looks like a digest in an event. Those that name no blob are passed over where this is used.
fn digests(json: &[u8]) -> impl Iterator<Item = &str> {
    json.windows(DIGEST_LENGTH)
        .filter(|window| window.starts_with(DIGEST_PREFIX))
        .filter_map(|window| str::from_utf8(window).ok())
}

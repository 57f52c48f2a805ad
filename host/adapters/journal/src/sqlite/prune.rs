//! Retention: removes the oldest sessions by age and by the size of the database.
//!
//! A session is removed as a whole, with those of its agents. One that is claimed stays, and so
//! does one that awaits a decision, an answer or a result: those are removed by their id alone.

use super::{
    database::Database,
    lock::{SessionLock, remove_unmarked},
    phase,
    read::{PARENT, descendants, parsed, positive},
    session::SessionWriter,
};
use crate::{
    error::{Location, StoreError},
    signature::RowKey,
    store::{KeepReason, Pruned, Retention},
};
use agent_host_engine::{journal::JournalError, session::now_ms};
use agent_host_types::id::SessionId;
use rusqlite::{Connection, TransactionBehavior};
use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// How long the writer is idle before it prunes for the first time.
const FIRST_AFTER: Duration = Duration::from_millis(200);

/// How often a pass starts, however little was written.
const PASS_EVERY: Duration = Duration::from_secs(60 * 60);

/// A pass also starts whenever this part of the bound on the size was written.
const PASSES_PER_BOUND: u64 = 16;

/// The most bytes that are written between two passes.
const MAX_BYTES_PER_PASS: u64 = 16 * 1024 * 1024;

/// The number of free pages that one step returns to the disk.
const PAGES_PER_STEP: u32 = 1024;

/// The size of a page, in bytes. As many free pages stay in the file as are written until the next
/// pass.
const PAGE_BYTES: u64 = 4096;

/// A session that may be removed.
struct Candidate {
    session: SessionId,
    last_ms: u64,
    is_awaiting: bool,
}

/// One pass over the sessions, the oldest first.
struct Pass {
    retention: Retention,
    now_ms: u64,
    left: VecDeque<Candidate>,
    rows_key: RowKey,
}

/// The result of one step of a pass.
enum PruneStep {
    Removed(SessionId),
    Kept(SessionId, KeepReason),
    /// No session is left to remove.
    Done,
}

/// The progress of a [`Pruner`].
enum PruneProgress {
    /// It checked a session, and more may have to be removed.
    Removing,
    /// No session is left to remove, and free pages are left to return to the disk.
    Returning,
    /// Nothing is left to do until the next pass.
    Ended,
}

impl Pass {
    fn start(
        db: &Connection,
        retention: Retention,
        now_ms: u64,
        rows_key: &RowKey,
    ) -> Result<Self, rusqlite::Error> {
        let mut left = VecDeque::new();
        let is_too_large = is_too_large(db, retention)?;
        let oldest_ms = retention.oldest_ms(now_ms);
        if is_too_large || oldest_ms.is_some() {
            left = candidates(db, oldest_ms.filter(|_| !is_too_large))?;
        }
        Ok(Self {
            retention,
            now_ms,
            left,
            rows_key: rows_key.clone(),
        })
    }

    /// Checks the next session that exceeds the retention, and removes it unless it is in use or
    /// awaits something.
    fn step(
        &mut self,
        db: &mut Connection,
        location: &Location,
        locks: &Path,
    ) -> Result<PruneStep, JournalError> {
        let failed = StoreError::sqlite(location, "prune the journal");
        let is_too_large = is_too_large(db, self.retention).map_err(failed)?;
        let oldest_ms = self.retention.oldest_ms(self.now_ms);
        let next = self.left.iter().position(|candidate| {
            is_too_large || oldest_ms.is_some_and(|oldest| candidate.last_ms <= oldest)
        });
        let Some(candidate) = next.and_then(|index| {
            self.left.drain(..index);
            self.left.pop_front()
        }) else {
            return Ok(PruneStep::Done);
        };
        let session = candidate.session;
        if candidate.is_awaiting {
            return Ok(PruneStep::Kept(session, KeepReason::Awaiting));
        }
        let lock = match SessionLock::take(locks, session) {
            Ok(lock) => lock,
            Err(JournalError::Locked { .. }) => {
                return Ok(PruneStep::Kept(session, KeepReason::InUse));
            }
            Err(error) => return Err(error),
        };
        let of_agents = descendants(db, session, &self.rows_key).map_err(failed)?;
        let mut taken = vec![(session, lock)];
        for of_agent in of_agents {
            match SessionLock::take(locks, of_agent) {
                Ok(lock) => taken.push((of_agent, lock)),
                Err(JournalError::Locked { .. }) => {
                    return Ok(PruneStep::Kept(session, KeepReason::InUse));
                }
                Err(error) => return Err(error),
            }
        }
        let tx = db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        for (session, _) in &taken {
            SessionWriter::new(&tx, location, *session).prune()?;
        }
        tx.commit().map_err(failed)?;
        taken.into_iter().for_each(|(_, lock)| lock.remove());
        Ok(PruneStep::Removed(session))
    }
}

/// Prunes for the writer, a step at a time, so that a write waits for one step at most.
pub(crate) struct Pruner {
    retention: Retention,
    locks: PathBuf,
    rows_key: RowKey,
    pass: Option<Pass>,
    next_pass: Instant,
    written_bytes: u64,
}

impl Pruner {
    /// Makes a pruner, unless the retention keeps all.
    pub(crate) fn new(retention: Retention, locks: PathBuf, rows_key: RowKey) -> Option<Self> {
        (retention != Retention::default()).then(|| Self {
            retention,
            locks,
            rows_key,
            pass: None,
            next_pass: Instant::now() + FIRST_AFTER,
            written_bytes: 0,
        })
    }

    /// How long the writer may wait for work before the next step.
    pub(crate) fn wait(&self) -> Duration {
        match self.pass {
            Some(_) => Duration::ZERO,
            None => self.next_pass.saturating_duration_since(Instant::now()),
        }
    }

    /// Does the next step, if one is due; `written` bytes were stored since the last. Sessions are
    /// removed until twice as much is free, since one step for each batch would never catch up with
    /// a writer without pauses.
    pub(crate) fn step(&mut self, db: &mut Connection, location: &Location, written: u64) {
        self.written_bytes += written;
        let is_due = self.written_bytes >= self.pass_bytes() || self.wait().is_zero();
        if !is_due {
            return;
        }
        let used = used_bytes(db).unwrap_or_default();
        let aim = used.saturating_sub(written.saturating_mul(2));
        loop {
            match self.try_step(db, location) {
                Ok(PruneProgress::Removing) if used_bytes(db).is_ok_and(|used| used > aim) => {}
                Ok(PruneProgress::Removing | PruneProgress::Returning) => return,
                // What fails now (a full disk, a locked database) is tried again in the next pass.
                Ok(PruneProgress::Ended) | Err(_) => {
                    self.pass = None;
                    self.next_pass = Instant::now() + PASS_EVERY;
                    return;
                }
            }
        }
    }

    fn try_step(
        &mut self,
        db: &mut Connection,
        location: &Location,
    ) -> Result<PruneProgress, JournalError> {
        let failed = StoreError::sqlite(location, "prune the journal");
        let pass = match &mut self.pass {
            Some(pass) => pass,
            None => {
                self.written_bytes = 0;
                let locks = self.locks.clone();
                // It opens the file of each session, for which no write is to wait.
                let _ = thread::Builder::new().spawn(move || remove_unmarked(&locks));
                let pass =
                    Pass::start(db, self.retention, now_ms(), &self.rows_key).map_err(failed)?;
                self.pass.insert(pass)
            }
        };
        let step = pass.step(db, location, &self.locks)?;
        if !matches!(step, PruneStep::Done) {
            return Ok(PruneProgress::Removing);
        }
        let spare = self.pass_bytes() / PAGE_BYTES;
        let has_more = return_pages(db, PAGES_PER_STEP, spare).map_err(failed)?;
        Ok(if has_more {
            PruneProgress::Returning
        } else {
            PruneProgress::Ended
        })
    }

    fn pass_bytes(&self) -> u64 {
        let part = self.retention.bytes.map(|bytes| bytes / PASSES_PER_BOUND);
        part.unwrap_or(MAX_BYTES_PER_PASS).min(MAX_BYTES_PER_PASS)
    }
}

impl Database {
    pub(crate) fn prune(&self, retention: Retention) -> Result<Pruned, JournalError> {
        let failed = StoreError::sqlite(self.location(), "prune the journal");
        remove_unmarked(self.locks());
        let mut db = self.connect_writer()?;
        let mut pass = Pass::start(&db, retention, now_ms(), self.rows_key()).map_err(failed)?;
        let mut pruned = Pruned::default();
        loop {
            match pass.step(&mut db, self.location(), self.locks())? {
                PruneStep::Removed(session) => pruned.removed.push(session),
                PruneStep::Kept(session, why) => pruned.kept.push((session, why)),
                PruneStep::Done => break,
            }
        }
        return_all_pages(&db).map_err(failed)?;
        Ok(pruned)
    }
}

/// Returns the sessions whose last event is as old as this, or else all, the one that was written to
/// longest ago first.
fn candidates(
    db: &Connection,
    oldest_ms: Option<u64>,
) -> Result<VecDeque<Candidate>, rusqlite::Error> {
    let query = format!(
        "SELECT id, last_ms, phase FROM sessions
         WHERE (?1 IS NULL OR last_ms <= ?1) AND {PARENT} IS NULL ORDER BY last_write"
    );
    let mut query = db.prepare_cached(&query)?;
    let oldest_ms = oldest_ms.map(|oldest| i64::try_from(oldest).unwrap_or(i64::MAX));
    let rows = query.query_map([oldest_ms], |row| {
        let session: SessionId = parsed(row)?;
        let stored: String = row.get(2)?;
        let phase = phase::from_stored(db, &session.to_string(), &stored)?;
        Ok(Candidate {
            session,
            last_ms: positive(row, 1)?,
            is_awaiting: phase.is_waiting(),
        })
    })?;
    rows.collect()
}

/// True if the database is larger than the retention allows.
fn is_too_large(db: &Connection, retention: Retention) -> Result<bool, rusqlite::Error> {
    match retention.bytes {
        Some(most) => Ok(used_bytes(db)? > most),
        None => Ok(false),
    }
}

/// Returns the size of the pages in use, in bytes.
fn used_bytes(db: &Connection) -> Result<u64, rusqlite::Error> {
    let number = |name| db.pragma_query_value(None, name, |row| positive(row, 0));
    let pages = number("page_count")?.saturating_sub(number("freelist_count")?);
    Ok(pages.saturating_mul(number("page_size")?))
}

/// Returns some free pages to the disk, but for `spare` ones. True if there are more.
fn return_pages(db: &Connection, pages: u32, spare: u64) -> Result<bool, rusqlite::Error> {
    let free = || db.pragma_query_value(None, "freelist_count", |row| positive(row, 0));
    let before = free()?;
    if before <= spare {
        return Ok(false);
    }
    db.execute_batch(&format!("PRAGMA incremental_vacuum({pages})"))?;
    Ok(free()? < before)
}

/// Returns all free pages to the disk.
fn return_all_pages(db: &Connection) -> Result<(), rusqlite::Error> {
    while return_pages(db, PAGES_PER_STEP, 0)? {}
    // The file gets shorter when the log is copied into it. While another process reads, that is
    // done later.
    db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

//! Removes the oldest sessions where more is stored than is to be kept: by age, and by the size of the database.
//!
//! A session goes as a whole. One that a process writes to stays, and so does one that waits for a decision, an answer or a
//! result: who wants to be rid of those names them.

use crate::{Store, fault::explain, lock::SessionLock, whole::Whole};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;
use rusqlite::{Connection, TransactionBehavior};
use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// How long the writer has to be without work before it prunes for the first time.
const FIRST_AFTER: Duration = Duration::from_millis(200);

/// How often it looks whether there is something to prune, however little was written.
const LOOK_EVERY: Duration = Duration::from_secs(60 * 60);

/// It also looks whenever this part of the bound on the size was written.
const LOOKS_PER_BOUND: u64 = 16;

/// The most bytes that are written without a look.
const MAX_UNLOOKED_BYTES: u64 = 16 * 1024 * 1024;

/// How many free pages are returned to the disk in one step.
const PAGES_PER_STEP: u32 = 1024;

/// How much of what is written until the next look fits into one page, in bytes: as many free pages stay in the file.
const PAGE_BYTES: u64 = 4096;

/// The bounds within which unused sessions are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Those that were written to within this time; absent for all.
    pub age: Option<Duration>,
    /// As many of the newest as fit into this size of the database, in bytes; absent for all.
    pub bytes: Option<u64>,
}

/// The result of pruning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The sessions that were removed, the oldest first.
    pub removed: Vec<SessionId>,
    /// Those that would have been and stay, with the reason.
    pub kept: Vec<(SessionId, KeptBecause)>,
}

/// Why a session stays that is too old, or for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptBecause {
    /// A process writes to it.
    InUse,
    /// It waits for a decision, an answer, or the result of a call that runs elsewhere.
    Waits,
}

/// A session that may have to go.
struct Candidate {
    session: SessionId,
    last_ms: u64,
    waits: bool,
}

/// One walk over the sessions, the oldest first.
struct Walk {
    keep: Keep,
    now_ms: u64,
    left: VecDeque<Candidate>,
}

/// What one step of a walk came to.
enum Step {
    Removed(SessionId),
    Kept(SessionId, KeptBecause),
    /// Nothing more has to go.
    Done,
}

/// How far a [`Pruner`] is.
enum Progress {
    /// It looked at a session, and there may be more that have to go.
    Walking,
    /// No more sessions have to go, and free pages are left to return to the disk.
    Returning,
    /// Nothing is left to do until the next look.
    Ended,
}

impl Walk {
    fn begin(db: &Connection, keep: Keep, now_ms: u64) -> Result<Self, rusqlite::Error> {
        let mut left = VecDeque::new();
        if keep.age.is_some() || is_too_large(db, keep)? {
            left = candidates(db)?;
        }
        Ok(Self { keep, now_ms, left })
    }

    /// Looks at the next session, and removes it if it has to go and is not in use.
    fn step(
        &mut self,
        db: &mut Connection,
        file: &Path,
        locks: &Path,
    ) -> Result<Step, JournalError> {
        let fault = |error: rusqlite::Error| explain(file, "prune the journal", &error);
        let is_too_large = is_too_large(db, self.keep).map_err(fault)?;
        let oldest_ms = self.keep.age.map_or(0, |age| {
            let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            self.now_ms.saturating_sub(age)
        });
        let next = self.left.iter().position(|candidate| {
            is_too_large || self.keep.age.is_some() && candidate.last_ms <= oldest_ms
        });
        let Some(candidate) = next.and_then(|place| {
            self.left.drain(..place);
            self.left.pop_front()
        }) else {
            return Ok(Step::Done);
        };
        let session = candidate.session;
        if candidate.waits {
            return Ok(Step::Kept(session, KeptBecause::Waits));
        }
        let lock = match SessionLock::take(locks, session) {
            Ok(lock) => lock,
            Err(JournalError::Locked(_)) => return Ok(Step::Kept(session, KeptBecause::InUse)),
            Err(error) => return Err(error),
        };
        let tx = db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(fault)?;
        Whole::new(&tx, file, session).remove()?;
        tx.commit().map_err(fault)?;
        lock.remove();
        Ok(Step::Removed(session))
    }
}

/// Prunes for the writer, a step at a time, so that what is to be written never waits for more than one.
pub(crate) struct Pruner {
    keep: Keep,
    locks: PathBuf,
    walk: Option<Walk>,
    next_look: Instant,
    unlooked_bytes: u64,
}

impl Pruner {
    /// Prunes what is not to be kept, with the session locks in this directory.
    pub(crate) fn new(keep: Keep, locks: PathBuf) -> Option<Self> {
        (keep != Keep::default()).then(|| Self {
            keep,
            locks,
            walk: None,
            next_look: Instant::now() + FIRST_AFTER,
            unlooked_bytes: 0,
        })
    }

    /// How long the writer may wait for work before the next step.
    pub(crate) fn wait(&self) -> Duration {
        match self.walk {
            Some(_) => Duration::ZERO,
            None => self.next_look.saturating_duration_since(Instant::now()),
        }
    }

    /// Does the next step, if there is one; `written` bytes were stored since the last. Where sessions have to go, they go until
    /// twice as much was removed, since one step for each batch would never catch up with a writer without pauses.
    pub(crate) fn step(&mut self, db: &mut Connection, file: &Path, written: u64) {
        self.unlooked_bytes += written;
        let is_due = self.unlooked_bytes >= self.look_bytes() || self.wait().is_zero();
        if !is_due {
            return;
        }
        let used = used_bytes(db).unwrap_or_default();
        let aim = used.saturating_sub(written.saturating_mul(2));
        loop {
            match self.try_step(db, file) {
                Ok(Progress::Walking) if used_bytes(db).is_ok_and(|used| used > aim) => {}
                Ok(Progress::Walking | Progress::Returning) => return,
                // What fails now (a full disk, a locked database) is tried again at the next look.
                Ok(Progress::Ended) | Err(_) => {
                    self.walk = None;
                    self.next_look = Instant::now() + LOOK_EVERY;
                    return;
                }
            }
        }
    }

    fn try_step(&mut self, db: &mut Connection, file: &Path) -> Result<Progress, JournalError> {
        let fault = |error: rusqlite::Error| explain(file, "prune the journal", &error);
        let walk = match &mut self.walk {
            Some(walk) => walk,
            None => {
                self.unlooked_bytes = 0;
                let walk = Walk::begin(db, self.keep, now_ms()).map_err(fault)?;
                self.walk.insert(walk)
            }
        };
        let step = walk.step(db, file, &self.locks)?;
        if !matches!(step, Step::Done) {
            return Ok(Progress::Walking);
        }
        let spare = self.look_bytes() / PAGE_BYTES;
        let has_more = return_pages(db, PAGES_PER_STEP, spare).map_err(fault)?;
        Ok(if has_more {
            Progress::Returning
        } else {
            Progress::Ended
        })
    }

    fn look_bytes(&self) -> u64 {
        let part = self.keep.bytes.map(|bytes| bytes / LOOKS_PER_BOUND);
        part.unwrap_or(MAX_UNLOOKED_BYTES).min(MAX_UNLOOKED_BYTES)
    }
}

impl Store {
    /// Removes the oldest sessions that are not to be kept, and returns the room to the disk. A database of an earlier version
    /// is rebuilt for that, which takes as much room once more for a moment.
    ///
    /// # Errors
    /// [`JournalError::Storage`] or [`JournalError::Corrupt`]; sessions that were removed before that stay removed.
    pub fn prune(&self, keep: Keep) -> Result<Pruned, JournalError> {
        let file = &self.file();
        let fault = |error: rusqlite::Error| explain(file, "prune the journal", &error);
        let mut db = self.connect_writer()?;
        let mut walk = Walk::begin(&db, keep, now_ms()).map_err(fault)?;
        let mut pruned = Pruned::default();
        loop {
            match walk.step(&mut db, file, self.locks())? {
                Step::Removed(session) => pruned.removed.push(session),
                Step::Kept(session, why) => pruned.kept.push((session, why)),
                Step::Done => break,
            }
        }
        compact(&db).map_err(fault)?;
        Ok(pruned)
    }
}

/// The sessions, the one that was written to longest ago first.
fn candidates(db: &Connection) -> Result<VecDeque<Candidate>, rusqlite::Error> {
    let mut query = db.prepare_cached(&format!(
        "SELECT id, last_ms,
             outcome IN ('awaiting-confirmation', 'awaiting-answer', 'pending-tool-calls')
         FROM sessions ORDER BY {} ASC",
        crate::read::LAST_WRITTEN
    ))?;
    let rows = query.query_map([], |row| {
        Ok(Candidate {
            session: crate::read::parsed(row)?,
            last_ms: crate::read::positive(row, 1)?,
            waits: row.get::<_, Option<bool>>(2)?.unwrap_or_default(),
        })
    })?;
    rows.collect()
}

/// Whether what is stored takes more room than is to be kept.
fn is_too_large(db: &Connection, keep: Keep) -> Result<bool, rusqlite::Error> {
    match keep.bytes {
        Some(most) => Ok(used_bytes(db)? > most),
        None => Ok(false),
    }
}

/// How many bytes of the database are in use.
fn used_bytes(db: &Connection) -> Result<u64, rusqlite::Error> {
    let number = |name| db.pragma_query_value(None, name, |row| crate::read::positive(row, 0));
    let pages = number("page_count")?.saturating_sub(number("freelist_count")?);
    Ok(pages.saturating_mul(number("page_size")?))
}

/// Returns some free pages to the disk, and whether there are more. In a database of an earlier version none can be.
fn return_pages(db: &Connection, pages: u32, spare: u64) -> Result<bool, rusqlite::Error> {
    let free =
        || db.pragma_query_value(None, "freelist_count", |row| crate::read::positive(row, 0));
    let before = free()?;
    if before <= spare {
        return Ok(false);
    }
    db.execute_batch(&format!("PRAGMA incremental_vacuum({pages})"))?;
    Ok(free()? < before)
}

/// Returns all free pages to the disk.
fn compact(db: &Connection) -> Result<(), rusqlite::Error> {
    let incremental = 2;
    let mode: i64 = db.pragma_query_value(None, "auto_vacuum", |row| row.get(0))?;
    if mode == incremental {
        while return_pages(db, PAGES_PER_STEP, 0)? {}
    } else {
        db.pragma_update(None, "auto_vacuum", "incremental")?;
        db.execute_batch("VACUUM")?;
    }
    // The file gets shorter when the log is copied into it. Where somebody still reads, that is done later.
    db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

//! The thread that writes. It owns the write connection, and commits all batches that arrived while
//! it was busy in one transaction (group commit): a commit waits for the disk, so sessions share
//! each wait. Each batch is answered once, after its transaction has ended.

use super::{
    journal::ClaimedQueue, lock::Mark, owners, phase, prune::Pruner, state_dir::FileId, stats,
};
use crate::{
    chain::ChainLink,
    error::{Location, StoreError},
    queue::WriteFailure,
    row::{EventRow, ListingUpdate, phase_after},
    signature::{RowKey, SessionEnd},
};
use agent_host_types::{id::SessionId, output::Blob, session_status::SessionPhase};
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
};

/// The most batches in one transaction, so that the first does not wait for an endless stream of
/// later ones.
const MAX_GROUP: usize = 256;

/// Events and blobs of one session that become durable together.
pub(crate) struct Batch {
    pub(crate) session: SessionId,
    pub(crate) rows: Vec<Arc<EventRow>>,
    pub(crate) blobs: Vec<Arc<Blob>>,
    /// The attempt of the queue to which it belongs.
    pub(crate) attempt: u64,
    /// Receives the result before the waiter does.
    pub(crate) queue: Arc<ClaimedQueue>,
    pub(crate) waiter: Waiter,
}

/// The caller that waits for a batch.
pub(crate) enum Waiter {
    /// A barrier.
    Barrier(tokio::sync::oneshot::Sender<Result<(), WriteFailure>>),
    /// A journal that is being dropped.
    Drop(Sender<()>),
    /// None: the queue exceeded its bound before a barrier. A failure stays in the queue.
    None,
}

/// The state of the thread.
pub(crate) struct Writer {
    pub(crate) db: Connection,
    pub(crate) location: Location,
    /// The files of the database, as they were when it was opened.
    pub(crate) files: Vec<(PathBuf, FileId)>,
    /// Removes sessions that exceed the retention, if one is configured.
    pub(crate) pruner: Option<Pruner>,
    /// The number of transactions that were committed.
    pub(crate) commits: Arc<AtomicU64>,
    /// Signs the rows of sessions.
    pub(crate) rows_key: RowKey,
}

impl Writer {
    /// Writes until all senders are dropped, and prunes while there is nothing to write.
    pub(crate) fn run(mut self, batches: &Receiver<Batch>) {
        loop {
            let received = match &self.pruner {
                Some(pruner) => batches.recv_timeout(pruner.wait()),
                None => batches.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let written = match received {
                Ok(first) => {
                    let mut group = vec![first];
                    group.extend(batches.try_iter().take(MAX_GROUP - 1));
                    let bytes = group.iter().map(Batch::bytes).sum();
                    self.commit_group(group);
                    bytes
                }
                Err(RecvTimeoutError::Timeout) => 0,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Some(pruner) = &mut self.pruner {
                pruner.step(&mut self.db, &self.location, written);
            }
        }
    }

    fn commit_group(&mut self, group: Vec<Batch>) {
        // A batch behind a failed one of its session must not be written: it would leave a gap.
        let (failed, group): (Vec<_>, Vec<_>) = group
            .into_iter()
            .partition(|batch| !batch.queue.accepts(batch.attempt));
        for batch in failed {
            // The queue answers with its own failure.
            answer(batch, Ok(None));
        }
        match self.commit(&group) {
            Ok(marks) => {
                for (batch, mark) in group.into_iter().zip(marks) {
                    answer(batch, Ok(mark));
                }
            }
            // One bad batch must not stop the other sessions: each gets its own transaction.
            Err(_) if group.len() > 1 => {
                for batch in group {
                    self.commit_group(vec![batch]);
                }
            }
            Err(error) => {
                for batch in group {
                    answer(batch, Err(error.clone()));
                }
            }
        }
    }

    /// Commits all batches or none, and returns the mark of each session.
    fn commit(&mut self, group: &[Batch]) -> Result<Vec<Option<Mark>>, WriteFailure> {
        if group
            .iter()
            .all(|batch| batch.rows.is_empty() && batch.blobs.is_empty())
        {
            return Ok(vec![None; group.len()]);
        }
        self.check_files()?;
        let failed = StoreError::sqlite(&self.location, "write the journal");
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let marks = group
            .iter()
            .map(|batch| {
                let to = SessionTarget {
                    tx: &tx,
                    location: &self.location,
                    key: &self.rows_key,
                    session: batch.session,
                    is_whole: false,
                };
                to.write(&batch.rows, &batch.blobs)
            })
            .collect::<Result<_, _>>()?;
        tx.commit().map_err(failed)?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(marks)
    }

    /// Refuses to write to files that can no longer be found by their path: the kernel would keep
    /// them until this process ends, and then nothing would be left.
    fn check_files(&self) -> Result<(), WriteFailure> {
        let mut files = self.files.iter();
        let gone =
            files.find(|(path, opened)| !FileId::at(path).is_ok_and(|found| found == *opened));
        match gone {
            None => Ok(()),
            Some((path, _)) => {
                let path = path.clone();
                Err(StoreError::FileReplaced(path).into())
            }
        }
    }
}

impl Batch {
    fn bytes(&self) -> u64 {
        let rows: usize = self.rows.iter().map(|row| row.json.len()).sum();
        let blobs: usize = self.blobs.iter().map(|blob| blob.bytes.len()).sum();
        (rows + blobs) as u64
    }
}

/// The session to which a transaction writes.
#[derive(Clone, Copy)]
pub(crate) struct SessionTarget<'a> {
    pub(crate) tx: &'a Transaction<'a>,
    pub(crate) location: &'a Location,
    pub(crate) key: &'a RowKey,
    pub(crate) session: SessionId,
    /// Whether the session is written as a whole, in this transaction.
    pub(crate) is_whole: bool,
}

impl SessionTarget<'_> {
    /// Stores the next events of the session with their blobs. Returns its mark, unless there are
    /// no events.
    pub(crate) fn write(
        self,
        rows: &[Arc<EventRow>],
        blobs: &[Arc<Blob>],
    ) -> Result<Option<Mark>, StoreError> {
        let failed = StoreError::sqlite(self.location, "write the journal");
        let mut mark = None;
        if let (Some(first), Some(last)) = (rows.first(), rows.last()) {
            mark = self.write_rows(rows, first, last).map_err(failed)?;
            if mark.is_none() {
                let (session, location) = (self.session, self.location.clone());
                return Err(StoreError::OutOfOrder { session, location });
            }
        }
        write_blobs(self.tx, self.session, blobs).map_err(failed)?;
        Ok(mark)
    }

    /// Stores the next events of the session and updates its row. Returns its mark, unless they are
    /// not the next ones.
    fn write_rows(
        self,
        rows: &[Arc<EventRow>],
        first: &EventRow,
        last: &EventRow,
    ) -> Result<Option<Mark>, rusqlite::Error> {
        let (tx, id) = (self.tx, self.session.to_string());
        let Some(before) = self.link_before(&id, first.seq)? else {
            return Ok(None);
        };
        let mut link = before;
        let digests = rows.iter().map(|row| {
            let numbers = [row.seq, row.at_ms, row.v];
            link = link.next(numbers, row.kind.as_bytes(), row.json.as_bytes());
            link
        });
        let digests: Vec<ChainLink> = digests.collect();
        let end = SessionEnd {
            id: &id,
            events: last.seq + 1,
            digest: &link.0,
        };
        let signature = self.key.sign_session(end);
        if !update_session(tx, self.key, &id, rows, first, last, &signature)? {
            return Ok(None);
        }
        let mut insert = tx.prepare_cached(
            "INSERT INTO events (session, seq, at_ms, v, kind, json, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for (row, link) in rows.iter().zip(digests) {
            insert.execute(params![
                id, row.seq, row.at_ms, row.v, row.kind, row.json, link.0
            ])?;
        }
        stats::count(tx, &id, rows, self.is_whole)?;
        Ok(Some(Mark {
            events: u64::try_from(last.seq + 1).unwrap_or_default(),
            digest: link.0,
        }))
    }

    /// Returns the digest before event `seq`, unless the event before it is missing, or is not the
    /// one that a host of this store wrote: its successors must not be signed.
    fn link_before(self, id: &str, seq: i64) -> Result<Option<ChainLink>, rusqlite::Error> {
        if seq == 0 {
            return Ok(Some(ChainLink::start(self.session)));
        }
        let mut query = self.tx.prepare_cached(
            "SELECT events.digest, sessions.signature FROM events
             JOIN sessions ON sessions.id = events.session
             WHERE events.session = ?1 AND seq = ?2 - 1",
        )?;
        let found = query.query_row(params![id, seq], |row| {
            Ok((
                row.get::<_, [u8; 32]>(0)?,
                row.get::<_, Option<Vec<u8>>>(1)?,
            ))
        });
        let Some((digest, signature)) = found.optional()? else {
            return Ok(None);
        };
        let end = SessionEnd {
            id,
            events: seq,
            digest: &digest,
        };
        let is_signed = self.key.is_session(end, signature.as_deref());
        Ok(is_signed.then_some(ChainLink(digest)))
    }
}

/// Stores blobs that are not stored yet, and that the session refers to them.
fn write_blobs(
    tx: &Transaction<'_>,
    session: SessionId,
    blobs: &[Arc<Blob>],
) -> Result<(), rusqlite::Error> {
    let id = session.to_string();
    let mut insert = tx.prepare_cached(
        "INSERT INTO blobs (digest, bytes) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING",
    )?;
    let mut refer = tx.prepare_cached(
        "INSERT INTO blob_references (session, digest) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    )?;
    for blob in blobs {
        let digest = blob.digest.to_string();
        insert.execute(params![digest, blob.bytes])?;
        refer.execute(params![id, digest])?;
    }
    Ok(())
}

/// Updates the session's row for these events. Returns false if they are not the next ones, without
/// a gap.
fn update_session(
    tx: &Transaction<'_>,
    key: &RowKey,
    id: &str,
    rows: &[Arc<EventRow>],
    first: &EventRow,
    last: &EventRow,
    signature: &[u8],
) -> Result<bool, rusqlite::Error> {
    if !(first.seq..).zip(rows).all(|(seq, row)| row.seq == seq) {
        return Ok(false);
    }
    let ListingUpdate {
        title,
        directory,
        outcome,
        model,
        cost_micros,
        parent,
        ..
    } = ListingUpdate::of_rows(rows);
    let cost = cost_micros.map(|cost| i64::try_from(cost).unwrap_or(i64::MAX));
    let events = last.seq + 1;
    if first.seq == 0 {
        let phase = phase_after(SessionPhase::New, rows).as_str();
        let ownership = owners::of_new(tx, key, rows)?;
        let project = ownership.as_ref().map(|ownership| &ownership.project);
        let parent = parent.map(|parent| parent.to_string());
        let mut insert = tx.prepare_cached(
            "INSERT INTO sessions (id, started_ms, last_ms, events, title, directory, outcome, signature,
                 phase, parent, model, cost_micros, last_write, project)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
                 coalesce((SELECT max(last_write) FROM sessions), 0) + 1, ?13)
             ON CONFLICT (id) DO NOTHING",
        )?;
        let line = params![
            id,
            first.at_ms,
            last.at_ms,
            events,
            title,
            directory,
            outcome,
            signature,
            phase,
            parent,
            model,
            cost,
            project
        ];
        if insert.execute(line)? != 1 {
            return Ok(false);
        }
        owners::write_owner(tx, key, id, ownership.as_ref())?;
        return Ok(true);
    }
    let phase = phase_after(phase::read(tx, id)?, rows).as_str();
    let mut update = tx.prepare_cached(
        "UPDATE sessions SET events = ?3, last_ms = ?4, title = coalesce(title, ?5),
             directory = coalesce(directory, ?6), outcome = coalesce(?7, outcome), signature = ?8,
             phase = ?9, model = iif(?7 IS NULL, model, ?10),
             cost_micros = iif(?7 IS NULL, cost_micros, ?11)
         WHERE id = ?1 AND events = ?2",
    )?;
    let line = params![
        id, first.seq, events, last.at_ms, title, directory, outcome, signature, phase, model, cost
    ];
    if update.execute(line)? != 1 {
        return Ok(false);
    }
    set_last_written(tx, id)?;
    Ok(true)
}

/// Puts a session before the others in lists. One that is there leaves the index as it is: to write
/// a page of it would be a good part of a small commit.
fn set_last_written(tx: &Transaction<'_>, id: &str) -> Result<(), rusqlite::Error> {
    let mut set = tx.prepare_cached(
        "UPDATE sessions SET last_write = (SELECT max(last_write) FROM sessions) + 1
         WHERE id = ?1 AND last_write < (SELECT max(last_write) FROM sessions)",
    )?;
    set.execute([id]).map(drop)
}

/// Answers a batch: the queue first, then the waiter. The batch's reference to the queue, and with
/// it to the session's lock, is dropped in between, so that a session can be opened again as soon
/// as its journal is dropped.
fn answer(batch: Batch, result: Result<Option<Mark>, WriteFailure>) {
    let result = batch.queue.complete(&batch, result);
    let Batch { queue, waiter, .. } = batch;
    drop(queue);
    // The waiter may have been dropped.
    match waiter {
        Waiter::Barrier(waiter) => drop(waiter.send(result)),
        Waiter::Drop(waiter) => drop(waiter.send(())),
        Waiter::None => {}
    }
}

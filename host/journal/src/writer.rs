//! The one thread that writes. It owns the write connection, and commits what has arrived while it was busy as one
//! transaction (group commit): a full commit waits for the disk, so many sessions share each wait.
//!
//! It never drops a batch silently: each is answered once, after its transaction has ended.

use crate::{
    chain::Link,
    fault::explain,
    folder::FileId,
    journal::{Fault, Queue},
    lock::Mark,
    prune::Pruner,
    row::Row,
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{id::SessionId, output::Blob};
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
};

/// The most batches in one transaction, so that the first of them does not wait for an endless stream of later ones.
const MAX_GROUP: usize = 256;

/// What one session wants to be durable.
pub(crate) struct Batch {
    pub(crate) session: SessionId,
    pub(crate) rows: Vec<Arc<Row>>,
    pub(crate) blobs: Vec<Arc<Blob>>,
    /// Which attempt of the queue to be written it belongs to.
    pub(crate) attempt: u64,
    /// Told what became of the batch, before whoever waits is.
    pub(crate) queue: Arc<Queue>,
    pub(crate) waiter: Waiter,
}

/// Who waits for a batch.
pub(crate) enum Waiter {
    /// A barrier.
    Barrier(tokio::sync::oneshot::Sender<Result<(), Fault>>),
    /// A journal that is being dropped.
    Drop(Sender<()>),
    /// Nobody: the queue grew too long before a barrier came. A failure stays in the queue.
    Nobody,
}

/// The state of the thread.
pub(crate) struct Writer {
    pub(crate) db: Connection,
    /// For messages.
    pub(crate) file: PathBuf,
    /// The files of the database, as they were when it was opened.
    pub(crate) files: Vec<(PathBuf, FileId)>,
    /// Removes what is no longer kept, where something bounds that.
    pub(crate) pruner: Option<Pruner>,
    /// The transactions that were committed.
    pub(crate) commits: Arc<AtomicU64>,
}

impl Writer {
    /// Writes until all senders are gone, and prunes while there is nothing to write.
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
                pruner.step(&mut self.db, &self.file, written);
            }
        }
    }

    fn commit_group(&mut self, group: Vec<Batch>) {
        // A batch behind a failed one of its session must not be written: it would leave a gap.
        let (failed, group): (Vec<_>, Vec<_>) = group
            .into_iter()
            .partition(|batch| !batch.queue.accepts(batch.attempt));
        for batch in failed {
            // The queue answers with its own fault.
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

    /// Commits the batches together, or nothing of them. Returns what each of them brought its session to.
    fn commit(&mut self, group: &[Batch]) -> Result<Vec<Option<Mark>>, Fault> {
        if group
            .iter()
            .all(|batch| batch.rows.is_empty() && batch.blobs.is_empty())
        {
            return Ok(vec![None; group.len()]);
        }
        self.check_files()?;
        let mut work = || -> Result<Vec<Option<Mark>>, WriteError> {
            let tx = self
                .db
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut marks = Vec::with_capacity(group.len());
            for batch in group {
                marks.push(write_rows(&tx, batch.session, &batch.rows)?);
                write_blobs(&tx, batch.session, &batch.blobs)?;
            }
            tx.commit()?;
            Ok(marks)
        };
        let marks = work().map_err(|error| Fault {
            why: error.explain(&self.file).to_string(),
            is_final: matches!(error, WriteError::OutOfOrder(_)),
        })?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(marks)
    }

    /// Refuses to write to files that can no longer be found: the kernel would keep them until this process ends, and then
    /// nothing would be left.
    fn check_files(&self) -> Result<(), Fault> {
        let mut files = self.files.iter();
        let gone =
            files.find(|(path, opened)| !FileId::at(path).is_ok_and(|found| found == *opened));
        match gone {
            None => Ok(()),
            Some((path, _)) => Err(Fault::passing(format!(
                "cannot write the journal: {} was removed or replaced while this program had it open; put it back, or \
                 start the program again",
                path.display()
            ))),
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

/// Why rows cannot be written.
pub(crate) enum WriteError {
    Sqlite(rusqlite::Error),
    OutOfOrder(SessionId),
}

impl WriteError {
    pub(crate) fn explain(&self, file: &Path) -> JournalError {
        match self {
            Self::Sqlite(error) => explain(file, "write the journal", error),
            Self::OutOfOrder(session) => JournalError::Storage(format!(
                "cannot write the journal: session {session} has changed in {} since it was opened here, so another \
                 process writes to it although the session is locked; if the folder is on a network file system, check \
                 that it supports locks",
                file.display()
            )),
        }
    }
}

impl From<rusqlite::Error> for WriteError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Stores what is not there yet, and that the session refers to it.
pub(crate) fn write_blobs(
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

/// Stores the next events of a session, and brings its line up to date. Returns what it has now, if there are any.
pub(crate) fn write_rows(
    tx: &Transaction<'_>,
    session: SessionId,
    rows: &[Arc<Row>],
) -> Result<Option<Mark>, WriteError> {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return Ok(None);
    };
    let id = session.to_string();
    let mut link = link_before(tx, session, first.seq)?.ok_or(WriteError::OutOfOrder(session))?;
    if !note_in_session(tx, &id, rows, first, last)? {
        return Err(WriteError::OutOfOrder(session));
    }
    let mut insert = tx.prepare_cached(
        "INSERT INTO events (session, seq, at_ms, v, kind, json, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for row in rows {
        let Row {
            seq,
            at_ms,
            v,
            kind,
            ref json,
            ..
        } = **row;
        link = link.next(seq, at_ms, v, kind.as_bytes(), json.as_bytes());
        insert.execute(params![id, seq, at_ms, v, kind, json, link.0])?;
    }
    Ok(Some(Mark {
        events: u64::try_from(last.seq + 1).unwrap_or_default(),
        digest: link.0,
    }))
}

/// The digest before the event with this number; nothing where the event before it is not there.
fn link_before(
    tx: &Transaction<'_>,
    session: SessionId,
    seq: i64,
) -> Result<Option<Link>, rusqlite::Error> {
    if seq == 0 {
        return Ok(Some(Link::before_first(session)));
    }
    let mut query =
        tx.prepare_cached("SELECT digest FROM events WHERE session = ?1 AND seq = ?2 - 1")?;
    let found = query.query_row(params![session.to_string(), seq], |row| row.get(0));
    Ok(found.optional()?.map(Link))
}

/// Brings the session's line up to date, once for all these events, and says whether they are the next ones, without a gap.
fn note_in_session(
    tx: &Transaction<'_>,
    id: &str,
    rows: &[Arc<Row>],
    first: &Row,
    last: &Row,
) -> Result<bool, rusqlite::Error> {
    if !(first.seq..).zip(rows).all(|(seq, row)| row.seq == seq) {
        return Ok(false);
    }
    let summaries = rows.iter().map(|row| &row.summary);
    let title = summaries.clone().find_map(|summary| summary.title.as_ref());
    let folder = summaries
        .clone()
        .find_map(|summary| summary.folder.as_ref());
    let outcome = summaries.rev().find_map(|summary| summary.outcome);
    let events = last.seq + 1;
    if first.seq == 0 {
        let mut begin = tx.prepare_cached(
            "INSERT INTO sessions (id, started_ms, last_ms, events, title, folder, outcome)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING",
        )?;
        let line = params![id, first.at_ms, last.at_ms, events, title, folder, outcome];
        return Ok(begin.execute(line)? == 1);
    }
    let mut go_on = tx.prepare_cached(
        "UPDATE sessions SET events = ?3, last_ms = ?4, title = coalesce(title, ?5),
             folder = coalesce(folder, ?6), outcome = coalesce(?7, outcome)
         WHERE id = ?1 AND events = ?2",
    )?;
    let line = params![id, first.seq, events, last.at_ms, title, folder, outcome];
    Ok(go_on.execute(line)? == 1)
}

/// Ends a batch: first the queue learns of it, then whoever waits. The batch's hold on the queue, and with it on the
/// session's lock, ends before that, so that a session can be opened again as soon as its journal is dropped.
fn answer(batch: Batch, result: Result<Option<Mark>, Fault>) {
    let result = batch.queue.settle(&batch, result);
    let Batch { queue, waiter, .. } = batch;
    drop(queue);
    // A waiter that has gone away does not want to know.
    match waiter {
        Waiter::Barrier(waiter) => drop(waiter.send(result)),
        Waiter::Drop(waiter) => drop(waiter.send(())),
        Waiter::Nobody => {}
    }
}

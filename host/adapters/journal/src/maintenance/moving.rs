//! The move of all sessions to another store. A session is held in the source, so that no host may
//! claim it there; stored in the other in one transaction; compared; and removed from the source. A
//! crash at any point leaves one store that may continue it, or none until the move runs again: the
//! source no longer, once it is held, and the other as soon as it has it.

use super::Maintenance;
use crate::{
    error::StoreError,
    memory_item::{MemoryChange, MemoryQuery, MemoryScope},
    session_list::{SessionInfo, SessionName},
    store::JournalStore,
    transfer::{ImportAs, ImportSource},
};
use agent_host_engine::{journal::JournalError, session::referenced_blobs};
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
};
use std::{
    collections::BTreeSet,
    io::{self, BufReader, BufWriter},
    ops::ControlFlow,
};

/// A step of a move, after which a crash is as good as any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveStep {
    /// The approvals of projects are in the other store, and the key, if it had no session.
    Prepared,
    /// No host may claim the session in the source any more.
    Held(SessionId),
    /// It is in the other store.
    Stored(SessionId),
    /// Both stores have the same events and blobs of it.
    Compared(SessionId),
    /// It is in the other store alone.
    Removed(SessionId),
}

/// The result of a move.
#[derive(Debug, Default)]
pub struct Moved {
    /// The sessions that moved, without those of agents, the oldest first.
    pub sessions: Vec<SessionId>,
    /// The number of sessions of agents that moved with them.
    pub agents: u64,
    /// The approvals of projects that moved.
    pub approvals: usize,
    /// The number of remembered items that moved.
    pub items: usize,
    /// The sessions that have no name any more: another session of the directory has it.
    pub unnamed: Vec<(SessionId, String)>,
    /// The sessions that stay in the source, and why.
    pub kept: Vec<(SessionId, JournalError)>,
    /// The sessions whose files for `undo` were on this machine, and are gone.
    pub without_undo: Vec<SessionId>,
    /// The sessions whose runs had not ended: no host of the other store continues them by itself.
    pub interrupted: Vec<SessionId>,
    /// Whether the other store took the key of continuations over, or has the same one.
    pub has_key: bool,
}

/// A move that cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// Both are one store.
    #[error("both stores are {0}; give the address of another store with `--to`")]
    SameStore(String),
    /// A store failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The caller stopped it.
    #[error("the move was stopped; run it again to complete it")]
    Stopped,
}

/// Moves all sessions, with their names, agents, blobs, approvals and all that they wait for,
/// and what agents remember.
/// `each` is told of every step, and may stop the move. A move that was stopped is completed by
/// another one to the same store; sessions that are there already are compared and removed here.
///
/// # Errors
/// A store fails as a whole. What keeps one session in its place is in [`Moved::kept`].
pub async fn move_sessions(
    from: &dyn Maintenance,
    to: &dyn Maintenance,
    each: &mut (dyn FnMut(MoveStep) -> ControlFlow<()> + Send),
) -> Result<Moved, MoveError> {
    let identity = to.identity().await?;
    if from.identity().await? == identity {
        return Err(MoveError::SameStore(identity));
    }
    from.forget_moved().await?;
    to.forget_moved().await?;
    let approvals = from.approvals(None).await?;
    let items = from
        .memory_items(MemoryQuery::all(MemoryScope::All, 0))
        .await?;
    let mut moved = Moved {
        approvals: approvals.len(),
        items: items.len(),
        has_key: to
            .adopt_continuation_key(from.continuation_key().await?)
            .await?,
        ..Moved::default()
    };
    to.remember_approvals(approvals.clone()).await?;
    for item in items.iter().rev() {
        to.remember(item.clone(), u32::MAX).await?;
    }
    to.adopt_sealed_sessions(from.sealed_sessions().await?)
        .await?;
    let mut step = |step| match each(step) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(MoveError::Stopped),
    };
    step(MoveStep::Prepared)?;
    let mut sessions = from.list().await?;
    // The oldest first, so that the order of writing stays.
    sessions.reverse();
    for info in sessions.iter().filter(|info| info.parent.is_none()) {
        let mut family = Family {
            from,
            to,
            identity: &identity,
            info,
            moved: &mut moved,
        };
        match family.transfer(&mut step).await {
            Err(MoveError::Journal(error)) => moved.kept.push((info.id, error)),
            done => done?,
        }
    }
    if moved.kept.is_empty() {
        from.revoke_approvals(approvals).await?;
        for item in items {
            from.change_memory(item, MemoryChange::Leave, 0).await?;
        }
    }
    Ok(moved)
}

/// A session that moves with those of its agents.
struct Family<'a> {
    from: &'a dyn Maintenance,
    to: &'a dyn Maintenance,
    identity: &'a str,
    info: &'a SessionInfo,
    moved: &'a mut Moved,
}

impl Family<'_> {
    async fn transfer(
        &mut self,
        step: &mut (dyn FnMut(MoveStep) -> Result<(), MoveError> + Send),
    ) -> Result<(), MoveError> {
        let session = self.info.id;
        let family = self.from.hold(session, self.identity.to_owned()).await?;
        step(MoveStep::Held(session))?;
        if !has(self.to.as_store(), session).await? {
            let how = match self.moved.has_key {
                true => ImportAs::MovedWithKey,
                false => ImportAs::Moved,
            };
            let (from, to) = (self.from.as_store(), self.to.as_store());
            if let Err(error) = pipe(from, to, self.info, how).await {
                // What became of a commit may not be known; what is there belongs there.
                if !has(self.to.as_store(), session).await? {
                    self.from.release_held(session).await?;
                }
                return Err(error.into());
            }
        }
        step(MoveStep::Stored(session))?;
        for session in &family {
            self.compare(*session).await?;
        }
        self.name().await?;
        step(MoveStep::Compared(session))?;
        let has_files = |session: &&SessionId| {
            let files = self.from.files_dir(**session);
            files.is_some_and(|files| files.exists())
        };
        let lost = family.iter().filter(has_files).copied().collect::<Vec<_>>();
        self.moved.without_undo.extend(lost);
        if self.has_run(&family).await? {
            self.moved.interrupted.push(session);
        }
        self.from.remove_held(session).await?;
        self.moved.sessions.push(session);
        self.moved.agents += family.len() as u64 - 1;
        step(MoveStep::Removed(session))
    }

    /// Whether a run of the sessions waits for a host of the source.
    async fn has_run(&self, family: &[SessionId]) -> Result<bool, JournalError> {
        match self.from.shared_runs() {
            Some(runs) => Ok(!runs.runs_of(family.to_vec()).await?.is_empty()),
            None => Ok(false),
        }
    }

    /// Gives the session its name, unless it has another one there by now.
    async fn name(&mut self) -> Result<(), JournalError> {
        let Some(name) = &self.info.name else {
            return Ok(());
        };
        let parsed = SessionName::parse(name).map_err(JournalError::corrupt)?;
        match self.to.name_session(self.info.id, parsed).await {
            Err(JournalError::NotFound(_)) => {
                self.moved.unnamed.push((self.info.id, name.clone()));
                Ok(())
            }
            named => named,
        }
    }

    /// Checks that the other store has every event of a session, and every blob. It may have more:
    /// a host may have continued it there, after a move that did not end.
    async fn compare(&self, session: SessionId) -> Result<(), JournalError> {
        let (events, source) = fingerprint(self.from.as_store(), session, u64::MAX).await?;
        let (found, copy) = fingerprint(self.to.as_store(), session, events).await?;
        if found != events || source.events != copy.events {
            let location = self.identity.into();
            return Err(StoreError::MovedDiffers { session, location }.into());
        }
        for digest in source.blobs {
            self.to.read_blob(digest).await?;
        }
        Ok(())
    }
}

async fn has(store: &dyn JournalStore, session: SessionId) -> Result<bool, JournalError> {
    match store.read(session, 0).await {
        Ok(_) => Ok(true),
        Err(JournalError::NotFound(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The content of a session.
struct Fingerprint {
    /// A digest of its events, in the form of this program.
    events: blake3::Hash,
    blobs: BTreeSet<Digest>,
}

/// Reads the first events of a session, at most `count`, and returns their number.
async fn fingerprint(
    store: &dyn JournalStore,
    session: SessionId,
    count: u64,
) -> Result<(u64, Fingerprint), JournalError> {
    let (mut events, mut hasher, mut blobs) = (0, blake3::Hasher::new(), BTreeSet::new());
    let mut unwritable = None;
    let follow = |record: EventRecord| {
        if record.seq >= count {
            return;
        }
        events += 1;
        blobs.extend(referenced_blobs(&record.event));
        match serde_json::to_vec(&record) {
            Ok(json) => {
                hasher.update(&(json.len() as u64).to_le_bytes());
                hasher.update(&json);
            }
            Err(error) => unwritable = Some(error),
        }
    };
    store.for_each_record(session, follow).await?;
    if let Some(error) = unwritable {
        return Err(JournalError::corrupt(error));
    }
    let events_digest = hasher.finalize();
    Ok((
        events,
        Fingerprint {
            events: events_digest,
            blobs,
        },
    ))
}

/// Stores a session of one store in another, without a file in between. It stays whose it was.
async fn pipe(
    from: &dyn JournalStore,
    to: &dyn JournalStore,
    info: &SessionInfo,
    how: ImportAs,
) -> Result<(), JournalError> {
    let (session, ownership) = (info.id, info.ownership.clone());
    let (reader, writer) = io::pipe().map_err(JournalError::storage)?;
    let (exported, imported) = tokio::join!(
        from.export(session, Box::new(BufWriter::new(writer))),
        to.import_owned(
            ImportSource::File(Box::new(BufReader::new(reader))),
            how,
            ownership
        ),
    );
    match (exported, imported) {
        (_, Ok(_)) => Ok(()),
        // What the reader refuses, the writer finds as a pipe without a reader.
        (Err(error), Err(_)) if !is_broken_pipe(&error) => Err(error),
        (_, Err(error)) => Err(error),
    }
}

fn is_broken_pipe(error: &JournalError) -> bool {
    let JournalError::Storage(cause) = error else {
        return false;
    };
    matches!(
        cause.downcast_ref(),
        Some(StoreError::ExportWrite(error)) if error.kind() == io::ErrorKind::BrokenPipe
    )
}

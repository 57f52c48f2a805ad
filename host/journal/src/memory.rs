//! A store in memory.

mod journal;
mod state;

use crate::{
    copy,
    error::{Location, StoreError},
    find::Wanted,
    store::{
        JournalStore, LostEvents, MAX_APPROVALS, ProjectApproval, Pruned, Retention, SessionInfo,
        StoreFuture, blocking, now_ms,
    },
    transfer::{self, Import},
};
use agent_host_engine::journal::{Journal, JournalError};
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
};
use journal::ClaimedSession;
use state::{Batch, Claim, State};
use std::{
    fmt,
    io::{BufRead, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The default bound of a store in memory, in bytes of events and blobs.
const DEFAULT_LIMIT: u64 = 256 * 1024 * 1024;

/// A [`JournalStore`] that keeps everything in the memory of this process, up to a bound. For tests
/// and for embedders that keep no sessions. Clones share one store.
///
/// ```
/// use agent_host_engine::session::{Session, SessionStart};
/// use agent_host_types::id::SessionId;
/// use agent_host_journal::{JournalStore as _, MemoryStore};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = MemoryStore::new();
/// let id = SessionId::new();
/// let journal = store.create(id).await.unwrap();
/// let session = Session::start(journal, SessionStart::default());
/// // The journal stores what is queued when it is dropped.
/// drop(session);
/// assert_eq!(store.find("latest").await.unwrap(), id);
/// assert_eq!(store.read(id, 0).await.unwrap().len(), 1);
/// # }
/// ```
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

/// The part of a store that its journals share.
struct Shared {
    state: Mutex<State>,
    location: Location,
}

impl MemoryStore {
    /// Makes an empty store that holds at most 256 MiB of events and blobs.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }

    /// Makes an empty store that holds at most `bytes` bytes of events and blobs.
    #[must_use]
    pub fn with_limit(bytes: u64) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(State::new(bytes)),
                location: "memory".into(),
            }),
        }
    }

    /// Runs an operation that takes no time worth mentioning.
    fn run<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Arc<Shared>) -> Result<T, JournalError> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        Box::pin(async move { operation(&self.shared) })
    }

    /// Runs an operation on whole sessions on a thread that may block.
    fn run_blocking<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Arc<Shared>) -> Result<T, JournalError> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let shared = Arc::clone(&self.shared);
        Box::pin(blocking(move || operation(&shared)))
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims a session that does not exist.
    fn claim_new(self: &Arc<Self>, session: SessionId) -> Result<Claim, JournalError> {
        let claim = Claim::take(self, session)?;
        if self.state().contains(session) {
            return Err(JournalError::Exists { session });
        }
        Ok(claim)
    }

    /// Claims a session that exists.
    fn claim_existing(self: &Arc<Self>, session: SessionId) -> Result<Claim, JournalError> {
        if !self.state().contains(session) {
            return Err(StoreError::NoSession { session }.into());
        }
        Claim::take(self, session)
    }

    /// Stores a session as a whole.
    fn write(&self, session: SessionId, batch: &Batch) -> Result<(), JournalError> {
        Ok(self.state().write(&self.location, session, batch)?)
    }
}

impl JournalStore for MemoryStore {
    fn create(&self, session: SessionId) -> StoreFuture<'_, Arc<dyn Journal>> {
        self.run(move |shared| Ok(ClaimedSession::open(shared.claim_new(session)?)))
    }

    fn open_session(&self, session: SessionId) -> StoreFuture<'_, Arc<dyn Journal>> {
        self.run(move |shared| Ok(ClaimedSession::open(shared.claim_existing(session)?)))
    }

    fn list(&self) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.run(|shared| Ok(shared.state().list()))
    }

    fn read(&self, session: SessionId, from: u64) -> StoreFuture<'_, Vec<EventRecord>> {
        self.run(move |shared| {
            let rows = shared.state().page(session, from)?;
            state::decode(&shared.location, session, &rows)
        })
    }

    fn read_blob(&self, digest: Digest) -> StoreFuture<'_, Vec<u8>> {
        self.run(move |shared| Ok(shared.state().blob(&shared.location, digest)?.bytes.clone()))
    }

    fn find<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, SessionId> {
        let wanted = Wanted::new(prefix);
        let mut matches: Vec<SessionId> = self.shared.state().latest_first();
        if !wanted.is_latest() {
            matches.retain(|session| session.to_string().starts_with(&wanted.prefix));
        }
        matches.truncate(wanted.limit());
        let found = wanted.only(matches).map_err(JournalError::from);
        Box::pin(std::future::ready(found))
    }

    fn fork(&self, from: SessionId, at: Option<u64>) -> StoreFuture<'_, SessionId> {
        self.run_blocking(move |shared| {
            let into = SessionId::new();
            let source = shared.state().snapshot(&shared.location, from)?;
            let _claim = shared.claim_new(into)?;
            let mut batch = Batch::new(into);
            copy::fork(&source, into, at, &mut batch)?;
            for blob in source.into_blobs() {
                batch.blobs.push(blob);
            }
            shared.write(into, &batch)?;
            Ok(into)
        })
    }

    fn export(&self, session: SessionId, mut out: Box<dyn Write + Send>) -> StoreFuture<'_, ()> {
        self.run_blocking(move |shared| {
            let source = shared.state().snapshot(&shared.location, session)?;
            transfer::export(&source, &mut out)
        })
    }

    fn import(
        &self,
        mut file: Box<dyn BufRead + Send>,
        as_new: bool,
    ) -> StoreFuture<'_, SessionId> {
        self.run_blocking(move |shared| {
            let import = Import::open(&mut file)?;
            let into = if as_new {
                SessionId::new()
            } else {
                import.session()
            };
            let _claim = shared.claim_new(into)?;
            let mut batch = Batch::new(into);
            import.read(into, &mut batch)?;
            shared.write(into, &batch)?;
            Ok(into)
        })
    }

    fn delete(&self, session: SessionId) -> StoreFuture<'_, ()> {
        self.run(move |shared| {
            let _claim = shared.claim_existing(session)?;
            shared.state().remove(session);
            Ok(())
        })
    }

    fn prune(&self, retention: Retention) -> StoreFuture<'_, Pruned> {
        self.run(move |shared| Ok(shared.state().prune(retention, now_ms())))
    }

    fn lost_events(&self) -> StoreFuture<'_, Vec<LostEvents>> {
        self.run(|_| Ok(Vec::new()))
    }

    fn recover(&self, session: SessionId) -> StoreFuture<'_, u64> {
        self.run(move |shared| {
            let _claim = Claim::take(shared, session)?;
            Ok(shared.state().events(session))
        })
    }

    fn approvals(&self) -> StoreFuture<'_, Vec<ProjectApproval>> {
        self.run(|shared| Ok(shared.state().approvals.clone()))
    }

    fn remember_approvals(&self, approvals: Vec<ProjectApproval>) -> StoreFuture<'_, ()> {
        self.run(move |shared| {
            let mut state = shared.state();
            let mut kept = state.approvals.clone();
            for approval in approvals {
                let same = |known: &ProjectApproval| {
                    known.project == approval.project && known.rule == approval.rule
                };
                if !kept.iter().any(same) {
                    kept.push(approval);
                }
            }
            if kept.len() as u64 > u64::from(MAX_APPROVALS) {
                return Err(StoreError::TooManyApprovals {
                    limit: MAX_APPROVALS,
                }
                .into());
            }
            state.approvals = kept;
            Ok(())
        })
    }

    fn revoke_approvals(&self, approvals: Vec<ProjectApproval>) -> StoreFuture<'_, ()> {
        self.run(move |shared| {
            let mut state = shared.state();
            let is_revoked = |kept: &ProjectApproval| {
                let same =
                    |gone: &ProjectApproval| gone.project == kept.project && gone.rule == kept.rule;
                approvals.iter().any(same)
            };
            state.approvals.retain(|kept| !is_revoked(kept));
            Ok(())
        })
    }

    fn continuation_key(&self) -> StoreFuture<'_, [u8; 32]> {
        self.run(|shared| shared.state().key())
    }
}

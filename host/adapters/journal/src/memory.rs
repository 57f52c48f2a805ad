//! A store in memory.

mod copies;
mod firings;
mod items;
mod journal;
mod links;
mod sealed;
mod state;

use crate::{
    copy::{self, SessionSource as _},
    error::{Location, StoreError},
    find::Wanted,
    firing::Firing,
    link::SessionLink,
    memory_item::{MemoryChange, MemoryItem, MemoryQuery, Remembered},
    ownership::{Copier, Ownership, SessionScope},
    session_list::{SessionInfo, SessionName},
    stats::StoredStats,
    store::{JournalStore, LostEvents, Pruned, Retention, StoreFuture, blocking},
    stored_approval::{MAX_APPROVALS, ProjectApproval},
    transfer::{self, ImportAs, ImportSource},
};
use agent_host_engine::{
    journal::{Journal, JournalError},
    session::now_ms,
};
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
    stats::StatsBy,
};
use copies::{NewSessions, StoredSession};
use journal::ClaimedSession;
use state::{Claim, MemoryState};
use std::{
    fmt,
    io::Write,
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
    shared: Arc<SharedMemory>,
}

/// The part of a store that its journals share.
struct SharedMemory {
    state: Mutex<MemoryState>,
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
            shared: Arc::new(SharedMemory {
                state: Mutex::new(MemoryState::new(bytes)),
                location: "memory".into(),
            }),
        }
    }

    /// Runs an operation on a thread that may block.
    fn run<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Arc<SharedMemory>) -> Result<T, JournalError> + Send + 'static,
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

impl SharedMemory {
    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims a session that does not exist.
    fn claim_new(self: &Arc<Self>, session: SessionId) -> Result<Claim, JournalError> {
        let claim = Claim::take(self, session)?;
        if self.state().contains(session) {
            return Err(JournalError::Exists(session));
        }
        Ok(claim)
    }

    /// Claims a session that exists.
    fn claim_existing(self: &Arc<Self>, session: SessionId) -> Result<Claim, JournalError> {
        self.stored(session)?;
        Claim::take(self, session)
    }

    fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError> {
        let blob = self.state().blob(digest);
        let bytes = blob.map(|blob| blob.bytes.clone());
        bytes.ok_or_else(|| {
            StoreError::NoBlob {
                digest,
                location: Arc::clone(&self.location),
            }
            .into()
        })
    }

    /// Returns a session that exists.
    fn stored(&self, session: SessionId) -> Result<StoredSession<'_>, JournalError> {
        if !self.state().contains(session) {
            return Err(StoreError::NoSession(session).into());
        }
        let shared = self;
        Ok(StoredSession { shared, session })
    }
}

impl JournalStore for MemoryStore {
    fn create_owned(
        &self,
        session: SessionId,
        ownership: Option<Ownership>,
    ) -> StoreFuture<'_, Arc<dyn Journal>> {
        self.run(move |shared| Ok(ClaimedSession::owned(shared.claim_new(session)?, ownership)))
    }

    fn open_session(&self, session: SessionId) -> StoreFuture<'_, Arc<dyn Journal>> {
        self.run(move |shared| Ok(ClaimedSession::open(shared.claim_existing(session)?)))
    }

    fn list_in(&self, scope: SessionScope) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.run(move |shared| {
            let mut sessions = shared.state().list();
            sessions.retain(|info| scope.has(info.ownership.as_ref()));
            Ok(sessions)
        })
    }

    fn stats(&self, scope: SessionScope, _: StatsBy, _: u32) -> StoreFuture<'_, StoredStats> {
        self.run(move |shared| Ok(shared.state().stats(&scope)))
    }

    fn is_within(&self, session: SessionId, scope: SessionScope) -> StoreFuture<'_, bool> {
        self.run(move |shared| {
            let state = shared.state();
            let is_within = scope.has(state.ownership(session).as_ref());
            Ok(is_within && state.contains(session))
        })
    }

    fn read(&self, session: SessionId, from: u64) -> StoreFuture<'_, Vec<EventRecord>> {
        self.run(move |shared| shared.stored(session)?.page(from))
    }

    fn has_blob(&self, session: SessionId, digest: Digest) -> StoreFuture<'_, bool> {
        self.run(move |shared| Ok(shared.state().has_blob(session, digest)))
    }

    fn read_blob(&self, digest: Digest) -> StoreFuture<'_, Vec<u8>> {
        self.run(move |shared| shared.blob(digest))
    }

    fn find<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, SessionId> {
        let prefix = prefix.to_owned();
        self.run(move |shared| {
            let wanted = Wanted::new(&prefix);
            let sessions = shared.state().list();
            let is_match = |info: &SessionInfo| match wanted.is_latest() {
                true => info.parent.is_none(),
                false => {
                    let id = info.id.to_string();
                    id.starts_with(&wanted.prefix)
                        || wanted.may_be_end() && id.ends_with(&wanted.prefix)
                        || info.name.as_deref() == Some(wanted.given.trim())
                }
            };
            let found = sessions.into_iter().filter(is_match).map(|info| info.id);
            Ok(wanted.only(found.take(wanted.limit()).collect())?)
        })
    }

    fn named(&self, name: String) -> StoreFuture<'_, Vec<SessionInfo>> {
        self.run(move |shared| {
            let mut sessions = shared.state().list();
            sessions.retain(|info| info.name.as_ref() == Some(&name));
            Ok(sessions)
        })
    }

    fn name_session(&self, session: SessionId, name: SessionName) -> StoreFuture<'_, ()> {
        self.run(move |shared| Ok(shared.state().name(session, name.as_str())?))
    }

    fn fork(
        &self,
        from: SessionId,
        at: Option<u64>,
        by: Option<Copier>,
    ) -> StoreFuture<'_, SessionId> {
        self.run(move |shared| {
            let (source, into) = (shared.stored(from)?, SessionId::new());
            let (by, owner) = by.map(|by| (by.name, by.owner)).unzip();
            let original = shared.state().ownership(from);
            let ownership = original.map(|original| Ownership {
                owner: owner.flatten(),
                ..original
            });
            let mut new = NewSessions::new(shared, ownership);
            copy::fork(&source, into, at, by, &mut new)?;
            new.store()?;
            Ok(into)
        })
    }

    fn export(&self, session: SessionId, mut out: Box<dyn Write + Send>) -> StoreFuture<'_, ()> {
        self.run(move |shared| transfer::export(&shared.stored(session)?, &mut out))
    }

    fn import_owned(
        &self,
        source: ImportSource,
        how: ImportAs,
        ownership: Option<Ownership>,
    ) -> StoreFuture<'_, SessionId> {
        self.run(move |shared| {
            let mut new = NewSessions::new(shared, ownership);
            let into = transfer::import(source, how, &mut new)?;
            new.store()?;
            Ok(into)
        })
    }

    fn remember_sealed(&self, session: SessionId) -> StoreFuture<'_, ()> {
        self.run(move |shared| {
            let known = shared.state().sealed_session(session)?;
            shared.state().sealed.remember(known);
            Ok(())
        })
    }

    fn delete(&self, session: SessionId) -> StoreFuture<'_, ()> {
        self.run(move |shared| {
            if let Some(parent) = shared.state().parent(session) {
                return Err(StoreError::OfAgent { session, parent }.into());
            }
            let mut family = shared.state().descendants(session);
            family.push(session);
            let claims = family.iter().map(|session| shared.claim_existing(*session));
            let _claims = claims.collect::<Result<Vec<_>, _>>()?;
            shared.state().remove_family(session);
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

    fn approvals(&self, project: Option<String>) -> StoreFuture<'_, Vec<ProjectApproval>> {
        self.run(move |shared| {
            let mut approvals = shared.state().approvals.clone();
            approvals.retain(|kept| project.as_ref().is_none_or(|it| *it == kept.project));
            Ok(approvals)
        })
    }

    fn remember_approvals(&self, approvals: Vec<ProjectApproval>) -> StoreFuture<'_, ()> {
        self.run(move |shared| {
            let mut state = shared.state();
            let mut kept = state.approvals.clone();
            for approval in approvals {
                if !kept.iter().any(|known| known.is_same(&approval)) {
                    kept.push(approval);
                }
            }
            let limit = MAX_APPROVALS;
            if kept.len() as u64 > u64::from(limit) {
                return Err(StoreError::TooManyApprovals(limit).into());
            }
            state.approvals = kept;
            Ok(())
        })
    }

    fn revoke_approvals(&self, approvals: Vec<ProjectApproval>) -> StoreFuture<'_, ()> {
        self.run(move |shared| {
            let is_revoked =
                |kept: &ProjectApproval| approvals.iter().any(|gone| gone.is_same(kept));
            let kept = &mut shared.state().approvals;
            kept.retain(|approval| !is_revoked(approval));
            Ok(())
        })
    }

    fn record_firing(&self, firing: Firing) -> StoreFuture<'_, Option<Firing>> {
        self.run(move |shared| Ok(shared.state().firings.record(firing)))
    }

    fn take_firings(
        &self,
        triggers: Vec<String>,
        now_ms: u64,
        until_ms: u64,
    ) -> StoreFuture<'_, Vec<Firing>> {
        self.run(move |shared| Ok(shared.state().firings.take(&triggers, now_ms, until_ms)))
    }

    fn update_firing(&self, taken: Firing, to: Firing) -> StoreFuture<'_, bool> {
        self.run(move |shared| Ok(shared.state().firings.update(&taken, to)))
    }

    fn firings(&self, trigger: String, limit: u32) -> StoreFuture<'_, Vec<Firing>> {
        self.run(move |shared| Ok(shared.state().firings.newest(&trigger, limit)))
    }

    fn add_link(&self, link: SessionLink, now_ms: u64) -> StoreFuture<'_, bool> {
        self.run(move |shared| {
            let mut state = shared.state();
            match state.contains(link.session) {
                true => Ok(state.links.add(link, now_ms)),
                false => Err(StoreError::NoSession(link.session).into()),
            }
        })
    }

    fn find_link(&self, hash: String) -> StoreFuture<'_, Option<SessionLink>> {
        self.run(move |shared| Ok(shared.state().links.find(&hash)))
    }

    fn links(&self, session: SessionId) -> StoreFuture<'_, Vec<SessionLink>> {
        self.run(move |shared| Ok(shared.state().links.of(session)))
    }

    fn open_link(&self, link: SessionLink, hash: String) -> StoreFuture<'_, bool> {
        self.run(move |shared| Ok(shared.state().links.open(&link, hash)))
    }

    fn remove_link(&self, session: SessionId, id: String) -> StoreFuture<'_, bool> {
        self.run(move |shared| Ok(shared.state().links.remove(session, Some(&id))))
    }

    fn remember(&self, item: MemoryItem, max: u32) -> StoreFuture<'_, Remembered> {
        self.run(move |shared| Ok(shared.state().items.add(item, max)))
    }

    fn memory_items(&self, query: MemoryQuery) -> StoreFuture<'_, Vec<MemoryItem>> {
        self.run(move |shared| Ok(shared.state().items.found(&query)))
    }

    fn change_memory(
        &self,
        item: MemoryItem,
        change: MemoryChange,
        now_ms: u64,
    ) -> StoreFuture<'_, bool> {
        self.run(move |shared| Ok(shared.state().items.change(&item, change, now_ms)))
    }

    fn continuation_key(&self) -> StoreFuture<'_, [u8; 32]> {
        self.run(|shared| {
            let mut state = shared.state();
            if let Some(key) = state.key {
                return Ok(key);
            }
            let mut key = [0; 32];
            getrandom::fill(&mut key).map_err(JournalError::storage)?;
            Ok(*state.key.insert(key))
        })
    }
}

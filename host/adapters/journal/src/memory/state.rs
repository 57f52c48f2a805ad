//! The sessions of a store in memory.

use super::{SharedMemory, firings::Firings, items::Items, links::Links, sealed::SealedSessions};
use crate::{
    claim::this_process,
    error::{Location, StoreError},
    ownership::{Ownership, SessionScope},
    row::{EventRow, PAGE_BYTES},
    sealed::SealedSession,
    session_list::SessionInfo,
    stats::{StoredStats, add_rows},
    store::{KeepReason, Pruned, Retention},
    stored_approval::ProjectApproval,
};
use agent_host_engine::journal::{JournalError, SessionOwner};
use agent_host_types::{
    id::{Digest, SessionId},
    output::Blob,
    session_status::{SessionClaim, SessionPhase, SessionStatus},
    stats::{SessionStats, StatsChange, Sums},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry},
    sync::Arc,
};

/// Everything that a store in memory holds.
#[derive(Default)]
pub(super) struct MemoryState {
    sessions: HashMap<SessionId, MemorySession>,
    blobs: HashMap<Digest, Arc<Blob>>,
    claims: HashMap<SessionId, SessionOwner>,
    pub(super) approvals: Vec<ProjectApproval>,
    pub(super) firings: Firings,
    pub(super) links: Links,
    pub(super) items: Items,
    pub(super) sealed: SealedSessions,
    pub(super) key: Option<[u8; 32]>,
    /// The sums of what the sessions of each owner used.
    sums: BTreeMap<Option<Ownership>, Sums>,
    /// The number of writes so far, which orders sessions by their last one.
    writes: u64,
    /// The size of all events and blobs, in bytes.
    bytes: u64,
    /// The bound on `bytes`.
    limit: u64,
}

/// A session.
struct MemorySession {
    /// Its status is that of a moment, and set when it is read.
    info: SessionInfo,
    phase: SessionPhase,
    stats: SessionStats,
    rows: Vec<Arc<EventRow>>,
    blobs: BTreeSet<Digest>,
    last_write: u64,
}

impl MemorySession {
    fn new(session: SessionId, first: &EventRow) -> Self {
        Self {
            info: SessionInfo {
                id: session,
                status: SessionStatus::New,
                started_ms: time(first),
                last_ms: 0,
                events: 0,
                title: None,
                directory: None,
                outcome: None,
                parent: None,
                name: None,
                model: None,
                cost_micros: None,
                ownership: None,
            },
            phase: SessionPhase::New,
            stats: SessionStats::default(),
            rows: Vec::new(),
            blobs: BTreeSet::new(),
            last_write: 0,
        }
    }

    fn add(&mut self, row: &Arc<EventRow>) {
        let (info, listing) = (&mut self.info, &row.listing);
        self.phase = row
            .change
            .map_or(self.phase, |change| self.phase.after(change));
        info.last_ms = time(row);
        info.events += 1;
        info.title = info.title.take().or_else(|| listing.title.clone());
        info.directory = info.directory.take().or_else(|| listing.directory.clone());
        info.outcome = listing.outcome.map(str::to_owned).or(info.outcome.take());
        info.parent = info.parent.or(listing.parent);
        info.ownership = info.ownership.take().or_else(|| listing.ownership.clone());
        if listing.outcome.is_some() {
            info.model.clone_from(&listing.model);
            info.cost_micros = listing.cost_micros;
        }
        self.rows.push(Arc::clone(row));
    }
}

impl MemoryState {
    pub(super) fn new(limit: u64) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    pub(super) fn contains(&self, session: SessionId) -> bool {
        self.sessions.contains_key(&session)
    }

    /// Whether an event of a session refers to a blob.
    pub(super) fn has_blob(&self, session: SessionId, digest: Digest) -> bool {
        let stored = self.sessions.get(&session);
        stored.is_some_and(|stored| stored.blobs.contains(&digest))
    }

    /// The number of durable events of a session.
    pub(super) fn events(&self, session: SessionId) -> u64 {
        let stored = self.sessions.get(&session);
        stored.map_or(0, |stored| stored.info.events)
    }

    fn stored(&self, session: SessionId) -> Result<&MemorySession, StoreError> {
        let stored = self.sessions.get(&session);
        stored.ok_or(StoreError::NoSession(session))
    }

    /// The sessions, the one that was written to last first.
    pub(super) fn list(&self) -> Vec<SessionInfo> {
        let mut stored: Vec<&MemorySession> = self.sessions.values().collect();
        stored.sort_by_key(|stored| Reverse(stored.last_write));
        let info = |stored: &&MemorySession| SessionInfo {
            parent: self.parent(stored.info.id),
            ownership: self.ownership(stored.info.id),
            status: stored.phase.status(self.claim(stored.info.id)),
            ..stored.info.clone()
        };
        stored.iter().map(info).collect()
    }

    /// Returns whose a session is; of an agent's, whose the one is that started it.
    pub(super) fn ownership(&self, session: SessionId) -> Option<Ownership> {
        let mut info = &self.sessions.get(&session)?.info;
        let mut seen = 0;
        while let (None, None, Some(parent)) = (&info.ownership, &info.directory, info.parent)
            && seen < self.sessions.len()
        {
            info = &self.sessions.get(&parent)?.info;
            seen += 1;
        }
        let of_directory = || {
            info.directory.clone().map(|project| Ownership {
                project,
                owner: None,
            })
        };
        info.ownership.clone().or_else(of_directory)
    }

    /// Returns the claim on a session.
    fn claim(&self, session: SessionId) -> SessionClaim {
        match self.claims.contains_key(&session) {
            true => SessionClaim::Held,
            false => SessionClaim::None,
        }
    }

    pub(super) fn name(&mut self, session: SessionId, name: &str) -> Result<(), StoreError> {
        let SessionInfo {
            directory,
            ownership,
            ..
        } = self.stored(session)?.info.clone();
        let has_name = |info: &SessionInfo| {
            info.id != session
                && info.directory == directory
                && info.ownership == ownership
                && info.name.as_deref() == Some(name)
        };
        let mut others = self.sessions.values().map(|stored| &stored.info);
        if let Some(other) = others.find(|info| has_name(info)) {
            return Err(StoreError::NameTaken {
                other: other.id,
                name: name.to_owned(),
            });
        }
        if let Some(stored) = self.sessions.get_mut(&session) {
            stored.info.name = Some(name.to_owned());
        }
        Ok(())
    }

    /// The page of a session that begins with number `from`: about [`PAGE_BYTES`] of rows.
    pub(super) fn page(
        &self,
        session: SessionId,
        from: u64,
    ) -> Result<Vec<Arc<EventRow>>, StoreError> {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let mut bytes = 0;
        let fits = |row: &&Arc<EventRow>| {
            let fits = bytes < PAGE_BYTES;
            bytes += row.json.len();
            fits
        };
        let rows = self.stored(session)?.rows.get(from..).unwrap_or_default();
        Ok(rows.iter().take_while(fits).cloned().collect())
    }

    /// Returns the blobs that a session refers to, in order.
    pub(super) fn blobs_of(&self, session: SessionId) -> Result<Vec<Digest>, StoreError> {
        Ok(self.stored(session)?.blobs.iter().copied().collect())
    }

    pub(super) fn blob(&self, digest: Digest) -> Option<Arc<Blob>> {
        self.blobs.get(&digest).cloned()
    }

    /// Stores the next events of a session with their blobs, or nothing of them.
    fn write(
        &mut self,
        location: &Location,
        session: SessionId,
        rows: &[Arc<EventRow>],
        blobs: &[Arc<Blob>],
    ) -> Result<(), StoreError> {
        let next = i64::try_from(self.events(session)).unwrap_or(i64::MAX);
        let is_next = (next..).zip(rows).all(|(seq, row)| row.seq == seq);
        if !is_next || rows.is_empty() && !blobs.is_empty() && next == 0 {
            return Err(StoreError::OutOfOrder {
                session,
                location: Arc::clone(location),
            });
        }
        let new = blobs
            .iter()
            .filter(|blob| !self.blobs.contains_key(&blob.digest));
        let new: HashMap<Digest, Arc<Blob>> =
            new.map(|blob| (blob.digest, Arc::clone(blob))).collect();
        let added = rows.iter().map(|row| row.json.len());
        let added: usize = added.chain(new.values().map(|blob| blob.bytes.len())).sum();
        let bytes = self.bytes + added as u64;
        if bytes > self.limit {
            return Err(StoreError::MemoryFull(self.limit));
        }
        self.bytes = bytes;
        self.blobs.extend(new);
        if let Some(first) = rows.first() {
            self.writes += 1;
            let stored = self.sessions.entry(session);
            let stored = stored.or_insert_with(|| MemorySession::new(session, first));
            stored.last_write = self.writes;
            rows.iter().for_each(|row| stored.add(row));
        }
        let started = match next {
            0 => self.started(session),
            _ => None,
        };
        let owner = self.ownership(session);
        if let Some(stored) = self.sessions.get_mut(&session) {
            stored.blobs.extend(blobs.iter().map(|blob| blob.digest));
            stored.stats = started.unwrap_or_else(|| std::mem::take(&mut stored.stats));
            add_rows(&mut stored.stats, rows);
            let pending = stored.stats.take_pending();
            self.sums.entry(owner).or_default().add_all(pending);
        }
        Ok(())
    }

    /// Returns the start of the fold of a new session, if it is an agent's.
    fn started(&self, session: SessionId) -> Option<SessionStats> {
        let parent = self.sessions.get(&session)?.info.parent?;
        let rows = self.sessions.get(&parent).map(|parent| parent.rows.iter());
        let mut changes = rows
            .into_iter()
            .flatten()
            .filter_map(|row| row.stats.as_ref());
        let name = changes.find_map(|change| match change {
            StatsChange::Spawned { session: id, agent } => (*id == session).then_some(agent),
            _ => None,
        });
        Some(SessionStats::of_agent(name.map(String::as_str)))
    }

    /// Returns the sums of a scope.
    pub(super) fn stats(&self, scope: &SessionScope) -> StoredStats {
        let mut stats = StoredStats::default();
        let sums = self.sums.iter();
        for (_, sums) in sums.filter(|(owner, _)| scope.has(owner.as_ref())) {
            stats.sums.add_all(sums.clone());
        }
        stats
    }

    /// Removes a session as if it had never been.
    fn remove(&mut self, session: SessionId) {
        if let Some(stored) = self.sessions.get(&session) {
            let mut stats = stored.stats.restarted();
            add_rows(&mut stats, &stored.rows);
            let owner = self.ownership(session);
            let sums = self.sums.entry(owner).or_default();
            sums.subtract(stats.take_pending());
        }
        self.discard(session);
    }

    /// Returns how far a session goes.
    pub(super) fn sealed_session(&self, session: SessionId) -> Result<SealedSession, StoreError> {
        let info = &self.stored(session)?.info;
        Ok(SealedSession {
            session,
            events: info.events,
            last_ms: info.last_ms,
        })
    }

    /// Removes a session, and the blobs to which no other refers. What it used stays in the sums.
    fn discard(&mut self, session: SessionId) {
        if self.sealed.is_known(session)
            && let Ok(known) = self.sealed_session(session)
        {
            self.sealed.remember(known);
        }
        let Some(stored) = self.sessions.remove(&session) else {
            return;
        };
        self.links.remove(session, None);
        let json: usize = stored.rows.iter().map(|row| row.json.len()).sum();
        self.bytes -= json as u64;
        for digest in stored.blobs {
            let mut others = self.sessions.values();
            if !others.any(|other| other.blobs.contains(&digest))
                && let Some(blob) = self.blobs.remove(&digest)
            {
                self.bytes -= blob.bytes.len() as u64;
            }
        }
    }

    /// Removes a session with those of its agents.
    pub(super) fn remove_family(&mut self, session: SessionId) {
        // The last ones are owned as those that started them.
        let family = self.descendants(session).into_iter().rev();
        family.for_each(|child| self.remove(child));
        self.remove(session);
    }

    /// Whether a session or one of its agents is written to.
    fn is_claimed(&self, session: SessionId) -> bool {
        let mut family = self.descendants(session);
        family.push(session);
        family
            .iter()
            .any(|session| self.claims.contains_key(session))
    }

    /// Returns the sessions of a session's agents, and of theirs.
    pub(super) fn descendants(&self, session: SessionId) -> Vec<SessionId> {
        let mut found = vec![session];
        let mut next = 0;
        while let Some(parent) = found.get(next).copied() {
            let stored = self.sessions.values();
            let children = stored.filter(|stored| stored.info.parent == Some(parent));
            let ids = children.map(|stored| stored.info.id);
            found.extend(ids.collect::<Vec<_>>());
            next += 1;
        }
        found.remove(0);
        found
    }

    /// Returns the session whose call started this one.
    pub(super) fn parent(&self, session: SessionId) -> Option<SessionId> {
        let parent = self.sessions.get(&session)?.info.parent;
        parent.filter(|parent| self.contains(*parent))
    }

    pub(super) fn prune(&mut self, retention: Retention, now_ms: u64) -> Pruned {
        let mut pruned = Pruned::default();
        let oldest_ms = retention.oldest_ms(now_ms);
        let sessions = self.list().into_iter().rev();
        for info in sessions.filter(|info| info.parent.is_none()) {
            let session = info.id;
            let is_too_large = retention.bytes.is_some_and(|most| self.bytes > most);
            let is_too_old = oldest_ms.is_some_and(|oldest| info.last_ms <= oldest);
            if !is_too_large && !is_too_old {
                continue;
            }
            if info.status.is_waiting() {
                pruned.kept.push((session, KeepReason::Awaiting));
            } else if self.is_claimed(session) {
                pruned.kept.push((session, KeepReason::InUse));
            } else {
                let family = self.descendants(session).into_iter();
                family.for_each(|child| self.discard(child));
                self.discard(session);
                pruned.removed.push(session);
            }
        }
        pruned
    }
}

fn time(row: &EventRow) -> u64 {
    u64::try_from(row.at_ms).unwrap_or_default()
}

/// The claim on a session; it ends when this value is dropped.
pub(super) struct Claim {
    pub(super) shared: Arc<SharedMemory>,
    pub(super) session: SessionId,
}

impl Claim {
    pub(super) fn take(
        shared: &Arc<SharedMemory>,
        session: SessionId,
    ) -> Result<Self, JournalError> {
        match shared.state().claims.entry(session) {
            Entry::Occupied(claimed) => Err(JournalError::Locked {
                session,
                owner: Some(claimed.get().clone()),
            }),
            Entry::Vacant(free) => {
                free.insert(this_process());
                Ok(Self {
                    shared: Arc::clone(shared),
                    session,
                })
            }
        }
    }

    /// Stores the next events of the session with their blobs, or nothing of them.
    pub(super) fn write(
        &self,
        rows: &[Arc<EventRow>],
        blobs: &[Arc<Blob>],
    ) -> Result<(), StoreError> {
        let Self { shared, session } = self;
        let mut state = shared.state();
        state.write(&shared.location, *session, rows, blobs)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.shared.state().claims.remove(&self.session);
    }
}

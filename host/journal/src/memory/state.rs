//! The sessions of a store in memory.

use super::Shared;
use crate::{
    claim::this_process,
    copy::{SessionSink, SessionSource},
    error::{Location, StoreError},
    row::{PAGE_BYTES, Row},
    store::{AWAITING, KeepReason, ProjectApproval, Pruned, Retention, SessionInfo},
};
use agent_host_engine::journal::{JournalError, SessionOwner};
use agent_host_types::{
    event::EventRecord,
    id::{Digest, SessionId},
    output::Blob,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry},
    sync::Arc,
};

/// Everything that a store in memory holds.
pub(super) struct State {
    sessions: HashMap<SessionId, Stored>,
    blobs: HashMap<Digest, Arc<Blob>>,
    claims: HashMap<SessionId, SessionOwner>,
    pub(super) approvals: Vec<ProjectApproval>,
    key: Option<[u8; 32]>,
    /// The number of writes so far, which orders sessions by their last one.
    writes: u64,
    /// The size of all events and blobs, in bytes.
    bytes: u64,
    /// The bound on `bytes`.
    limit: u64,
}

/// A session.
struct Stored {
    info: SessionInfo,
    rows: Vec<Arc<Row>>,
    blobs: BTreeSet<Digest>,
    last_write: u64,
}

/// Events and blobs that are stored together or not at all.
pub(super) struct Batch {
    session: SessionId,
    pub(super) rows: Vec<Arc<Row>>,
    pub(super) blobs: Vec<Arc<Blob>>,
}

impl Batch {
    pub(super) fn new(session: SessionId) -> Self {
        Self {
            session,
            rows: Vec::new(),
            blobs: Vec::new(),
        }
    }
}

impl SessionSink for Batch {
    fn event(&mut self, record: &EventRecord) -> Result<(), JournalError> {
        let row = Row::encode(record).map_err(|source| StoreError::UnstorableCopy {
            session: self.session,
            seq: record.seq,
            source,
        })?;
        self.rows.push(Arc::new(row));
        Ok(())
    }

    fn blob(&mut self, blob: Blob) -> Result<(), JournalError> {
        self.blobs.push(Arc::new(blob));
        Ok(())
    }
}

impl State {
    pub(super) fn new(limit: u64) -> Self {
        Self {
            sessions: HashMap::new(),
            blobs: HashMap::new(),
            claims: HashMap::new(),
            approvals: Vec::new(),
            key: None,
            writes: 0,
            bytes: 0,
            limit,
        }
    }

    pub(super) fn contains(&self, session: SessionId) -> bool {
        self.sessions.contains_key(&session)
    }

    /// The number of durable events of a session.
    pub(super) fn events(&self, session: SessionId) -> u64 {
        let stored = self.sessions.get(&session);
        stored.map_or(0, |stored| stored.info.events)
    }

    fn stored(&self, session: SessionId) -> Result<&Stored, StoreError> {
        let stored = self.sessions.get(&session);
        stored.ok_or(StoreError::NoSession { session })
    }

    pub(super) fn list(&self) -> Vec<SessionInfo> {
        let sessions = self.latest_first();
        let stored = sessions.iter().filter_map(|id| self.sessions.get(id));
        stored.map(|stored| stored.info.clone()).collect()
    }

    /// The sessions, the one that was written to last first.
    pub(super) fn latest_first(&self) -> Vec<SessionId> {
        let mut stored: Vec<&Stored> = self.sessions.values().collect();
        stored.sort_by_key(|stored| std::cmp::Reverse(stored.last_write));
        stored.iter().map(|stored| stored.info.id).collect()
    }

    /// The rows of the page of a session that begins with number `from`.
    pub(super) fn page(&self, session: SessionId, from: u64) -> Result<Vec<Arc<Row>>, StoreError> {
        Ok(page(&self.stored(session)?.rows, from))
    }

    pub(super) fn blob(
        &self,
        location: &Location,
        digest: Digest,
    ) -> Result<Arc<Blob>, StoreError> {
        let blob = self.blobs.get(&digest).cloned();
        blob.ok_or_else(|| StoreError::NoBlob {
            digest,
            location: Arc::clone(location),
        })
    }

    /// Copies the present state of a session.
    pub(super) fn snapshot(
        &self,
        location: &Location,
        session: SessionId,
    ) -> Result<Snapshot, StoreError> {
        let stored = self.stored(session)?;
        let blob = |digest: &Digest| Some((*digest, Arc::clone(self.blobs.get(digest)?)));
        Ok(Snapshot {
            session,
            location: Arc::clone(location),
            rows: stored.rows.clone(),
            blobs: stored.blobs.iter().filter_map(blob).collect(),
        })
    }

    /// Stores the next events of a session with their blobs, or nothing of them.
    pub(super) fn write(
        &mut self,
        location: &Location,
        session: SessionId,
        batch: &Batch,
    ) -> Result<(), StoreError> {
        let Batch { rows, blobs, .. } = batch;
        let next = i64::try_from(self.events(session)).unwrap_or(i64::MAX);
        let is_next = (next..).zip(rows).all(|(seq, row)| row.seq == seq);
        if !is_next || rows.is_empty() && !blobs.is_empty() && next == 0 {
            return Err(StoreError::OutOfOrder {
                session,
                location: Arc::clone(location),
            });
        }
        let new: BTreeMap<Digest, &Arc<Blob>> = blobs
            .iter()
            .filter(|blob| !self.blobs.contains_key(&blob.digest))
            .map(|blob| (blob.digest, blob))
            .collect();
        let json: usize = rows.iter().map(|row| row.json.len()).sum();
        let bytes: usize = new.values().map(|blob| blob.bytes.len()).sum();
        let bytes = self.bytes + (json + bytes) as u64;
        if bytes > self.limit {
            return Err(StoreError::MemoryFull { limit: self.limit });
        }
        self.bytes = bytes;
        let new = new
            .into_iter()
            .map(|(digest, blob)| (digest, Arc::clone(blob)));
        self.blobs.extend(new);
        self.add_rows(session, rows);
        if let Some(stored) = self.sessions.get_mut(&session) {
            stored.blobs.extend(blobs.iter().map(|blob| blob.digest));
        }
        Ok(())
    }

    fn add_rows(&mut self, session: SessionId, rows: &[Arc<Row>]) {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return;
        };
        let time = |row: &Row| u64::try_from(row.at_ms).unwrap_or_default();
        self.writes += 1;
        let stored = self.sessions.entry(session).or_insert_with(|| Stored {
            info: SessionInfo {
                id: session,
                started_ms: time(first),
                last_ms: 0,
                events: 0,
                title: None,
                directory: None,
                outcome: None,
            },
            rows: Vec::new(),
            blobs: BTreeSet::new(),
            last_write: 0,
        });
        stored.last_write = self.writes;
        stored.rows.extend_from_slice(rows);
        let info = &mut stored.info;
        info.last_ms = time(last);
        info.events = stored.rows.len() as u64;
        for Row { listing, .. } in rows.iter().map(AsRef::as_ref) {
            info.title = info.title.take().or_else(|| listing.title.clone());
            info.directory = info.directory.take().or_else(|| listing.directory.clone());
            info.outcome = listing.outcome.map(str::to_owned).or(info.outcome.take());
        }
    }

    /// Removes a session, and the blobs to which no other refers.
    pub(super) fn remove(&mut self, session: SessionId) {
        let Some(stored) = self.sessions.remove(&session) else {
            return;
        };
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

    pub(super) fn prune(&mut self, retention: Retention, now_ms: u64) -> Pruned {
        let mut pruned = Pruned::default();
        let oldest_ms = retention
            .age
            .map(|age| now_ms.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX)));
        for session in self.latest_first().into_iter().rev() {
            let Some(Stored { info, .. }) = self.sessions.get(&session) else {
                continue;
            };
            let is_too_large = retention.bytes.is_some_and(|most| self.bytes > most);
            let is_too_old = oldest_ms.is_some_and(|oldest| info.last_ms <= oldest);
            if !is_too_large && !is_too_old {
                continue;
            }
            let outcome = info.outcome.as_deref();
            if outcome.is_some_and(|outcome| AWAITING.contains(&outcome)) {
                pruned.kept.push((session, KeepReason::Awaiting));
            } else if self.claims.contains_key(&session) {
                pruned.kept.push((session, KeepReason::InUse));
            } else {
                self.remove(session);
                pruned.removed.push(session);
            }
        }
        pruned
    }

    pub(super) fn key(&mut self) -> Result<[u8; 32], JournalError> {
        if let Some(key) = self.key {
            return Ok(key);
        }
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(JournalError::storage)?;
        self.key = Some(key);
        Ok(key)
    }
}

/// Returns about [`PAGE_BYTES`] of rows from number `from` on.
fn page(rows: &[Arc<Row>], from: u64) -> Vec<Arc<Row>> {
    let from = usize::try_from(from).unwrap_or(usize::MAX);
    let mut bytes = 0;
    let fits = |row: &&Arc<Row>| {
        let fits = bytes < PAGE_BYTES;
        bytes += row.json.len();
        fits
    };
    let rows = rows.get(from..).unwrap_or_default();
    rows.iter().take_while(fits).cloned().collect()
}

/// Decodes the rows of a session.
pub(super) fn decode(
    location: &Location,
    session: SessionId,
    rows: &[Arc<Row>],
) -> Result<Vec<EventRecord>, JournalError> {
    let records = rows.iter().map(|row| row.decode(location, session));
    Ok(records.collect::<Result<_, _>>()?)
}

/// A session as it was at one moment.
pub(super) struct Snapshot {
    session: SessionId,
    location: Location,
    rows: Vec<Arc<Row>>,
    blobs: BTreeMap<Digest, Arc<Blob>>,
}

impl Snapshot {
    pub(super) fn into_blobs(self) -> impl Iterator<Item = Arc<Blob>> {
        self.blobs.into_values()
    }
}

impl SessionSource for Snapshot {
    fn session(&self) -> SessionId {
        self.session
    }

    fn location(&self) -> &Location {
        &self.location
    }

    fn events(&self) -> Result<u64, JournalError> {
        Ok(self.rows.len() as u64)
    }

    fn page(&self, from: u64) -> Result<Vec<EventRecord>, JournalError> {
        decode(&self.location, self.session, &page(&self.rows, from))
    }

    fn blobs(&self) -> Result<Vec<Digest>, JournalError> {
        Ok(self.blobs.keys().copied().collect())
    }

    fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError> {
        let blob = self.blobs.get(&digest).map(|blob| blob.bytes.clone());
        blob.ok_or_else(|| {
            StoreError::NoBlob {
                digest,
                location: Arc::clone(&self.location),
            }
            .into()
        })
    }
}

/// The claim on a session; it ends when this value is dropped.
pub(super) struct Claim {
    pub(super) shared: Arc<Shared>,
    pub(super) session: SessionId,
}

impl Claim {
    pub(super) fn take(shared: &Arc<Shared>, session: SessionId) -> Result<Self, JournalError> {
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
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.shared.state().claims.remove(&self.session);
    }
}

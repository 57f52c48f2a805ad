//! The digest chain of a session: each event's digest covers its columns and the digest of the
//! event before it, so a changed, missing or moved event is found where it is. The chain finds
//! damage; it is no signature, since every process that may write to the file can compute it anew.

use crate::{
    error::{Damage, Location, StoreError},
    row::{damaged, decode},
};
use agent_host_types::{event::EventRecord, id::SessionId};

/// The digest of an event (BLAKE3), or the start of a session's chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChainLink(pub(crate) [u8; 32]);

impl ChainLink {
    /// Returns the start of a chain: a digest of the session, so that two sessions share no digest.
    pub(crate) fn start(session: SessionId) -> Self {
        Self(*blake3::hash(session.to_string().as_bytes()).as_bytes())
    }

    /// Returns the digest before event `seq`, of which `before` was stored; none if that is missing.
    pub(crate) fn before(session: SessionId, seq: u64, before: Option<Vec<u8>>) -> Option<Self> {
        match before.and_then(|digest| digest.try_into().ok()) {
            Some(digest) => Some(Self(digest)),
            None => (seq == 0).then(|| Self::start(session)),
        }
    }

    /// Returns the digest of the event that follows, over its columns as they are stored; the
    /// numbers are `[seq, at_ms, v]`. Numbers and lengths have a fixed size, so no two rows give
    /// the same bytes.
    pub(crate) fn next(self, numbers: [i64; 3], kind: &[u8], json: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0);
        for number in numbers {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(&(kind.len() as u64).to_le_bytes());
        hasher.update(kind);
        hasher.update(json);
        Self(*hasher.finalize().as_bytes())
    }
}

/// A stored event before it is checked. Texts are bytes here: damaged ones may be no text.
pub(crate) struct StoredEvent {
    /// `[seq, at_ms, v]`.
    pub(crate) numbers: [i64; 3],
    pub(crate) kind: Vec<u8>,
    pub(crate) json: Vec<u8>,
    pub(crate) digest: Vec<u8>,
}

impl StoredEvent {
    /// Checks that this is event `expected` after the event with digest `before`, and decodes it.
    /// `before` becomes its digest.
    pub(crate) fn check(
        &self,
        location: &Location,
        session: SessionId,
        expected: u64,
        before: &mut ChainLink,
    ) -> Result<EventRecord, StoreError> {
        let [found, ..] = self.numbers;
        if u64::try_from(found) != Ok(expected) {
            return Err(damaged(location, session, Damage::Gap { expected, found }));
        }
        let link = before.next(self.numbers, &self.kind, &self.json);
        if link.0 != *self.digest {
            let seq = expected;
            return Err(damaged(location, session, Damage::Changed(seq)));
        }
        *before = link;
        decode(location, session, self.numbers, &self.json)
    }

    /// Checks an event that was read without the others by the digest of the one before it, and
    /// decodes it.
    pub(crate) fn check_behind(
        &self,
        location: &Location,
        session: SessionId,
        before: Option<Vec<u8>>,
    ) -> Result<EventRecord, StoreError> {
        let [found, ..] = self.numbers;
        let seq = u64::try_from(found).unwrap_or_default();
        let mut link = ChainLink::before(session, seq, before).ok_or_else(|| {
            let expected = seq.saturating_sub(1);
            damaged(location, session, Damage::Gap { expected, found })
        })?;
        self.check(location, session, seq, &mut link)
    }
}

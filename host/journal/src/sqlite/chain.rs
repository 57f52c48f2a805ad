//! The digest chain of a session: each event's digest covers its columns and the digest of the event
//! before it, so a changed, missing or moved event is found where it is. The chain finds damage; it is
//! no signature, since every process that may write to the file can compute it anew.

use agent_host_types::id::SessionId;

/// The digest of an event (BLAKE3), or the start of a session's chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link(pub(crate) [u8; 32]);

impl Link {
    /// Returns the start of a chain: a digest of the session, so that two sessions share no digest.
    pub(crate) fn start(session: SessionId) -> Self {
        Self(*blake3::hash(session.to_string().as_bytes()).as_bytes())
    }

    /// Returns the digest of the event that follows, over its columns as they are stored; the numbers
    /// are `[seq, at_ms, v]`. Numbers and
    /// lengths have a fixed size, so no two rows give the same bytes.
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

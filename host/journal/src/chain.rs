//! The digests that chain the stored events of a session: each is over the event and over the digest of the one before it,
//! so an event that changed, is gone, or stands in another's place is found where it is. They find damage; they are no
//! signature, since whoever may write to the file can make them anew.

use agent_host_types::id::SessionId;

/// The digest of an event (BLAKE3), or what stands before the first one of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link(pub(crate) [u8; 32]);

impl Link {
    /// What stands before the first event: the session itself, so that two sessions share no digest.
    pub(crate) fn before_first(session: SessionId) -> Self {
        Self(*blake3::hash(session.to_string().as_bytes()).as_bytes())
    }

    /// The digest of the event that follows: its columns as they are stored. Numbers and lengths have a fixed size, so no two
    /// rows give the same bytes.
    pub(crate) fn next(self, seq: i64, at_ms: i64, v: i64, kind: &[u8], json: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0);
        for number in [seq, at_ms, v] {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(&(kind.len() as u64).to_le_bytes());
        hasher.update(kind);
        hasher.update(json);
        Self(*hasher.finalize().as_bytes())
    }
}

//! Redaction of a byte stream, also of values that span chunks.

use super::Secrets;
use std::sync::Arc;

/// Redacts one byte stream.
///
/// Holds back the last bytes until more bytes or the end arrive: as many as the longest form of a
/// value has, rounded up to a power of two. The delay depends only on the length of the stream,
/// never on its content; if only the head of a value were held back, the delay would confirm a
/// guess of it.
pub struct Redaction {
    secrets: Arc<Secrets>,
    held: Vec<u8>,
}

impl Redaction {
    /// Creates the redaction of a new stream.
    #[must_use]
    pub fn new(secrets: Arc<Secrets>) -> Self {
        Self {
            secrets,
            held: Vec::new(),
        }
    }

    /// Adds a chunk and returns the redacted bytes that are ready, which may be empty.
    pub fn push(&mut self, chunk: &[u8]) -> Vec<u8> {
        let Some(forms) = &self.secrets.forms else {
            return chunk.to_vec();
        };
        self.held.extend_from_slice(chunk);
        let ready = self.held.len().saturating_sub(forms.look_ahead());
        let (out, done) = forms.redact(&self.held, ready);
        self.held.drain(..done);
        out
    }

    /// Returns the redacted rest. To be called at every end of the stream, also after an error.
    pub fn finish(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.held);
        self.secrets.redacted(&rest).unwrap_or(rest)
    }
}

//! Redaction of bytes that come in pieces: a value is found wherever the pieces are cut.

use super::Secrets;
use std::sync::Arc;

/// Redacts one stream of bytes.
///
/// It always keeps back the last bytes, as many as the longest form of a value has (rounded up to a power of two), until more
/// bytes or the end arrive. How much it keeps back therefore depends on the length of what came and never on its content: if
/// only bytes that begin a value were kept back, their absence would confirm a guess of the value's beginning.
pub struct Redaction {
    secrets: Arc<Secrets>,
    held: Vec<u8>,
}

impl Redaction {
    /// A stream that begins.
    #[must_use]
    pub fn new(secrets: Arc<Secrets>) -> Self {
        Self {
            secrets,
            held: Vec::new(),
        }
    }

    /// Takes a piece, and returns what is due by now. It may be nothing.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let Some(forms) = &self.secrets.forms else {
            return piece.to_vec();
        };
        self.held.extend_from_slice(piece);
        let due = self.held.len().saturating_sub(forms.look_ahead());
        let (out, done) = forms.redact(&self.held, due);
        self.held.drain(..done);
        out
    }

    /// Returns the rest. It is due at every end, also that of a stream that breaks off.
    pub fn finish(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.held);
        self.secrets.redacted(&rest).unwrap_or(rest)
    }
}

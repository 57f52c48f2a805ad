//! Redaction of bytes that come in pieces: a value is found wherever the pieces are cut.

use super::Secrets;
use bytes::Bytes;
use std::sync::Arc;

/// One stream of bytes on its way to a guest. It holds back what may be the beginning of a value, and nothing else, so an
/// answer that trickles is not delayed.
pub(crate) struct Redaction {
    secrets: Arc<Secrets>,
    /// The beginning of a form, shorter than the longest of them.
    held: Vec<u8>,
}

impl Redaction {
    /// A stream that begins.
    pub(crate) fn new(secrets: Arc<Secrets>) -> Self {
        Self {
            secrets,
            held: Vec::new(),
        }
    }

    /// Takes a piece, and gives what can be told by now. It may be nothing.
    pub(crate) fn push(&mut self, piece: Bytes) -> Bytes {
        let Some(forms) = &self.secrets.forms else {
            return piece;
        };
        let bytes = if self.held.is_empty() {
            piece
        } else {
            let mut bytes = std::mem::take(&mut self.held);
            bytes.extend_from_slice(&piece);
            bytes.into()
        };
        let mut open = forms.open_end(&bytes, 0);
        let mut out = Vec::new();
        let mut told = 0;
        // What begins at `open` or behind it may yet become another or a longer form. What begins before it may not, or it
        // would be open itself.
        while let Some(found) = forms.find(&bytes, told).filter(|found| found.start < open) {
            out.extend_from_slice(bytes.get(told..found.start).unwrap_or_default());
            out.extend_from_slice(found.mark.as_bytes());
            told = found.end;
            if open < told {
                open = forms.open_end(&bytes, told);
            }
        }
        self.held = bytes.get(open..).unwrap_or_default().to_vec();
        if told == 0 {
            return bytes.slice(..open);
        }
        out.extend_from_slice(bytes.get(told..open).unwrap_or_default());
        out.into()
    }

    /// What was held back, at the stream's end.
    pub(crate) fn finish(self) -> Bytes {
        // It may hold a whole form: the beginning of a longer one that did not come.
        match self.secrets.redacted(&self.held) {
            Some(redacted) => redacted.into(),
            None => self.held.into(),
        }
    }
}

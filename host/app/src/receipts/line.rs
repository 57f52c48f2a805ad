//! The lines of a file of receipts: their canonical form, commitments, chain and signatures.

use super::entry::Entry;
use agent_host_engine::journal::JournalError;
use agent_host_registry::SigningKey;
use agent_host_types::{
    id::{Digest, SessionId},
    reason::Reason,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// The version of the format.
pub(super) const VERSION: u64 = 1;

/// The `kind` of the closing line.
pub(super) const END: &str = "end";

/// The longest line, in bytes: above what a model's reply can have as arguments. Longer results are
/// in blobs.
pub(super) const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;

/// The reason for which a key is refused.
const NOT_ED25519: &str = "receipts are signed with Ed25519, and this is a P-256 key; make one with \
                           `openssl genpkey -algorithm ed25519`";

/// Why receipts cannot be written, or not read.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptError {
    /// The session cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] io::Error),
    /// The key cannot be used.
    #[error("{0}")]
    Key(Reason),
}

/// Returns an error for a key that is not one of Ed25519.
pub(super) fn check_algorithm(is_ed25519: bool) -> Result<(), ReceiptError> {
    match is_ed25519 {
        true => Ok(()),
        false => Err(ReceiptError::Key(NOT_ED25519.into())),
    }
}

/// Returns whether a text is a salt: 64 hexadecimal digits.
pub(super) fn is_salt(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the commitment to a content: the digest of its salt and its text, one after the other.
/// Since all salts have one length, no text can pass for a part of one.
pub(super) fn commitment(salt: &str, text: &str) -> Digest {
    Digest::of(format!("{salt}{text}").as_bytes())
}

/// Returns the text that is signed for a receipt with this digest. It begins with its purpose, so
/// that no signature for another one is that of a receipt.
pub(super) fn signed_text(digest: Digest) -> String {
    format!("agent-host receipt {digest}")
}

/// Returns the digest that the first receipt of a session names as that of the one before it.
pub(super) fn chain_start(session: SessionId) -> Digest {
    Digest::of(session.to_string().as_bytes())
}

/// A line of the file. Its fields are sorted, as in the canonical form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    /// The contents that were not removed, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) contents: Map<String, Value>,
    /// An object: what is signed.
    pub(super) receipt: Value,
    pub(super) signature: String,
}

/// Writes a file of receipts.
pub(super) struct ReceiptWriter<'a> {
    out: &'a mut (dyn Write + Send),
    key: &'a SigningKey,
    fingerprint: Digest,
    session: SessionId,
    redact: bool,
    count: u64,
    /// The digest of the last receipt.
    previous: Digest,
}

/// The fields that place a receipt, with its own.
#[derive(Serialize)]
struct Placed<'a> {
    version: u64,
    key: Digest,
    session: SessionId,
    number: u64,
    previous: Digest,
    commitments: &'a Map<String, Value>,
    #[serde(flatten)]
    entry: &'a Entry,
}

impl<'a> ReceiptWriter<'a> {
    pub(super) fn new(
        out: &'a mut (dyn Write + Send),
        key: &'a SigningKey,
        session: SessionId,
        redact: bool,
    ) -> Result<Self, ReceiptError> {
        let public = key.public();
        check_algorithm(public.is_ed25519())?;
        Ok(Self {
            out,
            key,
            fingerprint: public.fingerprint(),
            session,
            redact,
            count: 0,
            previous: chain_start(session),
        })
    }

    /// Writes a receipt.
    pub(super) fn add(&mut self, entry: &Entry) -> Result<(), ReceiptError> {
        let (mut commitments, mut contents) = (Map::new(), Map::new());
        for (name, text) in &entry.contents {
            let salt = salt()?;
            commitments.insert((*name).to_owned(), json!(commitment(&salt, text)));
            contents.insert((*name).to_owned(), json!({ "salt": salt, "text": text }));
        }
        self.count += 1;
        let receipt = json!(Placed {
            version: VERSION,
            key: self.fingerprint,
            session: self.session,
            number: self.count,
            previous: self.previous,
            commitments: &commitments,
            entry,
        });
        if self.redact {
            contents.clear();
        }
        self.write(receipt, contents)
    }

    /// Writes the closing line, and returns the number of receipts.
    pub(super) fn close(mut self) -> Result<u64, ReceiptError> {
        let receipt = json!({
            "version": VERSION,
            "kind": END,
            "key": self.fingerprint,
            "session": self.session,
            "count": self.count,
            "previous": self.previous,
        });
        self.write(receipt, Map::new())?;
        self.out.flush()?;
        Ok(self.count)
    }

    fn write(&mut self, receipt: Value, contents: Map<String, Value>) -> Result<(), ReceiptError> {
        // The keys of objects are sorted; a test of `json_digest` checks that.
        self.previous = Digest::of(receipt.to_string().as_bytes());
        let signature = self.key.sign(signed_text(self.previous).as_bytes());
        let signature = STANDARD.encode(signature.map_err(ReceiptError::Key)?);
        let line = Line {
            contents,
            receipt,
            signature,
        };
        let line = serde_json::to_string(&line).map_err(io::Error::from)?;
        if line.len() > MAX_LINE_BYTES {
            let (count, redact) = (self.count, "export it with `--redact`");
            let why = format!("receipt {count} has more than {MAX_LINE_BYTES} bytes; {redact}");
            return Err(io::Error::other(why).into());
        }
        writeln!(self.out, "{line}")?;
        Ok(())
    }
}

/// Returns 256 random bits in hexadecimal digits.
fn salt() -> Result<String, ReceiptError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(Digest::from_bytes(bytes).hex())
}

//! Read-only links to single sessions, which every host of the store honours.

use crate::signature::{BYTES, RowKey, SignedTable, UnsignedRow, Value};
use agent_host_types::id::SessionId;

/// The most links of a store.
pub const MAX_LINKS: u32 = 1_000;

/// A read-only link to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionLink {
    /// The name, which no other link has.
    pub id: String,
    /// The session.
    pub session: SessionId,
    /// The hash of the text that shows the session.
    pub hash: String,
    /// The owner of the sessions of the token that made it; absent for the server's own token.
    pub owner: Option<String>,
    /// The name of that token.
    pub by: String,
    /// The time, in milliseconds since 1970 (UTC).
    pub created_at_ms: u64,
    /// The time from which on it shows nothing.
    pub expires_at_ms: u64,
    /// Whether it works in one browser alone: the first one gets another text for it.
    pub single_use: bool,
    /// Whether that has happened.
    pub is_opened: bool,
}

impl SessionLink {
    /// Whether its text must be exchanged before it shows anything.
    #[must_use]
    pub fn must_open(&self) -> bool {
        self.single_use && !self.is_opened
    }

    /// Returns it as it is once it was opened, with the hash of the other text.
    pub(crate) fn opened(&self, hash: String) -> Self {
        Self {
            hash,
            is_opened: true,
            ..self.clone()
        }
    }

    pub(crate) fn sign(&self, key: &RowKey) -> [u8; BYTES] {
        key.sign(SignedTable::Links, &self.values(&self.session.to_string()))
    }

    /// True if a signature is that of the link.
    pub(crate) fn is_valid(&self, key: &RowKey, signature: Option<&[u8]>) -> bool {
        let session = self.session.to_string();
        key.is_valid(SignedTable::Links, &self.values(&session), signature)
    }

    /// Returns the values that are signed: those of all columns.
    fn values<'a>(&'a self, session: &'a str) -> [Value<'a>; 9] {
        let number = |number: u64| Value::Number(i64::try_from(number).unwrap_or(i64::MAX));
        [
            Value::Text(&self.id),
            Value::Text(session),
            Value::Text(&self.hash),
            self.owner.as_deref().into(),
            Value::Text(&self.by),
            number(self.created_at_ms),
            number(self.expires_at_ms),
            number(self.single_use.into()),
            number(self.is_opened.into()),
        ]
    }
}

/// A link as it is stored, with its signature.
pub(crate) type StoredLink = (SessionLink, Option<Vec<u8>>);

/// Keeps those that a host of this store wrote as they are.
pub(crate) fn valid(
    stored: impl IntoIterator<Item = StoredLink>,
    key: &RowKey,
) -> impl Iterator<Item = SessionLink> {
    let valid = stored
        .into_iter()
        .filter(|(link, signature)| link.is_valid(key, signature.as_deref()));
    valid.map(|(link, _)| link)
}

/// Names those that no host of this store wrote as they are.
pub(crate) fn unsigned(
    stored: impl IntoIterator<Item = StoredLink>,
    key: &RowKey,
) -> impl Iterator<Item = UnsignedRow> {
    let invalid = stored
        .into_iter()
        .filter(|(link, signature)| !link.is_valid(key, signature.as_deref()));
    invalid.map(|(link, signature)| UnsignedRow::new(SignedTable::Links, link.id, signature))
}

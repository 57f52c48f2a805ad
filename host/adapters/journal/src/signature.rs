//! The signatures of rows that confer authority: a keyed digest over everything that a row says,
//! its table and its key. One who can write to the database, and has no copy of the key, makes no
//! row that a host believes. A row without a valid signature is treated as absent and reported.
//!
//! The key is random and of one store, so that a row of another store is not valid either.

use crate::firing::Firing;
use std::fmt;

/// The size of the secret of which the key is derived, and of a signature, in bytes.
pub(crate) const BYTES: usize = 32;

/// Separates these signatures from all other uses of a key (`derive_key` of BLAKE3).
const CONTEXT: &str = "agent-host 2026-11 signatures of rows that confer authority";

/// The key that signs the rows of one store.
#[derive(Clone)]
pub(crate) struct RowKey([u8; BYTES]);

/// A value of a row.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    Null,
    Number(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl From<Option<i64>> for Value<'_> {
    fn from(number: Option<i64>) -> Self {
        number.map_or(Self::Null, Self::Number)
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }
}

/// A table whose rows are signed, or a file whose entries are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SignedTable {
    Approvals,
    Firings,
    Owners,
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "only hosts that share a database have runs in it")
    )]
    Runs,
    Sessions,
    Tokens,
    Trust,
    Links,
    Memory,
    Tallies,
}

impl SignedTable {
    /// Returns the name that is signed; it never changes.
    fn name(self) -> &'static str {
        match self {
            Self::Approvals => "approvals",
            Self::Firings => "firings",
            Self::Owners => "owners",
            Self::Runs => "runs",
            Self::Sessions => "sessions",
            Self::Tokens => "tokens",
            Self::Trust => "trust",
            Self::Links => "links",
            Self::Memory => "memory",
            Self::Tallies => "tallies",
        }
    }

    /// Returns what a row of the table is, with what is ignored of it.
    fn fault(self) -> &'static str {
        match self {
            Self::Approvals => "an approval without a valid signature, which is ignored",
            Self::Firings => "a firing without a valid signature, which starts nothing",
            Self::Owners => "an owner of a session without a valid signature, which is ignored",
            Self::Runs => "a run without a valid signature, which no host continues",
            Self::Sessions => "a session without a valid signature, which cannot be continued",
            Self::Tokens => "a token without a valid signature, which is refused",
            Self::Trust => "a trusted file without a valid signature, which is not trusted",
            Self::Links => "a link without a valid signature, which is refused",
            Self::Memory => "a remembered item without a valid signature, which is ignored",
            Self::Tallies => "a counted call without a valid signature, so that no rule can count",
        }
    }
}

/// A row that is not believed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnsignedRow {
    pub(crate) table: SignedTable,
    /// The row, for its reader. Its text is untrusted.
    pub(crate) row: String,
    /// The values of its primary key.
    pub(crate) key: Vec<String>,
    /// The signature that it has.
    pub(crate) signature: Option<Vec<u8>>,
}

impl UnsignedRow {
    /// Names a row that is found by what its reader sees.
    pub(crate) fn new(table: SignedTable, row: String, signature: Option<Vec<u8>>) -> Self {
        Self {
            table,
            key: vec![row.clone()],
            row,
            signature,
        }
    }

    /// Whether it can be removed by itself. A session has events and an owner; it is removed as a
    /// session.
    #[must_use]
    pub fn is_removable(&self) -> bool {
        self.session().is_none()
    }

    /// Returns the session, if it is one of which the end or the owner is not believed.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        matches!(self.table, SignedTable::Owners | SignedTable::Sessions).then_some(&self.row)
    }
}

impl fmt::Display for UnsignedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.table.fault(), self.row)
    }
}

impl RowKey {
    pub(crate) fn new(secret: &[u8; BYTES]) -> Self {
        Self(blake3::derive_key(CONTEXT, secret))
    }

    /// Signs a row. Each value has its type and its length before it, so that no two rows give the
    /// same bytes.
    pub(crate) fn sign(&self, table: SignedTable, values: &[Value<'_>]) -> [u8; BYTES] {
        *self.digest(table, values).as_bytes()
    }

    /// True if a signature is that of the row. The comparison takes the same time for every
    /// signature.
    pub(crate) fn is_valid(
        &self,
        table: SignedTable,
        values: &[Value<'_>],
        signature: Option<&[u8]>,
    ) -> bool {
        let signature = signature.and_then(|bytes| <[u8; BYTES]>::try_from(bytes).ok());
        signature.is_some_and(|found| self.digest(table, values) == blake3::Hash::from_bytes(found))
    }

    fn digest(&self, table: SignedTable, values: &[Value<'_>]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        let mut add = |kind: u8, bytes: &[u8]| {
            hasher.update(&[kind]);
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(0, table.name().as_bytes());
        for value in values {
            match value {
                Value::Null => add(1, &[]),
                Value::Number(number) => add(2, &number.to_le_bytes()),
                Value::Text(text) => add(3, text.as_bytes()),
                Value::Bytes(bytes) => add(4, bytes),
            }
        }
        hasher.finalize()
    }

    /// Signs the end of a session: the digest of its last event, which covers all events before it.
    pub(crate) fn sign_session(&self, end: SessionEnd<'_>) -> [u8; BYTES] {
        self.sign(SignedTable::Sessions, &end.values())
    }

    /// True if a signature is that of the end of a session.
    pub(crate) fn is_session(&self, end: SessionEnd<'_>, signature: Option<&[u8]>) -> bool {
        self.is_valid(SignedTable::Sessions, &end.values(), signature)
    }

    /// Signs a firing. The digest of its message comes first, so that a list is checked without
    /// the messages.
    pub(crate) fn sign_firing(&self, firing: &Firing) -> Vec<u8> {
        let message = message_digest(firing.message.as_deref());
        let session = firing.session.to_string();
        let values = firing_values(firing, &session, &message);
        [message, self.sign(SignedTable::Firings, &values)].concat()
    }

    /// True if a signature is that of a firing. Of a firing in a list, the message is not known.
    pub(crate) fn is_firing(
        &self,
        firing: &Firing,
        has_message: bool,
        signature: Option<&[u8]>,
    ) -> bool {
        let parts = signature.and_then(|bytes| bytes.split_first_chunk::<BYTES>());
        let Some((message, signature)) = parts else {
            return false;
        };
        let is_message = !has_message || *message == message_digest(firing.message.as_deref());
        let session = firing.session.to_string();
        let values = firing_values(firing, &session, message);
        is_message && self.is_valid(SignedTable::Firings, &values, Some(signature))
    }
}

impl fmt::Debug for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RowKey(..)")
    }
}

/// The end of a session as it is stored.
#[derive(Clone, Copy)]
pub(crate) struct SessionEnd<'a> {
    /// The session.
    pub(crate) id: &'a str,
    /// The number of its events.
    pub(crate) events: i64,
    /// The digest of the last one in its chain.
    pub(crate) digest: &'a [u8],
}

impl<'a> SessionEnd<'a> {
    fn values(self) -> [Value<'a>; 3] {
        [
            Value::Text(self.id),
            Value::Number(self.events),
            Value::Bytes(self.digest),
        ]
    }
}

/// Returns the digest of a message; of none, that of no text.
fn message_digest(message: Option<&str>) -> [u8; BYTES] {
    let mut hasher = blake3::Hasher::new();
    if let Some(message) = message {
        hasher.update(b"message\n");
        hasher.update(message.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// Returns the values of a firing that are signed, with the digest of its message.
fn firing_values<'a>(firing: &'a Firing, session: &'a str, message: &'a [u8]) -> [Value<'a>; 9] {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    [
        Value::Text(&firing.trigger),
        Value::Text(&firing.key),
        Value::Text(session),
        Value::Number(number(firing.at_ms)),
        Value::Text(firing.state.as_str()),
        Value::Bytes(message),
        firing.due_ms.map(number).into(),
        firing.notified.map(number).into(),
        Value::Number(i64::from(firing.attempts)),
    ]
}

//! The memory of agents beyond a session.

use crate::{
    ownership::{Ownership, SessionScope},
    signature::{BYTES, RowKey, SignedTable, UnsignedRow, Value},
    store::JournalStore,
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::{CallId, Digest, SessionId, json_digest};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

/// The longest text of an item, in bytes.
pub const MAX_ITEM_BYTES: usize = 4 * 1024;

/// The most words of a query that count.
const MAX_WORDS: usize = 16;

/// The characters of a word that count. PostgreSQL takes words of 2 KiB.
const WORD_CHARS: usize = 64;

/// How long a store knows that an item was forgotten, in milliseconds: 90 days. A call that runs
/// again meanwhile does not bring it back.
const FORGOTTEN_MS: u64 = 90 * 24 * 60 * 60 * 1000;

/// The number of digits of an id.
const ID_DIGITS: usize = 16;

/// A text that an agent remembers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MemoryItem {
    /// The id, which follows from the call.
    pub id: String,
    /// The text.
    pub text: String,
    /// The session in which it was remembered.
    pub session: SessionId,
    /// The call by which it was remembered.
    pub call: CallId,
    /// The directory of its project; absent if it is for all projects of its owner.
    pub project: Option<String>,
    /// The owner of the session, as [`Ownership::owner`] has it.
    #[serde(skip)]
    pub owner: Option<String>,
    /// The untrusted sources of the text. Without one it is trusted.
    pub sources: Vec<String>,
    /// When it was remembered, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
    /// From when on it is not recalled, in milliseconds since 1970 (UTC).
    pub expires_ms: u64,
}

/// The result of [`JournalStore::remember`](crate::JournalStore::remember).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// The item is stored.
    Stored,
    /// The call ran before: its item is there, or was forgotten.
    Known,
    /// Its owner has as many items for the project, or for all projects, as may be. Those that are
    /// trusted and the others are counted apart, so that no page takes the place of the user.
    Full,
}

/// The items that a reader sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryScope {
    /// All of the store.
    All,
    /// Those of a project, and those of the owner for all projects.
    Project(Ownership),
    /// Those of the owner, for the project and for all projects.
    Own(Ownership),
}

/// A question for items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryQuery {
    /// The items that are looked at.
    pub scope: MemoryScope,
    /// The beginning of the id; empty for all.
    pub id: String,
    /// The text whose words are looked for, each as the beginning of a word; empty for all items.
    /// Those with more of the words come first, and of several the newest.
    pub words: String,
    /// Whether the items are trusted; `None` for all.
    pub trusted: Option<bool>,
    /// The time, in milliseconds since 1970 (UTC).
    pub now_ms: u64,
    /// The number of items that are skipped.
    pub offset: u32,
    /// The most items that are returned.
    pub limit: u32,
}

/// A change of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryChange {
    /// Its text is removed. The digest stays for a time, so that the call does not bring it back.
    Forget,
    /// It moves to another store: its text is removed, and its call may store it again.
    Leave,
    /// It is trusted from now on, whatever its sources are.
    Trust,
}

impl MemoryItem {
    /// Returns the id of the item of a call.
    #[must_use]
    pub fn id_of(session: SessionId, call: &CallId) -> String {
        let mut id = json_digest(&json!([session, call])).hex();
        id.truncate(ID_DIGITS);
        id
    }

    /// Returns the item after a change.
    pub(crate) fn changed(self, change: MemoryChange, now_ms: u64) -> StoredItem {
        let without_text = |expires_ms| StoredItem {
            item: Self {
                text: Digest::of(self.text.as_bytes()).to_string(),
                sources: Vec::new(),
                expires_ms,
                ..self.clone()
            },
            is_forgotten: true,
            signature: None,
        };
        match change {
            MemoryChange::Forget => without_text(now_ms.saturating_add(FORGOTTEN_MS)),
            MemoryChange::Leave => without_text(0),
            MemoryChange::Trust => StoredItem::from(Self {
                sources: Vec::new(),
                ..self
            }),
        }
    }
}

impl MemoryScope {
    /// Returns the items for a reader who sees the sessions of a scope. Those for all projects may
    /// be from other projects, so of them the reader sees its own.
    #[must_use]
    pub fn of_sessions(scope: SessionScope, reader: Option<String>) -> Self {
        match scope {
            SessionScope::All => Self::All,
            SessionScope::Project(project) => Self::Project(Ownership {
                project,
                owner: reader,
            }),
            SessionScope::Own { project, owner } => Self::Own(Ownership {
                project,
                owner: Some(owner),
            }),
        }
    }

    /// Returns whose they are; `None` for all.
    pub(crate) fn ownership(&self) -> Option<&Ownership> {
        match self {
            Self::All => None,
            Self::Project(own) | Self::Own(own) => Some(own),
        }
    }
}

impl MemoryQuery {
    /// Asks for all items of a scope, the newest first.
    #[must_use]
    pub fn all(scope: MemoryScope, now_ms: u64) -> Self {
        Self {
            scope,
            id: String::new(),
            words: String::new(),
            trusted: None,
            now_ms,
            offset: 0,
            limit: u32::MAX,
        }
    }

    /// Returns the words that are looked for; `None` for a text without any, which no item has.
    pub(crate) fn wanted(&self) -> Option<Vec<String>> {
        let words = words(&self.words, MAX_WORDS);
        (!words.is_empty() || self.words.trim().is_empty()).then_some(words)
    }
}

impl dyn JournalStore + '_ {
    /// Changes the item with an id, if it is among those of a scope, and returns whether it was.
    ///
    /// # Errors
    /// The store fails.
    pub async fn change_item(
        &self,
        scope: MemoryScope,
        id: &str,
        change: MemoryChange,
        now_ms: u64,
    ) -> Result<bool, JournalError> {
        let query = MemoryQuery {
            id: id.to_owned(),
            ..MemoryQuery::all(scope, now_ms)
        };
        let mut found = self.memory_items(query).await?.into_iter();
        match found.find(|item| item.id == id) {
            Some(item) => self.change_memory(item, change, now_ms).await,
            None => Ok(false),
        }
    }
}

/// Returns the sources of a column (see [`StoredItem::sources`]).
pub(crate) fn listed(sources: &str) -> Vec<String> {
    let lines = sources.split('\n').filter(|_| !sources.is_empty());
    lines.map(str::to_owned).collect()
}

/// Returns the first different words of a text, in lower case. Of a long one, the beginning counts.
pub(crate) fn words(text: &str, most: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(|char: char| !char.is_alphanumeric()) {
        let word = word
            .chars()
            .take(WORD_CHARS)
            .collect::<String>()
            .to_lowercase();
        if !word.is_empty() && !words.contains(&word) {
            words.push(word);
        }
        if words.len() == most {
            break;
        }
    }
    words
}

/// An item as it is stored. Nothing of it is read before its signature is checked.
#[derive(Clone)]
pub(crate) struct StoredItem {
    /// The item; of a forgotten one the text is the digest.
    pub(crate) item: MemoryItem,
    pub(crate) is_forgotten: bool,
    pub(crate) signature: Option<Vec<u8>>,
}

impl From<MemoryItem> for StoredItem {
    fn from(item: MemoryItem) -> Self {
        Self {
            item,
            is_forgotten: false,
            signature: None,
        }
    }
}

impl StoredItem {
    pub(crate) fn sign(&self, key: &RowKey) -> [u8; BYTES] {
        let (session, sources) = (self.item.session.to_string(), self.sources());
        key.sign(SignedTable::Memory, &self.values(&session, &sources))
    }

    /// True if a host of this store wrote it as it is.
    pub(crate) fn is_valid(&self, key: &RowKey) -> bool {
        let (session, sources) = (self.item.session.to_string(), self.sources());
        let values = self.values(&session, &sources);
        key.is_valid(SignedTable::Memory, &values, self.signature.as_deref())
    }

    /// Returns it if it is valid and not forgotten.
    pub(crate) fn believed(self, key: &RowKey) -> Option<MemoryItem> {
        (!self.is_forgotten && self.is_valid(key)).then_some(self.item)
    }

    /// Names it if it is not valid.
    pub(crate) fn unsigned(self, key: &RowKey) -> Option<UnsignedRow> {
        let is_valid = self.is_valid(key);
        let unsigned = || UnsignedRow::new(SignedTable::Memory, self.item.id, self.signature);
        (!is_valid).then(unsigned)
    }

    /// Returns whose item it is as a column by which words are found. It decides nothing.
    pub(crate) fn scope(&self) -> String {
        let mut scope = json_digest(&json!([self.item.project, self.item.owner])).hex();
        scope.truncate(ID_DIGITS);
        scope
    }

    /// Returns the sources as a column has them: one in each line.
    pub(crate) fn sources(&self) -> String {
        self.item.sources.join("\n")
    }

    /// Returns the values that are signed: those of all columns.
    fn values<'a>(&'a self, session: &'a str, sources: &'a str) -> [Value<'a>; 10] {
        let number = |number: u64| Value::Number(i64::try_from(number).unwrap_or(i64::MAX));
        let item = &self.item;
        [
            Value::Text(&item.id),
            Value::Text(&item.text),
            Value::Text(session),
            Value::Text(&item.call.0),
            item.project.as_deref().into(),
            item.owner.as_deref().into(),
            Value::Text(sources),
            number(item.at_ms),
            number(item.expires_ms),
            number(self.is_forgotten.into()),
        ]
    }
}

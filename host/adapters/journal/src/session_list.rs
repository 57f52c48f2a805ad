//! The sessions in lists: a part of a list, the rows, and the names by which users find them.

use crate::{
    find::LATEST,
    ownership::{Ownership, SessionScope},
};
use agent_host_engine::text::is_deceptive;
use agent_host_types::{id::SessionId, reason::Reason, session_status::SessionStatus};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Debug;

/// A part of a list of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    /// The number of sessions to skip.
    pub offset: usize,
    /// The most sessions to return.
    pub limit: usize,
    /// A text: each of its words begins a word of the title or the name of a session. Upper and
    /// lower case are the same, and what is neither letter nor digit separates words.
    pub search: Option<String>,
    /// The working directory in which the sessions were started; absent for any.
    pub directory: Option<String>,
    /// The sessions among which the page is.
    pub scope: SessionScope,
}

impl ListPage {
    /// Returns the words that are searched for.
    pub(crate) fn words(&self) -> Vec<String> {
        words(self.search.as_deref().unwrap_or_default())
    }
}

/// Returns the words of a text in lower case.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionInfo {
    /// The session.
    #[serde(rename = "session")]
    pub id: SessionId,
    /// The status, at the time of the reading.
    pub status: SessionStatus,
    /// The time of its first event, in milliseconds since 1970 (UTC).
    pub started_ms: u64,
    /// The time of its last event, in milliseconds since 1970 (UTC).
    pub last_ms: u64,
    /// The number of its events.
    pub events: u64,
    /// The beginning of its first input, on one line; of a client's session, the client.
    pub title: Option<String>,
    /// The working directory in which it was started.
    pub directory: Option<String>,
    /// The kebab-case name of the outcome of its last turn; absent until its first turn has ended.
    pub outcome: Option<String>,
    /// The session whose call started it, for the session of an agent.
    pub parent: Option<SessionId>,
    /// The name that the user gave it.
    pub name: Option<String>,
    /// The provider and the model that its last turn asked, as `provider:model`.
    pub model: Option<String>,
    /// The cost of its turns in millionths of a US dollar; absent if the price of some is not
    /// known.
    pub cost_micros: Option<u64>,
    /// Whose it is; absent for one without a directory that was stored without an owner.
    #[serde(skip)]
    pub ownership: Option<Ownership>,
}

impl SessionInfo {
    /// Whether each of some words begins one of the title or the name.
    pub(crate) fn has_words(&self, wanted: &[String]) -> bool {
        let texts = [&self.title, &self.name];
        let own: Vec<String> = texts
            .into_iter()
            .flatten()
            .flat_map(|text| words(text))
            .collect();
        let mut wanted = wanted.iter();
        wanted.all(|word| own.iter().any(|own| own.starts_with(word)))
    }
}

/// The number of characters at the end of an id that stand for it in lists. They are random, where
/// those at the beginning tell the time.
pub const SHORT_ID_CHARS: usize = 8;

/// The longest name of a session, in characters.
const MAX_NAME_CHARS: usize = 64;

/// A name of a session: on one line, without spaces around it, and not `latest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionName(String);

impl SessionName {
    /// Checks a name.
    ///
    /// # Errors
    /// Why it is none, as a sentence.
    pub fn parse(name: &str) -> Result<Self, Reason> {
        let name = name.trim();
        let is_hidden = |c: char| is_deceptive(c) || c == '\n' || c == '\t';
        let why = if name.is_empty() {
            "it is empty"
        } else if name.chars().count() > MAX_NAME_CHARS {
            "it has more than 64 characters"
        } else if name.contains(is_hidden) {
            "it contains control or invisible characters"
        } else if name.eq_ignore_ascii_case(LATEST) {
            "it means the most recently used session"
        } else if name.chars().all(|c| c.is_ascii_hexdigit() || c == '-') {
            "it could be the start of an id"
        } else {
            return Ok(Self(name.to_owned()));
        };
        Err(Reason::from(format!(
            "`{}` cannot be the name of a session: {why}; choose another one",
            name.escape_debug()
        )))
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

//! Search in the texts of sessions: messages and answers. It works without an index, which would
//! repeat the texts of sealed sessions: each search reads a bounded part of the store, and says where
//! the next one continues.

#[cfg(test)]
mod tests;

use agent_host_engine::journal::JournalError;
use agent_host_journal::{JournalStore, ListPage, SessionInfo, SessionScope};
use agent_host_types::{event::Event, output::ContentPart};
use schemars::JsonSchema;
use serde::Serialize;
use std::{borrow::Cow, fmt, str::FromStr};

/// The most sessions, the most pages of about 1 MiB, and the most matches of one search.
const MAX_SESSIONS: usize = 100;
const MAX_PAGES: usize = 8;
const MAX_MATCHES: usize = 20;

/// The longest text to search for, in characters, and its most words.
pub const MAX_SEARCH_CHARS: usize = 200;
const MAX_WORDS: usize = 8;

/// The characters of an extract before its first match, and in all.
const BEFORE_CHARS: usize = 60;
const EXTRACT_CHARS: usize = 240;

/// The place in a store from which a search continues: among the sessions, the last used first, and
/// among the events of the first of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchPosition {
    offset: usize,
    seq: u64,
}

/// A part of an extract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExtractPart {
    /// The text.
    pub text: String,
    /// Whether it is a word that was searched for.
    pub is_match: bool,
}

/// A session with a text that has all words.
#[derive(Debug)]
pub struct TextMatch {
    /// The session.
    pub info: SessionInfo,
    /// The number of the event with the text.
    pub seq: u64,
    /// The part of the text around the first word.
    pub extract: Vec<ExtractPart>,
}

/// The result of a search.
#[derive(Debug)]
pub struct TextMatches {
    /// The matches, the session that was used last first; one for each session.
    pub matches: Vec<TextMatch>,
    /// Where the search continues; absent at the end of the store.
    pub next: Option<SearchPosition>,
}

/// Searches the sessions of a scope for texts with words, each of which begins one of the text.
/// Upper and lower case are the same. Sessions of agents are left out.
///
/// # Errors
/// The store cannot be read.
pub async fn search_texts(
    store: &dyn JournalStore,
    scope: SessionScope,
    text: &str,
    from: SearchPosition,
) -> Result<TextMatches, JournalError> {
    let wanted: Vec<String> = words(text).map(|(_, word)| word).take(MAX_WORDS).collect();
    let (mut matches, mut pages) = (Vec::new(), 0);
    if wanted.is_empty() {
        let next = None;
        return Ok(TextMatches { matches, next });
    }
    let page = ListPage {
        offset: from.offset,
        limit: MAX_SESSIONS,
        search: None,
        directory: None,
        scope,
    };
    let sessions = store.list_page(page).await?;
    let count = sessions.len();
    for (index, info) in sessions.into_iter().enumerate() {
        let offset = from.offset.saturating_add(index);
        let mut seq = if index == 0 { from.seq } else { 0 };
        let found = loop {
            if matches.len() == MAX_MATCHES || pages == MAX_PAGES {
                let next = Some(SearchPosition { offset, seq });
                return Ok(TextMatches { matches, next });
            }
            let records = match store.read(info.id, seq).await {
                Ok(records) => records,
                // It was deleted meanwhile.
                Err(JournalError::NotFound(_)) => break None,
                Err(error) => return Err(error),
            };
            pages += 1;
            let mut found = records.iter().filter_map(|record| {
                let extract = texts(&record.event).find_map(|text| extract(&text, &wanted))?;
                Some((record.seq, extract))
            });
            let found = found.next();
            seq = records
                .last()
                .map_or(seq, |last| last.seq.saturating_add(1));
            if found.is_some() || records.is_empty() || seq >= info.events {
                break found;
            }
        };
        matches.extend(found.map(|(seq, extract)| TextMatch { info, seq, extract }));
    }
    let next = (count == MAX_SESSIONS).then(|| SearchPosition {
        offset: from.offset.saturating_add(count),
        seq: 0,
    });
    Ok(TextMatches { matches, next })
}

/// Returns the texts of an event that users and models wrote.
fn texts(event: &Event) -> impl Iterator<Item = Cow<'_, str>> {
    let (parts, reply) = match event {
        Event::InputReceived { message, .. } => (message.content.as_slice(), None),
        Event::ModelReplied { reply, .. } => (&[][..], Some(reply.text.as_str())),
        _ => (&[][..], None),
    };
    let texts = parts.iter().filter_map(ContentPart::text);
    texts.chain(reply).map(Cow::Borrowed)
}

/// Returns the words of a text with their places, in lower case.
fn words(text: &str) -> impl Iterator<Item = (usize, String)> {
    let is_part = |c: char| c.is_alphanumeric();
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(is_part)?;
        let word = rest.get(start..)?;
        let end = word.find(|c| !is_part(c)).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        let at = text.len() - word.len() - after.len();
        rest = after;
        Some((at, word.to_lowercase()))
    })
}

/// Returns the part of a text around the first of its words that were searched for, on one line;
/// `None` unless it has all of them.
fn extract(text: &str, wanted: &[String]) -> Option<Vec<ExtractPart>> {
    let mut missing: Vec<&String> = wanted.iter().collect();
    let mut first = None;
    for (at, word) in words(text) {
        let is_match = |wanted: &&String| word.starts_with(wanted.as_str());
        if wanted.iter().any(|wanted| is_match(&wanted)) {
            first = first.or(Some(at));
            missing.retain(|wanted| !is_match(wanted));
        }
        if missing.is_empty() {
            break;
        }
    }
    let first = first.filter(|_| missing.is_empty())?;
    let (before, _) = text.split_at(first);
    let starts = before.char_indices().rev().take(BEFORE_CHARS);
    let start = starts.last().map_or(first, |(start, _)| start);
    let shown = text.get(start..)?;
    let end = shown.char_indices().nth(EXTRACT_CHARS);
    let shown = shown.get(..end.map_or(shown.len(), |(end, _)| end))?;
    let mut parts = Vec::new();
    let mut told = 0;
    for (at, word) in words(shown) {
        if wanted
            .iter()
            .any(|wanted| word.starts_with(wanted.as_str()))
        {
            let end = shown.get(at..)?.find(|c: char| !c.is_alphanumeric());
            let end = end.map_or(shown.len(), |length| at + length);
            push(&mut parts, shown.get(told..at)?, false);
            push(&mut parts, shown.get(at..end)?, true);
            told = end;
        }
    }
    push(&mut parts, shown.get(told..)?, false);
    Some(parts)
}

/// Adds a part with single spaces, unless it is empty.
fn push(parts: &mut Vec<ExtractPart>, text: &str, is_match: bool) {
    let mut line = String::new();
    for character in text.chars() {
        match character.is_whitespace() {
            true if line.ends_with(' ') => {}
            true => line.push(' '),
            false => line.push(character),
        }
    }
    if !line.is_empty() {
        parts.push(ExtractPart {
            text: line,
            is_match,
        });
    }
}

impl fmt::Display for SearchPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.offset, self.seq)
    }
}

impl FromStr for SearchPosition {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (offset, seq) = text.split_once('.')?;
            Some(Self {
                offset: offset.parse().ok()?,
                seq: seq.parse().ok()?,
            })
        };
        parse().ok_or("`from` must be the `next` of a search")
    }
}

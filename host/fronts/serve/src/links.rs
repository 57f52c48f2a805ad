//! Read-only links to single sessions: `serve-links.json` in the state directory. A link is a token
//! for one session. Its text is not kept, and a link is valid as long as the token that made it.

#[cfg(test)]
mod tests;

use crate::{access::Caller, tokens::TokenEntry};
use agent_host_app::{AuthorityEntry, SignedFile, SignedFileError};
use agent_host_engine::session::now_ms;
use agent_host_http::Token;
use agent_host_journal::AuthorityFile;
use agent_host_types::id::SessionId;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The most links that are kept; those that have expired are removed first.
const MAX_LINKS: usize = 1_000;

/// The hexadecimal digits of a link's hash that are its name. The hash is of 256 random bits, so
/// that nothing is found from them.
const ID_DIGITS: usize = 16;

/// The lifetimes that a link may have, in hours; the second is the default.
pub(crate) const LINK_HOURS: [u64; 3] = [1, DEFAULT_LINK_HOURS, 168];
pub(crate) const DEFAULT_LINK_HOURS: u64 = 24;

const HOUR_MS: u64 = 60 * 60 * 1000;

/// A link that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct LinkEntry {
    /// The name, which no other link has.
    pub(crate) id: String,
    /// The session.
    pub(crate) session: SessionId,
    /// [`Token::hash`] of the text that shows the session.
    pub(crate) hash: String,
    /// [`TokenEntry::owner`] of the token that made it; absent for the server's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    /// The name of that token.
    pub(crate) by: String,
    /// The time, in milliseconds since 1970 (UTC).
    pub(crate) created_at_ms: u64,
    /// The time from which on it shows nothing.
    pub(crate) expires_at_ms: u64,
    /// Whether it works in one browser alone: the first one gets another text for it.
    pub(crate) single_use: bool,
    /// Whether that has happened.
    pub(crate) is_opened: bool,
}

impl LinkEntry {
    /// Whether its text must be exchanged before it shows anything.
    pub(crate) fn must_open(&self) -> bool {
        self.single_use && !self.is_opened
    }

    fn is_over(&self) -> bool {
        self.expires_at_ms <= now_ms()
    }

    /// Whether the token that made it was not revoked.
    fn has_maker(&self, tokens: &[TokenEntry]) -> bool {
        match &self.owner {
            None => true,
            Some(owner) => tokens.iter().any(|token| token.owner() == *owner),
        }
    }
}

impl AuthorityEntry for LinkEntry {
    const FILE: AuthorityFile = AuthorityFile::Links;
    const VERSION: u32 = 1;
    const NOUN: &'static str = "the links";
    const THEN: &'static str = "make the links again";
    const REMOVE: &'static str = "revoke links first";

    fn name(&self) -> String {
        self.id.clone()
    }
}

/// Why a link cannot be made or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] SignedFileError),
    /// As many as may are there.
    #[error("this server has {MAX_LINKS} links; revoke some first")]
    TooMany,
    /// There is none of this name, or it was opened, revoked, or has expired.
    #[error("unknown link; it was revoked, opened before, or has expired")]
    Unknown,
    /// The system has no random bytes.
    #[error("cannot make a link: the system cannot provide random bytes: {0}")]
    Random(String),
}

/// The file with the links of a state directory.
#[derive(Clone, Debug)]
pub struct LinkFile {
    file: SignedFile<LinkEntry>,
}

impl LinkFile {
    /// Returns the file of a state directory, which may not exist.
    #[must_use]
    pub fn in_state_dir(state_dir: &Path) -> Self {
        let file = SignedFile::in_dir(state_dir);
        Self { file }
    }

    /// Returns the link of a token that a request has; `None` for one that shows nothing any more.
    pub(crate) fn find(
        &self,
        token: &Token,
        tokens: &[TokenEntry],
    ) -> Result<Option<LinkEntry>, LinkError> {
        let mut links = self.file.read()?.believed.into_iter();
        let found = links.find(|link| Token::from_hash(&link.hash).as_ref() == Some(token));
        Ok(found.filter(|link| !link.is_over() && link.has_maker(tokens)))
    }

    /// Returns the links of a session that show it, the newest first.
    pub(crate) fn of_session(
        &self,
        session: SessionId,
        tokens: &[TokenEntry],
    ) -> Result<Vec<LinkEntry>, LinkError> {
        let mut links = self.file.read()?.believed;
        links.retain(|link| link.session == session && !link.is_over() && link.has_maker(tokens));
        links.reverse();
        Ok(links)
    }

    /// Makes a link to a session, and returns it with its text, which is not kept.
    pub(crate) fn create(
        &self,
        session: SessionId,
        caller: &Caller,
        hours: u64,
        single_use: bool,
    ) -> Result<(LinkEntry, String), LinkError> {
        let (token, text) = generate()?;
        let hash = token.hash();
        let now = now_ms();
        let link = LinkEntry {
            id: hash.chars().take(ID_DIGITS).collect(),
            session,
            hash,
            owner: caller.owner(),
            by: caller.name(),
            created_at_ms: now,
            expires_at_ms: now.saturating_add(hours.saturating_mul(HOUR_MS)),
            single_use,
            is_opened: false,
        };
        self.file.change(|links| {
            links.remove(LinkEntry::is_over);
            if links.believed.len() >= MAX_LINKS {
                return Err(LinkError::TooMany);
            }
            links.put(link.clone(), |known| known.id == link.id);
            Ok(())
        })?;
        Ok((link, text))
    }

    /// Exchanges the text of a link for one use, and returns the new one. Of two that try, one gets
    /// it.
    pub(crate) fn open(&self, link: &LinkEntry) -> Result<String, LinkError> {
        let (token, text) = generate()?;
        self.file.change(|links| {
            let mut known = links.believed.iter_mut();
            let found = known.find(|known| *known == link && known.must_open());
            let found = found.ok_or(LinkError::Unknown)?;
            (found.hash, found.is_opened) = (token.hash(), true);
            Ok::<(), LinkError>(())
        })?;
        Ok(text)
    }

    /// Revokes a link of a session: a running server refuses it from its next request on.
    pub(crate) fn revoke(&self, session: SessionId, id: &str) -> Result<(), LinkError> {
        self.file.change(|links| {
            let removed = links.remove(|link| link.session == session && link.id == id);
            match removed.is_empty() {
                false => Ok(()),
                true => Err(LinkError::Unknown),
            }
        })
    }
}

fn generate() -> Result<(Token, String), LinkError> {
    Token::generate().map_err(|error| LinkError::Random(error.to_string()))
}

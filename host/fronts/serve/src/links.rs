//! Read-only links to single sessions, in the store, so that all its hosts honour them. A link is a
//! token for one session. Its text is not kept, and a link is valid as long as the token that made
//! it, for hosts that have this token.

#[cfg(test)]
mod tests;

use crate::{access::Caller, tokens::TokenEntry};
use agent_host_engine::{journal::JournalError, session::now_ms};
use agent_host_http::Token;
use agent_host_journal::{JournalStore, MAX_LINKS, SessionLink};
use agent_host_types::id::SessionId;
use std::sync::Arc;

/// The hexadecimal digits of a link's hash that are its name. The hash is of 256 random bits, so
/// that nothing is found from them.
const ID_DIGITS: usize = 16;

/// The lifetimes that a link may have, in hours; the second is the default.
pub(crate) const LINK_HOURS: [u64; 3] = [1, DEFAULT_LINK_HOURS, 168];
pub(crate) const DEFAULT_LINK_HOURS: u64 = 24;

const HOUR_MS: u64 = 60 * 60 * 1000;

/// Why a link cannot be made or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    /// The store cannot be read or written, or has no such session.
    #[error(transparent)]
    Store(#[from] JournalError),
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

/// The links of a store.
#[derive(Clone, Debug)]
pub struct Links(Arc<dyn JournalStore>);

impl Links {
    /// Returns the links of a store.
    #[must_use]
    pub fn new(store: Arc<dyn JournalStore>) -> Self {
        Self(store)
    }

    /// Returns the link of a token that a request has; `None` for one that shows nothing any more.
    pub(crate) async fn find(
        &self,
        token: &Token,
        tokens: &[TokenEntry],
    ) -> Result<Option<SessionLink>, LinkError> {
        let found = self.0.find_link(token.hash()).await?;
        Ok(found.filter(|link| shows(link, tokens)))
    }

    /// Returns the links of a session that show it, the newest first.
    pub(crate) async fn of_session(
        &self,
        session: SessionId,
        tokens: &[TokenEntry],
    ) -> Result<Vec<SessionLink>, LinkError> {
        let mut links = self.0.links(session).await?;
        links.retain(|link| shows(link, tokens));
        Ok(links)
    }

    /// Makes a link to a session, and returns it with its text, which is not kept.
    pub(crate) async fn create(
        &self,
        session: SessionId,
        caller: &Caller,
        hours: u64,
        single_use: bool,
    ) -> Result<(SessionLink, String), LinkError> {
        let (token, text) = generate()?;
        let hash = token.hash();
        let now = now_ms();
        let link = SessionLink {
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
        match self.0.add_link(link.clone(), now).await? {
            true => Ok((link, text)),
            false => Err(LinkError::TooMany),
        }
    }

    /// Exchanges the text of a link for one use, and returns the new one. Of two that try, on
    /// whichever hosts, one gets it.
    pub(crate) async fn open(&self, link: &SessionLink) -> Result<String, LinkError> {
        let (token, text) = generate()?;
        let is_opened = link.must_open() && self.0.open_link(link.clone(), token.hash()).await?;
        is_opened.then_some(text).ok_or(LinkError::Unknown)
    }

    /// Revokes a link of a session: a running server refuses it from its next request on.
    pub(crate) async fn revoke(&self, session: SessionId, id: &str) -> Result<(), LinkError> {
        let is_removed = self.0.remove_link(session, id.to_owned()).await?;
        is_removed.then_some(()).ok_or(LinkError::Unknown)
    }
}

/// Whether a link has not expired, and the token that made it was not revoked.
fn shows(link: &SessionLink, tokens: &[TokenEntry]) -> bool {
    let has_maker = match &link.owner {
        None => true,
        Some(owner) => tokens.iter().any(|token| token.owner() == *owner),
    };
    has_maker && link.expires_at_ms > now_ms()
}

fn generate() -> Result<(Token, String), LinkError> {
    Token::generate().map_err(|error| LinkError::Random(error.to_string()))
}

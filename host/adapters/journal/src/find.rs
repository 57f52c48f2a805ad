//! Finding a session by the beginning of its id.

use crate::{error::StoreError, session_list::SHORT_ID_CHARS};
use agent_host_types::id::SessionId;

/// The prefix that stands for the session that was written to last.
pub(crate) const LATEST: &str = "latest";

/// The most sessions that an ambiguous prefix names.
const MAX_NAMED: usize = 5;

/// A normalised prefix of an id.
pub(crate) struct Wanted<'a> {
    /// As the user wrote it.
    pub(crate) given: &'a str,
    /// Without white space around it, in lower case.
    pub(crate) prefix: String,
}

impl<'a> Wanted<'a> {
    pub(crate) fn new(given: &'a str) -> Self {
        Self {
            given,
            prefix: given.trim().to_ascii_lowercase(),
        }
    }

    /// True if the whole text can be the end of an id.
    pub(crate) fn may_be_end(&self) -> bool {
        self.prefix.len() >= SHORT_ID_CHARS
    }

    pub(crate) fn is_latest(&self) -> bool {
        self.prefix == LATEST
    }

    /// The number of matches after which a search may stop; one more than a message names.
    pub(crate) fn limit(&self) -> usize {
        if self.is_latest() { 1 } else { MAX_NAMED + 1 }
    }

    /// Returns the only one of the matches, which are ordered from the one that was written to
    /// last.
    pub(crate) fn only(&self, mut matches: Vec<SessionId>) -> Result<SessionId, StoreError> {
        match matches.as_slice() {
            [one] => Ok(*one),
            [] if self.is_latest() => Err(StoreError::NoSessions),
            [] => Err(StoreError::NoMatch(self.given.to_owned())),
            several => {
                let has_more = several.len() > MAX_NAMED;
                matches.truncate(MAX_NAMED);
                Err(StoreError::Ambiguous {
                    prefix: self.given.to_owned(),
                    sessions: matches,
                    has_more,
                })
            }
        }
    }
}

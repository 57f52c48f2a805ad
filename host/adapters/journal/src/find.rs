//! Finding a session by its name, the beginning of its id, or its directory.

use crate::{
    error::StoreError,
    session_list::{ListPage, SHORT_ID_CHARS, SessionInfo},
    store::JournalStore,
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;

/// The prefix that stands for the session that was written to last.
pub(crate) const LATEST: &str = "latest";

/// The most sessions that an ambiguous prefix names.
const MAX_NAMED: usize = 5;

/// The sessions that are read at once while the latest one of a directory is looked for.
const PAGE: usize = 64;

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

impl dyn JournalStore + '_ {
    /// Returns a session as [`JournalStore::find`] does, but for `latest` the latest one of a
    /// directory that has any input, or else the latest one of it, and for a name one of the
    /// directory, if there is one.
    ///
    /// # Errors
    /// As for [`JournalStore::find`], and if no session was started in the directory.
    pub async fn find_in(&self, directory: &str, name: &str) -> Result<SessionId, JournalError> {
        // An imported conversation of another program has no directory.
        let is_here = |info: &SessionInfo| {
            info.directory
                .as_deref()
                .is_none_or(|other| other == directory)
        };
        if name.trim().eq_ignore_ascii_case(LATEST) {
            // Refused if events are lost.
            self.find(LATEST).await?;
            return self.latest_in(is_here, directory).await;
        }
        let none_or_several = match self.find(name).await {
            Err(error @ JournalError::NotFound(_)) => error,
            found => return found,
        };
        let named = self.named(name.trim().to_owned()).await?;
        let here = named.iter().find(|info| is_here(info));
        here.map(|info| info.id).ok_or(none_or_several)
    }

    /// Returns the latest session of a directory that has any input, or else the latest one of it.
    async fn latest_in(
        &self,
        is_here: impl Fn(&SessionInfo) -> bool,
        directory: &str,
    ) -> Result<SessionId, JournalError> {
        // A conversation that the user left at once is nothing to continue.
        let is_begun = |info: &SessionInfo| info.title.is_some() || info.outcome.is_some();
        let (mut latest, mut page) = (
            None,
            ListPage {
                limit: PAGE,
                ..ListPage::default()
            },
        );
        loop {
            let sessions = self.list_page(page.clone()).await?;
            let is_last = sessions.len() < page.limit;
            for info in sessions.iter().filter(|info| is_here(info)) {
                if is_begun(info) {
                    return Ok(info.id);
                }
                latest = latest.or(Some(info.id));
            }
            if is_last {
                let none = || StoreError::NoSessionIn(directory.to_owned());
                return Ok(latest.ok_or_else(none)?);
            }
            page.offset += page.limit;
        }
    }
}

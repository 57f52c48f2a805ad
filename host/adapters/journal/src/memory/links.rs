//! The links to sessions.

use crate::link::{MAX_LINKS, SessionLink};
use agent_host_types::id::SessionId;

/// All links, the oldest first.
#[derive(Default)]
pub(super) struct Links(Vec<SessionLink>);

impl Links {
    pub(super) fn add(&mut self, link: SessionLink, now_ms: u64) -> bool {
        self.0.retain(|known| known.expires_at_ms > now_ms);
        let has_place = self.0.len() < MAX_LINKS as usize;
        if has_place {
            self.0.push(link);
        }
        has_place
    }

    pub(super) fn find(&self, hash: &str) -> Option<SessionLink> {
        self.0.iter().find(|link| link.hash == hash).cloned()
    }

    pub(super) fn of(&self, session: SessionId) -> Vec<SessionLink> {
        let links = self.0.iter().rev();
        links
            .filter(|link| link.session == session)
            .cloned()
            .collect()
    }

    pub(super) fn open(&mut self, link: &SessionLink, hash: String) -> bool {
        let known = self.0.iter_mut().find(|known| *known == link);
        known.map(|known| *known = link.opened(hash)).is_some()
    }

    /// Removes the link of a session that has an id, or else all of them.
    pub(super) fn remove(&mut self, session: SessionId, id: Option<&str>) -> bool {
        let count = self.0.len();
        self.0
            .retain(|link| link.session != session || id.is_some_and(|id| id != link.id));
        self.0.len() < count
    }
}

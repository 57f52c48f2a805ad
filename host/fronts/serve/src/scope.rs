//! The sessions that a caller sees. Every route gets its session from here, so that one outside of
//! the caller's scope is answered as one that does not exist, by the same work.

use crate::{
    Service,
    access::{AccessRole, Caller},
    problem::Problem,
    tokens::TokenSessions,
};
use agent_host_app::session_project;
use agent_host_journal::SessionScope;
use agent_host_types::id::SessionId;
use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use std::collections::HashMap;

/// A session that the caller of the request sees: that of the parameter `session` of the path, as
/// an extractor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VisibleSession(SessionId);

impl VisibleSession {
    pub(crate) fn id(self) -> SessionId {
        self.0
    }
}

impl FromRequestParts<Service> for VisibleSession {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, service).await?;
        let path = Path::<HashMap<String, String>>::from_request_parts(parts, service).await?;
        let named = path.get("session").and_then(|text| text.parse().ok());
        service
            .visible(&caller, named.ok_or_else(no_session)?)
            .await
    }
}

impl Service {
    /// Returns the sessions that a caller sees: those of the project of the server, or those of them
    /// that its token started; all of the store where the server opens them to operators.
    pub(crate) fn scope(&self, caller: &Caller) -> SessionScope {
        let project = session_project(self.host.config());
        // A link names its session, and lists none: no session has its owner.
        match (caller.sessions(), caller.owner()) {
            (TokenSessions::Own, Some(owner)) => SessionScope::Own { project, owner },
            _ if self.all_projects && caller.role() == AccessRole::Operator => SessionScope::All,
            _ => SessionScope::Project(project),
        }
    }

    /// Returns a session if the caller sees it.
    ///
    /// # Errors
    /// [`no_session`], whether it does not exist or is outside of the scope; the store cannot be
    /// read.
    pub(crate) async fn visible(
        &self,
        caller: &Caller,
        session: SessionId,
    ) -> Result<VisibleSession, Problem> {
        let scope = match caller.link() {
            // A link is removed with its session.
            Some(link) if link.session == session => SessionScope::All,
            Some(_) => return Err(no_session()),
            None => self.scope(caller),
        };
        match self.store().is_within(session, scope).await? {
            true => Ok(VisibleSession(session)),
            false => Err(no_session()),
        }
    }
}

/// Returns the problem of a session that does not exist, or that the caller does not see.
pub(crate) fn no_session() -> Problem {
    Problem::not_found("unknown session; pass the whole id")
}

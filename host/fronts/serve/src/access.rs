//! The callers of the API: their tokens, their roles, and the check of a route's role.

use crate::{
    links::Links,
    openai,
    problem::{Problem, ProblemCode},
    tokens::{TokenEntry, TokenFile, TokenName, TokenSessions},
};
use agent_host_http::{Access, Admission, Refusal, Token};
use agent_host_journal::SessionLink;
use agent_host_types::words;
use axum::{
    extract::{FromRequestParts, Request, State},
    middleware::Next,
    response::Response,
};
use http::{Extensions, StatusCode, request::Parts};
use std::{fmt, sync::Arc};

/// The refusal of a token while those of the server cannot be read.
const UNREADABLE: Refusal = Refusal::new(
    StatusCode::INTERNAL_SERVER_ERROR,
    "cannot read the server's tokens; see its log for the reason",
);

words! {
    /// The role of a token. Each may do what those before it may, and more.
    #[derive(strum::Display, strum::EnumString)]
    pub enum AccessRole {
        /// Reads sessions.
        Viewer,
        /// Creates sessions, sends messages, answers questions, cancels, undoes, names and deletes.
        User,
        /// Decides about calls that wait for approval.
        Approver,
        /// Remembers decisions beyond a session, and reads the configuration of the server.
        Operator,
    }
}

impl AccessRole {
    /// Returns the code of the problem of a token with a lesser role; `None` for the least role.
    pub(crate) fn problem_code(self) -> Option<ProblemCode> {
        match self {
            Self::Viewer => None,
            Self::User => Some(ProblemCode::UserRequired),
            Self::Approver => Some(ProblemCode::ApproverRequired),
            Self::Operator => Some(ProblemCode::OperatorRequired),
        }
    }
}

/// The routes that a link may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkUse {
    /// None: all that is not said otherwise.
    Refused,
    /// Those that show its session.
    Shown,
    /// Those about the link itself, also before one for a single use is opened.
    Itself,
}

/// The caller of a route.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    role: AccessRole,
    given: Given,
    tokens: Arc<TokenFile>,
}

/// The proof of a caller.
#[derive(Clone, Debug)]
enum Given {
    /// The server's own token.
    Own,
    /// A token of the file.
    Token(TokenEntry),
    /// A link, and the store that has it, with the text of the request.
    Link(SessionLink, Links, Token),
}

impl Caller {
    /// Returns the name under which what it does is recorded.
    pub(crate) fn name(&self) -> String {
        match &self.given {
            Given::Own => TokenName::OWN.to_owned(),
            Given::Token(entry) => entry.name.as_str().to_owned(),
            Given::Link(link, ..) => format!("link {}", link.id),
        }
    }

    /// Returns the link by which it calls, if it does.
    pub(crate) fn link(&self) -> Option<&SessionLink> {
        match &self.given {
            Given::Own | Given::Token(_) => None,
            Given::Link(link, ..) => Some(link),
        }
    }

    /// Checks that a link may ask a route.
    fn check_link(&self, route: LinkUse) -> Result<(), Problem> {
        let refused = |detail| Err(Problem::new(ProblemCode::LinkRefused, detail));
        match (self.link(), route) {
            (None, _) | (Some(_), LinkUse::Itself) => Ok(()),
            (Some(link), LinkUse::Shown) if !link.must_open() => Ok(()),
            (Some(_), LinkUse::Shown) => refused("this link must be opened first"),
            (Some(_), LinkUse::Refused) => refused("a link shows its session alone"),
        }
    }

    /// Returns the tokens of the server's file.
    pub(crate) async fn tokens(&self) -> Result<Vec<TokenEntry>, Problem> {
        read(&self.tokens).await.map_err(Problem::from)
    }

    pub(crate) fn role(&self) -> AccessRole {
        self.role
    }

    /// Checks that the caller has a role.
    pub(crate) fn require(&self, role: AccessRole) -> Result<(), Problem> {
        match role.problem_code() {
            Some(code) if self.role < role => Err(Problem::new(
                code,
                format!(
                    "this needs a token with the role `{role}`, but the request's token has the role `{}`; ask the \
                     server's operator for one",
                    self.role
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Returns the owner of the sessions that it starts; `None` for the server's own token, whose
    /// holder is the user of the machine.
    pub(crate) fn owner(&self) -> Option<String> {
        match &self.given {
            Given::Own => None,
            Given::Token(entry) => Some(entry.owner()),
            Given::Link(link, ..) => Some(format!("link/{}", link.id)),
        }
    }

    /// Returns the sessions that it sees.
    pub(crate) fn sessions(&self) -> TokenSessions {
        match &self.given {
            Given::Own => TokenSessions::Project,
            Given::Token(entry) => entry.sessions(),
            Given::Link(..) => TokenSessions::Own,
        }
    }

    /// Returns an idempotency key as the caller's own: what another caller began under an equal key
    /// is not found, also one whose token had the same name.
    pub(crate) fn own_key(&self, key: &str) -> String {
        match self.owner() {
            None => key.to_owned(),
            // A key has no line feed, so that no other pair has this text.
            Some(owner) => format!("{owner}\n{key}"),
        }
    }

    /// Whether the token was revoked since the request, or cannot be looked up any more.
    pub(crate) async fn is_revoked(&self) -> bool {
        match &self.given {
            Given::Own => false,
            Given::Token(entry) => match read(&self.tokens).await {
                Ok(entries) => !entries.contains(entry),
                Err(_) => true,
            },
            Given::Link(_, links, token) => {
                let Ok(entries) = read(&self.tokens).await else {
                    return true;
                };
                let found = links.find(token, &entries).await;
                !matches!(found, Ok(Some(_)))
            }
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = parts.extensions.get().cloned();
        caller.ok_or_else(|| Problem::new(ProblemCode::Internal, "the request has no caller"))
    }
}

/// Passes a request on if its caller has the role of its route. Nothing of the request was read
/// before, so that a refusal does not depend on what exists. What may have changed something is
/// logged with the caller's name: a session that is deleted has no events that could tell.
pub(crate) async fn check_role(
    State((role, link)): State<(AccessRole, LinkUse)>,
    caller: Result<Caller, Problem>,
    request: Request,
    next: Next,
) -> Response {
    let allowed = caller.and_then(|caller| {
        caller.check_link(link)?;
        caller.require(role).map(|()| caller)
    });
    let caller = match allowed {
        Ok(caller) => caller,
        Err(problem) => return openai::problem_response(request.uri(), problem),
    };
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = next.run(request).await;
    if !method.is_safe() {
        let status = response.status().as_u16();
        tracing::info!(by = caller.name(), %method, path, status, "the request was answered");
    }
    response
}

/// The tokens of a server: its own, which has the role of an operator, and those of a file, which
/// is read for each request.
#[derive(Debug)]
pub struct ServerAccess {
    own: Token,
    tokens: Arc<TokenFile>,
    /// Absent where the operator does not allow links.
    links: Option<Links>,
}

impl ServerAccess {
    /// Creates the access by the server's own token and those of a file.
    #[must_use]
    pub fn new(own: Token, tokens: TokenFile) -> Self {
        Self {
            own,
            tokens: Arc::new(tokens),
            links: None,
        }
    }

    /// Admits links, too.
    #[must_use]
    pub fn with_links(mut self, links: Option<Links>) -> Self {
        self.links = links;
        self
    }

    /// Returns the caller with a token.
    pub(crate) async fn caller(&self, token: Token) -> Result<Caller, Refusal> {
        if token == self.own {
            return Ok(self.give(AccessRole::Operator, Given::Own));
        }
        let entries = read(&self.tokens).await?;
        let mut known = entries.iter();
        let entry = known.find(|entry| Token::from_hash(&entry.hash).as_ref() == Some(&token));
        if let Some(entry) = entry {
            return Ok(self.give(entry.role, Given::Token(entry.clone())));
        }
        let links = self.links.as_ref().ok_or(Refusal::invalid_token())?;
        let link = links.find(&token, &entries).await.map_err(unreadable)?;
        let link = link.ok_or(Refusal::invalid_token())?;
        let given = Given::Link(link, links.clone(), token);
        Ok(self.give(AccessRole::Viewer, given))
    }

    fn give(&self, role: AccessRole, given: Given) -> Caller {
        Caller {
            role,
            given,
            tokens: Arc::clone(&self.tokens),
        }
    }
}

/// Reads the tokens of a file that are believed.
async fn read(tokens: &Arc<TokenFile>) -> Result<Vec<TokenEntry>, Refusal> {
    let tokens = Arc::clone(tokens);
    let read = move || tokens.read().map(|read| read.believed);
    let read = tokio::task::spawn_blocking(read).await;
    read.map_err(unreadable)?.map_err(unreadable)
}

fn unreadable(error: impl fmt::Display) -> Refusal {
    tracing::error!("{error}");
    UNREADABLE
}

impl Access for ServerAccess {
    fn admit<'a>(&'a self, token: Token, extensions: &'a mut Extensions) -> Admission<'a> {
        Box::pin(async move {
            extensions.insert(self.caller(token).await?);
            Ok(())
        })
    }
}

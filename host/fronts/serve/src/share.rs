//! The routes of links to sessions: to make, list and revoke them, and what a link itself asks.

use crate::{
    Service,
    access::{
        AccessRole::{User, Viewer},
        Caller, LinkUse,
    },
    links::{DEFAULT_LINK_HOURS, LINK_HOURS, LinkError, Links},
    openapi::Operation,
    problem::{Problem, ProblemCode},
    routes::{API, JsonObject, Path, Route},
    scope::VisibleSession,
};
use agent_host_journal::SessionLink;
use agent_host_types::id::SessionId;
use axum::{
    Json,
    extract::State,
    routing::{delete, get, post},
};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A new link.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LinkBody {
    /// The hours after which it shows nothing: 1, 24 or 168 [default: 24].
    #[serde(default = "default_hours")]
    hours: u64,
    /// Whether it works in one browser alone, the first that opens it.
    #[serde(default)]
    single_use: bool,
}

fn default_hours() -> u64 {
    DEFAULT_LINK_HOURS
}

/// A link, without its text.
#[derive(Debug, Serialize, JsonSchema)]
struct LinkRow {
    /// The name by which it is revoked.
    link: String,
    /// The name of the token that made it.
    by: String,
    /// The time when it was made, in milliseconds since 1970 (UTC).
    created_at_ms: u64,
    /// The time from which on it shows nothing.
    expires_at_ms: u64,
    /// Whether it works in one browser alone.
    single_use: bool,
    /// Whether a browser has opened it, if it is for a single use.
    opened: bool,
}

impl From<SessionLink> for LinkRow {
    fn from(link: SessionLink) -> Self {
        Self {
            link: link.id,
            by: link.by,
            created_at_ms: link.created_at_ms,
            expires_at_ms: link.expires_at_ms,
            single_use: link.single_use,
            opened: link.is_opened,
        }
    }
}

/// The links of a session.
#[derive(Debug, Serialize, JsonSchema)]
struct LinkList {
    /// The links, the newest first.
    links: Vec<LinkRow>,
}

/// A link that was made.
#[derive(Debug, Serialize, JsonSchema)]
struct MadeLink {
    #[serde(flatten)]
    row: LinkRow,
    /// The token of the link, which is not told again: the page of the server shows the session at
    /// `/#link=TOKEN`.
    token: String,
}

/// The session of a link.
#[derive(Debug, Serialize, JsonSchema)]
struct LinkTarget {
    /// The session.
    session: SessionId,
    /// The time from which on it shows nothing, in milliseconds since 1970 (UTC).
    expires_at_ms: u64,
    /// Whether the token must be exchanged first, since it is for a single use.
    must_open: bool,
}

/// The other token of a link that was opened.
#[derive(Debug, Serialize, JsonSchema)]
struct OpenedLink {
    /// The token, which this client alone has.
    token: String,
}

/// The problems of the links of a session.
const LINKS: [ProblemCode; 3] = [
    ProblemCode::InvalidRequest,
    ProblemCode::NotFound,
    ProblemCode::LinksDisabled,
];

/// Creates the routes of links.
pub(crate) fn routes() -> Vec<Route> {
    let route = |role, path, handler, operation| {
        Route::described(role, &format!("{API}{path}"), handler, operation)
    };
    vec![
        route(
            User,
            "/sessions/{session}/links",
            post(create),
            Operation::post("Makes a read-only link to a session.")
                .takes::<LinkBody>()
                .returns::<MadeLink>(201)
                .fails(&LINKS)
                .fails(&[ProblemCode::TooManyRequests]),
        ),
        route(
            User,
            "/sessions/{session}/links",
            get(list),
            Operation::get("Lists the links of a session.")
                .returns::<LinkList>(200)
                .fails(&LINKS),
        ),
        route(
            User,
            "/sessions/{session}/links/{link}",
            delete(revoke),
            Operation::delete("Revokes a link of a session.")
                .empty(204)
                .fails(&LINKS),
        ),
        route(
            Viewer,
            "/link",
            get(target),
            Operation::get("Tells what the link of the request's token shows.")
                .returns::<LinkTarget>(200)
                .fails(&[ProblemCode::NotFound]),
        )
        .for_links(LinkUse::Itself),
        route(
            Viewer,
            "/link/open",
            post(open),
            Operation::post("Exchanges the token of a link for a single use, once.")
                .returns::<OpenedLink>(200)
                .fails(&[ProblemCode::NotFound]),
        )
        .for_links(LinkUse::Itself),
    ]
}

/// Makes a link.
async fn create(
    State(service): State<Service>,
    caller: Caller,
    session: VisibleSession,
    body: Result<JsonObject<LinkBody>, Problem>,
) -> Result<(StatusCode, Json<MadeLink>), Problem> {
    let LinkBody { hours, single_use } = body?.0;
    let links = enabled(&service)?;
    if !LINK_HOURS.contains(&hours) {
        return Err(Problem::invalid("`hours` must be 1, 24 or 168"));
    }
    let (link, token) = links
        .create(session.id(), &caller, hours, single_use)
        .await?;
    let row = link.into();
    Ok((StatusCode::CREATED, Json(MadeLink { row, token })))
}

/// Lists the links of a session.
async fn list(
    State(service): State<Service>,
    caller: Caller,
    session: VisibleSession,
) -> Result<Json<LinkList>, Problem> {
    let links = enabled(&service)?;
    let tokens = caller.tokens().await?;
    let found = links.of_session(session.id(), &tokens).await?;
    let links = found.into_iter().map(LinkRow::from).collect();
    Ok(Json(LinkList { links }))
}

/// Revokes a link of a session.
async fn revoke(
    State(service): State<Service>,
    session: VisibleSession,
    Path((_, link)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let links = enabled(&service)?;
    links.revoke(session.id(), &link).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Tells what a link shows.
async fn target(caller: Caller) -> Result<Json<LinkTarget>, Problem> {
    let link = own_link(&caller)?;
    Ok(Json(LinkTarget {
        session: link.session,
        expires_at_ms: link.expires_at_ms,
        must_open: link.must_open(),
    }))
}

/// Exchanges the token of a link for a single use.
async fn open(State(service): State<Service>, caller: Caller) -> Result<Json<OpenedLink>, Problem> {
    let link = own_link(&caller)?;
    let links = enabled(&service)?;
    let token = links.open(link).await?;
    Ok(Json(OpenedLink { token }))
}

fn own_link(caller: &Caller) -> Result<&SessionLink, Problem> {
    let not_one = || Problem::not_found("the token is not that of a link");
    caller.link().ok_or_else(not_one)
}

/// Returns the links of a server whose operator allows them.
fn enabled(service: &Service) -> Result<Links, Problem> {
    match service.host.config().session_links {
        true => Ok(Links::new(Arc::clone(service.host.sessions().store()))),
        false => Err(Problem::new(
            ProblemCode::LinksDisabled,
            "links to sessions are off; the server's operator can set `session-links = true`",
        )),
    }
}

impl From<LinkError> for Problem {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Unknown => Self::not_found(error.to_string()),
            LinkError::TooMany => Self::new(ProblemCode::TooManyRequests, error.to_string()),
            LinkError::Store(error) => error.into(),
            LinkError::Random(_) => Self::of_store(&error),
        }
    }
}

//! Errors of the API, in the form of RFC 9457.

use agent_host_app::HostError;
use agent_host_engine::{journal::JournalError, text::escape};
use agent_host_http::Refusal;
use axum::{
    Json,
    extract::rejection::{JsonRejection, PathRejection, QueryRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");

/// The reason for a problem. The kebab-case names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemCode {
    /// The request is malformed.
    InvalidRequest,
    /// The request has no token, or one that the server does not know, or not any more.
    Unauthorized,
    /// The host or the origin of the request is not allowed.
    SourceRefused,
    /// The request needs a token of the role `user`.
    UserRequired,
    /// The request needs a token of the role `approver`.
    ApproverRequired,
    /// The request needs a token of the role `operator`.
    OperatorRequired,
    /// The files to write are outside of the grants of the server; nothing was changed.
    OutsideGrants,
    /// The token is that of a link, which shows its session alone.
    LinkRefused,
    /// The operator does not allow links to sessions.
    LinksDisabled,
    /// There is no such session, blob, artifact, agent or route, or the token does not see it.
    NotFound,
    /// A session of the agent may not choose this model.
    ModelNotOffered,
    /// The session runs in this server.
    SessionRunning,
    /// Another process writes to the session.
    SessionLocked,
    /// Nothing runs in the session.
    NotRunning,
    /// The input does not fit what the session waits for; a request takes one answer.
    NotWaiting,
    /// The body was too long in coming.
    BodyTimeout,
    /// The body is too long.
    BodyTooLong,
    /// The body has a type that is not taken.
    UnsupportedMediaType,
    /// The idempotency key is that of another request.
    KeyReused,
    /// More was sent than is taken in this time.
    TooManyRequests,
    /// As many streams of events are open as the server has connections for.
    TooManyReaders,
    /// As many sessions run as may, and as many wait.
    TooManyRuns,
    /// The server is about to end.
    ShuttingDown,
    /// The journal, or the host, failed.
    Internal,
}

impl ProblemCode {
    /// Returns the status of the response.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::InvalidRequest => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::SourceRefused
            | Self::UserRequired
            | Self::ApproverRequired
            | Self::OperatorRequired
            | Self::OutsideGrants
            | Self::LinkRefused
            | Self::LinksDisabled => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::BodyTooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Self::SessionRunning | Self::SessionLocked | Self::NotRunning | Self::NotWaiting => {
                StatusCode::CONFLICT
            }
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::KeyReused | Self::ModelNotOffered => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            Self::TooManyReaders | Self::TooManyRuns | Self::ShuttingDown => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// The status of the response.
    pub status: u16,
    /// The reason.
    pub code: ProblemCode,
    /// A short text for the reason.
    pub title: String,
    /// Says what happened, why, and what to do.
    pub detail: String,
}

impl Problem {
    /// Creates a problem.
    #[must_use]
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        let status = code.status();
        Self {
            status: status.as_u16(),
            code,
            title: status.canonical_reason().unwrap_or_default().to_owned(),
            // It may quote a name of a tool, a session or a file.
            detail: escape(&detail.into()),
        }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(ProblemCode::InvalidRequest, detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(ProblemCode::NotFound, detail)
    }

    /// Creates the problem of a store that failed. What is wrong with it is for the log: it names
    /// files of this machine.
    pub(crate) fn of_store(reason: &impl fmt::Display) -> Self {
        tracing::error!("a request fails: {reason}");
        let detail = "the session store failed; see this server's log for the reason";
        Self::new(ProblemCode::Internal, detail)
    }
}

impl From<Refusal> for Problem {
    /// The problem of a request that the front refused.
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.status() {
            StatusCode::UNAUTHORIZED => ProblemCode::Unauthorized,
            StatusCode::FORBIDDEN => ProblemCode::SourceRefused,
            StatusCode::REQUEST_TIMEOUT => ProblemCode::BodyTimeout,
            StatusCode::PAYLOAD_TOO_LARGE => ProblemCode::BodyTooLong,
            StatusCode::INTERNAL_SERVER_ERROR => ProblemCode::Internal,
            _ => ProblemCode::InvalidRequest,
        };
        Self::new(code, refusal.reason())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.code.status(), Json(self)).into_response();
        response.headers_mut().insert(CONTENT_TYPE, MEDIA_TYPE);
        response
    }
}

impl From<JournalError> for Problem {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::NotFound(_) => Self::new(ProblemCode::NotFound, error.to_string()),
            JournalError::Locked { .. } | JournalError::Exists(_) => {
                Self::new(ProblemCode::SessionLocked, error.to_string())
            }
            JournalError::Storage(_) | JournalError::Corrupt(_) => Self::of_store(&error),
        }
    }
}

impl From<HostError> for Problem {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Journal(error) => error.into(),
            error @ HostError::SessionOfAgent { .. } => Self::invalid(error.to_string()),
            error @ HostError::ModelNotOffered { .. } => {
                Self::new(ProblemCode::ModelNotOffered, error.to_string())
            }
            error @ HostError::UndoOutside { .. } => {
                Self::new(ProblemCode::OutsideGrants, error.to_string())
            }
            error => Self::new(ProblemCode::Internal, error.to_string()),
        }
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        Self::invalid(rejection.body_text())
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::invalid(rejection.body_text())
    }
}

impl From<PathRejection> for Problem {
    fn from(_: PathRejection) -> Self {
        Self::not_found("nothing was found at this address")
    }
}

//! Errors in OpenAI's form: `{"error": {"message", "type", "param", "code"}}`.

use super::{PATH, fields::text};
use crate::{
    problem::{Problem, ProblemCode},
    routes::{API, METRICS},
};
use agent_host_app::HostError;
use agent_host_engine::{journal::JournalError, text::escape};
use agent_host_http::Refusal;
use agent_host_types::{
    model::{ModelError, ModelErrorKind},
    turn::TurnError,
};
use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{HeaderName, HeaderValue, StatusCode, Uri};
use schemars::JsonSchema;
use serde_json::{Value, json};

/// The field that tells OpenAI's clients whether to send a request again.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The JSON form of an error.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "OpenAiError")]
#[expect(dead_code, reason = "the form that the OpenAPI document describes")]
pub(crate) struct ErrorBody {
    /// The error.
    error: ErrorFields,
}

/// An error of OpenAI's API.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "OpenAiErrorFields")]
#[expect(dead_code, reason = "the form that the OpenAPI document describes")]
struct ErrorFields {
    /// Says what happened, why, and what to do.
    message: String,
    /// `invalid_request_error`, `rate_limit_error` or `server_error`.
    r#type: String,
    /// The parameter that is at fault.
    param: Option<String>,
    /// The reason.
    code: String,
}

/// An error.
#[derive(Clone, Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    code: String,
    message: String,
    param: Option<String>,
    /// Whether something ran, so that the same request would run it again.
    has_run: bool,
}

impl ApiError {
    fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            code: code.to_owned(),
            message: escape(&message.into()),
            param: None,
            has_run: false,
        }
    }

    /// A malformed request.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// A parameter with a value that cannot be served.
    pub(super) fn unsupported(param: impl Into<String>, message: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::BAD_REQUEST, "unsupported_parameter", message);
        error.at(param)
    }

    /// A parameter that the API does not have.
    pub(super) fn unknown_parameter(param: &str) -> Self {
        let message = format!("unknown parameter `{}`; remove it", param.escape_debug());
        Self::new(StatusCode::BAD_REQUEST, "unknown_parameter", message).at(param)
    }

    pub(super) fn not_found(code: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    /// The conversation has gone on behind what the request continues.
    pub(super) fn moved_on(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "previous_response_not_last",
            message,
        )
    }

    /// A run that was cancelled, or that the end of the server interrupted.
    pub(super) fn interrupted(code: &str, message: impl Into<String>) -> Self {
        Self {
            has_run: true,
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
        }
    }

    /// Names the parameter that is at fault.
    pub(super) fn at(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    pub(super) fn code(&self) -> &str {
        &self.code
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Returns the JSON form.
    pub(super) fn json(&self) -> Value {
        let kind = match self.status {
            status if status.is_server_error() => "server_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            _ => "invalid_request_error",
        };
        json!({"error": {
            "message": self.message,
            "type": kind,
            "param": self.param,
            "code": self.code,
        }})
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.json())).into_response();
        if self.has_run {
            let no = HeaderValue::from_static("false");
            response.headers_mut().insert(SHOULD_RETRY, no);
        }
        response
    }
}

impl From<Problem> for ApiError {
    fn from(problem: Problem) -> Self {
        let code = json!(problem.code)
            .as_str()
            .unwrap_or_default()
            .replace('-', "_");
        Self::new(problem.code.status(), &code, problem.detail)
    }
}

impl From<JournalError> for ApiError {
    fn from(error: JournalError) -> Self {
        Problem::from(error).into()
    }
}

impl From<HostError> for ApiError {
    fn from(error: HostError) -> Self {
        Problem::from(error).into()
    }
}

impl From<&TurnError> for ApiError {
    /// The error of a run that failed.
    fn from(error: &TurnError) -> Self {
        let cause = text(&json!(error), "cause").replace('-', "_");
        let (status, code) = match error {
            TurnError::Model { error } => of_model(error),
            TurnError::ContextWindow { .. } => (
                StatusCode::BAD_REQUEST,
                "context_length_exceeded".to_owned(),
            ),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, cause),
        };
        let message = match error {
            TurnError::Journal { message } => Problem::of_store(message).detail,
            error => error.to_string(),
        };
        Self {
            has_run: true,
            ..Self::new(status, &code, message)
        }
    }
}

/// Returns the status and the code of a model's error: it is this server's model, so its refusals
/// are not those of the request.
fn of_model(error: &ModelError) -> (StatusCode, String) {
    let kind = json!(error.kind)
        .as_str()
        .unwrap_or_default()
        .replace('-', "_");
    match error.kind {
        ModelErrorKind::RateLimited => (
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limit_exceeded".to_owned(),
        ),
        _ => (StatusCode::BAD_GATEWAY, format!("model_{kind}")),
    }
}

/// Makes the response of a request that the front refused: a problem below the path of the API, and
/// an error in OpenAI's form below its.
#[must_use]
pub fn refused(uri: &Uri, refusal: Refusal) -> Response {
    if uri.path().starts_with(API) || uri.path() == METRICS {
        return refusal.with_body(Problem::from(refusal));
    }
    if !uri.path().starts_with(PATH) {
        return refusal.into_response();
    }
    let code = match refusal.status() {
        StatusCode::UNAUTHORIZED => "invalid_api_key",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        _ => "request_refused",
    };
    let error = ApiError::new(refusal.status(), code, refusal.reason());
    refusal.with_body(Json(error.json()))
}

/// Makes the response of a problem: in OpenAI's form below its path.
pub(crate) fn problem_response(uri: &Uri, problem: Problem) -> Response {
    match uri.path().starts_with(PATH) {
        true => ApiError::from(problem).into_response(),
        false => problem.into_response(),
    }
}

/// Returns the error of an address or a method below [`PATH`] that the API does not have.
pub(crate) fn unknown_address(uri: &Uri, status: StatusCode) -> Option<Response> {
    let message = "this server supports these parts of OpenAI's API: GET /v1/models, GET /v1/models/{model}, POST \
                   /v1/responses, GET /v1/responses/{id} and POST /v1/chat/completions";
    let code = json!(ProblemCode::NotFound)
        .as_str()
        .unwrap_or_default()
        .replace('-', "_");
    let error = ApiError::new(status, &code, message);
    uri.path().starts_with(PATH).then(|| error.into_response())
}

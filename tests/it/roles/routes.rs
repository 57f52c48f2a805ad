//! Every route of the API, with its least role.

/// A session that does not exist.
pub(crate) const NONE: &str = "00000000-0000-7000-8000-000000000000";

/// A route with its method, its least role, a body, and the answer to a caller with the role where
/// the session and what else is named do not exist.
pub(crate) type Row = (
    &'static str,
    &'static str,
    Option<&'static str>,
    (u16, &'static str),
);

/// Every route. One that is added to the server without a row here fails the test.
pub(crate) const ROUTES: [Row; 46] = [
    ("GET /api/v1/agents", "viewer", None, (200, "")),
    ("GET /api/v1/grants", "operator", None, (200, "")),
    ("GET /api/v1/health", "viewer", None, (200, "")),
    ("GET /api/v1/hosts", "viewer", None, (200, "")),
    ("GET /api/v1/link", "viewer", None, (404, "not-found")),
    (
        "POST /api/v1/link/open",
        "viewer",
        Some("{}"),
        (404, "not-found"),
    ),
    ("GET /api/v1/memory", "viewer", None, (200, "")),
    (
        "DELETE /api/v1/memory/{item}",
        "user",
        None,
        (404, "not-found"),
    ),
    (
        "POST /api/v1/memory/{item}/trust",
        "operator",
        Some("{}"),
        (404, "not-found"),
    ),
    ("GET /api/v1/openapi.json", "viewer", None, (200, "")),
    ("GET /api/v1/ready", "viewer", None, (200, "")),
    ("GET /api/v1/schedules", "viewer", None, (200, "")),
    (
        "GET /api/v1/search",
        "viewer",
        None,
        (400, "invalid-request"),
    ),
    ("GET /api/v1/sessions", "viewer", None, (200, "")),
    ("GET /api/v1/stats", "viewer", None, (200, "")),
    ("GET /api/v1/tools", "viewer", None, (200, "")),
    ("GET /api/v1/workflows", "viewer", None, (200, "")),
    (
        "POST /api/v1/sessions",
        "user",
        Some("{}"),
        (400, "invalid-request"),
    ),
    (
        "GET /api/v1/sessions/{session}",
        "viewer",
        None,
        (404, "not-found"),
    ),
    (
        "PATCH /api/v1/sessions/{session}",
        "user",
        Some(r#"{"name": "n"}"#),
        (404, "not-found"),
    ),
    (
        "DELETE /api/v1/sessions/{session}",
        "user",
        None,
        (404, "not-found"),
    ),
    (
        "GET /api/v1/sessions/{session}/links",
        "user",
        None,
        (404, "not-found"),
    ),
    (
        "POST /api/v1/sessions/{session}/links",
        "user",
        Some("{}"),
        (404, "not-found"),
    ),
    (
        "DELETE /api/v1/sessions/{session}/links/{link}",
        "user",
        None,
        (404, "not-found"),
    ),
    (
        "GET /api/v1/sessions/{session}/artifacts",
        "viewer",
        None,
        (404, "not-found"),
    ),
    (
        "GET /api/v1/sessions/{session}/artifacts/{*name}",
        "viewer",
        None,
        (404, "not-found"),
    ),
    (
        "GET /api/v1/sessions/{session}/blobs/{digest}",
        "viewer",
        None,
        (404, "not-found"),
    ),
    (
        "POST /api/v1/sessions/{session}/cancel",
        "user",
        None,
        (404, "not-found"),
    ),
    (
        "GET /api/v1/sessions/{session}/changes",
        "viewer",
        None,
        (404, "not-found"),
    ),
    (
        "POST /api/v1/sessions/{session}/drain",
        "user",
        None,
        (404, "not-found"),
    ),
    (
        "GET /api/v1/sessions/{session}/events",
        "viewer",
        None,
        (404, "not-found"),
    ),
    (
        "GET /api/v1/sessions/{session}/explain",
        "viewer",
        None,
        (404, "not-found"),
    ),
    (
        "GET /api/v1/sessions/{session}/export",
        "viewer",
        None,
        (404, "not-found"),
    ),
    (
        "POST /api/v1/sessions/{session}/fork",
        "user",
        Some("{}"),
        (404, "not-found"),
    ),
    (
        "GET /api/v1/sessions/{session}/graph",
        "viewer",
        None,
        (404, "not-found"),
    ),
    (
        "POST /api/v1/sessions/{session}/messages",
        "user",
        Some(r#"{"message": "m"}"#),
        (404, "not-found"),
    ),
    (
        "GET /api/v1/sessions/{session}/requests",
        "viewer",
        None,
        (404, "not-found"),
    ),
    (
        "POST /api/v1/sessions/{session}/requests/{request}/answer",
        "user",
        Some("{}"),
        (404, "not-found"),
    ),
    (
        "POST /api/v1/sessions/{session}/resume",
        "user",
        None,
        (404, "not-found"),
    ),
    (
        "POST /api/v1/sessions/{session}/undo",
        "user",
        Some("{}"),
        (404, "not-found"),
    ),
    (
        "POST /v1/chat/completions",
        "user",
        Some("{}"),
        (400, "invalid_request"),
    ),
    ("GET /metrics", "viewer", None, (200, "")),
    ("GET /v1/models", "viewer", None, (200, "")),
    (
        "GET /v1/models/{model}",
        "viewer",
        None,
        (404, "model_not_found"),
    ),
    (
        "POST /v1/responses",
        "user",
        Some("{}"),
        (400, "invalid_request"),
    ),
    (
        "GET /v1/responses/{id}",
        "viewer",
        None,
        (404, "response_not_found"),
    ),
];

//! Requests that are refused, and the problems that say why.

use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, TOKEN},
    chat::{Answer, ChatServer},
};
use pretty_assertions::assert_eq;

#[test]
fn bad_requests_are_problems() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("Hello.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("hi");
    server.events(&session, None).until("turn-ended");
    let none = "00000000-0000-7000-8000-000000000000";
    let no_blob = format!("GET /sessions/{session}/blobs/sha256:{}", "0".repeat(64));
    let of_session = |rest: &str| format!("GET /sessions/{session}{rest}");
    let cases: Vec<(String, Option<&str>, u16, &str)> = vec![
        ("GET /nothing".into(), None, 404, "not-found"),
        ("GET /sessions/latest".into(), None, 404, "not-found"),
        (format!("GET /sessions/{none}"), None, 404, "not-found"),
        (
            format!("GET /sessions/{none}/events"),
            None,
            404,
            "not-found",
        ),
        (
            format!("GET /sessions/{none}/requests"),
            None,
            404,
            "not-found",
        ),
        ("GET /sessions?limit=0".into(), None, 400, "invalid-request"),
        (
            "GET /sessions?limit=501".into(),
            None,
            400,
            "invalid-request",
        ),
        ("GET /sessions?limit=x".into(), None, 400, "invalid-request"),
        (of_session("/events?from=-1"), None, 400, "invalid-request"),
        (no_blob, None, 404, "not-found"),
        (of_session("/blobs/x"), None, 404, "not-found"),
        ("POST /sessions".into(), Some("{}"), 400, "invalid-request"),
        ("POST /sessions".into(), Some("{"), 400, "invalid-request"),
        ("POST /sessions".into(), Some("[]"), 400, "invalid-request"),
        (
            "POST /sessions".into(),
            Some(r#"["hi"]"#),
            400,
            "invalid-request",
        ),
        ("POST /sessions".into(), None, 400, "invalid-request"),
        (
            "POST /sessions".into(),
            Some(r#"{"message": "a", "modell": "b"}"#),
            400,
            "invalid-request",
        ),
        (
            "POST /sessions".into(),
            Some(r#"{"message": "a", "agent": "b"}"#),
            404,
            "not-found",
        ),
        (
            "POST /sessions".into(),
            Some(r#"{"message": "a", "workflow": "b"}"#),
            404,
            "not-found",
        ),
        (
            "POST /sessions".into(),
            Some(
                r#"{"parts": [{"type": "file", "media_type": "image/png", "data": {"type": "bytes", "value": "YQ=="}}]}"#,
            ),
            400,
            "invalid-request",
        ),
        (
            format!("POST /sessions/{session}/resume"),
            None,
            409,
            "not-waiting",
        ),
        (
            format!("POST /sessions/{session}/fork"),
            Some(r#"{"at": 1}"#),
            404,
            "not-found",
        ),
    ];
    for (request, body, status, code) in cases {
        let response = server.request(TOKEN, &request, body);
        assert_eq!(
            response.problem(),
            (status, code.to_owned()),
            "{request} {body:?}: {response:?}"
        );
    }
    assert_eq!(server.request(TOKEN, "PUT /sessions", None).status, 405);
    assert_eq!(server.request("wrong", "GET /sessions", None).status, 401);
    assert_eq!(server.request("wrong", "GET /nothing", None).status, 404);
}

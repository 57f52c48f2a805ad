//! Sessions of clients that use the handshake: raw messages, exact responses.

use super::{
    double::Running,
    raw::{Ask, Raw, call, initialize, request, said},
};
use crate::http::{
    semaphore,
    usage::{SessionGuard, SessionPermit, SessionUsage},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::time::Instant;

/// A POST to a session.
fn to(session: &str, message: &Value) -> Ask {
    Ask::post(message).and("Mcp-Session-Id", session)
}

fn rpc_error(id: Option<u32>, code: i32, message: &str) -> Value {
    let mut error = json!({"jsonrpc": "2.0", "error": {"code": code, "message": message}});
    if let Some(id) = id {
        error["id"] = id.into();
    }
    error
}

#[tokio::test]
async fn session_lists_calls_and_ends() {
    let server = Running::start(|_| {}).await;
    let mut connection = Raw::connect(server.address).await;
    let begun = connection.events(&Ask::post(initialize())).await;
    assert_eq!(begun.len(), 1, "{begun:?}");
    assert_eq!(
        (&begun[0]["id"], &begun[0]["result"]["protocolVersion"]),
        (&json!(0), &json!("2025-11-25"))
    );
    let session = connection.begin().await;
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let answer = connection.ask(&to(&session, &ready)).await;
    assert_eq!(answer.brief(), (202, ""));

    let listed = connection
        .events(&to(&session, &request(1, "tools/list", &json!({}))))
        .await;
    let tool =
        |name: &str| json!({"name": name, "description": "", "inputSchema": {"type": "object"}});
    let tools = ["ask", "flood", "tell", "wait"].map(tool);
    assert_eq!(
        listed,
        [json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}})]
    );

    let told = connection.events(&to(&session, &call(2, "tell"))).await;
    let progress = json!({
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": 2, "progress": 1.0, "message": "half"},
    });
    assert_eq!(told, [progress, said(2, "told")]);
    // The handler sees no token in the request.
    let seen = connection.events(&to(&session, &call(3, "head"))).await;
    assert_eq!(seen, [said(3, "head, token: false")]);

    let end = Ask::bare("DELETE").and("Mcp-Session-Id", &session);
    assert_eq!(connection.ask(&end).await.brief(), (204, ""));
    let gone = connection.ask(&to(&session, &call(4, "tell"))).await;
    assert_eq!(gone.brief(), (404, "Not Found: Session not found"));
}

#[tokio::test]
async fn elicitation_goes_over_the_stream_of_its_call() {
    let server = Running::start(|_| {}).await;
    let mut caller = Raw::connect(server.address).await;
    let mut answerer = Raw::connect(server.address).await;
    let session = caller.begin().await;
    let stream = caller.ask(&to(&session, &call(1, "ask"))).await;
    assert_eq!(stream.status, 200);
    let asked = caller.event().await.unwrap();
    assert_eq!(
        (&asked["method"], &asked["params"]["message"]),
        (&json!("elicitation/create"), &json!("May I?"))
    );
    let answer = json!({
        "jsonrpc": "2.0",
        "id": asked["id"],
        "result": {"action": "accept", "content": {"sure": true}},
    });
    let taken = answerer.ask(&to(&session, &answer)).await;
    assert_eq!(taken.brief(), (202, ""));
    assert_eq!(
        (caller.event().await, caller.event().await),
        (Some(said(1, "Accept {\"sure\":true}")), None)
    );
}

#[tokio::test]
async fn invalid_message_gets_the_json_rpc_error() {
    let server = Running::start(|_| {}).await;
    let mut connection = Raw::connect(server.address).await;
    let session = connection.begin().await;
    let none = "the body is not a single JSON-RPC 2.0 message; batches are not supported";
    let raw = |body: &str| Ask::post(body).and("Mcp-Session-Id", &session);
    for (ask, expected) in [
        (
            raw("{\"jsonrpc\":"),
            rpc_error(
                None,
                -32700,
                "the body is not JSON: EOF while parsing a value at line 1 column 11",
            ),
        ),
        (
            raw(""),
            rpc_error(
                None,
                -32700,
                "the body is not JSON: EOF while parsing a value at line 1 column 0",
            ),
        ),
        (raw("[]"), rpc_error(None, -32600, none)),
        (raw("7"), rpc_error(None, -32600, none)),
        (raw("{\"id\": 7}"), rpc_error(Some(7), -32600, none)),
        (
            raw("{\"jsonrpc\": \"1.0\", \"id\": 7, \"method\": \"ping\"}"),
            rpc_error(Some(7), -32600, none),
        ),
        (
            raw("{\"jsonrpc\": \"2.0\", \"id\": {}, \"method\": \"ping\"}"),
            rpc_error(None, -32600, none),
        ),
        (
            raw(&format!("[{}]", call(7, "tell"))),
            rpc_error(None, -32600, none),
        ),
    ] {
        let answer = connection.ask(&ask).await;
        assert_eq!((answer.status, answer.json()), (400, expected), "{ask:?}");
    }
    let unknown = request(8, "no/such", &json!({}));
    assert_eq!(
        connection.events(&to(&session, &unknown)).await,
        [rpc_error(Some(8), -32601, "no/such")]
    );
    // And it still serves.
    assert_eq!(
        connection.events(&to(&session, &call(9, "head"))).await,
        [said(9, "head, token: false")]
    );
}

#[tokio::test]
async fn request_outside_the_protocol_is_refused() {
    let server = Running::start(|_| {}).await;
    let mut connection = Raw::connect(server.address).await;
    let session = connection.begin().await;
    let tell = || to(&session, &call(1, "tell"));
    let listen = || Ask::bare("GET").with("Accept", "text/event-stream");
    for (ask, expected) in [
        (
            Ask::post(call(1, "tell")),
            (400, "Bad Request: Session ID is required"),
        ),
        (
            to("no-such-session", &call(1, "tell")),
            (404, "Not Found: Session not found"),
        ),
        (
            tell().and("Mcp-Protocol-Version", "1999-01-01"),
            (
                400,
                "Bad Request: Unsupported MCP-Protocol-Version: 1999-01-01",
            ),
        ),
        (
            tell().with("Accept", "application/json"),
            (
                406,
                "Not Acceptable: Client must accept both application/json and text/event-stream",
            ),
        ),
        (
            tell().with("Content-Type", "text/plain"),
            (
                415,
                "Unsupported Media Type: Content-Type must be application/json",
            ),
        ),
        (listen(), (400, "Bad Request: Session ID is required")),
        (
            listen().and("Mcp-Session-Id", "no-such-session"),
            (404, "Not Found: Session not found"),
        ),
        (
            Ask::bare("DELETE"),
            (400, "Bad Request: Session ID is required"),
        ),
    ] {
        assert_eq!(connection.ask(&ask).await.brief(), expected, "{ask:?}");
    }
}

#[tokio::test]
async fn sessions_are_bounded_and_an_ended_one_frees_its_permit() {
    let server = Running::with_sessions(|limits| limits.sessions = 2).await;
    let mut connection = Raw::connect(server.address).await;
    let first = connection.begin().await;
    let second = connection.begin().await;
    assert_ne!(first, second);
    assert_eq!(server.stage.handlers.load(Ordering::Relaxed), 2);
    let refused = connection.ask(&Ask::post(initialize())).await;
    let why = "too many sessions are open; end one with DELETE, or try again";
    assert_eq!(
        (refused.status, refused.field("retry-after"), refused.json()),
        (503, Some("5"), rpc_error(Some(0), -32000, why))
    );
    assert_eq!(server.stage.handlers.load(Ordering::Relaxed), 2);
    // The refusal ended the connection.
    let mut connection = Raw::connect(server.address).await;
    let end = Ask::bare("DELETE").and("Mcp-Session-Id", &first);
    assert_eq!(connection.ask(&end).await.status, 204);
    let third = connection.begin().await;
    assert_eq!(
        connection.events(&to(&third, &call(1, "head"))).await,
        [said(1, "head, token: false")]
    );
}

#[tokio::test]
async fn session_that_fails_to_start_takes_no_permit() {
    let server = Running::with_sessions(|limits| limits.sessions = 1).await;
    let mut connection = Raw::connect(server.address).await;
    let contradiction = Ask::post(initialize()).and("Mcp-Protocol-Version", "2025-06-18");
    for _ in 0..2 {
        assert_eq!(connection.ask(&contradiction).await.status, 400);
    }
    connection.begin().await;
}

#[tokio::test]
async fn unused_session_ends() {
    let server = Running::with_sessions(|limits| {
        limits.sessions = 1;
        limits.idle = Duration::from_millis(10);
    })
    .await;
    let mut connection = Raw::connect(server.address).await;
    let forgotten = connection.begin().await;
    // Its permit is free once it has ended.
    loop {
        let answer = connection.ask(&Ask::post(initialize())).await;
        if answer.status == 200 {
            break;
        }
        assert_eq!(answer.status, 503);
        connection = Raw::connect(server.address).await;
    }
    let answer = Raw::connect(server.address)
        .await
        .ask(&to(&forgotten, &call(1, "tell")))
        .await;
    assert_eq!(answer.brief(), (404, "Not Found: Session not found"));
}

#[test]
fn session_with_an_open_stream_is_in_use() {
    let permits = semaphore(1);
    let usage = Arc::new(SessionUsage::default());
    let id = "session".into();
    usage.add(&id, SessionPermit::acquire(&permits).unwrap());
    assert!(SessionPermit::acquire(&permits).is_none());
    let idle = Duration::from_secs(60);
    let later = Instant::now() + 2 * idle;
    let unused = || usage.unused(later, idle);
    assert_eq!(unused(), [Arc::clone(&id)]);
    let streams = [
        SessionGuard::new(&usage, &id),
        SessionGuard::new(&usage, &id),
    ];
    assert!(unused().is_empty());
    let [first, second] = streams;
    drop(first);
    assert!(unused().is_empty());
    drop(second);
    assert_eq!(unused(), [Arc::clone(&id)]);
    assert!(usage.unused(Instant::now(), idle).is_empty());
    usage.remove(&id);
    assert!(unused().is_empty());
    assert!(SessionPermit::acquire(&permits).is_some());
}

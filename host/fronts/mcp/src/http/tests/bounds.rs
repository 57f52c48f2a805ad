//! The bounds on what a hostile client can use.

use super::{
    double::{FLOOD_BYTES, FLOOD_MESSAGES, Running},
    raw::{Ask, Raw, call, initialize, request, said},
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::time::Duration;
use tokio::{task::JoinSet, time::timeout};

/// A short limit. No test fails because it is too long.
const SOON: Duration = Duration::from_millis(200);

/// How long a client may take that is not kept out, far less than idle connections live.
const HONEST: Duration = Duration::from_secs(10);

/// Asserts that the server still serves.
async fn serves(server: &Running) {
    let mut connection = Raw::connect(server.address).await;
    let session = connection.begin().await;
    let head = Ask::post(call(1, "head")).and("Mcp-Session-Id", &session);
    assert_eq!(
        connection.events(&head).await,
        [said(1, "head, token: false")]
    );
}

#[tokio::test]
async fn heads_and_bodies_over_the_limit_are_refused() {
    let server = Running::bounded(|limits| {
        limits.head_bytes = 4096;
        limits.headers = 16;
        limits.body_bytes = 1024;
    })
    .await;
    let ping = || Ask::post(request(1, "ping", &json!({})));
    let padded = |bytes| {
        let mut ask = ping();
        ask.body = format!("{:bytes$}", ask.body);
        ask
    };
    let many = |count| (0..count).fold(ping(), |ask, _| ask.and("X", "x"));
    let chunked = |bytes: usize| {
        let mut ask = padded(bytes).and("Transfer-Encoding", "chunked");
        ask.fields.push(("Connection", "close".to_owned()));
        ask
    };
    let passed = (400, "Bad Request: Session ID is required");
    let long_head = (431, "");
    let long_body = (413, "the request's body is too long; send less at once");
    for (ask, expected) in [
        (ping().and("X", &"x".repeat(3500)), passed),
        (ping().and("X", &"x".repeat(4096)), long_head),
        (ping().and("X", &"x".repeat(1_000_000)), long_head),
        (many(11), passed),
        (many(12), long_head),
        (padded(1024), passed),
        (padded(1025), long_body),
        // Refused by its length alone.
        (ping().and("Content-Length", "9999999999"), long_body),
    ] {
        let answer = Raw::connect(server.address).await.ask(&ask).await;
        let shown: String = ask.bytes(0).chars().take(300).collect();
        assert_eq!(answer.brief(), expected, "{shown}");
    }
    for (bytes, expected) in [(1024, passed), (1025, long_body)] {
        let ask = chunked(bytes);
        let mut text = ask.bytes(server.address.port());
        let body = text.split_off(text.len() - bytes);
        let text = text.replace(&format!("Content-Length: {bytes}\r\n"), "");
        let mut connection = Raw::connect(server.address).await;
        connection
            .send(&format!("{text}{bytes:x}\r\n{body}\r\n0\r\n\r\n"))
            .await;
        let answer = connection.answer().await.unwrap();
        assert_eq!(answer.brief(), expected, "{bytes} bytes in chunks");
    }
    serves(&server).await;
}

#[tokio::test]
async fn client_slow_to_send_is_disconnected() {
    let server = Running::bounded(|limits| {
        limits.connections = 1;
        limits.head_time = SOON;
        limits.body_time = SOON;
    })
    .await;
    let port = server.address.port();
    let whole = Ask::post(initialize()).bytes(port);
    // Nothing, half a line, half a head: no request to answer.
    for part in [0, 10, 100] {
        let mut slow = Raw::connect(server.address).await;
        slow.send(whole.split_at(part).0).await;
        assert_eq!(slow.drain().await, 0, "after {part} bytes");
    }
    // Half a body.
    let mut slow = Raw::connect(server.address).await;
    slow.send(whole.split_at(whole.len() - 1).0).await;
    let answer = slow.answer().await.unwrap();
    assert_eq!(
        (answer.brief(), answer.field("connection")),
        (
            (408, "the request's body took too long to arrive"),
            Some("close")
        )
    );
    assert_eq!(slow.drain().await, 0);
    // Nothing after an answer.
    let mut slow = Raw::connect(server.address).await;
    slow.begin().await;
    assert_eq!(slow.drain().await, 0);
    serves(&server).await;
}

#[tokio::test]
async fn client_that_does_not_read_is_disconnected() {
    let mut server = Running::bounded(|limits| {
        limits.connections = 1;
        limits.write_timeout = SOON;
    })
    .await;
    let mut stalled = Raw::connect(server.address).await;
    let session = stalled.begin().await;
    let flood = Ask::post(call(1, "flood")).and("Mcp-Session-Id", &session);
    assert_eq!(stalled.ask(&flood).await.status, 200);
    // The limit is one connection, so this one is served once the stalled one is closed.
    serves(&server).await;
    // No more was sent than buffers hold, and the call ran on without its client.
    let sent = stalled.drain().await;
    assert!(sent < FLOOD_BYTES * FLOOD_MESSAGES / 2, "{sent} bytes");
    assert_eq!(server.ended.recv().await.unwrap(), "head");
    while server.ended.recv().await.unwrap() != "flood" {}
}

#[tokio::test]
async fn running_requests_are_bounded_even_without_a_client() {
    let mut server = Running::with_sessions(|limits| limits.requests = 4).await;
    let mut connection = Raw::connect(server.address).await;
    let session = connection.begin().await;
    let wait = |id| Ask::post(call(id, "wait")).and("Mcp-Session-Id", &session);
    for id in [1, 2] {
        let mut gone = Raw::connect(server.address).await;
        assert_eq!(gone.ask(&wait(id)).await.status, 200);
        assert_eq!(server.began.recv().await.unwrap(), "wait");
    }
    let refused = connection.ask(&wait(3)).await;
    let answer = refused.json();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(refused.status, 200);
    assert!(text.starts_with(r#"{"code":"busy""#), "{text}");
    // A call of another tool still passes.
    let other = Ask::post(call(4, "head")).and("Mcp-Session-Id", &session);
    let told = connection.events(&other).await;
    assert_eq!(told, [said(4, "head, token: false")]);
    assert_eq!(server.ended.recv().await.unwrap(), "head");
    // A notification that ends a call is no request, so it needs no permit.
    let cancel = json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 1},
    });
    let cancel = Ask::post(cancel).and("Mcp-Session-Id", &session);
    assert_eq!(connection.ask(&cancel).await.status, 202);
    assert_eq!(server.ended.recv().await.unwrap(), "!wait");
    server.stage.go.add_permits(1);
    assert_eq!(server.ended.recv().await.unwrap(), "wait");
}

/// Requests that are no calls share one name.
#[tokio::test]
async fn request_beyond_the_bound_is_answered_with_503() {
    let server = Running::with_sessions(|limits| limits.requests = 0).await;
    let mut connection = Raw::connect(server.address).await;
    let refused = connection.ask(&Ask::post(initialize())).await;
    assert_eq!(
        (refused.status, refused.field("retry-after"), refused.json()),
        (
            503,
            Some("5"),
            json!({
                "jsonrpc": "2.0",
                "id": refused.json()["id"],
                "error": {"code": -32000, "message": "too many requests are running; try again"},
            })
        )
    );
    // A client that stays keeps no connection from others.
    assert_eq!(refused.field("connection"), Some("close"));
    assert_eq!(connection.drain().await, 0);
}

/// The oldest give way, without waiting for their time to send a request.
#[tokio::test]
async fn request_is_answered_while_idle_connections_fill_the_server() {
    const IDLE: usize = 40;
    let server = Running::bounded(|limits| limits.connections = 8).await;
    let part = Ask::post(initialize()).bytes(server.address.port());
    let mut idle = Vec::new();
    for number in 0..IDLE {
        let mut connection = Raw::connect(server.address).await;
        // Some say nothing, some half a head, some half a body.
        let sent = [0, 100, part.len() - 1][number % 3];
        connection.send(part.split_at(sent).0).await;
        idle.push(connection);
    }
    let answered = timeout(HONEST, serves(&server)).await;
    answered.expect("idle connections keep a client out");
    let first = timeout(HONEST, idle[0].drain()).await;
    assert_eq!(first, Ok(0), "the oldest connection stays");
}

/// Asks as an HTTP client does: again on a new connection where one was closed without an answer.
/// On a busy machine a client may need longer to send its request than a full server waits for it.
async fn answered(mut connection: Raw, ask: &Ask) -> u16 {
    loop {
        match connection.try_ask(ask).await {
            Ok(answer) => return answer.status,
            Err(_) => connection = Raw::connect(connection.address).await,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn thousand_connections_are_served_a_few_at_a_time() {
    let server = Running::bounded(|limits| {
        limits.connections = 16;
        limits.head_time = SOON;
    })
    .await;
    let address = server.address;
    let mut clients = JoinSet::new();
    for number in 0..1000 {
        clients.spawn(async move {
            let mut connection = Raw::connect(address).await;
            match number % 4 {
                // Sends part of a request.
                0 => {
                    connection.send("P").await;
                    (0, connection.drain().await)
                }
                // Sends no token.
                1 => {
                    let ask = Ask::post(call(1, "head")).without("Authorization");
                    (answered(connection, &ask).await, 0)
                }
                // Sends a request and keeps the connection.
                _ => {
                    let ask = Ask::post(request(1, "ping", &json!({})));
                    (answered(connection, &ask).await, 0)
                }
            }
        });
    }
    let mut answers = [0; 3];
    for (status, bytes) in clients.join_all().await {
        assert_eq!(bytes, 0);
        let kind = [0, 401, 400].iter().position(|known| *known == status);
        answers[kind.unwrap_or_else(|| panic!("{status}"))] += 1;
    }
    assert_eq!(answers, [250, 250, 500]);
    serves(&server).await;
}

//! The lifecycle without sessions: every request names its client and is answered by itself.

use super::{
    double::Running,
    raw::{Ask, Raw, request},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const VERSION: &str = "2026-07-28";

/// The `_meta` of every request.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 1,
    })
}

/// A call of a tool.
fn call(tool: &str) -> Ask {
    let params = json!({"name": tool, "arguments": {}, "_meta": meta()});
    Ask::post(request(1, "tools/call", &params))
        .and("Mcp-Protocol-Version", VERSION)
        .and("Mcp-Method", "tools/call")
        .and("Mcp-Name", tool)
}

fn result(text: &str) -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "content": [{"type": "text", "text": text}],
            "isError": false,
            "resultType": "complete",
        },
    })
}

#[tokio::test]
async fn call_without_a_session_is_answered() {
    let server = Running::start(|_| {}).await;
    let mut connection = Raw::connect(server.address).await;
    let answer = connection.ask(&call("head")).await;
    assert_eq!(
        (answer.status, answer.field("mcp-session-id"), answer.json()),
        (200, None, result("head, token: false"))
    );
    let told = connection.events(&call("tell")).await;
    let progress = json!({
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": 1, "progress": 1.0, "message": "half"},
    });
    assert_eq!(told, [progress, result("told")]);
}

#[tokio::test]
async fn call_whose_client_is_gone_is_cancelled() {
    let mut server = Running::start(|_| {}).await;
    let mut gone = Raw::connect(server.address).await;
    gone.send(&call("wait").bytes(server.address.port())).await;
    assert_eq!(server.began.recv().await.unwrap(), "wait");
    drop(gone);
    assert_eq!(server.ended.recv().await.unwrap(), "!wait");
}

#[tokio::test]
async fn contradictory_request_is_refused() {
    let server = Running::start(|_| {}).await;
    let mut connection = Raw::connect(server.address).await;
    let unknown = Ask::post(request(1, "no/such", &json!({"_meta": meta()})))
        .and("Mcp-Protocol-Version", VERSION)
        .and("Mcp-Method", "no/such");
    for (ask, status, code) in [
        (call("head").without("Mcp-Method"), 400, -32020),
        (call("head").with("Mcp-Name", "tell"), 400, -32020),
        (
            call("head").with("Mcp-Protocol-Version", "2025-11-25"),
            400,
            -32020,
        ),
        (call("head").without("Mcp-Protocol-Version"), 400, -32020),
        (unknown, 404, -32601),
    ] {
        let answer = connection.ask(&ask).await;
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (status, &json!(code)),
            "{ask:?}"
        );
    }
}

use super::*;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::DuplexStream;

fn request(id: i64, method: &str, params: &Value) -> ClientJsonRpcMessage {
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    serde_json::from_value(request).unwrap()
}

/// Sends these requests and returns the ids of the messages received from these lines.
async fn received(requests: Vec<ClientJsonRpcMessage>, lines: &[Value]) -> Vec<Value> {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (mut input, output) = tokio::io::duplex(64 * 1024);
    let mut transport: Lines<DuplexStream, DuplexStream> = Lines::new(output, ours, Arc::default());
    for request in requests {
        transport.send(request).await.unwrap();
    }
    for line in lines {
        input
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
    }
    drop(input);
    let mut all = Vec::new();
    while let Some(message) = transport.receive().await {
        all.push(json!(message)["id"].clone());
    }
    drop(theirs);
    all
}

/// A server that starts slowly answers both handshake requests; only the second response counts.
#[tokio::test]
async fn late_response_to_abandoned_discover_is_dropped() {
    let greeting = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"},
    });
    let requests = vec![
        request(0, "server/discover", &json!({})),
        request(1, "initialize", &greeting),
    ];
    let answer = |id: Value| json!({"jsonrpc": "2.0", "id": id, "result": {}});
    let unknown = json!({"jsonrpc": "2.0", "id": 0, "error": {"code": -32601, "message": "?"}});
    let lines = [
        unknown,
        answer(json!(0)),
        answer(json!(1)),
        answer(json!(1)),
    ];
    assert_eq!(received(requests, &lines).await, [json!(1)]);
}

/// Some servers return a number as a string.
#[tokio::test]
async fn response_id_as_text_is_matched() {
    let requests = vec![request(7, "tools/list", &json!({}))];
    let lines = [
        json!({"jsonrpc": "2.0", "id": "7", "result": {}}),
        json!({"jsonrpc": "2.0", "id": "other", "result": {}}),
    ];
    assert_eq!(received(requests, &lines).await, [json!("7")]);
}

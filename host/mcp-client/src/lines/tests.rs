use super::*;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::DuplexStream;

fn request(id: i64, method: &str, params: &Value) -> ClientJsonRpcMessage {
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    serde_json::from_value(request).unwrap()
}

/// Our end after these requests, and what is received there of these lines.
async fn received(requests: Vec<ClientJsonRpcMessage>, lines: &[Value]) -> Vec<Value> {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (mut input, output) = tokio::io::duplex(64 * 1024);
    let mut transport: Lines<DuplexStream, DuplexStream> = Lines::new(output, ours);
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

/// A server that took so long to start that it was greeted twice answers both, and only the second answer counts.
#[tokio::test]
async fn a_late_answer_to_a_question_that_was_given_up_is_left_out() {
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

/// Some servers send a number back as text.
#[tokio::test]
async fn an_id_may_come_back_as_text() {
    let requests = vec![request(7, "tools/list", &json!({}))];
    let lines = [
        json!({"jsonrpc": "2.0", "id": "7", "result": {}}),
        json!({"jsonrpc": "2.0", "id": "other", "result": {}}),
    ];
    assert_eq!(received(requests, &lines).await, [json!("7")]);
}

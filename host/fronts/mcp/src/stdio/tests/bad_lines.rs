//! Lines that are no messages, or unexpected ones.

use super::{super::MAX_LINE_BYTES, Client, Double, ping, pong};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const NO_OBJECT: &str = "the line is not a JSON object; send one message per line, without batches";
const NO_MESSAGE: &str = "the line is not a JSON-RPC 2.0 message: a request has `jsonrpc` \"2.0\", an `id` that is a \
                          whole number or a string, and a `method` that is a string";

fn error(code: i32, message: &str) -> Option<Value> {
    Some(json!({ "jsonrpc": "2.0", "error": { "code": code, "message": message } }))
}

fn error_of(id: Value, code: i32, message: &str) -> Option<Value> {
    let mut error = error(code, message)?;
    error["id"] = id;
    Some(error)
}

fn no_json(why: &str) -> Option<Value> {
    error(-32700, &format!("the line is not JSON: {why}"))
}

/// Returns lines with the responses to them.
fn bad_lines() -> Vec<(Vec<u8>, Option<Value>)> {
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#,
        "x".repeat(MAX_LINE_BYTES)
    );
    let too_long = format!("the message has more than {MAX_LINE_BYTES} bytes; send less at once");
    let deep = "[".repeat(1000);
    let lines: [(&[u8], Option<Value>); 24] = [
        (
            b"{",
            no_json("EOF while parsing an object at line 1 column 1"),
        ),
        (b"hello", no_json("expected value at line 1 column 1")),
        (b"\xff\xfe", no_json("expected value at line 1 column 1")),
        (
            b"{\"a\":\"\xff\"}",
            no_json("invalid unicode code point at line 1 column 7"),
        ),
        (
            deep.as_bytes(),
            no_json("recursion limit exceeded at line 1 column 128"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#,
            no_json("trailing characters at line 1 column 42"),
        ),
        (long.as_bytes(), error(-32600, &too_long)),
        (b"[]", error(-32600, NO_OBJECT)),
        (
            br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            error(-32600, NO_OBJECT),
        ),
        (b"null", error(-32600, NO_OBJECT)),
        (b"{}", error(-32600, NO_MESSAGE)),
        (
            br#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#,
            error_of(json!(7), -32600, NO_MESSAGE),
        ),
        (
            br#"{"id":"a","method":"ping"}"#,
            error_of(json!("a"), -32600, NO_MESSAGE),
        ),
        (
            br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            error(-32600, NO_MESSAGE),
        ),
        (
            br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            error(-32600, NO_MESSAGE),
        ),
        (
            br#"{"jsonrpc":"2.0","id":3,"method":7}"#,
            error_of(json!(3), -32600, NO_MESSAGE),
        ),
        (
            br#"{"jsonrpc":"2.0","id":3,"method":"ping","result":{}}"#,
            error_of(json!(3), -32600, NO_MESSAGE),
        ),
        (
            br#"{"jsonrpc":"2.0","id":4,"method":"what/ever"}"#,
            error_of(json!(4), -32601, "what/ever"),
        ),
        // Never answered.
        (br#"{"jsonrpc":"2.0","method":"notifications/what"}"#, None),
        (br#"{"method":"notifications/initialized"}"#, None),
        (br#"{"jsonrpc":"2.0","id":99,"result":{}}"#, None),
        (
            br#"{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}"#,
            None,
        ),
        (b"", None),
        (b" \t\r", None),
    ];
    lines.map(|(line, answer)| (line.to_vec(), answer)).into()
}

/// Sends a line and a ping, and returns the messages before the ping's response.
async fn answers(client: &mut Client, line: &[u8]) -> Vec<Value> {
    client.send(line).await;
    client.send(ping("after").to_string()).await;
    let mut answers = Vec::new();
    loop {
        match client.next().await {
            message if message == pong("after") => return answers,
            message => answers.push(message),
        }
    }
}

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.chars().take(100).collect()
}

#[tokio::test]
async fn bad_line_is_answered_and_the_next_one_works() {
    let mut client = Client::start(Double::letting(0));
    client.initialize().await;
    for (line, expected) in bad_lines() {
        let mut got = answers(&mut client, &line).await;
        if expected.is_some() && got.is_empty() {
            // The response to a request may come after that to the ping.
            got.push(client.next().await);
        }
        assert_eq!(got, Vec::from_iter(expected), "{}", shown(&line));
    }
    assert_eq!(client.close().await, [Value::Null; 0]);
}

#[tokio::test]
async fn bad_line_before_initialize_is_answered() {
    let mut client = Client::start(Double::letting(0));
    let unready = |id: i64| {
        let why = "request _meta is missing or has malformed required fields: io.modelcontextprotocol/protocolVersion, \
                   io.modelcontextprotocol/clientCapabilities";
        error_of(json!(id), -32602, why)
    };
    let early = [
        (
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            None,
        ),
        (
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }),
            None,
        ),
        (
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
            unready(1),
        ),
        (
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "x" } }),
            unready(2),
        ),
        (
            json!({ "jsonrpc": "2.0", "id": 3, "method": "initialize" }),
            unready(3),
        ),
    ];
    let early = early.map(|(line, answer)| (line.to_string().into_bytes(), answer));
    for (line, expected) in bad_lines().into_iter().chain(early) {
        // Without a lifecycle there are no methods.
        let expected = match expected {
            Some(answer) if answer["error"]["code"] == -32601 => unready(4),
            other => other,
        };
        let got = answers(&mut client, &line).await;
        assert_eq!(got, Vec::from_iter(expected), "{}", shown(&line));
    }
    client.initialize().await;
    assert_eq!(client.close().await, [Value::Null; 0]);
}

#[tokio::test]
async fn last_line_without_end_is_answered() {
    let mut client = Client::start(Double::letting(0));
    client.initialize().await;
    tokio::io::AsyncWriteExt::write_all(&mut client.to, ping(5).to_string().as_bytes())
        .await
        .unwrap();
    assert_eq!(client.close().await, [pong(5)]);
}

//! Requests that are refused.

use super::*;
use pretty_assertions::assert_eq;
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

/// A body, and the status and the code that it is refused with.
type Case = (Value, u16, &'static str);

fn text(extra: &Value) -> Value {
    let mut body = json!({"model": "agent-host", "input": "hi"});
    body.as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    body
}

fn chat(extra: &Value) -> Value {
    let mut body = json!({"model": "agent-host", "messages": [{"role": "user", "content": "hi"}]});
    body.as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    body
}

fn items(items: &Value) -> Value {
    json!({"model": "agent-host", "input": items})
}

fn messages(messages: &Value) -> Value {
    json!({"model": "agent-host", "messages": messages})
}

fn user(part: &Value) -> Value {
    items(&json!([{"role": "user", "content": [part]}]))
}

fn function(extra: &Value) -> Value {
    let mut function = json!({"type": "function", "name": "f"});
    function
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    text(&json!({"tools": [function]}))
}

fn response_cases() -> Vec<Case> {
    let no_session = format!("resp_{}_0", "0".repeat(32));
    let no_call = format!("call_{}_a", "0".repeat(32));
    let png = "data:image/png;base64,iVBORw0KGgo=";
    let (invalid, unsupported) = ("invalid_request", "unsupported_parameter");
    let lost = "previous_response_not_found";
    let many: serde_json::Map<String, Value> = (0..17)
        .map(|number| (number.to_string(), json!("a")))
        .collect();
    vec![
        (json!({"input": "hi"}), 400, invalid),
        (json!({"model": "agent-host"}), 400, invalid),
        (json!([]), 400, invalid),
        (json!({"model": 1, "input": "hi"}), 400, invalid),
        (text(&json!({"model": "gpt-5"})), 404, "model_not_found"),
        (text(&json!({"stream": "yes"})), 400, invalid),
        (text(&json!({"magic": 1})), 400, "unknown_parameter"),
        (text(&json!({"background": true})), 400, unsupported),
        (text(&json!({"conversation": "conv_1"})), 400, unsupported),
        (text(&json!({"prompt": {"id": "p"}})), 400, unsupported),
        (text(&json!({"max_tool_calls": 1})), 400, unsupported),
        (
            text(&json!({"text": {"format": {"type": "json_object"}}})),
            400,
            unsupported,
        ),
        (
            text(&json!({"text": {"format": {"type": "json_schema", "schema": 1}}})),
            400,
            invalid,
        ),
        (text(&json!({"tool_choice": "required"})), 400, unsupported),
        (
            text(&json!({"tools": [{"type": "web_search"}]})),
            400,
            unsupported,
        ),
        (
            text(&json!({"tools": [{"type": "function"}]})),
            400,
            invalid,
        ),
        (function(&json!({"name": "read_file"})), 400, invalid),
        (function(&json!({"name": "a b"})), 400, invalid),
        (
            function(&json!({"parameters": {"type": "string"}})),
            400,
            invalid,
        ),
        (
            text(&json!({"tools": vec![json!({"type": "function", "name": "f"}); 2]})),
            400,
            invalid,
        ),
        (
            text(&json!({"tools": vec![json!({"type": "function", "name": "f"}); 129]})),
            400,
            invalid,
        ),
        (text(&json!({"metadata": {"a": 1}})), 400, invalid),
        (text(&json!({"metadata": many})), 400, invalid),
        (text(&json!({"previous_response_id": "resp_1"})), 404, lost),
        (
            text(&json!({"previous_response_id": no_session})),
            404,
            lost,
        ),
        (text(&json!({"previous_response_id": ""})), 404, lost),
        (text(&json!({"previous_response_id": 1})), 400, invalid),
        (items(&json!(1)), 400, invalid),
        (items(&json!("")), 400, invalid),
        (items(&json!([])), 400, invalid),
        (items(&json!(["hi"])), 400, invalid),
        (items(&json!([{"type": "magic"}])), 400, invalid),
        (
            items(&json!([{"type": "item_reference", "id": "msg_1"}])),
            400,
            invalid,
        ),
        (
            items(&json!([{"role": "assistant", "content": "hi"}])),
            400,
            invalid,
        ),
        (
            items(&json!([{"role": "robot", "content": "hi"}])),
            400,
            invalid,
        ),
        (
            items(&json!([{"type": "function_call_output", "call_id": no_call, "output": ""}])),
            404,
            "call_not_found",
        ),
        (user(&json!({"type": "magic"})), 400, invalid),
        (
            user(&json!({"type": "input_image", "image_url": "https://example.com/a.png"})),
            400,
            invalid,
        ),
        (
            user(&json!({"type": "input_image", "image_url": "file:///etc/passwd"})),
            400,
            invalid,
        ),
        (
            user(&json!({"type": "input_image", "file_id": "file-1"})),
            400,
            invalid,
        ),
        (
            user(&json!({"type": "input_image", "image_url": "data:image/png,a"})),
            400,
            invalid,
        ),
        (
            user(&json!({"type": "input_image", "image_url": "data:image/png;base64,!"})),
            400,
            invalid,
        ),
        (
            user(&json!({"type": "input_image", "image_url": "data:image/png;base64,aGVsbG8="})),
            400,
            invalid,
        ),
        (
            user(&json!({"type": "input_file", "file_url": "https://example.com/a.pdf"})),
            400,
            invalid,
        ),
        (
            items(
                &json!([{"role": "user", "content": vec![json!({"type": "input_image", "image_url": png}); 65]}]),
            ),
            400,
            invalid,
        ),
        (
            items(
                &json!([{"role": "system", "content": [{"type": "input_image", "image_url": png}]}, {"role": "user", "content": "a"}]),
            ),
            400,
            invalid,
        ),
    ]
}

fn chat_cases() -> Vec<Case> {
    let (invalid, unsupported) = ("invalid_request", "unsupported_parameter");
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    vec![
        (chat(&json!({"model": "gpt-5"})), 404, "model_not_found"),
        (chat(&json!({"n": 2})), 400, unsupported),
        (chat(&json!({"stop": ["a"]})), 400, unsupported),
        (chat(&json!({"logprobs": true})), 400, unsupported),
        (
            chat(&json!({"modalities": ["text", "audio"]})),
            400,
            unsupported,
        ),
        (
            chat(&json!({"functions": [{"name": "f"}]})),
            400,
            unsupported,
        ),
        (
            chat(&json!({"response_format": {"type": "json_object"}})),
            400,
            unsupported,
        ),
        (chat(&json!({"top_k": 1})), 400, "unknown_parameter"),
        (
            chat(&json!({"stream_options": {"include_usage": 1}})),
            400,
            invalid,
        ),
        (messages(&json!([])), 400, invalid),
        (messages(&json!("hi")), 400, invalid),
        (messages(&json!([{"role": "user"}])), 400, invalid),
        (
            messages(&json!([{"role": "tool", "tool_call_id": "a", "content": "b"}])),
            404,
            "call_not_found",
        ),
        // Two calls of one id, and a result that answers none.
        (
            messages(&json!([
                {"role": "user", "content": "a"},
                {"role": "assistant", "tool_calls": [call, call]},
                {"role": "user", "content": "b"},
            ])),
            400,
            invalid,
        ),
        (
            messages(&json!([
                {"role": "user", "content": "a"},
                {"role": "tool", "tool_call_id": "x", "content": "b"},
                {"role": "user", "content": "b"},
            ])),
            400,
            invalid,
        ),
        (
            messages(
                &json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://127.0.0.1/a.png"}}]}]),
            ),
            400,
            invalid,
        ),
    ]
}

/// Nothing of a refused request runs or is recorded.
#[test]
fn bad_requests_are_errors_of_the_api() {
    let env = TestEnv::new();
    let server = ApiServer::start(&env, &ChatServer::start(Vec::new()), &[]);
    for (path, cases) in [
        ("/v1/responses", response_cases()),
        ("/v1/chat/completions", chat_cases()),
    ] {
        for (body, status, code) in cases {
            let refused = send(&server, &format!("POST {path}"), Some(&body));
            assert_eq!(
                error(&refused),
                (status, code.to_owned()),
                "{body}: {refused:?}"
            );
        }
        let deep = format!("{{\"model\": {}1{}}}", "[".repeat(5_000), "]".repeat(5_000));
        for body in ["", "{", "null", &deep] {
            let refused = server.raw(TOKEN, &format!("POST {path}"), "", Some(body));
            assert_eq!(error(&refused), (400, "invalid_request".into()), "{body}");
        }
        let key = format!("Idempotency-Key: {}\r\n", "k".repeat(256));
        let body = json!({"model": "agent-host", "input": "hi", "messages": []}).to_string();
        let refused = server.raw(TOKEN, &format!("POST {path}"), &key, Some(&body));
        assert_eq!(refused.status, 400);
    }
    assert_eq!(server.get("/sessions").json(), json!({"sessions": []}));
}

/// The door answers in the form of the API that was asked for.
#[test]
fn refusals_of_the_door_have_the_form_of_the_api() {
    let env = TestEnv::new();
    let server = ApiServer::start(&env, &ChatServer::start(Vec::new()), &[]);
    let raw = |token: &str, request: &str, fields: &str| server.raw(token, request, fields, None);
    let wrong = raw("wrong", "GET /v1/models", "");
    assert_eq!(error(&wrong), (401, "invalid_api_key".into()));
    assert!(
        wrong
            .head
            .contains("www-authenticate: bearer error=\"invalid_token\"\r\n")
    );
    let origin = raw(TOKEN, "GET /v1/models", "Origin: https://example.com\r\n");
    assert_eq!(error(&origin), (403, "request_refused".into()));
    let mut client = TcpStream::connect(&server.address).unwrap();
    let head = format!(
        "POST /v1/responses HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 34000000\r\n\r\n",
        server.address
    );
    client.write_all(head.as_bytes()).unwrap();
    let mut refused = String::new();
    client.read_to_string(&mut refused).unwrap();
    assert!(refused.starts_with("HTTP/1.1 413 "), "{refused}");
    assert!(
        refused.contains("\"code\":\"request_too_large\""),
        "{refused}"
    );
    for (request, status) in [
        ("GET /v1/embeddings", 404),
        ("GET /v1/", 404),
        ("GET /v1/chat/completions", 405),
        ("DELETE /v1/responses/resp_1", 405),
    ] {
        assert_eq!(
            error(&raw(TOKEN, request, "")),
            (status, "not_found".into()),
            "{request}"
        );
    }
    for id in ["resp_1", "x", &format!("resp_{}_0", "0".repeat(32))] {
        let read = raw(TOKEN, &format!("GET /v1/responses/{id}"), "");
        assert_eq!(error(&read), (404, "response_not_found".into()), "{id}");
    }
    // The other API has its own forms.
    let other = raw("wrong", "GET /api/v1/sessions", "");
    assert_eq!(other.problem(), (401, "unauthorized".to_owned()));
}

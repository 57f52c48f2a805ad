//! Tool loops of three rounds over HTTP: what each server wants back of a model's reasoning.

use crate::{
    Endpoint, HttpModel, Provider, RetryPolicy, Timeouts,
    testing::server::{Answer, TestServer},
};
use agent_host_engine::model::Model;
use agent_host_types::{
    message::{Message, Role, ToolResult},
    model::ModelRequest,
    output::ToolResultOutput,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn stream(deltas: &[Value], finish_reason: &str) -> Answer {
    let mut body = String::new();
    for delta in deltas {
        let chunk = json!({"choices": [{"index": 0, "delta": delta}]});
        body += &format!("data: {chunk}\n\n");
    }
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]});
    Answer::stream(body + &format!("data: {end}\n\ndata: [DONE]\n\n"))
}

fn call_delta(id: &str) -> Value {
    json!({"index": 0, "id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}})
}

/// Runs turns of a user's message each until the model calls nothing more. Returns the messages of
/// the last request.
async fn last_messages(turns: &[&str], answers: Vec<Answer>) -> Vec<Value> {
    let server = TestServer::sequence(answers).await;
    let endpoint = Endpoint {
        base_url: server.url.clone(),
        key: None,
        key_source: "THE_KEY".to_owned(),
        extras: crate::RequestExtras::default(),
        timeouts: Timeouts::default(),
    };
    let provider = Provider::OpenAiCompat;
    let model = HttpModel::new(provider, "m", endpoint, provider.capabilities())
        .unwrap()
        .with_retry(RetryPolicy {
            retries: 0,
            ..RetryPolicy::default()
        });
    let mut request = ModelRequest {
        system: None,
        messages: Vec::new(),
        tools: Vec::new(),
        answer_schema: None,
    };
    for turn in turns {
        request.messages.push(Message::text(Role::User, *turn));
        loop {
            let reply = model.respond(&request, &|_| {}).await.unwrap();
            request.messages.push(reply.to_message());
            if reply.tool_calls.is_empty() {
                break;
            }
            let result = |call: &agent_host_types::tool::ToolCall| ToolResult {
                call_id: call.id.clone(),
                name: call.name.clone(),
                output: ToolResultOutput::Text("ok".to_owned()),
                whole: None,
            };
            let mut results = Message::parts(Role::ToolResult, Vec::new());
            results.tool_results = reply.tool_calls.iter().map(result).collect();
            request.messages.push(results);
        }
    }
    let last = server.bodies().pop().unwrap();
    last["messages"].as_array().unwrap().clone()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "ok"})
}

/// A reply with a call, as it is sent back, with more members.
fn called(id: &str, more: &Value) -> Value {
    let call =
        json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}});
    with(
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        more,
    )
}

fn said(text: &str, more: &Value) -> Value {
    with(json!({"role": "assistant", "content": text}), more)
}

fn with(mut message: Value, more: &Value) -> Value {
    let more = more.as_object().unwrap().clone();
    message.as_object_mut().unwrap().extend(more);
    message
}

#[tokio::test]
async fn reasoning_text_is_sent_back_in_turns_with_calls() {
    for field in ["reasoning_content", "reasoning"] {
        let answers = vec![
            stream(
                &[
                    json!({field: "First, "}),
                    json!({field: "read."}),
                    json!({"tool_calls": [call_delta("a")]}),
                ],
                "tool_calls",
            ),
            // Thinking mode wants the field back even if it is empty.
            stream(
                &[json!({field: ""}), json!({"tool_calls": [call_delta("b")]})],
                "tool_calls",
            ),
            stream(
                &[
                    json!({field: "Once more.", "content": null}),
                    json!({"tool_calls": [call_delta("c")]}),
                ],
                "tool_calls",
            ),
            stream(
                &[json!({field: "Done."}), json!({"content": "Three."})],
                "stop",
            ),
            stream(
                &[json!({field: "Polite."}), json!({"content": "Welcome."})],
                "stop",
            ),
            stream(&[json!({"content": "Bye."})], "stop"),
        ];
        let expected = vec![
            user("Read."),
            called("a", &json!({field: "First, read."})),
            result("a"),
            called("b", &json!({field: ""})),
            result("b"),
            called("c", &json!({field: "Once more."})),
            result("c"),
            said("Three.", &json!({field: "Done."})),
            user("Thanks."),
            // Models that cannot call refuse it in a turn without calls.
            said("Welcome.", &json!({})),
            user("Bye."),
        ];
        assert_eq!(
            last_messages(&["Read.", "Thanks.", "Bye."], answers).await,
            expected
        );
    }
}

#[tokio::test]
async fn reasoning_details_are_sent_back_whole_and_in_order() {
    let text = |text: &str, signature: Option<&str>| {
        json!({"reasoning": text, "reasoning_details": [
            {"type": "reasoning.text", "text": text, "signature": signature, "id": null, "format": "anthropic-claude-v1", "index": 0},
        ]})
    };
    let encrypted = |id: &str, data: &str| json!({"type": "reasoning.encrypted", "data": data, "id": id, "format": "openai-responses-v1", "index": 1});
    let summary = |text: &str| json!({"type": "reasoning.summary", "summary": text, "index": 0});
    let answers = vec![
        stream(
            &[
                text("First, ", None),
                text("read.", None),
                text("", Some("c2ln")),
                json!({"tool_calls": [call_delta("a")]}),
            ],
            "tool_calls",
        ),
        stream(
            &[
                json!({"reasoning_details": [summary("Sum"), summary("med.")]}),
                json!({"reasoning_details": [encrypted("r1", "x")]}),
                json!({"reasoning_details": [encrypted("r2", "y")], "tool_calls": [call_delta("b")]}),
            ],
            "tool_calls",
        ),
        stream(&[json!({"tool_calls": [call_delta("c")]})], "tool_calls"),
        stream(
            &[
                json!({"reasoning_details": [summary("Done.")]}),
                json!({"content": "Three."}),
            ],
            "stop",
        ),
        stream(&[json!({"content": "Bye."})], "stop"),
    ];
    let expected = vec![
        user("Read."),
        called(
            "a",
            &json!({"reasoning_details": [
                {"type": "reasoning.text", "text": "First, read.", "signature": "c2ln", "id": null, "format": "anthropic-claude-v1", "index": 0},
            ]}),
        ),
        result("a"),
        called(
            "b",
            &json!({"reasoning_details": [summary("Summed."), encrypted("r1", "x"), encrypted("r2", "y")]}),
        ),
        result("b"),
        called("c", &json!({})),
        result("c"),
        said("Three.", &json!({"reasoning_details": [summary("Done.")]})),
        user("Bye."),
    ];
    assert_eq!(last_messages(&["Read.", "Bye."], answers).await, expected);
}

#[tokio::test]
async fn gemini_signatures_are_sent_back_with_their_calls() {
    let signature = |text: &str| json!({"google": {"thought_signature": text}});
    let signed = |id: &str, text: &str| {
        let mut call = call_delta(id);
        call["extra_content"] = signature(text);
        call
    };
    // The server sends parallel calls without an index and signs the first.
    let mut parallel = json!([signed("b", "two"), call_delta("b2")]);
    for call in parallel.as_array_mut().unwrap() {
        call.as_object_mut().unwrap().remove("index");
    }
    let answers = vec![
        stream(&[json!({"tool_calls": [signed("a", "one")]})], "tool_calls"),
        stream(&[json!({"tool_calls": parallel})], "tool_calls"),
        stream(
            &[json!({"tool_calls": [signed("c", "three")]})],
            "tool_calls",
        ),
        stream(
            &[json!({"content": "Three.", "extra_content": signature("end")})],
            "stop",
        ),
        stream(&[json!({"content": "Bye."})], "stop"),
    ];
    let sent = |id: &str, text: &str| {
        let mut message = called(id, &json!({}));
        message["tool_calls"][0]["extra_content"] = signature(text);
        message
    };
    let mut both = sent("b", "two");
    let second = called("b2", &json!({}))["tool_calls"][0].take();
    both["tool_calls"].as_array_mut().unwrap().push(second);
    let expected = vec![
        user("Read."),
        sent("a", "one"),
        result("a"),
        both,
        result("b"),
        result("b2"),
        sent("c", "three"),
        result("c"),
        said("Three.", &json!({"extra_content": signature("end")})),
        user("Bye."),
    ];
    assert_eq!(last_messages(&["Read.", "Bye."], answers).await, expected);
}

use super::{super::WIRE, *};
use crate::{
    http::{Server, failure::AttemptError},
    retry::Retry,
    testing::playback::{self, Played, call, play, reasoning, text},
    wire::reply::{MAX_CALLS, MAX_REPLY_BYTES},
};
use agent_host_types::{
    message::Role,
    model::{ModelError, ModelErrorKind, Usage},
};
use pretty_assertions::assert_eq;
use serde_json::json;

fn server() -> Server {
    playback::server(&WIRE)
}

/// Decodes a stream whose bytes come in the given pieces, after a conversation with one call.
fn decode<'a>(server: &Server, pieces: impl IntoIterator<Item = &'a [u8]>) -> Played {
    let history = [Message {
        tool_calls: vec![call("call-1", "old", "")],
        ..Message::parts(Role::Assistant, vec![])
    }];
    play(&WIRE, server, &history, pieces)
}

/// A stream of these chunks, as a server writes it.
fn stream(chunks: &[Value]) -> String {
    let mut stream: String = chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect();
    stream.push_str("data: [DONE]\n\n");
    stream
}

fn delta(delta: &Value) -> Value {
    json!({"id": "r1", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn calls(calls: &Value) -> Value {
    delta(&json!({"tool_calls": calls}))
}

/// The calls of a reply: id, name, arguments.
fn called(reply: &ModelReply) -> Vec<(&str, &str, &str)> {
    reply
        .tool_calls
        .iter()
        .map(|call| {
            (
                call.id.0.as_str(),
                call.name.as_str(),
                call.raw_arguments.as_str(),
            )
        })
        .collect()
}

#[test]
fn stream_decodes_alike_however_cut() {
    let stream = stream(&[
        delta(&json!({"role": "assistant", "content": ""})),
        delta(&json!({"reasoning_content": "hm"})),
        delta(&json!({"content": "Grü"})),
        delta(&json!({"content": "ße 🙂"})),
        calls(
            &json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "read", "arguments": ""}}]),
        ),
        calls(&json!([{"index": 0, "function": {"arguments": "{\"p\":"}}])),
        calls(
            &json!([{"index": 1, "id": "b", "type": "function", "function": {"name": "list", "arguments": "{}"}}]),
        ),
        calls(&json!([{"index": 0, "function": {"arguments": "1}"}}])),
        finish("tool_calls"),
        json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3,
               "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 4}}}),
    ]);
    let reply = ModelReply {
        text: "Grüße 🙂".to_owned(),
        tool_calls: vec![call("a", "read", "{\"p\":1}"), call("b", "list", "{}")],
        stop_reason: Some(StopReason::ToolUse),
        usage: Usage {
            input_tokens: 7,
            output_tokens: 3,
            cached_input_tokens: 2,
            cache_write_tokens: 4,
            cost_micros: None,
        },
        response_id: Some("r1".to_owned()),
        metadata: Map::from_iter([(
            "openai-compat".to_owned(),
            json!({"model": "m", "reasoning_content": "hm"}),
        )]),
        ..ModelReply::default()
    };
    let shown = vec![reasoning("hm"), text("Grü"), text("ße 🙂")];
    let expected = (Ok(reply), shown);
    let server = server();
    let bytes = stream.as_bytes();
    for cut in 0..=bytes.len() {
        let (left, right) = bytes.split_at(cut);
        assert_eq!(decode(&server, [left, right]), expected, "cut at {cut}");
    }
    assert_eq!(decode(&server, bytes.chunks(1)), expected);
}

#[test]
fn call_numbering_variants_are_decoded() {
    let server = server();
    type Row = (
        &'static str,
        Vec<Value>,
        &'static [(&'static str, &'static str, &'static str)],
    );
    let table: &[Row] = &[
        (
            "no index, no id",
            vec![
                calls(&json!([{"function": {"name": "a", "arguments": "{\"x\""}}])),
                calls(&json!([{"function": {"arguments": ":1}"}}])),
                calls(&json!([{"function": {"name": "b", "arguments": "{}"}}])),
            ],
            &[("call-2", "a", "{\"x\":1}"), ("call-3", "b", "{}")],
        ),
        (
            "no index, ids",
            vec![
                calls(
                    &json!([{"id": "1", "function": {"name": "a", "arguments": ""}},
                             {"id": "2", "function": {"name": "a", "arguments": ""}}]),
                ),
                calls(&json!([{"id": "1", "function": {"arguments": "{\"x\":1}"}}])),
                calls(&json!([{"id": "2", "function": {"arguments": "{\"x\":2}"}}])),
            ],
            &[("1", "a", "{\"x\":1}"), ("2", "a", "{\"x\":2}")],
        ),
        (
            "index 0 for all",
            vec![
                calls(
                    &json!([{"index": 0, "id": "1", "function": {"name": "a", "arguments": "{}"}}]),
                ),
                calls(
                    &json!([{"index": 0, "id": "2", "function": {"name": "a", "arguments": "{}"}}]),
                ),
            ],
            &[("1", "a", "{}"), ("2", "a", "{}")],
        ),
        (
            "id and name repeated",
            vec![
                calls(
                    &json!([{"index": 0, "id": "1", "function": {"name": "a", "arguments": "{"}}]),
                ),
                calls(
                    &json!([{"index": 0, "id": "1", "function": {"name": "a", "arguments": "}"}}]),
                ),
            ],
            &[("1", "a", "{}")],
        ),
        (
            "another id in each delta",
            vec![
                calls(
                    &json!([{"index": 0, "id": "1", "function": {"name": "a", "arguments": "{"}}]),
                ),
                calls(
                    &json!([{"index": 0, "id": "2", "function": {"name": null, "arguments": "}"}}]),
                ),
            ],
            &[("1", "a", "{}")],
        ),
        (
            "empty ids, an argument object, and none",
            vec![
                calls(
                    &json!([{"index": 0, "id": "", "function": {"name": "a", "arguments": {"x": 1}}}]),
                ),
                calls(
                    &json!([{"index": 1, "id": null, "function": {"name": "b", "arguments": null}}]),
                ),
            ],
            &[("call-2", "a", "{\"x\":1}"), ("call-3", "b", "")],
        ),
        (
            "a name after the first delta",
            vec![
                calls(&json!([{"index": 0, "id": "1", "function": {"arguments": ""}}])),
                calls(&json!([{"index": 0, "function": {"name": "a", "arguments": "{}"}}])),
            ],
            &[("1", "a", "{}")],
        ),
    ];
    for (name, chunks, expected) in table {
        let mut chunks = chunks.clone();
        chunks.push(finish("stop"));
        let (reply, shown) = decode(&server, [stream(&chunks).as_bytes()]);
        let reply = reply.unwrap();
        assert_eq!(called(&reply), *expected, "{name}");
        assert_eq!(reply.stop_reason, Some(StopReason::ToolUse), "{name}");
        assert_eq!(shown, [], "{name}");
    }
}

#[test]
fn ends_are_mapped() {
    let server = server();
    let broken = |reason: &str| {
        let why = format!("the server stopped the reply (\"{reason}\")");
        Err(server.invalid_response(&why, Retry::Backoff))
    };
    let cut_call = || {
        let why = "the model reached its output token limit inside a tool call; raise `max-output-tokens`, or ask \
            for less";
        Err(server.invalid_response(why, Retry::Never))
    };
    for (wire, with_call, expected) in [
        ("stop", false, Ok(Some(StopReason::EndTurn))),
        ("stop", true, Ok(Some(StopReason::ToolUse))),
        ("tool_calls", true, Ok(Some(StopReason::ToolUse))),
        ("tool_calls", false, Ok(Some(StopReason::EndTurn))),
        ("function_call", true, Ok(Some(StopReason::ToolUse))),
        ("eos", false, Ok(Some(StopReason::EndTurn))),
        ("length", true, cut_call()),
        ("length", false, Ok(Some(StopReason::MaxTokens))),
        ("model_length", false, Ok(Some(StopReason::ContextWindow))),
        ("content_filter", true, Ok(Some(StopReason::Refusal))),
        ("error", true, broken("error")),
        (
            "insufficient_system_resource",
            false,
            broken("insufficient_system_resource"),
        ),
        ("abort", true, broken("abort")),
        ("undocumented", true, Ok(None)),
    ] {
        let mut chunks = vec![delta(&json!({"content": "a"}))];
        let arguments =
            json!([{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{\"a\":"}}]);
        chunks.extend(with_call.then(|| calls(&arguments)));
        chunks.push(finish(wire));
        let (reply, _) = decode(&server, [stream(&chunks).as_bytes()]);
        let end = reply.map(|reply| reply.stop_reason);
        assert_eq!(end, expected, "{wire} {with_call}");
    }
}

#[test]
fn undocumented_response_forms_are_decoded() {
    let server = server();
    let done = "data: [DONE]\n\n";
    let text = |reply: Result<ModelReply, AttemptError>| {
        let reply = reply.unwrap();
        (reply.text, reply.stop_reason)
    };
    for (name, stream, expected) in [
        (
            "no [DONE], no last blank line",
            format!(
                "data: {}\n\ndata: {}",
                delta(&json!({"content": "a"})),
                finish("stop")
            ),
            ("a", StopReason::EndTurn),
        ),
        (
            "content in parts",
            stream(&[
                delta(&json!({"content": [{"type": "thinking"}, {"type": "text", "text": "a"}]})),
                finish("stop"),
            ]),
            ("a", StopReason::EndTurn),
        ),
        (
            "a refusal",
            stream(&[delta(&json!({"refusal": "No."})), finish("stop")]),
            ("No.", StopReason::Refusal),
        ),
        (
            "in one piece",
            format!(
                "data: {}\n\n{done}",
                json!({"choices": [{"message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}]})
            ),
            ("a", StopReason::EndTurn),
        ),
        (
            "a second choice, null lists, an empty reason after the true one",
            format!(
                "data: {}\n\ndata: {}\n\ndata: {}\n\ndata: {}\n\n{done}",
                json!({"choices": [{"index": 1, "delta": {"content": "b"}}]}),
                json!({"choices": null, "usage": null, "error": null}),
                json!({"choices": [{"index": 0, "delta": {"content": "a", "tool_calls": null}, "finish_reason": "length"}]}),
                json!({"choices": [{"index": 0, "delta": null, "finish_reason": ""}]}),
            ),
            ("a", StopReason::MaxTokens),
        ),
    ] {
        let (reply, _) = decode(&server, [stream.as_bytes()]);
        assert_eq!(
            text(reply),
            (expected.0.to_owned(), Some(expected.1)),
            "{name}"
        );
    }
}

#[test]
fn invalid_replies_are_errors() {
    use ModelErrorKind as Kind;
    let server = server();
    let invalid = |why: &str| {
        format!(
            "Cannot use the answer of the model server at {}: {why}.",
            server.shown_url()
        )
    };
    let url = server.shown_url();
    let many: Vec<Value> = (0..=MAX_CALLS)
        .map(|index| json!({"index": index, "function": {"name": "a"}}))
        .collect();
    let long = "x".repeat(MAX_REPLY_BYTES / 2 + 1);
    let cut = "it ended before the model's stop reason";
    for (name, chunks, kind, retry, message) in [
        (
            "cut",
            vec![calls(
                &json!([{"index": 0, "function": {"name": "a", "arguments": "{"}}]),
            )],
            Kind::Protocol,
            Retry::Backoff,
            invalid(cut),
        ),
        (
            "empty",
            vec![],
            Kind::Protocol,
            Retry::Backoff,
            invalid(cut),
        ),
        (
            "no name",
            vec![calls(&json!([{"index": 0, "id": "1"}])), finish("stop")],
            Kind::Protocol,
            Retry::Backoff,
            invalid("it calls a tool without a name"),
        ),
        (
            "too many calls",
            vec![calls(&json!(many))],
            Kind::Protocol,
            Retry::Never,
            invalid("it has more than 128 tool calls"),
        ),
        (
            "too long a text",
            vec![
                delta(&json!({"content": long})),
                delta(&json!({"content": long})),
            ],
            Kind::Protocol,
            Retry::Never,
            invalid("the reply is longer than 4194304 bytes"),
        ),
        (
            "too long arguments",
            vec![
                calls(&json!([{"index": 0, "function": {"name": "a", "arguments": long}}])),
                calls(&json!([{"index": 0, "function": {"arguments": long}}])),
            ],
            Kind::Protocol,
            Retry::Never,
            invalid("the reply is longer than 4194304 bytes"),
        ),
        (
            "another form",
            vec![json!({"choices": 3})],
            Kind::Protocol,
            Retry::Never,
            invalid(
                "it is not a chat completion (invalid type: integer `3`, expected a sequence at line 1 column 12)",
            ),
        ),
        (
            "overloaded",
            vec![
                delta(&json!({"content": "a"})),
                json!({"error": {"type": "server_error", "message": "over\nloaded"}}),
            ],
            Kind::Server,
            Retry::Backoff,
            format!("The model server at {url} failed while answering. It says: \"over loaded\""),
        ),
        (
            "a status as code",
            vec![json!({"error": {"code": 429, "message": "slow down"}})],
            Kind::RateLimited,
            Retry::Backoff,
            format!(
                "The model server at {url} is limiting requests (429). Wait, or check the account's limits. It says: \
                 \"slow down\""
            ),
        ),
        (
            "a tag as code",
            vec![json!({"error": {"code": "context_length_exceeded", "message": "too long"}})],
            Kind::ContextWindow,
            Retry::Never,
            format!(
                "The request exceeds the context window of `m` at {url} (400). It says: \"too long\""
            ),
        ),
        (
            "a key that is wrong",
            vec![json!({"error": {"type": "authentication_error", "message": "who?"}})],
            Kind::Unauthorized,
            Retry::Never,
            format!(
                "The model server at {url} requires a key (401), and none was sent. Set THE_KEY. It says: \"who?\""
            ),
        ),
        (
            "as vLLM says it",
            vec![
                json!({"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}),
            ],
            Kind::InvalidRequest,
            Retry::Never,
            format!(
                "The model server at {url} refused the request for `m` (400). It says: \"bad\""
            ),
        ),
        (
            "of a choice",
            vec![
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": {"code": 502, "message": "gone"}}]}),
            ],
            Kind::Server,
            Retry::Backoff,
            format!(
                "The model server at {url} failed (502). Try again later, or check the server's log. It says: \"gone\""
            ),
        ),
        (
            "as a text",
            vec![json!({"error": "boom"})],
            Kind::Server,
            Retry::Backoff,
            format!("The model server at {url} failed while answering. It says: \"boom\""),
        ),
    ] {
        let (reply, _) = decode(&server, [stream(&chunks).as_bytes()]);
        let error = ModelError::new(kind, message);
        assert_eq!(reply, Err(AttemptError { error, retry }), "{name}");
    }
    let (reply, _) = decode(&server, [&b"data: oops\n\n"[..]]);
    assert_eq!(
        reply.unwrap_err().error.message,
        invalid("it is not JSON (expected value at line 1 column 1)")
    );
}

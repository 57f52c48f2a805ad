use super::{super::WIRE, *};
use crate::{
    http::{Server, failure::AttemptError},
    retry::Retry,
    testing::playback::{self, Played, call, play, play_cut, reasoning, text},
};
use agent_host_types::{
    message::Role,
    model::{ModelErrorKind, Usage},
};
use pretty_assertions::assert_eq;
use serde_json::{Map, json};

fn server() -> Server {
    playback::server(&WIRE)
}

/// Plays a stream that continues a conversation with one call.
fn play_stream(server: &Server, stream: &str) -> Played {
    let history = [Message {
        tool_calls: vec![call("call-1", "old", "")],
        ..Message::parts(Role::Assistant, vec![])
    }];
    play(&WIRE, server, &history, [stream.as_bytes()])
}

/// Plays these events.
fn play_events(server: &Server, events: &[Value]) -> Played {
    let events = events.iter().map(|event| format!("data: {event}\n\n"));
    play_stream(server, &events.collect::<String>())
}

fn usage(input_tokens: u64, cached_input_tokens: u64, output_tokens: u64) -> Usage {
    Usage {
        input_tokens,
        output_tokens,
        cached_input_tokens,
        cache_write_tokens: 0,
        cost_micros: None,
    }
}

/// The items of `calls.sse` that go back.
fn kept_items() -> Value {
    json!([
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "b3BhcXVl", "summary": [
            {"type": "summary_text", "text": "First I look."},
            {"type": "summary_text", "text": "Then I read."},
        ]},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary",
         "content": [{"type": "output_text", "text": "Both.", "annotations": [], "logprobs": []}]},
        {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "read", "arguments": "{\"path\":\"a.txt\"}",
         "status": "completed"},
        {"type": "function_call", "id": "fc_2", "call_id": "call_b", "name": "list", "arguments": "{}", "status": "completed"},
    ])
}

/// Each recorded stream: the reply, and what is shown.
fn recorded(server: &Server) -> [(&'static str, &'static str, Played); 5] {
    let reply = |text: &str, stop_reason, usage| ModelReply {
        text: text.to_owned(),
        stop_reason: Some(stop_reason),
        usage,
        response_id: Some("resp_1".to_owned()),
        ..ModelReply::default()
    };
    let calls = ModelReply {
        tool_calls: vec![
            call("call_a", "read", "{\"path\":\"a.txt\"}"),
            call("call_b", "list", "{}"),
        ],
        metadata: Map::from_iter([(
            "openai".to_owned(),
            json!({"model": "m", "items": kept_items()}),
        )]),
        ..reply("Both.", StopReason::ToolUse, usage(90, 64, 40))
    };
    let why = "the model reached its output token limit inside a tool call; raise `max-output-tokens`, or ask for less";
    let incomplete = server.invalid_response(why, Retry::Never);
    let url = server.shown_url();
    let failed = AttemptError::new(
        ModelErrorKind::Server,
        format!(
            "The model server at {url} failed while answering. It says: \"The model could not go on.\""
        ),
        Retry::Backoff,
    );
    [
        (
            "text",
            include_str!("../streams/text.sse"),
            (
                Ok(reply("Grüße 🙂", StopReason::EndTurn, usage(11, 4, 5))),
                vec![text("Grü"), text("ße "), text("🙂")],
            ),
        ),
        (
            "calls",
            include_str!("../streams/calls.sse"),
            (
                Ok(calls),
                vec![
                    reasoning("First "),
                    reasoning("I look."),
                    reasoning("\n\n"),
                    reasoning("Then I"),
                    reasoning(" read."),
                    text("Both."),
                ],
            ),
        ),
        (
            "refusal",
            include_str!("../streams/refusal.sse"),
            (
                Ok(reply(
                    "I cannot help with that.",
                    StopReason::Refusal,
                    usage(9, 0, 7),
                )),
                vec![text("I cannot "), text("help with that.")],
            ),
        ),
        (
            "incomplete",
            include_str!("../streams/incomplete.sse"),
            (Err(incomplete), vec![]),
        ),
        (
            "failed",
            include_str!("../streams/failed.sse"),
            (Err(failed), vec![text("Half an ")]),
        ),
    ]
}

#[test]
fn recorded_stream_decodes_alike_however_cut() {
    let server = server();
    for (name, stream, expected) in recorded(&server) {
        assert_eq!(play_cut(&WIRE, stream.as_bytes()), expected, "{name}");
    }
}

/// A stream that ends before its last event is no reply, wherever it ends.
#[test]
fn stream_without_end_is_retried() {
    let server = server();
    let stream = include_str!("../streams/calls.sse");
    let events: Vec<&str> = stream.split_inclusive("\n\n").collect();
    let why = "it ended before the model's stop reason";
    for length in 0..events.len() {
        let (reply, _) = play_stream(&server, &events[..length].concat());
        assert_eq!(
            reply,
            Err(server.invalid_response(why, Retry::Backoff)),
            "{length} events"
        );
    }
}

/// The same reply, however much of it a server sends twice, late or not at all.
#[test]
fn omitted_deltas_or_items_are_filled_in() {
    let server = server();
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "Both."}]});
    let read = json!({"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"});
    let thinking = json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]});
    let event = |kind: &str, more: Value| {
        let mut event = json!({"type": format!("response.{kind}")});
        event
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        event
    };
    let done = |index: u64, item: &Value| {
        event(
            "output_item.done",
            json!({"output_index": index, "item": item}),
        )
    };
    let end = |output: &Value| {
        event(
            "completed",
            json!({"response": {"id": "r", "status": "completed", "output": output}}),
        )
    };
    let all = json!([thinking, message, read]);
    let expected = ModelReply {
        text: "Both.".to_owned(),
        tool_calls: vec![call("a", "read", "{}")],
        stop_reason: Some(StopReason::ToolUse),
        response_id: Some("r".to_owned()),
        ..ModelReply::default()
    };
    let half = json!({"type": "function_call", "id": "fc_1", "call_id": "", "name": ""});
    for (name, events, shown) in [
        (
            "all at the end",
            vec![end(&all)],
            vec![reasoning("hm"), text("Both.")],
        ),
        (
            "whole items only",
            vec![
                done(0, &thinking),
                done(1, &message),
                done(2, &read),
                end(&json!([])),
            ],
            vec![reasoning("hm"), text("Both.")],
        ),
        (
            "deltas, and the rest at the end",
            vec![
                event(
                    "reasoning_text.delta",
                    json!({"output_index": 0, "delta": "hm"}),
                ),
                event(
                    "output_text.delta",
                    json!({"output_index": 1, "delta": "Both."}),
                ),
                end(&all),
            ],
            vec![reasoning("hm"), text("Both.")],
        ),
        (
            "no index anywhere; id and name at the end of the call",
            vec![
                event("output_item.added", json!({"item": message})),
                event("output_text.delta", json!({"delta": "Both."})),
                event("output_item.done", json!({"item": message})),
                event("output_item.added", json!({"item": half})),
                event("function_call_arguments.delta", json!({"delta": "{"})),
                event("function_call_arguments.delta", json!({"delta": "}"})),
                event("function_call_arguments.done", json!({"arguments": "{}"})),
                event("output_item.done", json!({"item": read})),
                end(&all),
            ],
            vec![text("Both.")],
        ),
        (
            "undocumented events",
            vec![
                event("output_text.sparkles", json!({"delta": {"odd": [1]}})),
                json!({"type": "keepalive", "sequence_number": 3}),
                json!({"no": "type"}),
                done(0, &json!({"type": "sparkle", "content": 7})),
                done(1, &message),
                done(2, &read),
                end(&json!(null)),
            ],
            vec![text("Both.")],
        ),
    ] {
        let played = play_events(&server, &events);
        assert_eq!(played, (Ok(expected.clone()), shown), "{name}");
    }
}

#[test]
fn messages_of_one_reply_are_separated() {
    let server = server();
    let message =
        |text: &str| json!({"type": "message", "content": [{"type": "output_text", "text": text}]});
    let output = json!([message("I look."), message("Done.")]);
    let event = json!({"type": "response.completed", "response": {"id": "r", "output": output}});
    let expected = ModelReply {
        text: "I look.\n\nDone.".to_owned(),
        stop_reason: Some(StopReason::EndTurn),
        response_id: Some("r".to_owned()),
        ..ModelReply::default()
    };
    let shown = vec![text("I look."), text("\n\n"), text("Done.")];
    assert_eq!(play_events(&server, &[event]), (Ok(expected), shown));
}

#[test]
fn ends_are_mapped() {
    let server = server();
    let broken = |why: &str| Err(server.invalid_response(why, Retry::Backoff));
    let incomplete = |reason: Option<&str>| json!({"incomplete_details": {"reason": reason}});
    for (status, response, expected) in [
        ("completed", json!({}), Ok(Some(StopReason::EndTurn))),
        (
            "incomplete",
            incomplete(Some("max_output_tokens")),
            Ok(Some(StopReason::MaxTokens)),
        ),
        (
            "incomplete",
            incomplete(Some("content_filter")),
            Ok(Some(StopReason::Refusal)),
        ),
        (
            "incomplete",
            incomplete(Some("max_messages")),
            broken("the server stopped the reply (\"max_messages\")"),
        ),
        (
            "incomplete",
            incomplete(Some("steered")),
            broken("the server stopped the reply (\"steered\")"),
        ),
        (
            "incomplete",
            json!({"incomplete_details": null}),
            broken("the server stopped the reply (\"incomplete\")"),
        ),
        ("incomplete", incomplete(Some("undocumented")), Ok(None)),
        (
            "failed",
            json!({}),
            broken("it says that the response failed, but not why"),
        ),
        (
            "completed",
            json!({"status": "cancelled"}),
            broken("it says that the response failed, but not why"),
        ),
        (
            "completed",
            json!({"status": "in_progress"}),
            broken("it ended before the model's stop reason"),
        ),
        (
            "completed",
            json!({"status": "queued"}),
            broken("it ended before the model's stop reason"),
        ),
    ] {
        let event = json!({"type": format!("response.{status}"), "response": response});
        let (reply, _) = play_events(&server, &[event]);
        let end = reply.map(|reply| reply.stop_reason);
        assert_eq!(end, expected, "{status} {response}");
    }
}

#[test]
fn taken_call_id_is_replaced() {
    let server = server();
    let read = |id: &str| json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{}"});
    let output = json!([read("call-1"), read("a"), read("a"), read("")]);
    let event = json!({"type": "response.completed", "response": {"output": output}});
    let (reply, _) = play_events(&server, &[event]);
    let ids: Vec<String> = reply
        .unwrap()
        .tool_calls
        .into_iter()
        .map(|call| call.id.0)
        .collect();
    assert_eq!(ids, ["call-2", "a", "call-3", "call-4"]);
}

#[test]
fn invalid_replies_are_errors() {
    use ModelErrorKind as Kind;
    let server = server();
    let url = server.shown_url();
    let refused = |status: u16, message: &str| {
        server.server_error(&ServerError::new(Some(status), message.to_owned()), None)
    };
    let failed = |error: Value| json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
    for (event, expected) in [
        (
            json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow", "param": null}),
            refused(429, "slow"),
        ),
        (
            json!({"type": "error", "error": {"type": "invalid_request_error", "code": "context_length_exceeded", "message": "long"}}),
            AttemptError::new(
                Kind::ContextWindow,
                format!("The request exceeds the context window of `m` at {url} (400). It says: \"long\""),
                Retry::Never,
            ),
        ),
        (
            json!({"type": "error", "code": null, "message": "boom"}),
            AttemptError::new(
                Kind::Server,
                format!("The model server at {url} failed while answering. It says: \"boom\""),
                Retry::Backoff,
            ),
        ),
        (
            json!({"error": {"message": "no key", "type": "authentication_error"}}),
            refused(401, "no key"),
        ),
        (
            failed(json!({"code": "invalid_prompt", "message": "bad"})),
            refused(400, "bad"),
        ),
        (
            failed(json!({"code": "failed_to_download_image", "message": "gone"})),
            refused(400, "gone"),
        ),
        (
            failed(json!(null)),
            server.invalid_response("it says that the response failed, but not why",
                Retry::Backoff,
            ),
        ),
        (
            json!({"type": "response.output_item.done", "item": {"type": "function_call"}}),
            server.invalid_response("it ended before the model's stop reason",
                Retry::Backoff,
            ),
        ),
        (
            json!({"type": "response.completed", "response": {"output": [{"type": "function_call"}]}}),
            server.invalid_response("it calls a tool without a name", Retry::Backoff),
        ),
        (
            json!({"type": "response.completed", "response": 7}),
            server.invalid_response("it is not a Responses event (invalid type: integer `7`, expected struct Response at line 1 column 13)",
                Retry::Never,
            ),
        ),
    ] {
        let (reply, _) = play_events(&server, std::slice::from_ref(&event));
        assert_eq!(reply, Err(expected), "{event}");
    }
    let (reply, _) = play_stream(&server, "data: oops\n\n");
    let why = "it is not JSON (expected value at line 1 column 1)";
    assert_eq!(reply, Err(server.invalid_response(why, Retry::Never)));
}

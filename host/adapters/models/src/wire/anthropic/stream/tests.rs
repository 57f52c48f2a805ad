use super::{super::WIRE, *};
use crate::{
    http::failure::AttemptError,
    mutations::mutated,
    retry::Retry,
    testing::playback::{call, play, play_cut, reasoning, server, text},
    wire::reply::{MAX_CALLS, MAX_REPLY_BYTES},
};
use agent_host_types::{
    message::Role,
    model::{ModelError, ModelErrorKind},
};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Map, json};

/// The metadata of a reply of the model `m`.
fn stored(blocks: &Value) -> Map<String, Value> {
    Map::from_iter([(
        "anthropic".to_owned(),
        json!({"model": "m", "blocks": blocks}),
    )])
}

fn usage(input_tokens: u64, output_tokens: u64, cached_input_tokens: u64) -> Usage {
    Usage {
        input_tokens,
        output_tokens,
        cached_input_tokens,
        cache_write_tokens: 0,
        cost_micros: None,
    }
}

#[test]
fn recorded_streams_decode_alike_however_cut() {
    let thoughts = json!([
        {"type": "thinking", "thinking": "Two files, so two \"calls\".", "signature": "c2lnbmVk"},
        {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"},
        {"type": "text", "bytes": 13},
        {"type": "tool_use"},
        {"type": "tool_use"},
    ]);
    let left_out = json!([
        {"type": "thinking", "thinking": "", "signature": "c2VhbGVk"},
        {"type": "text", "bytes": 6},
    ]);
    let unsigned = json!([
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "text", "bytes": 5},
        {"type": "tool_use"},
    ]);
    for (name, stream, expected, shown) in [
        (
            "thoughts and calls",
            include_str!("../streams/thoughts-and-calls.sse"),
            ModelReply {
                text: "Grüße 🙂\n".to_owned(),
                tool_calls: vec![
                    call("toolu_a", "read", r#"{"path": "a.txt"}"#),
                    call("toolu_b", "list", "{}"),
                ],
                stop_reason: Some(StopReason::ToolUse),
                usage: Usage {
                    cache_write_tokens: 200,
                    cost_micros: None,
                    ..usage(3211, 42, 3000)
                },
                response_id: Some("msg_1".to_owned()),
                metadata: stored(&thoughts),
                ..ModelReply::default()
            },
            vec![
                reasoning("Two files, "),
                reasoning("so two \"calls\"."),
                text("Grü"),
                text("ße 🙂\n"),
            ],
        ),
        (
            "a thought left out, blocks of other kinds",
            include_str!("../streams/thought-left-out.sse"),
            ModelReply {
                text: "Found.".to_owned(),
                stop_reason: Some(StopReason::EndTurn),
                usage: usage(50, 7, 0),
                response_id: Some("msg_2".to_owned()),
                metadata: stored(&left_out),
                ..ModelReply::default()
            },
            vec![text("Found.")],
        ),
        (
            "a refusal",
            include_str!("../streams/refusal.sse"),
            ModelReply {
                text: "I".to_owned(),
                stop_reason: Some(StopReason::Refusal),
                usage: usage(5, 2, 0),
                response_id: Some("msg_3".to_owned()),
                ..ModelReply::default()
            },
            vec![text("I")],
        ),
        (
            "a thought cut off",
            include_str!("../streams/thought-cut-off.sse"),
            ModelReply {
                text: "Well. ".to_owned(),
                stop_reason: Some(StopReason::MaxTokens),
                usage: usage(5, 8, 0),
                response_id: Some("msg_4".to_owned()),
                ..ModelReply::default()
            },
            vec![text("Well. "), reasoning("If only")],
        ),
        (
            "a server that resembles it",
            include_str!("../streams/resembling-server.sse"),
            ModelReply {
                text: "Here.".to_owned(),
                tool_calls: vec![call("call-1", "read", r#"{"path":"a"}"#)],
                stop_reason: Some(StopReason::ToolUse),
                response_id: Some("msg_5".to_owned()),
                metadata: stored(&unsigned),
                ..ModelReply::default()
            },
            vec![reasoning("hm"), text("Here.")],
        ),
    ] {
        let played = play_cut(&WIRE, stream.as_bytes());
        assert_eq!(played, (Ok(expected), shown), "{name}");
    }
}

/// A stream of these events, as a server writes it.
fn stream(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect()
}

fn open(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}})
}

#[test]
fn unstreamed_message_is_a_reply() {
    let mut decoder = Box::new(Decoder::new("m", &[]));
    let body = json!({
        "id": "msg_1",
        "type": "message",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"},
            {"type": "text", "text": "Here."},
            {"type": "tool_use", "id": "toolu_a", "name": "read", "input": {"path": "a"}},
            {"type": "tool_use", "id": "toolu_b", "name": "list", "input": {}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3},
    });
    decoder.whole(&body.to_string(), &|_| ()).unwrap();
    let blocks = json!([
        {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"},
        {"type": "text", "bytes": 5},
        {"type": "tool_use"},
        {"type": "tool_use"},
    ]);
    assert_eq!(
        decoder.finish(false).unwrap(),
        ModelReply {
            text: "Here.".to_owned(),
            reasoning: "hm".to_owned(),
            tool_calls: vec![
                call("toolu_a", "read", r#"{"path":"a"}"#),
                call("toolu_b", "list", ""),
            ],
            stop_reason: Some(StopReason::ToolUse),
            usage: usage(4, 2, 3),
            response_id: Some("msg_1".to_owned()),
            metadata: stored(&blocks),
            ..ModelReply::default()
        }
    );
}

#[test]
fn ids_are_new_and_arguments_unchanged() {
    let history = [Message {
        tool_calls: vec![call("toolu_a", "old", "")],
        ..Message::parts(Role::Assistant, vec![])
    }];
    let server = server(&WIRE);
    let block = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {}});
    let json = |text: &str| json!({"type": "input_json_delta", "partial_json": text});
    let stream = stream(&[
        open(0, &block("toolu_a")),
        delta(0, &json("{\"path\": oops")),
        open(1, &block("toolu_b")),
        open(2, &block("toolu_b")),
        delta(2, &json("[1]")),
        stop("tool_use"),
    ]);
    let (reply, _) = play(&WIRE, &server, &history, [stream.as_bytes()]);
    assert_eq!(
        reply.unwrap().tool_calls,
        [
            call("call-2", "read", "{\"path\": oops"),
            call("toolu_b", "read", ""),
            call("call-3", "read", "[1]"),
        ]
    );
}

#[test]
fn ends_are_mapped() {
    let server = server(&WIRE);
    let cut_call = || {
        let why = "the model reached its output token limit inside a tool call; raise `max-output-tokens`, or ask \
            for less";
        Err(server.invalid_response(why, Retry::Never))
    };
    for (wire, with_call, expected) in [
        ("end_turn", false, Ok(Some(StopReason::EndTurn))),
        ("end_turn", true, Ok(Some(StopReason::ToolUse))),
        ("tool_use", true, Ok(Some(StopReason::ToolUse))),
        ("tool_use", false, Ok(Some(StopReason::EndTurn))),
        ("max_tokens", false, Ok(Some(StopReason::MaxTokens))),
        ("max_tokens", true, cut_call()),
        ("stop_sequence", false, Ok(Some(StopReason::StopSequence))),
        ("refusal", true, Ok(Some(StopReason::Refusal))),
        ("pause_turn", false, Ok(Some(StopReason::PauseTurn))),
        (
            "model_context_window_exceeded",
            true,
            Ok(Some(StopReason::ContextWindow)),
        ),
        ("undocumented", true, Ok(None)),
    ] {
        let mut events = vec![open(0, &json!({"type": "text", "text": "a"}))];
        let call = json!({"type": "tool_use", "id": "c", "name": "f"});
        events.extend(with_call.then(|| open(1, &call)));
        events.push(stop(wire));
        let (reply, _) = play(&WIRE, &server, &[], [stream(&events).as_bytes()]);
        let end = reply.map(|reply| reply.stop_reason);
        assert_eq!(end, expected, "{wire} {with_call}");
    }
}

#[test]
fn invalid_replies_are_errors() {
    use ModelErrorKind as Kind;
    let server = server(&WIRE);
    let invalid = |why: &str| {
        let url = server.shown_url();
        format!("Cannot use the answer of the model server at {url}: {why}.")
    };
    let tool = |name: &str| json!({"type": "tool_use", "id": "a", "name": name});
    let long = "x".repeat(MAX_REPLY_BYTES / 2 + 1);
    let thought = json!({"type": "thinking", "thinking": long, "signature": long});
    let calls = (0..=MAX_CALLS as u64).map(|index| open(index, &tool("a")));
    let blocks = (0..=MAX_BLOCKS as u64).map(|index| open(index, &json!({"type": "text"})));
    let too_long = "the reply is longer than 4194304 bytes";
    for (events, retry, why) in [
        (
            vec![open(0, &json!({"type": "text", "text": "a"}))],
            Retry::Backoff,
            "it ended before the model's stop reason",
        ),
        (
            vec![open(0, &tool("")), stop("tool_use")],
            Retry::Backoff,
            "it calls a tool without a name",
        ),
        (
            calls.collect(),
            Retry::Never,
            "it has more than 128 tool calls",
        ),
        (
            blocks.collect(),
            Retry::Never,
            "it has more than 1024 blocks",
        ),
        (vec![open(0, &thought)], Retry::Never, too_long),
        (
            vec![json!({"type": "message_start", "message": {"content": 3}})],
            Retry::Never,
            "it is not of the Messages API (invalid type: integer `3`, expected a sequence)",
        ),
        (
            vec![json!("oops")],
            Retry::Never,
            "it is not of the Messages API (invalid type: string \"oops\", expected struct Event at line 1 column 6)",
        ),
        (
            vec![Value::Null],
            Retry::Never,
            "it is not of the Messages API (invalid type: null, expected struct Event at line 1 column 4)",
        ),
    ] {
        let (reply, _) = play(&WIRE, &server, &[], [stream(&events).as_bytes()]);
        let error = ModelError::new(Kind::Protocol, invalid(why));
        assert_eq!(reply, Err(AttemptError { error, retry }));
    }
    let (reply, _) = play(&WIRE, &server, &[], [&b"data: {oops\n\n"[..]]);
    let why = "it is not JSON (key must be a string at line 1 column 2)";
    assert_eq!(reply.unwrap_err().error.message, invalid(why));
}

#[test]
fn error_in_stream_equals_its_status() {
    use ModelErrorKind as Kind;
    let server = server(&WIRE);
    let tagged = |tag: &str| json!({"type": "error", "error": {"type": tag, "message": "why"}});
    for (error, kind, retry) in [
        (
            tagged("invalid_request_error"),
            Kind::InvalidRequest,
            Retry::Never,
        ),
        (
            tagged("authentication_error"),
            Kind::Unauthorized,
            Retry::Never,
        ),
        (tagged("billing_error"), Kind::RateLimited, Retry::Never),
        (tagged("permission_error"), Kind::Unauthorized, Retry::Never),
        (tagged("not_found_error"), Kind::NotFound, Retry::Never),
        (
            tagged("conflict_error"),
            Kind::InvalidRequest,
            Retry::Backoff,
        ),
        (
            tagged("request_too_large"),
            Kind::ContextWindow,
            Retry::Never,
        ),
        (
            tagged("rate_limit_error"),
            Kind::RateLimited,
            Retry::Backoff,
        ),
        (tagged("api_error"), Kind::Server, Retry::Backoff),
        (tagged("timeout_error"), Kind::Server, Retry::Backoff),
        (tagged("overloaded_error"), Kind::Server, Retry::Backoff),
        (tagged("another_error"), Kind::Server, Retry::Backoff),
        (
            json!({"type": "error", "message": "why"}),
            Kind::Server,
            Retry::Backoff,
        ),
        (json!({"error": "why"}), Kind::Server, Retry::Backoff),
    ] {
        let begin = open(0, &json!({"type": "text", "text": "a"}));
        let bytes = stream(&[begin, error.clone()]);
        let (reply, shown) = play(&WIRE, &server, &[], [bytes.as_bytes()]);
        let failed = reply.unwrap_err();
        assert_eq!((failed.error.kind, failed.retry), (kind, retry), "{error}");
        assert!(
            failed.error.message.ends_with(" It says: \"why\""),
            "{error}"
        );
        assert_eq!(shown, [text("a")], "{error}");

        let mut decoder = Decoder::new("m", &[]);
        let whole = decoder.whole(&error.to_string(), &|_| ()).unwrap_err();
        assert_eq!(server.decode_error(&whole), failed, "{error}");
    }
}

proptest! {
    /// A damaged stream is a reply or an error, and the same one however it arrives.
    #[test]
    fn damaged_streams_decode_alike_in_pieces(
        bytes in mutated(include_bytes!("../streams/thoughts-and-calls.sse").to_vec()),
        size in 1..40_usize,
    ) {
        let server = server(&WIRE);
        let whole = play(&WIRE, &server, &[], [bytes.as_slice()]);
        prop_assert_eq!(play(&WIRE, &server, &[], bytes.chunks(size)), whole);
    }
}

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
use serde_json::json;

/// The metadata of a reply of the model `m`.
fn stored(parts: &Value) -> Map<String, Value> {
    Map::from_iter([("gemini".to_owned(), json!({"model": "m", "parts": parts}))])
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
    let signed = json!([
        {"type": "thought", "text": "So two \"calls\".", "signature": "dGhvdWdodA=="},
        {"type": "text", "bytes": 12},
        {"type": "call", "signature": "c2lnbmVk"},
        {"type": "call"},
    ]);
    let at_the_end = json!([
        {"type": "text", "bytes": 9},
        {"type": "text", "bytes": 0, "signature": "ZW5k"},
    ]);
    for (name, stream, expected, shown) in [
        (
            "thoughts and calls",
            include_str!("../streams/thoughts-and-calls.sse"),
            ModelReply {
                text: "Grüße 🙂".to_owned(),
                tool_calls: vec![
                    call("f1", "read", r#"{"depth":2,"path":"a.txt"}"#),
                    call("call-1", "list", ""),
                ],
                stop_reason: Some(StopReason::ToolUse),
                usage: usage(35, 26, 20),
                response_id: Some("r1".to_owned()),
                metadata: stored(&signed),
                ..ModelReply::default()
            },
            vec![
                reasoning("**Two files**\n\n"),
                reasoning("So two \"calls\"."),
                text("Grü"),
                text("ße 🙂"),
            ],
        ),
        (
            "a signature at the end",
            include_str!("../streams/signed-at-the-end.sse"),
            ModelReply {
                text: "It is so.".to_owned(),
                stop_reason: Some(StopReason::EndTurn),
                usage: usage(7, 3, 0),
                response_id: Some("r1".to_owned()),
                metadata: stored(&at_the_end),
                ..ModelReply::default()
            },
            vec![text("It is "), text("so.")],
        ),
        (
            "blocked",
            include_str!("../streams/blocked.sse"),
            ModelReply {
                stop_reason: Some(StopReason::Refusal),
                usage: usage(9, 0, 0),
                response_id: Some("r1".to_owned()),
                ..ModelReply::default()
            },
            vec![],
        ),
    ] {
        let played = play_cut(&WIRE, stream.as_bytes());
        assert_eq!(played, (Ok(expected), shown), "{name}");
    }
}

/// A response with these parts.
fn parts(parts: &Value) -> Value {
    json!({"candidates": [{"content": {"parts": parts}}]})
}

fn finish(reason: &str) -> Value {
    json!({"candidates": [{"finishReason": reason}]})
}

/// A stream of these responses, as a server writes it.
fn stream(responses: &[Value]) -> String {
    responses
        .iter()
        .map(|response| format!("data: {response}\n\n"))
        .collect()
}

#[test]
fn unstreamed_reply_is_a_response_or_a_list() {
    let one = json!({
        "candidates": [
            {"index": 1, "content": {"parts": [{"text": "another"}]}},
            {"content": {"parts": [{"text": "It is so."}]}, "finishReason": "STOP"},
        ],
        "responseId": "r1",
    });
    let list = json!([parts(&json!([{"text": "It is "}, {"text": "so."}])), {"responseId": "r1"}, finish("STOP")]);
    for body in [one, list] {
        let mut decoder = Box::new(Decoder::new("m", &[]));
        decoder.whole(&body.to_string(), &|_| ()).unwrap();
        assert_eq!(
            decoder.finish(false).unwrap(),
            ModelReply {
                text: "It is so.".to_owned(),
                stop_reason: Some(StopReason::EndTurn),
                response_id: Some("r1".to_owned()),
                ..ModelReply::default()
            }
        );
    }
}

#[test]
fn call_ids_are_new() {
    let history = [Message {
        tool_calls: vec![call("call-1", "old", ""), call("f1", "old", "")],
        ..Message::parts(Role::Assistant, vec![])
    }];
    let server = server(&WIRE);
    let call_of = |id: Value| json!({"functionCall": {"id": id, "name": "read", "args": null}});
    let stream = stream(&[
        parts(&json!([call_of(json!("f1")), call_of(json!("f2"))])),
        parts(&json!([
            call_of(json!("f2")),
            call_of(json!("")),
            call_of(Value::Null)
        ])),
        finish("STOP"),
    ]);
    let (reply, _) = play(&WIRE, &server, &history, [stream.as_bytes()]);
    let ids: Vec<String> = reply
        .unwrap()
        .tool_calls
        .into_iter()
        .map(|call| call.id.0)
        .collect();
    assert_eq!(ids, ["call-3", "f2", "call-4", "call-5", "call-6"]);
}

#[test]
fn ends_are_mapped() {
    let server = server(&WIRE);
    let broken = |why: &str| Err(server.invalid_response(why, Retry::Backoff));
    let cut_call = || {
        let why = "the model reached its output token limit inside a tool call; raise `max-output-tokens`, or ask \
            for less";
        Err(server.invalid_response(why, Retry::Never))
    };
    for (wire, with_call, expected) in [
        ("STOP", false, Ok(Some(StopReason::EndTurn))),
        ("STOP", true, Ok(Some(StopReason::ToolUse))),
        ("MAX_TOKENS", false, Ok(Some(StopReason::MaxTokens))),
        ("MAX_TOKENS", true, cut_call()),
        ("CONTINUATION", false, Ok(Some(StopReason::MaxTokens))),
        ("SAFETY", true, Ok(Some(StopReason::Refusal))),
        ("RECITATION", true, Ok(Some(StopReason::Refusal))),
        ("LANGUAGE", true, Ok(Some(StopReason::Refusal))),
        ("BLOCKLIST", true, Ok(Some(StopReason::Refusal))),
        ("PROHIBITED_CONTENT", true, Ok(Some(StopReason::Refusal))),
        ("SPII", true, Ok(Some(StopReason::Refusal))),
        ("IMAGE_SAFETY", true, Ok(Some(StopReason::Refusal))),
        (
            "IMAGE_PROHIBITED_CONTENT",
            true,
            Ok(Some(StopReason::Refusal)),
        ),
        ("IMAGE_RECITATION", true, Ok(Some(StopReason::Refusal))),
        ("ESCALATION", true, Ok(Some(StopReason::Refusal))),
        ("MODEL_ARMOR", true, Ok(Some(StopReason::Refusal))),
        ("PUP_LIMITED_DISABLED", true, Ok(Some(StopReason::Refusal))),
        (
            "OTHER",
            true,
            broken("the server stopped the reply (\"OTHER\")"),
        ),
        (
            "FINISH_REASON_UNSPECIFIED",
            true,
            broken("the server stopped the reply (\"FINISH_REASON_UNSPECIFIED\")"),
        ),
        (
            "TOO_MANY_TOOL_CALLS",
            true,
            broken("the server stopped the reply (\"TOO_MANY_TOOL_CALLS\")"),
        ),
        (
            "IMAGE_OTHER",
            true,
            broken("the server stopped the reply (\"IMAGE_OTHER\")"),
        ),
        (
            "NO_IMAGE",
            true,
            broken("the server stopped the reply (\"NO_IMAGE\")"),
        ),
        (
            "MALFORMED_FUNCTION_CALL",
            false,
            broken("the model wrote something that is not a reply (\"MALFORMED_FUNCTION_CALL\")"),
        ),
        (
            "MALFORMED_RESPONSE",
            false,
            broken("the model wrote something that is not a reply (\"MALFORMED_RESPONSE\")"),
        ),
        (
            "UNEXPECTED_TOOL_CALL",
            false,
            broken("the model wrote something that is not a reply (\"UNEXPECTED_TOOL_CALL\")"),
        ),
        ("UNDOCUMENTED", false, Ok(None)),
    ] {
        let mut responses = vec![parts(&json!([{"text": "a"}]))];
        let call = json!([{"functionCall": {"name": "f", "args": {}}}]);
        responses.extend(with_call.then(|| parts(&call)));
        responses.push(finish(wire));
        let (reply, _) = play(&WIRE, &server, &[], [stream(&responses).as_bytes()]);
        let end = reply.map(|reply| reply.stop_reason);
        assert_eq!(end, expected, "{wire} {with_call}");
    }
}

#[test]
fn invalid_replies_are_errors() {
    use ModelErrorKind as Kind;
    let server = server(&WIRE);
    let url = server.shown_url();
    let invalid = |why: &str| format!("Cannot use the answer of the model server at {url}: {why}.");
    let reason = |reason: &str, message: &str| json!({"candidates": [{"finishReason": reason, "finishMessage": message}]});
    let long = "x".repeat(MAX_REPLY_BYTES / 2 + 1);
    let calls = vec![json!({"functionCall": {"name": "a"}}); MAX_CALLS + 1];
    let signed = vec![json!({"text": "a", "thoughtSignature": "eA=="}); MAX_PARTS + 1];
    let too_long = "the reply is longer than 4194304 bytes";
    for (responses, kind, retry, message) in [
        (
            vec![parts(&json!([{"text": "a"}]))],
            Kind::Protocol,
            Retry::Backoff,
            invalid("it ended before the model's stop reason"),
        ),
        (
            vec![parts(&json!([{"functionCall": {}}])), finish("STOP")],
            Kind::Protocol,
            Retry::Backoff,
            invalid("it calls a tool without a name"),
        ),
        (
            vec![parts(&json!(calls))],
            Kind::Protocol,
            Retry::Never,
            invalid("it has more than 128 tool calls"),
        ),
        (
            vec![parts(&json!(signed))],
            Kind::Protocol,
            Retry::Never,
            invalid("it has more than 1024 parts"),
        ),
        (
            vec![parts(
                &json!([{"text": long, "thought": true, "thoughtSignature": long}]),
            )],
            Kind::Protocol,
            Retry::Never,
            invalid(too_long),
        ),
        (
            vec![parts(
                &json!([{"functionCall": {"name": "a", "args": {"b": long}}}, {"text": long}]),
            )],
            Kind::Protocol,
            Retry::Never,
            invalid(too_long),
        ),
        (
            vec![json!({"candidates": 3})],
            Kind::Protocol,
            Retry::Never,
            invalid(
                "it is not of the Gemini API (invalid type: integer `3`, expected a sequence at line 1 column 15)",
            ),
        ),
        (
            vec![reason("MALFORMED_FUNCTION_CALL", "call:read{")],
            Kind::Protocol,
            Retry::Backoff,
            invalid("the model wrote something that is not a reply (\"call:read{\")"),
        ),
        (
            vec![finish("UNEXPECTED_TOOL_CALL")],
            Kind::Protocol,
            Retry::Backoff,
            invalid("the model wrote something that is not a reply (\"UNEXPECTED_TOOL_CALL\")"),
        ),
        (
            vec![finish("MISSING_THOUGHT_SIGNATURE")],
            Kind::InvalidRequest,
            Retry::Never,
            format!(
                "The model server at {url} refused the request for `m` (400). It says: \"MISSING_THOUGHT_SIGNATURE\""
            ),
        ),
    ] {
        let (reply, _) = play(&WIRE, &server, &[], [stream(&responses).as_bytes()]);
        let error = ModelError::new(kind, message);
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
    let coded = |code: u16| json!({"error": {"code": code, "message": "why", "status": "X"}});
    for (error, kind, retry) in [
        (coded(400), Kind::InvalidRequest, Retry::Never),
        (coded(401), Kind::Unauthorized, Retry::Never),
        (coded(403), Kind::Unauthorized, Retry::Never),
        (coded(404), Kind::NotFound, Retry::Never),
        (coded(429), Kind::RateLimited, Retry::Backoff),
        (coded(500), Kind::Server, Retry::Backoff),
        (coded(503), Kind::Server, Retry::Backoff),
        (coded(14), Kind::Server, Retry::Backoff),
        (json!({"error": "why"}), Kind::Server, Retry::Backoff),
    ] {
        let begin = parts(&json!([{"text": "a"}]));
        let bytes = stream(&[begin, error.clone()]);
        let (reply, shown) = play(&WIRE, &server, &[], [bytes.as_bytes()]);
        let failed = reply.unwrap_err();
        assert_eq!((failed.error.kind, failed.retry), (kind, retry), "{error}");
        assert!(
            failed.error.message.ends_with(" It says: \"why\""),
            "{error}"
        );
        assert_eq!(shown, [text("a")], "{error}");

        for body in [error.to_string(), format!("[{error}]")] {
            let mut decoder = Decoder::new("m", &[]);
            let whole = decoder.whole(&body, &|_| ()).unwrap_err();
            assert_eq!(server.decode_error(&whole), failed, "{body}");
        }
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

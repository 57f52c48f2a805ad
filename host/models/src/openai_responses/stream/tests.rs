use super::*;
use crate::{Endpoint, Timeouts, framing::sse, openai_responses::OpenAiResponses};
use agent_host_core::{
    id::CallId,
    message::Role,
    model::{ModelDelta, ModelErrorKind},
    tool::ToolCall,
};
use pretty_assertions::assert_eq;
use serde_json::{Map, json};
use std::sync::Mutex;

fn server() -> Server {
    let endpoint = Endpoint {
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        key: None,
        key_source: "THE_KEY".to_owned(),
        timeouts: Timeouts::default(),
    };
    Server::new(endpoint, &OpenAiResponses, "m").unwrap()
}

/// What a decoder makes of an answer: the reply, and what it showed, text and reasoning told apart by brackets.
type Decoded = (Result<ModelReply, Fault>, Vec<String>);

/// Lets a decoder read, and finishes it.
fn decode(
    server: &Server,
    read: impl FnOnce(&mut Decoder<'_>, DeltaSink<'_>) -> Result<(), Fault>,
) -> Decoded {
    let shown = Mutex::new(Vec::new());
    let sink = |delta: ModelDelta<'_>| {
        shown.lock().unwrap().push(match delta {
            ModelDelta::Text(text) => text.to_owned(),
            ModelDelta::Reasoning(text) => format!("({text})"),
            ModelDelta::Restarted => panic!("a decoder does not restart"),
        });
    };
    let history = [Message {
        tool_calls: vec![call("call-1", "old", "")],
        ..Message::parts(Role::Assistant, vec![])
    }];
    let mut decoder = Box::new(Decoder::new(server, &history));
    let reply = read(&mut decoder, &sink).and_then(|()| decoder.finish());
    (reply, shown.into_inner().unwrap())
}

/// Decodes a stream whose bytes come in the given pieces.
fn decode_pieces<'a>(server: &Server, pieces: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    decode(server, |decoder, sink| {
        let mut events = sse::Decoder::new();
        for piece in pieces {
            for data in events.push(piece).unwrap() {
                decoder.event(&data, sink)?;
            }
        }
        match events.finish().unwrap() {
            Some(data) => decoder.event(&data, sink),
            None => Ok(()),
        }
    })
}

/// Decodes these events.
fn decode_events(server: &Server, events: &[Value]) -> Decoded {
    decode(server, |decoder, sink| {
        events
            .iter()
            .try_for_each(|event| decoder.event(&event.to_string(), sink))
    })
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall::parse(CallId(id.to_owned()), name.to_owned(), arguments.to_owned())
}

fn usage(input_tokens: u64, cached_input_tokens: u64, output_tokens: u64) -> Usage {
    Usage {
        input_tokens,
        output_tokens,
        cached_input_tokens,
    }
}

fn garbled(server: &Server, why: &str, retry: Retry) -> Fault {
    server.garbled(why, retry)
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
fn recorded(server: &Server) -> [(&'static str, &'static str, Decoded); 5] {
    let reply = |text: &str, stop_reason, usage| ModelReply {
        text: text.to_owned(),
        stop_reason: Some(stop_reason),
        usage,
        response_id: Some("resp_1".to_owned()),
        ..ModelReply::default()
    };
    let shown = |deltas: &[&str]| deltas.iter().map(|delta| (*delta).to_owned()).collect();
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
    let incomplete = ModelReply {
        tool_calls: vec![call("call_a", "write", "{\"path\":\"a\", \"te")],
        ..reply("", StopReason::MaxTokens, usage(9, 0, 16))
    };
    let url = &server.url;
    let failed = Fault::passing(
        ModelErrorKind::Server,
        format!(
            "The model server at {url} failed while it answered. It says: \"The model could not go on.\""
        ),
    );
    [
        (
            "text",
            include_str!("../streams/text.sse"),
            (
                Ok(reply("Grüße 🙂", StopReason::EndTurn, usage(11, 4, 5))),
                shown(&["Grü", "ße ", "🙂"]),
            ),
        ),
        (
            "calls",
            include_str!("../streams/calls.sse"),
            (
                Ok(calls),
                shown(&[
                    "(First )",
                    "(I look.)",
                    "(\n\n)",
                    "(Then I)",
                    "( read.)",
                    "Both.",
                ]),
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
                shown(&["I cannot ", "help with that."]),
            ),
        ),
        (
            "incomplete",
            include_str!("../streams/incomplete.sse"),
            (Ok(incomplete), vec![]),
        ),
        (
            "failed",
            include_str!("../streams/failed.sse"),
            (Err(failed), shown(&["Half an "])),
        ),
    ]
}

#[test]
fn a_recorded_stream_decodes_the_same_however_it_is_cut() {
    let server = server();
    for (name, stream, expected) in recorded(&server) {
        let bytes = stream.as_bytes();
        for cut in 0..=bytes.len() {
            let (left, right) = bytes.split_at(cut);
            assert_eq!(
                decode_pieces(&server, [left, right]),
                expected,
                "{name}, cut at {cut}"
            );
        }
        assert_eq!(decode_pieces(&server, bytes.chunks(1)), expected, "{name}");
    }
}

/// A stream that ends before its last event is no reply, wherever it ends.
#[test]
fn a_stream_without_its_end_is_asked_for_again() {
    let server = server();
    let stream = include_str!("../streams/calls.sse");
    let events: Vec<&str> = stream.split_inclusive("\n\n").collect();
    let why = "it ended before the model had said why it stopped";
    for length in 0..events.len() {
        let (reply, _) = decode_pieces(&server, [events[..length].concat().as_bytes()]);
        assert_eq!(
            reply,
            Err(garbled(&server, why, Retry::Backoff)),
            "{length} events"
        );
    }
}

/// The same reply, however much of it a server sends twice, late or not at all.
#[test]
fn servers_leave_out_deltas_or_items() {
    let server = server();
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "Both."}]});
    let read = json!({"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"});
    let thought = json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]});
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
    let all = json!([thought, message, read]);
    let expected = ModelReply {
        text: "Both.".to_owned(),
        tool_calls: vec![call("a", "read", "{}")],
        stop_reason: Some(StopReason::ToolUse),
        response_id: Some("r".to_owned()),
        ..ModelReply::default()
    };
    let half = json!({"type": "function_call", "id": "fc_1", "call_id": "", "name": ""});
    for (name, events, shown) in [
        ("all at the end", vec![end(&all)], vec!["(hm)", "Both."]),
        (
            "whole items only",
            vec![
                done(0, &thought),
                done(1, &message),
                done(2, &read),
                end(&json!([])),
            ],
            vec!["(hm)", "Both."],
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
            vec!["(hm)", "Both."],
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
            vec!["Both."],
        ),
        (
            "what nobody documents",
            vec![
                event("output_text.sparkles", json!({"delta": {"odd": [1]}})),
                json!({"type": "keepalive", "sequence_number": 3}),
                json!({"no": "type"}),
                done(0, &json!({"type": "sparkle", "content": 7})),
                done(1, &message),
                done(2, &read),
                end(&json!(null)),
            ],
            vec!["Both."],
        ),
    ] {
        let decoded = decode_events(&server, &events);
        let shown: Vec<String> = shown.into_iter().map(str::to_owned).collect();
        assert_eq!(decoded, (Ok(expected.clone()), shown), "{name}");
    }
}

#[test]
fn several_messages_of_one_reply_are_parted() {
    let server = server();
    let message =
        |text: &str| json!({"type": "message", "content": [{"type": "output_text", "text": text}]});
    let output = json!([message("I look."), message("Done.")]);
    let body = json!({"id": "r", "object": "response", "status": "completed", "error": null, "output": output});
    let decoded = decode(&server, |decoder, sink| {
        decoder.whole(&body.to_string(), sink)
    });
    let expected = ModelReply {
        text: "I look.\n\nDone.".to_owned(),
        stop_reason: Some(StopReason::EndTurn),
        response_id: Some("r".to_owned()),
        ..ModelReply::default()
    };
    let shown = ["I look.", "\n\n", "Done."].map(str::to_owned).to_vec();
    assert_eq!(decoded, (Ok(expected), shown));
}

#[test]
fn stop_reasons_have_one_vocabulary() {
    let server = server();
    for (status, reason, expected) in [
        ("completed", json!(null), Some(StopReason::EndTurn)),
        (
            "incomplete",
            json!({"reason": "max_output_tokens"}),
            Some(StopReason::MaxTokens),
        ),
        (
            "incomplete",
            json!({"reason": "content_filter"}),
            Some(StopReason::Refusal),
        ),
        ("incomplete", json!({"reason": "steered"}), None),
        ("incomplete", json!(null), None),
    ] {
        let response = json!({"incomplete_details": reason});
        let event = json!({"type": format!("response.{status}"), "response": response});
        let (reply, _) = decode_events(&server, &[event]);
        assert_eq!(reply.unwrap().stop_reason, expected, "{status} {reason}");
    }
}

#[test]
fn an_id_of_another_call_is_replaced_in_the_reply() {
    let server = server();
    let read = |id: &str| json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{}"});
    let output = json!([read("call-1"), read("a"), read("a"), read("")]);
    let event = json!({"type": "response.completed", "response": {"output": output}});
    let (reply, _) = decode_events(&server, &[event]);
    let ids: Vec<String> = reply
        .unwrap()
        .tool_calls
        .into_iter()
        .map(|call| call.id.0)
        .collect();
    assert_eq!(ids, ["call-2", "a", "call-3", "call-4"]);
}

#[test]
fn what_is_no_reply_is_a_fault() {
    use ModelErrorKind as Kind;
    let server = server();
    let url = &server.url;
    let refused = |status: u16, words: &str| {
        let status = reqwest::StatusCode::from_u16(status).unwrap();
        server.refused(status, Some(words), None)
    };
    let failed = |error: Value| json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
    for (event, expected) in [
        (
            json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow", "param": null}),
            refused(429, "slow"),
        ),
        (
            json!({"type": "error", "error": {"type": "invalid_request_error", "code": "context_length_exceeded", "message": "long"}}),
            refused(400, "long"),
        ),
        (
            json!({"type": "error", "code": null, "message": "boom"}),
            Fault::passing(
                Kind::Server,
                format!("The model server at {url} failed while it answered. It says: \"boom\""),
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
            garbled(
                &server,
                "it says that the response failed, and not why",
                Retry::Backoff,
            ),
        ),
        (
            json!({"type": "response.output_item.done", "item": {"type": "function_call"}}),
            garbled(
                &server,
                "it ended before the model had said why it stopped",
                Retry::Backoff,
            ),
        ),
        (
            json!({"type": "response.completed", "response": {"output": [{"type": "function_call"}]}}),
            garbled(&server, "it calls a tool without a name", Retry::Backoff),
        ),
        (
            json!({"type": "response.completed", "response": 7}),
            garbled(
                &server,
                "it is no event of a response (invalid type: integer `7`, expected struct Response at line 1 column 13)",
                Retry::Never,
            ),
        ),
    ] {
        let (reply, _) = decode_events(&server, std::slice::from_ref(&event));
        assert_eq!(reply, Err(expected), "{event}");
    }
    let (reply, _) = decode_pieces(&server, [&b"data: oops\n\n"[..]]);
    let why = "it is not JSON (expected value at line 1 column 1)";
    assert_eq!(reply, Err(garbled(&server, why, Retry::Never)));
    let (reply, _) = decode(&server, |decoder, sink| {
        decoder.whole("{\"error\": {\"code\": 503, \"message\": \"busy\"}}", sink)
    });
    assert_eq!(reply, Err(refused(503, "busy")));
}

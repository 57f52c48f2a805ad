use super::{super::WIRE, *};
use crate::{
    http::Server,
    retry::Retry,
    testing::playback::{self, Played, call, play, play_cut, reasoning, text},
};
use agent_host_types::message::Role;
use pretty_assertions::assert_eq;
use serde_json::Map;

fn server() -> Server {
    playback::server(&WIRE)
}

/// Plays these lines, as what continues a conversation with one call.
fn play_lines(server: &Server, lines: &[Value]) -> Played {
    let history = [Message {
        tool_calls: vec![call("call-1", "old", "")],
        ..Message::parts(Role::Assistant, vec![])
    }];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    play(&WIRE, server, &history, [lines.as_bytes()])
}

#[test]
fn recorded_stream_decodes_alike_however_cut() {
    let server = server();
    let reply = |text: &str, stop_reason, input_tokens, output_tokens| ModelReply {
        text: text.to_owned(),
        stop_reason: Some(stop_reason),
        usage: Usage {
            input_tokens,
            output_tokens,
            cached_input_tokens: 0,
            cache_write_tokens: 0,
            cost_micros: None,
        },
        ..ModelReply::default()
    };
    let calls = ModelReply {
        tool_calls: vec![
            call("call-1", "read", "{\"depth\":2,\"path\":\"a.txt\"}"),
            call("call-2", "list", "{}"),
        ],
        metadata: Map::from_iter([(
            "ollama".to_owned(),
            json!({"thinking": "I look, then read."}),
        )]),
        ..reply("Both.", StopReason::ToolUse, 169, 41)
    };
    let failed = server.server_error(
        &ServerError::new(
            None,
            "an error was encountered while running the model: unexpected EOF".to_owned(),
        ),
        None,
    );
    let table: [(&str, Played); 4] = [
        (
            include_str!("../streams/text.ndjson"),
            (
                Ok(reply("Grüße 🙂", StopReason::EndTurn, 26, 4)),
                vec![text("Grü"), text("ße "), text("🙂")],
            ),
        ),
        (
            include_str!("../streams/calls.ndjson"),
            (
                Ok(calls),
                vec![
                    reasoning("I look, "),
                    reasoning("then read."),
                    text("Both."),
                ],
            ),
        ),
        (
            include_str!("../streams/length.ndjson"),
            (
                Ok(reply("Half an ", StopReason::MaxTokens, 9, 16)),
                vec![text("Half an ")],
            ),
        ),
        (
            include_str!("../streams/failed.ndjson"),
            (Err(failed), vec![text("Half an ")]),
        ),
    ];
    for (stream, expected) in table {
        assert_eq!(play_cut(&WIRE, stream.as_bytes()), expected, "{stream}");
    }
}

/// A stream that ends before its last line is no reply, wherever it ends.
#[test]
fn stream_without_end_is_retried() {
    let server = server();
    let stream = include_str!("../streams/calls.ndjson");
    let lines: Vec<&str> = stream.lines().collect();
    let why = "it ended before the model's stop reason";
    for length in 0..lines.len() {
        let begun = lines[..length].join("\n");
        let (reply, _) = play(&WIRE, &server, &[], [begun.as_bytes()]);
        assert_eq!(
            reply,
            Err(server.invalid_response(why, Retry::Backoff)),
            "{length} lines"
        );
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
    let calls = json!([{"function": {"name": "a", "arguments": {}}}]);
    for (reason, calls, expected) in [
        (json!("stop"), json!(null), Ok(Some(StopReason::EndTurn))),
        (json!("stop"), calls.clone(), Ok(Some(StopReason::ToolUse))),
        (json!(null), json!([]), Ok(Some(StopReason::EndTurn))),
        (json!(""), calls.clone(), Ok(Some(StopReason::ToolUse))),
        (
            json!("length"),
            json!(null),
            Ok(Some(StopReason::MaxTokens)),
        ),
        (json!("length"), calls, cut_call()),
        (json!("load"), json!(null), broken("load")),
        (json!("unload"), json!(null), broken("unload")),
        (json!("undocumented"), json!(null), Ok(None)),
    ] {
        let line = json!({"message": {"tool_calls": calls}, "done": true, "done_reason": reason});
        let (reply, _) = play_lines(&server, &[line]);
        assert_eq!(reply.map(|reply| reply.stop_reason), expected, "{reason}");
    }
}

#[test]
fn call_forms_are_decoded() {
    let server = server();
    let function = |arguments: Value| json!({"name": "a", "arguments": arguments});
    let calls = json!([
        {"function": function(json!({"x": 1}))},
        {"id": "own", "function": function(json!("{\"x\": 2}"))},
        {"id": "own", "function": function(json!(null))},
        {"id": "", "type": "function", "function": {"name": "a", "sparkle": true}},
        {"function": function(json!([1]))},
    ]);
    let lines = [
        json!({"message": {"role": "assistant", "content": null, "tool_calls": calls}, "done": false}),
        json!({"undocumented": true}),
        json!({"message": null, "done": true, "error": null}),
    ];
    let expected = ModelReply {
        tool_calls: vec![
            call("call-2", "a", "{\"x\":1}"),
            call("own", "a", "{\"x\": 2}"),
            call("call-3", "a", ""),
            call("call-4", "a", ""),
            call("call-5", "a", "[1]"),
        ],
        stop_reason: Some(StopReason::ToolUse),
        ..ModelReply::default()
    };
    assert_eq!(play_lines(&server, &lines), (Ok(expected), vec![]));
}

#[test]
fn invalid_replies_are_errors() {
    let server = server();
    for (line, expected) in [
        (json!({"error": "boom"}), server.server_error(&ServerError::new(None, "boom".to_owned()), None)),
        (
            json!({"message": {"tool_calls": [{"function": {}}]}, "done": true}),
            server.invalid_response("it calls a tool without a name", Retry::Backoff),
        ),
        (
            json!({"done": "yes"}),
            server.invalid_response(
                "it is not a chunk of a chat reply (invalid type: string \"yes\", expected a boolean at line 1 column 13)",
                Retry::Never,
            ),
        ),
        (
            json!({"message": {"tool_calls": vec![json!({"function": {"name": "a"}}); 129]}}),
            server.invalid_response("it has more than 128 tool calls", Retry::Never),
        ),
    ] {
        let (reply, _) = play_lines(&server, std::slice::from_ref(&line));
        assert_eq!(reply, Err(expected), "{line}");
    }
    let (reply, _) = play(&WIRE, &server, &[], [&b"oops\n"[..]]);
    let why = "it is not JSON (expected value at line 1 column 1)";
    assert_eq!(reply, Err(server.invalid_response(why, Retry::Never)));
}

//! Tests the connection: its start, the negotiated values, its end.

use agent_host_test_guests::{Definition, Guest};
use agent_host_test_support::mcp_client::{
    Client, call, error, initialize, request, response, texts,
};
use agent_host_test_support::{TestEnv, of_kind};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};

/// A tool with every field of a definition.
fn full_tool() -> Guest<'static> {
    Guest {
        definitions: vec![Definition {
            name: "echo".to_owned(),
            title: Some("Echo".to_owned()),
            description: "Returns its arguments.".to_owned(),
            input_schema: r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#.to_owned(),
            output_schema: Some(r#"{"type":"object"}"#.to_owned()),
            effect: 0,
        }],
        ..Guest::default()
    }
}

#[test]
fn conversation_lists_and_calls_tools() {
    let env = TestEnv::new();
    env.write("echo.wasm", full_tool().bytes());
    let mut client = Client::silent(&env, &["--tool", "echo.wasm", "--quiet"]);
    let info = client.ask(initialize("2025-06-18", json!({})));
    let instructions = &info["result"]["instructions"];
    assert!(
        instructions
            .as_str()
            .unwrap()
            .contains("which rule denied it"),
        "{info}"
    );
    let server = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {
            "completions": {}, "logging": {}, "resources": {}, "tools": { "listChanged": true },
        },
        "serverInfo": { "name": "agent-host", "version": env!("CARGO_PKG_VERSION") },
        "instructions": instructions,
    });
    assert_eq!(info, response(0, server));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let listed = client.ask(request(1, "tools/list", json!({})));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let echo = tools.iter().find(|tool| tool["name"] == "echo").unwrap();
    let expected = json!({
        "name": "echo",
        "title": "Echo",
        "description": "Returns its arguments.",
        "inputSchema": { "type": "object", "properties": { "a": { "type": "integer" } } },
        "outputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    });
    assert_eq!(echo, &expected);
    assert_eq!(
        client.ask(request(2, "ping", json!({}))),
        response(2, json!({}))
    );
    let mut result = texts("json", &[r#"{"a":1}"#]);
    result["structuredContent"] = json!({ "a": 1 });
    assert_eq!(
        client.ask(call(3, "echo", json!({ "a": 1 }))),
        response(3, result)
    );
    let ran = client.close();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn builtin_tools_are_listed_with_effects() {
    let env = TestEnv::new();
    let mut client = Client::start(&env, &[], json!({}));
    let listed = client.ask(request(1, "tools/list", json!({})));
    let mut seen = Vec::new();
    for component in ["files", "fetch", "image"] {
        let inspected = env
            .run(&["inspect", &format!("builtin:{component}"), "--json"])
            .json();
        for tool in inspected["tools"].as_array().unwrap() {
            let name = tool["name"].as_str().unwrap();
            let found = listed["result"]["tools"].as_array().unwrap().iter();
            let found: Vec<&Value> = found.filter(|told| told["name"] == name).collect();
            assert_eq!(found.len(), 1, "{name}: {listed}");
            assert_eq!(found[0]["inputSchema"], tool["input_schema"], "{name}");
            seen.push((name.to_owned(), found[0]["annotations"].clone()));
        }
    }
    let reads = json!({ "readOnlyHint": true, "openWorldHint": false });
    let writes = json!({ "readOnlyHint": false, "idempotentHint": false, "openWorldHint": false });
    for (name, annotations) in &seen {
        let changes = ["write_file", "edit_file", "http_post"].contains(&name.as_str());
        assert_eq!(
            annotations,
            if changes { &writes } else { &reads },
            "{name}"
        );
    }
    assert_eq!(
        listed["result"]["tools"].as_array().unwrap().len(),
        seen.len()
    );
}

#[test]
fn supported_protocol_versions_are_negotiated() {
    let env = TestEnv::new();
    for (asked, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        // That version has no handshake, so the newest one with a handshake is used.
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("next", "2025-11-25"),
    ] {
        let mut client = Client::silent(&env, &[]);
        let answer = client.ask(initialize(asked, json!({})));
        assert_eq!(answer["result"]["protocolVersion"], spoken, "{asked}");
        assert_eq!(client.close().code, Some(0));
    }
}

#[test]
fn second_initialize_is_refused() {
    let env = TestEnv::new();
    let mut client = Client::start(&env, &[], json!({ "elicitation": {} }));
    let why = "the connection is already initialized; open another one to start over";
    for version in ["2025-11-25", "2024-11-05"] {
        let again = client.ask(initialize(version, json!({})));
        assert_eq!(again, error(0, -32600, why), "{version}");
    }
    // The first agreement still holds.
    let pong = client.ask(request(1, "ping", json!({})));
    assert_eq!(pong, response(1, json!({})));
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn invalid_requests_get_their_error_codes() {
    let env = TestEnv::new();
    let mut client = Client::start(&env, &[], json!({}));
    let cursor = "invalid cursor; list the tools from the beginning, without one";
    let state = "no call is waiting under this requestState: it was answered, or no one answered in time; call the \
        tool again without it";
    let cases = [
        (
            request(1, "what/ever", json!({})),
            error(1, -32601, "what/ever"),
        ),
        (
            request(2, "prompts/list", json!({})),
            error(2, -32601, "prompts/list"),
        ),
        (
            request(3, "resources/subscribe", json!({ "uri": "file:///a" })),
            error(3, -32601, "resources/subscribe"),
        ),
        (
            request(4, "resources/read", json!({})),
            error(4, -32602, "invalid parameters for resources/read"),
        ),
        (
            request(5, "tools/list", json!({ "cursor": "x" })),
            error(5, -32602, cursor),
        ),
        (
            request(6, "tools/call", json!({ "arguments": {} })),
            error(6, -32602, "invalid parameters for tools/call"),
        ),
        (
            request(
                7,
                "tools/call",
                json!({ "name": "read_file", "arguments": [1] }),
            ),
            error(7, -32602, "invalid parameters for tools/call"),
        ),
        (
            call(8, "no_such\u{1b}", json!({})),
            error(8, -32602, "unknown tool `no_such\\u{1b}`"),
        ),
        (
            request(9, "logging/setLevel", json!({ "level": "loud" })),
            error(9, -32602, "invalid parameters for logging/setLevel"),
        ),
        (
            request(
                10,
                "tools/call",
                json!({ "name": "read_file", "requestState": "x" }),
            ),
            error(10, -32602, state),
        ),
        (
            request(11, "subscriptions/listen", json!({ "notifications": {} })),
            error(11, -32601, "subscriptions/listen"),
        ),
    ];
    for (asked, expected) in cases {
        assert_eq!(client.ask(asked.clone()), expected, "{asked}");
    }
    // None of this started a session.
    assert_eq!(client.close().code, Some(0));
    assert_eq!(env.run(&["sessions", "list", "--json"]).stdout, "");
}

#[test]
fn garbage_does_not_end_the_server() {
    let env = TestEnv::new();
    let mut client = Client::silent(&env, &[]);
    client
        .running
        .types("no json\n[]\n\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    assert_eq!(client.next()["error"]["code"], -32700);
    assert_eq!(client.next()["error"]["code"], -32600);
    let early = client.ask(call(1, "read_file", json!({})));
    assert_eq!(
        (&early["id"], &early["error"]["code"]),
        (&json!(1), &json!(-32602))
    );
    let answer = client.ask(initialize("2025-11-25", json!({})));
    assert_eq!(answer["id"], 0, "{answer}");
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn signal_ends_server_with_durable_journal() {
    for signal in [Signal::INT, Signal::TERM] {
        let env = TestEnv::new();
        env.write("note.txt", "hello");
        let mut client = Client::start(&env, &[], json!({}));
        let read = client.ask(call(1, "read_file", json!({ "path": "note.txt" })));
        assert_eq!(read["result"]["isError"], false, "{read}");
        client.running.signal(signal);
        assert_eq!(client.running.end().code, Some(0));
        let events = env.events();
        assert_eq!(of_kind(&events, "call-settled").len(), 1, "{events:?}");
    }
}

#[test]
fn serving_prints_a_notice_for_the_user() {
    let env = TestEnv::new();
    let client = Client::silent(&env, &["--grant", "http:GET=example.com"]);
    let ran = client.close();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    for said in [
        "serving over standard input and output",
        "read_file",
        "as /workspace, read-only",
        "example.com",
    ] {
        assert!(ran.stderr.contains(said), "no {said:?} in {}", ran.stderr);
    }
}

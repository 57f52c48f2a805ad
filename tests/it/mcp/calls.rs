//! Tests calls: results, progress, log messages, and their journal entries.

use agent_host_test_guests::{BLOCK, Guest, TIMER};
use agent_host_test_support::mcp_client::{Client, call, request, response, texts};
use agent_host_test_support::{TestEnv, http::Received, installed::here, of_kind};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    io::{BufReader, Write as _},
    net::{TcpListener, TcpStream},
    thread,
};

/// The tools of the conformance suite.
/// Returns the failure of a call, which is in the text.
fn failure(answer: &Value) -> Value {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    serde_json::from_str(text).unwrap()
}

fn suite() -> String {
    let component = here("guests/dist/mcp-suite.wasm");
    component.to_str().unwrap().to_owned()
}

#[test]
fn call_is_journaled_with_its_client() {
    let env = TestEnv::new();
    env.write("note.txt", "hello");
    let mut client = Client::start(&env, &[], json!({}));
    let read = client.ask(call(1, "read_file", json!({ "path": "note.txt" })));
    assert_eq!(read["result"]["isError"], false, "{read}");
    let invalid = client.ask(call(2, "read_file", json!({ "path": 7 })));
    let failure = failure(&invalid);
    assert_eq!(failure["code"], "invalid-input", "{invalid}");
    assert_eq!(invalid["result"]["isError"], true, "{invalid}");
    assert_eq!(client.close().code, Some(0));
    let events = env.events();
    let kinds: Vec<&str> = events
        .iter()
        .map(|record| record["event"]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "session-started",
            "call-intended",
            "call-settled",
            "call-received",
            "call-settled"
        ]
    );
    assert_eq!(events[0]["event"]["client"], "raw 7 (MCP)");
    assert_eq!(events[1]["event"]["input"], json!({ "path": "note.txt" }));
    let listed = env.run(&["sessions", "list"]);
    assert_eq!(listed.stdout.lines().count(), 1, "{}", listed.stdout);
    let exported = env.run(&["sessions", "export", "latest"]);
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    assert!(
        exported.stdout.contains("raw 7 (MCP)"),
        "{}",
        exported.stdout
    );
}

#[test]
fn denied_call_names_its_rule() {
    let env = TestEnv::new();
    let mut client = Client::start(&env, &["--write"], json!({}));
    let write = call(1, "write_file", json!({ "path": "a.txt", "content": "x" }));
    let denied = texts(
        "execution-denied",
        &[
            "Tool call execution denied. This call needs the user's approval (rule effect.effectful), and no one can be asked in \
             this run. To allow such calls, the user can set `approvals` for this tool in agent.toml.",
        ],
    );
    assert_eq!(client.ask(write), response(1, denied));
    assert!(!env.work().join("a.txt").exists());
    let outside = client.ask(call(2, "read_file", json!({ "path": "/etc/passwd" })));
    assert_eq!(outside["result"]["isError"], true, "{outside}");
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn cancelled_call_ends() {
    let env = TestEnv::new();
    let endless = "(loop $again (br $again)) (i32.const 0)";
    env.write("endless.wasm", Guest::running(endless).bytes());
    let mut client = Client::start(&env, &["--tool", "endless.wasm"], json!({}));
    client.send(&call(1, "echo", json!({})));
    // The next call runs and is answered; the cancelled one is not.
    assert_eq!(
        client.ask(request(2, "ping", json!({}))),
        response(2, json!({}))
    );
    client.send(&json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": { "requestId": 1, "reason": "enough" },
    }));
    let ran = client.close();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    let events = env.events();
    let settled = of_kind(&events, "call-settled");
    assert_eq!(settled.len(), 1, "{events:?}");
    assert_eq!(settled[0]["output"]["value"]["code"], "cancelled");
}

#[test]
fn progress_is_sent_if_requested() {
    let env = TestEnv::new();
    let mut client = Client::start(&env, &["--tool", &suite()], json!({}));
    let mut asked = call(1, "test_tool_with_progress", json!({}));
    let silent = client.ask(asked.clone());
    assert_eq!(silent["id"], 1, "{silent}");
    asked["params"]["_meta"] = json!({ "progressToken": "p" });
    client.send(&asked);
    let mut told = Vec::new();
    let answer = loop {
        let message = client.next();
        if message["id"] == 1 {
            break message;
        }
        assert_eq!(message["method"], "notifications/progress", "{message}");
        let params = &message["params"];
        assert_eq!(params["progressToken"], "p");
        told.push((
            params["progress"].as_f64().unwrap(),
            params["total"].clone(),
        ));
    };
    assert_eq!(answer, silent);
    let expected = [0.0, 0.5, 1.0].map(|progress| (progress, json!(1.0)));
    assert_eq!(told, expected);
}

#[test]
fn tool_output_is_logged_at_the_requested_level() {
    let env = TestEnv::new();
    let mut client = Client::start(&env, &["--tool", &suite()], json!({}));
    for (level, hears) in [
        (None, true),
        (Some("debug"), true),
        (Some("info"), true),
        (Some("notice"), false),
        (Some("emergency"), false),
    ] {
        if let Some(level) = level {
            let set = client.ask(request(1, "logging/setLevel", json!({ "level": level })));
            assert_eq!(set, response(1, json!({})));
        }
        client.send(&call(2, "test_tool_with_logging", json!({})));
        let mut lines = Vec::new();
        loop {
            let message = client.next();
            if message["id"] == 2 {
                assert_eq!(message["result"]["isError"], false, "{message}");
                break;
            }
            assert_eq!(message["method"], "notifications/message", "{message}");
            let params = message["params"].clone();
            assert_eq!(params["level"], "info");
            assert_eq!(params["logger"], "test_tool_with_logging");
            lines.push(params["data"].clone());
        }
        assert_eq!(
            lines.len(),
            if hears { 3 } else { 0 },
            "{level:?}: {lines:?}"
        );
    }
}

/// Answers each connection once a number of them are open.
fn barrier(connections: usize) -> (String, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move || {
        let asked = |stream: TcpStream| {
            let received = Received::read(&mut BufReader::new(&stream));
            assert!(received.is_some());
            stream
        };
        let streams = listener.incoming().take(connections);
        let waiting: Vec<TcpStream> = streams.map(|stream| asked(stream.unwrap())).collect();
        for mut stream in waiting {
            let answer = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\nconnection: close\r\n\r\nboth";
            stream.write_all(answer.as_bytes()).unwrap();
        }
    };
    (format!("http://{address}/"), thread::spawn(serve))
}

#[test]
fn calls_of_one_client_overlap() {
    let env = TestEnv::new();
    let (url, served) = barrier(2);
    let grant = format!("http:GET={}", url.trim_end_matches('/'));
    let mut client = Client::start(&env, &["--grant", &grant], json!({}));
    let fetch = |id| call(id, "fetch", json!({ "url": url }));
    client.send(&fetch(1));
    client.send(&fetch(2));
    let mut answers = [client.next(), client.next()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    for (answer, id) in answers.iter().zip(1_u64..) {
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    served.join().unwrap();
}

#[test]
fn end_of_input_stops_running_calls() {
    let env = TestEnv::new();
    let blocks = Guest {
        imports: &[TIMER, BLOCK],
        ..Guest::running("(call $block (call $timer (i64.const 3600000000000))) (i32.const 0)")
    };
    env.write("blocks.wasm", blocks.bytes());
    let mut client = Client::start(&env, &["--tool", "blocks.wasm"], json!({}));
    client.send(&call(1, "echo", json!({})));
    assert_eq!(
        client.ask(request(2, "ping", json!({}))),
        response(2, json!({}))
    );
    let ran = client.close();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let events = env.events();
    let settled: Vec<&Value> = of_kind(&events, "call-settled");
    assert_eq!(settled.len(), 1, "{events:?}");
    assert_eq!(settled[0]["output"]["value"]["code"], "cancelled");
}

/// More calls of a tool that computes without end than the transport, or the sandbox, runs at once.
#[test]
fn flood_of_a_looping_tool_does_not_delay_another() {
    const FLOOD: u64 = 200;
    let env = TestEnv::new();
    let endless = "(loop $again (br $again)) (i32.const 0)";
    env.write("endless.wasm", Guest::running(endless).bytes());
    env.write("note.txt", "hello");
    env.configure(
        "[limits]\ndeadline-ms = 600000\n[[tool]]\nname = \"endless\"\ncomponent = \"endless.wasm\"\n\
         [[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n",
    );
    let mut client = Client::start(&env, &["--config", "agent.toml"], json!({}));
    for id in 1..=FLOOD {
        client.send(&call(id, "echo", json!({})));
    }
    for round in 1..=20 {
        let id = FLOOD + round;
        client.send(&call(id, "read_file", json!({ "path": "note.txt" })));
        loop {
            let answer = client.next();
            if answer["id"] == id {
                assert_eq!(answer["result"]["isError"], false, "{answer}");
                break;
            }
            // No call of the flood has ended: those beyond the queue did not start.
            assert_eq!(failure(&answer)["code"], "busy", "{answer}");
        }
    }
    assert_eq!(client.close().code, Some(0));
}

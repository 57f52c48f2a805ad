//! `agent-host acp`: the Agent Client Protocol from the client's side, as plain lines.

use agent_host_test_support::{
    TestEnv,
    acp::{AcpClient, error_of, text_of},
    chat::{Answer, ChatServer},
    of_kind,
    pictures::png,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{fs, net::TcpListener};

fn write(path: &str) -> Answer {
    Answer::calls(&[(
        "write_file",
        json!({"path": path, "content": "one\nthree\n"}),
    )])
}

fn select(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

fn cancelled() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}

fn no_model() -> ChatServer {
    ChatServer::start(Vec::new())
}

/// A model that never answers: its server accepts nothing.
fn silent() -> (TcpListener, ChatServer) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut server = no_model();
    server.base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    (listener, server)
}

/// The sessions and the outcomes of their last turns.
fn outcomes(env: &TestEnv) -> Vec<Value> {
    let ran = env.run(&["sessions", "list", "--json"]);
    let rows = ran.json_lines().into_iter();
    rows.map(|row| row["outcome"].clone()).collect()
}

/// A text and a call stream; the result has the image as an image; the usage follows. What was sent
/// is replayed when the session is loaded by another process, and no twice.
#[test]
fn prompt_streams_and_is_replayed() {
    let env = TestEnv::new();
    env.configure("[context]\nwindow-tokens = 50000\n");
    let image = png(2, 2);
    let path = env.write("p.png", &image);
    let path = path.canonicalize().unwrap();
    let model = ChatServer::start(vec![
        Answer::calls(&[("read_file", json!({"path": "p.png"}))]),
        Answer::reasoned("It is small.", "A grey image."),
        Answer::text("Still grey."),
    ]);
    let mut client = AcpClient::connect(&env, &model, &[]);
    let session = client.session(&env);
    let prompt = client.prompt(&session, "What is on p.png?");
    assert_eq!(client.stop_reason(prompt), "end_turn");
    let updates = client.updates();
    assert_eq!(text_of(&updates, "user_message_chunk"), "");
    let image = json!({
        "type": "image",
        "mimeType": "image/png",
        "data": STANDARD.encode(&image),
        "_meta": {"agent-host/filename": "p.png"},
    });
    let check = |updates: &[Value]| {
        assert_eq!(text_of(updates, "agent_thought_chunk"), "It is small.");
        assert_eq!(text_of(updates, "agent_message_chunk"), "A grey image.");
        let call = updates
            .iter()
            .find(|update| update["sessionUpdate"] == "tool_call");
        assert_eq!(
            *call.unwrap(),
            json!({
                "sessionUpdate": "tool_call",
                "toolCallId": "call_0",
                "title": "read_file p.png",
                "kind": "read",
                "status": "pending",
                "rawInput": {"path": "p.png"},
                "locations": [{"path": path}],
            })
        );
        let settled = updates
            .iter()
            .find(|update| update["status"] == "completed");
        let settled = settled.unwrap();
        let content = settled["content"].as_array().unwrap();
        assert!(
            content.contains(&json!({"type": "content", "content": image})),
            "{settled}"
        );
        assert_eq!(settled["rawOutput"]["type"], "content");
        assert_eq!(settled["_meta"], json!({"agent-host/output": "content"}));
        assert_eq!(settled["kind"], "read");
        assert_eq!(settled["locations"], json!([{"path": path}]));
        let usage = json!({"sessionUpdate": "usage_update", "used": 18, "size": 50000});
        assert_eq!(updates.last(), Some(&usage));
    };
    check(&updates);
    assert_eq!(client.end().code, Some(0));

    let mut client = AcpClient::connect(&env, &model, &[]);
    let open = json!({"cwd": env.work(), "mcpServers": [], "sessionId": session});
    assert_eq!(client.call("session/load", &open), json!({}));
    let updates = client.updates();
    check(&updates);
    assert_eq!(text_of(&updates, "user_message_chunk"), "What is on p.png?");
    let listed = client.call("session/list", &json!({}));
    let row = &listed["sessions"][0];
    assert_eq!(row["sessionId"], *session);
    assert_eq!(row["title"], "What is on p.png?");
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    let prompt = client.prompt(&session, "And now?");
    assert_eq!(client.stop_reason(prompt), "end_turn");
    let updates = client.updates();
    assert_eq!(text_of(&updates, "agent_message_chunk"), "Still grey.");
    assert_eq!(text_of(&updates, "user_message_chunk"), "");
    let other = client.call("session/list", &json!({"cwd": "/"}));
    assert_eq!(other, json!({"sessions": []}));
    let delete = json!({"sessionId": session});
    assert_eq!(client.call("session/delete", &delete), json!({}));
    assert_eq!(
        client.call("session/list", &json!({})),
        json!({"sessions": []})
    );
    assert_eq!(client.end().code, Some(0));
}

/// The request has what the user decides by. Of three calls one is allowed, one rejected, and one
/// runs since the first was allowed for the session.
#[test]
fn permissions_decide_and_are_remembered() {
    let env = TestEnv::new();
    let path = env.write("a.txt", "one\ntwo\n").canonicalize().unwrap();
    let model = ChatServer::start(vec![
        write("a.txt"),
        write("b.txt"),
        write("c.txt"),
        Answer::text("Written."),
    ]);
    let mut client = AcpClient::connect(&env, &model, &["--write"]);
    let session = client.session(&env);
    let prompt = client.prompt(&session, "Write.");
    let request = client.asked("session/request_permission");
    let params = &request["params"];
    assert_eq!(params["sessionId"], *session);
    let call = &params["toolCall"];
    let input = json!({"path": "a.txt", "content": "one\nthree\n"});
    assert_eq!(call["toolCallId"], "call_0");
    assert_eq!(call["title"], "write_file, which is effectful");
    assert_eq!(call["kind"], "edit");
    assert_eq!(call["rawInput"], input);
    assert_eq!(call["locations"], json!([{"path": path}]));
    let diff = json!({
        "type": "diff",
        "path": path,
        "oldText": "one\ntwo\n",
        "newText": "one\nthree\n",
    });
    assert_eq!(call["content"][0], diff);
    let options = json!([
        {"optionId": "allow-once", "name": "Allow this call", "kind": "allow_once"},
        {"optionId": "allow-always", "name": "Allow all calls of write_file in this session", "kind": "allow_always"},
        {"optionId": "reject-once", "name": "Reject this call", "kind": "reject_once"},
    ]);
    assert_eq!(params["options"], options);
    client.answer(&request, &select("reject-once"));
    let request = client.asked("session/request_permission");
    client.answer(&request, &select("allow-always"));
    assert_eq!(client.stop_reason(prompt), "end_turn");
    let read = |name: &str| fs::read_to_string(env.work().join(name)).ok();
    assert_eq!(read("a.txt").as_deref(), Some("one\ntwo\n"));
    assert_eq!(read("b.txt").as_deref(), Some("one\nthree\n"));
    assert_eq!(read("c.txt").as_deref(), Some("one\nthree\n"));
    let updates = client.updates();
    let failed = updates.iter().find(|update| update["status"] == "failed");
    let failed = failed.unwrap();
    assert_eq!(failed["toolCallId"], "call_0");
    assert_eq!(
        failed["_meta"],
        json!({"agent-host/output": "execution-denied"})
    );
    let reason = failed["content"][0]["content"]["text"].as_str().unwrap();
    assert!(reason.contains("The user rejected this call."), "{reason}");
    assert_eq!(failed["rawOutput"]["type"], "execution-denied");
    let completed: Vec<&Value> = updates
        .iter()
        .filter(|update| update["status"] == "completed")
        .collect();
    assert_eq!(completed.len(), 2);
    let new = &completed[0]["content"][0];
    assert_eq!(
        (&new["type"], &new["oldText"]),
        (&json!("diff"), &Value::Null)
    );
    assert_eq!(new["newText"], "one\nthree\n");
    // No one read that file before.
    assert_eq!(completed[1]["content"][0]["type"], "content");
}

/// Whatever is no clear choice decides nothing: the session waits, and no call runs.
#[test]
fn unclear_answer_to_a_permission_leaves_it_waiting() {
    let cases = [
        (
            "an error",
            json!({"error": {"code": -32603, "message": "no window"}}),
            Err("unanswered"),
        ),
        (
            "an unknown option",
            json!({"result": select("allow")}),
            Err("unanswered"),
        ),
        ("no outcome", json!({"result": {}}), Err("unanswered")),
        (
            "a cancelled turn",
            json!({"result": cancelled()}),
            Ok("cancelled"),
        ),
    ];
    for (case, answer, expected) in cases {
        let env = TestEnv::new();
        let model = ChatServer::start(vec![write("a.txt")]);
        let mut client = AcpClient::connect(&env, &model, &["--write"]);
        let session = client.session(&env);
        let prompt = client.prompt(&session, "Write.");
        let request = client.asked("session/request_permission");
        let mut message = answer;
        message["jsonrpc"] = json!("2.0");
        message["id"] = request["id"].clone();
        client.send(&message);
        let response = client.response(prompt);
        match expected {
            Ok(reason) => assert_eq!(response["result"]["stopReason"], reason, "{case}"),
            Err(code) => assert_eq!(
                error_of(&response),
                (-32603, json!({"code": code})),
                "{case}"
            ),
        }
        assert_eq!(client.end().code, Some(0), "{case}");
        assert!(!env.work().join("a.txt").exists(), "{case}");
        assert_eq!(outcomes(&env), [json!("awaiting-confirmation")], "{case}");
        assert_eq!(
            of_kind(&env.events(), "decision-recorded").len(),
            0,
            "{case}"
        );
    }
}

/// The turn ends as cancelled although the client does not answer the permission; the call is not
/// denied, and another prompt continues the session.
#[test]
fn cancel_during_a_permission_is_no_denial() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![write("a.txt"), Answer::text("Never mind.")]);
    let mut client = AcpClient::connect(&env, &model, &["--write"]);
    let session = client.session(&env);
    let prompt = client.prompt(&session, "Write.");
    let request = client.asked("session/request_permission");
    client.notify("session/cancel", &json!({"sessionId": session}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
    // Too late: the request is gone.
    client.answer(&request, &select("allow-once"));
    let prompt = client.prompt(&session, "Leave it.");
    assert_eq!(client.stop_reason(prompt), "end_turn");
    assert!(!env.work().join("a.txt").exists());
    let updates = client.updates();
    assert_eq!(text_of(&updates, "agent_message_chunk"), "Never mind.");
    assert_eq!(of_kind(&env.events(), "decision-recorded").len(), 0);
}

/// A client that is gone while a permission waits: the session is listed as waiting, and resumes.
#[test]
fn client_that_disappears_leaves_the_session_resumable() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![write("a.txt"), Answer::text("Written.")]);
    let mut client = AcpClient::connect(&env, &model, &["--write"]);
    let session = client.session(&env);
    client.prompt(&session, "Write.");
    client.asked("session/request_permission");
    assert_eq!(client.end().code, Some(0));
    assert_eq!(outcomes(&env), [json!("awaiting-confirmation")]);
    let args = [
        "run",
        "--model",
        "openai-compat:m",
        "--write",
        "--resume",
        "latest",
    ];
    let mut command = env.command(&[&args[..], &["--decide", "call_0=approve"]].concat());
    let ran = command.env("OPENAI_COMPAT_BASE_URL", &model.base_url);
    let ran = ran.output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    assert!(env.work().join("a.txt").exists());
}

/// A running turn is stopped, by the session's notification or by that of the request.
#[test]
fn cancel_stops_a_running_turn() {
    for by_request in [false, true] {
        let env = TestEnv::new();
        let (_listener, model) = silent();
        let mut client = AcpClient::connect(&env, &model, &[]);
        let session = client.session(&env);
        let prompt = client.prompt(&session, "Wait.");
        match by_request {
            false => client.notify("session/cancel", &json!({"sessionId": session})),
            true => client.notify("$/cancel_request", &json!({"requestId": prompt})),
        }
        assert_eq!(client.stop_reason(prompt), "cancelled");
    }
}

/// A second prompt is refused while the first runs, which is not disturbed.
#[test]
fn second_prompt_of_a_session_is_refused() {
    let env = TestEnv::new();
    let (_listener, model) = silent();
    let mut client = AcpClient::connect(&env, &model, &[]);
    let session = client.session(&env);
    let first = client.prompt(&session, "Wait.");
    let second = client.prompt(&session, "Hurry.");
    let refused = error_of(&client.response(second));
    assert_eq!(refused, (-32600, json!({"code": "session-running"})));
    let close = json!({"sessionId": session});
    let close = client.request("session/close", &close);
    assert_eq!(client.stop_reason(first), "cancelled");
    // The answer to the request may have come before.
    let closed = |message: &Value| message["id"] == close;
    let heard = client.heard.iter().find(|message| closed(message)).cloned();
    let response = heard.unwrap_or_else(|| client.response(close));
    assert_eq!(response["result"], json!({}));
    let prompt = client.prompt(&session, "More.");
    let refused = error_of(&client.response(prompt));
    assert_eq!(refused, (-32002, json!({"code": "not-found"})));
}

/// Malformed lines and requests are answered with stable codes, and the connection stays open.
#[test]
fn faults_of_a_client_are_answered() {
    let env = TestEnv::new();
    let model = no_model();
    let mut client = AcpClient::start(&env, &model, &[]);
    let cwd = env.work();
    let new = json!({"cwd": cwd, "mcpServers": []});
    let uninitialized = client.refused("session/new", &new);
    assert_eq!(uninitialized, (-32600, json!({"code": "not-initialized"})));
    let version = client.refused("initialize", &json!({"protocolVersion": "1"}));
    assert_eq!(version, (-32602, json!({"code": "invalid-params"})));
    // The newest version that is served, whatever newer one the client knows.
    let made = client.call("initialize", &json!({"protocolVersion": 2}));
    assert_eq!(made["protocolVersion"], 1);
    let unknown = "019a0000-0000-7000-8000-000000000000";
    let server = json!({"name": "x", "command": "/bin/true", "args": [], "env": []});
    for (method, params, number, code) in [
        ("session/fly", json!({}), -32601, "method-not-found"),
        (
            "session/set_mode",
            json!({"sessionId": unknown, "modeId": "x"}),
            -32601,
            "method-not-found",
        ),
        ("session/new", json!({}), -32602, "invalid-params"),
        ("session/new", json!([1]), -32602, "invalid-params"),
        (
            "session/new",
            json!({"cwd": null, "mcpServers": []}),
            -32602,
            "invalid-params",
        ),
        (
            "session/new",
            json!({"cwd": "/", "mcpServers": []}),
            -32602,
            "directory-not-granted",
        ),
        (
            "session/new",
            json!({"cwd": ".", "mcpServers": []}),
            -32602,
            "directory-not-granted",
        ),
        (
            "session/new",
            json!({"cwd": cwd, "mcpServers": [], "additionalDirectories": ["/"]}),
            -32602,
            "directory-not-granted",
        ),
        (
            "session/new",
            json!({"cwd": cwd, "mcpServers": [server]}),
            -32602,
            "mcp-servers-refused",
        ),
        (
            "session/load",
            json!({"cwd": cwd, "mcpServers": [], "sessionId": unknown}),
            -32002,
            "not-found",
        ),
        (
            "session/load",
            json!({"cwd": cwd, "mcpServers": [], "sessionId": "../x"}),
            -32002,
            "not-found",
        ),
        (
            "session/delete",
            json!({"sessionId": unknown}),
            -32002,
            "not-found",
        ),
        (
            "session/close",
            json!({"sessionId": unknown}),
            -32002,
            "not-found",
        ),
        (
            "session/list",
            json!({"cursor": "x"}),
            -32602,
            "invalid-params",
        ),
        (
            "session/prompt",
            json!({"sessionId": unknown, "prompt": []}),
            -32602,
            "invalid-params",
        ),
        (
            "session/prompt",
            json!({"sessionId": unknown, "prompt": [{"type": "text", "text": "x"}]}),
            -32002,
            "not-found",
        ),
        (
            "session/prompt",
            json!({"sessionId": unknown, "prompt": [{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/jpeg"}]}),
            -32602,
            "invalid-params",
        ),
        (
            "session/prompt",
            json!({"sessionId": unknown, "prompt": [{"type": "audio", "data": "", "mimeType": "audio/wav"}]}),
            -32602,
            "invalid-params",
        ),
    ] {
        let refused = client.refused(method, &params);
        assert_eq!(
            refused,
            (number, json!({"code": code})),
            "{method} {params}"
        );
    }
    for (line, id, number, code) in [
        ("{", Value::Null, -32700, "parse-error"),
        ("[]", Value::Null, -32600, "invalid-request"),
        (
            r#"{"jsonrpc":"2.0","id":"a"}"#,
            json!("a"),
            -32600,
            "invalid-request",
        ),
        (
            r#"{"id":7,"method":"session/list","params":{}}"#,
            json!(7),
            -32600,
            "invalid-request",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"session/list"}"#,
            json!(1.5),
            -32600,
            "invalid-request",
        ),
    ] {
        client.running.types(&format!("{line}\n"));
        let answer = client.read();
        assert_eq!(answer["id"], id, "{line}");
        assert_eq!(error_of(&answer), (number, json!({"code": code})), "{line}");
    }
    // None of these has an answer.
    client.notify("session/cancel", &json!({"sessionId": unknown}));
    client.running.types("\n");
    client.notify("session/fly", &json!({}));
    client.send(&json!({"jsonrpc": "2.0", "id": 99, "result": {}}));
    let long = vec![b' '; 32 * 1024 * 1024 + 1];
    client.running.types_bytes(&long);
    client.running.types("\n");
    let answer = client.read();
    assert_eq!(
        error_of(&answer),
        (-32600, json!({"code": "invalid-request"}))
    );
    assert_eq!(
        client.call("session/list", &json!({})),
        json!({"sessions": []})
    );
    assert_eq!(client.end().code, Some(0));
}

/// Questions of the model are asked by a form where the client has them; otherwise by their choices,
/// and a free text is declined.
#[test]
fn questions_are_asked_as_the_client_can() {
    let questions = json!({"questions": [{"question": "Which?", "choices": ["red", "green"]}]});
    for (capabilities, method, answer, expected) in [
        (
            json!({"elicitation": {"form": {}}}),
            "elicitation/create",
            json!({"action": "accept", "content": {"choice": "green"}}),
            json!({"type": "choice", "index": 1}),
        ),
        (
            json!({"elicitation": {"form": {}}}),
            "elicitation/create",
            json!({"action": "decline"}),
            json!({"type": "cancelled"}),
        ),
        (
            json!({}),
            "session/request_permission",
            select("1"),
            json!({"type": "choice", "index": 1}),
        ),
        (
            json!({}),
            "session/request_permission",
            select("no-answer"),
            json!({"type": "cancelled"}),
        ),
    ] {
        let env = TestEnv::new();
        let model = ChatServer::start(vec![
            Answer::calls(&[("ask_user", questions.clone())]),
            Answer::text("Noted."),
        ]);
        let mut client = AcpClient::connect_as(&env, &model, &[], &capabilities);
        let session = client.session(&env);
        let prompt = client.prompt(&session, "Ask.");
        let request = client.asked(method);
        assert_eq!(request["params"]["sessionId"], *session);
        client.answer(&request, &answer);
        assert_eq!(client.stop_reason(prompt), "end_turn");
        let events = env.events();
        assert_eq!(of_kind(&events, "answer-received")[0]["answer"], expected);
    }
}

/// The approval of a call inside an agent is asked for under the calls that started it.
#[test]
fn permission_of_an_agent_is_asked_for() {
    let env = TestEnv::new();
    env.configure(
        r#"
agents = ["clerk"]

[[agent]]
name = "clerk"
description = "Writes files."
system = "You are the clerk."
tools = ["write_*"]

[[grants.dir]]
host = "."
mode = "read-write"
"#,
    );
    let model = ChatServer::start(vec![
        Answer::calls(&[("agent_clerk", json!({"instructions": "write"}))]),
        write("a.txt"),
        Answer::text("It is written."),
        Answer::text("Done."),
    ]);
    let mut client = AcpClient::connect(&env, &model, &[]);
    let session = client.session(&env);
    let prompt = client.prompt(&session, "Have it written.");
    let request = client.asked("session/request_permission");
    assert_eq!(request["params"]["toolCall"]["toolCallId"], "call_0/call_0");
    client.answer(&request, &select("allow-once"));
    assert_eq!(client.stop_reason(prompt), "end_turn");
    assert!(env.work().join("a.txt").exists());
    let updates = client.updates();
    assert_eq!(text_of(&updates, "agent_message_chunk"), "Done.");
    let completed: Vec<&Value> = updates
        .iter()
        .filter(|update| update["status"] == "completed")
        .map(|update| &update["toolCallId"])
        .collect();
    assert_eq!(completed, ["call_0/call_0", "call_0"]);
}

/// Text of a model is passed on as it is, inside of JSON; a title has nothing that a terminal obeys.
#[test]
fn hostile_text_is_data() {
    let env = TestEnv::new();
    let text = "{\"jsonrpc\":\"2.0\"}\n\u{1b}[31m\u{202e}<script>";
    let model = ChatServer::start(vec![
        Answer::calls(&[("read_file", json!({"path": "a\n\u{1b}[31m\u{202e}.txt"}))]),
        Answer::text(text),
    ]);
    let mut client = AcpClient::connect(&env, &model, &[]);
    let session = client.session(&env);
    let prompt = client.prompt(&session, "Go.");
    assert_eq!(client.stop_reason(prompt), "end_turn");
    let updates = client.updates();
    assert_eq!(text_of(&updates, "agent_message_chunk"), text);
    let call = updates
        .iter()
        .find(|update| update["sessionUpdate"] == "tool_call");
    assert_eq!(
        call.unwrap()["title"],
        "read_file a \\u{1b}[31m\\u{202e}.txt"
    );
}

/// A failed turn is an error with its cause; the session takes the next prompt.
#[test]
fn failed_turn_is_an_error_with_its_cause() {
    let env = TestEnv::new();
    let refusal = json!({"error": {"message": "no such key", "type": "invalid_request_error"}});
    let model = ChatServer::start(vec![
        Answer::status("401 Unauthorized", &refusal),
        Answer::text("Here."),
    ]);
    let mut client = AcpClient::connect(&env, &model, &[]);
    let session = client.session(&env);
    let prompt = client.prompt(&session, "Hello.");
    let failed = error_of(&client.response(prompt));
    assert_eq!(
        failed,
        (-32603, json!({"code": "turn-failed", "cause": "model"}))
    );
    let prompt = client.prompt(&session, "Hello?");
    assert_eq!(client.stop_reason(prompt), "end_turn");
}

/// An image and an embedded text reach the model.
#[test]
fn prompt_with_files_reaches_the_model() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("Seen.")]);
    let mut client = AcpClient::connect(&env, &model, &[]);
    let session = client.session(&env);
    let image = STANDARD.encode(png(2, 2));
    let prompt = json!([
        {"type": "image", "data": image, "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///work/a.rs", "text": "fn main() {}", "mimeType": "text/x-rust"}},
        {"type": "resource_link", "uri": "file:///work/b.rs", "name": "b.rs"},
        {"type": "text", "text": "Look."},
    ]);
    let id = client.request(
        "session/prompt",
        &json!({"sessionId": session, "prompt": prompt}),
    );
    assert_eq!(client.stop_reason(id), "end_turn");
    let request = model.requests().remove(0).to_string();
    for part in [
        image.as_str(),
        "fn main() {}",
        "[b.rs](file:///work/b.rs)",
        "Look.",
    ] {
        assert!(request.contains(part), "{part}: {request}");
    }
}

//! `agent-host acp`: the Agent Client Protocol from the client's side, as plain lines.

mod faults;
mod permissions;

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
        let title = settled["title"].as_str().unwrap();
        assert!(title.starts_with("Read p.png  "), "{title}");
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

/// The user stops the agent and writes on: the next prompt waits for the end of the cancelled one.
#[test]
fn prompt_after_a_cancel_waits_for_its_end() {
    let env = TestEnv::new();
    let (listener, model) = silent();
    let mut client = AcpClient::connect(&env, &model, &[]);
    let session = client.session(&env);
    let of = json!({"sessionId": session});
    let stopped = [client.prompt(&session, "Wait."), {
        client.notify("session/cancel", &of);
        let next = client.prompt(&session, "Wait again.");
        client.notify("session/cancel", &of);
        next
    }];
    let last = client.prompt(&session, "Hurry.");
    for prompt in stopped {
        assert_eq!(client.stop_reason(prompt), "cancelled");
    }
    // It runs, so that another one is refused, until it is stopped by its own request.
    let refused = client.prompt(&session, "Now.");
    let refused = error_of(&client.response(refused));
    assert_eq!(refused, (-32600, json!({"code": "session-running"})));
    drop(listener);
    client.notify("$/cancel_request", &json!({"requestId": last}));
    assert_eq!(client.stop_reason(last), "cancelled");
    assert_eq!(client.end().code, Some(0));
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
    assert_eq!(client.response(close)["result"], json!({}));
    let prompt = client.prompt(&session, "More.");
    let refused = error_of(&client.response(prompt));
    assert_eq!(refused, (-32002, json!({"code": "not-found"})));
}

/// Questions of the model are asked by a form where the client has them; otherwise by their
/// choices, and a free text is declined.
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

/// Text of a model is data inside of JSON, and has nothing that an editor obeys.
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
    assert_eq!(
        text_of(&updates, "agent_message_chunk"),
        "{\"jsonrpc\":\"2.0\"}\n\\u{1b}[31m\\u{202e}<script>"
    );
    let call = updates
        .iter()
        .find(|update| update["sessionUpdate"] == "tool_call");
    assert_eq!(
        call.unwrap()["title"],
        "read_file \"a \\u{1b}[31m\\u{202e}.txt\""
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

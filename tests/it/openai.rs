//! OpenAI's API of `agent-host serve`, from the network. The official SDKs are in `tests/interop`.

mod bad_requests;
mod chat;
mod ends;
mod functions;
mod responses;
mod streams;

use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, Response, TOKEN},
    chat::{Answer, ChatServer},
};
use serde_json::{Value, json};

/// A directory with a note, and a model that reads it and says what is in it.
fn reading() -> (TestEnv, ChatServer) {
    let env = TestEnv::new();
    env.write("note.txt", "hello");
    let model = ChatServer::start(vec![
        Answer::calls(&[("read_file", json!({"path": "note.txt"}))]),
        Answer::text("It says hello."),
    ]);
    (env, model)
}

/// Sends a request to OpenAI's API.
fn send(server: &ApiServer, request: &str, body: Option<&Value>) -> Response {
    let body = body.map(Value::to_string);
    server.raw(TOKEN, request, "", body.as_deref())
}

/// Creates a response, which succeeds.
fn respond(server: &ApiServer, body: &Value) -> Value {
    let response = send(server, "POST /v1/responses", Some(body));
    assert_eq!(response.status, 200, "{response:?}");
    response.json()
}

/// Creates a chat completion, which succeeds.
fn complete(server: &ApiServer, body: &Value) -> Value {
    let response = send(server, "POST /v1/chat/completions", Some(body));
    assert_eq!(response.status, 200, "{response:?}");
    response.json()
}

/// Reads a response.
fn read(server: &ApiServer, response: &Value) -> Value {
    let id = response["id"].as_str().unwrap();
    let read = send(server, &format!("GET /v1/responses/{id}"), None);
    assert_eq!(read.status, 200, "{read:?}");
    read.json()
}

/// The data of a stream, without the end of a chat's.
fn data(stream: &Response) -> Vec<Value> {
    assert_eq!(stream.status, 200, "{stream:?}");
    assert!(stream.head.contains("content-type: text/event-stream"));
    let lines = stream.body.lines();
    let data = lines.filter_map(|line| line.strip_prefix("data: "));
    let json = data.filter(|data| *data != "[DONE]");
    json.map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// The status and the code of an error in OpenAI's form.
fn error(response: &Response) -> (u16, String) {
    let body = response.json();
    let error = body["error"]
        .as_object()
        .unwrap_or_else(|| panic!("{response:?}"));
    let fields: Vec<&str> = error.keys().map(String::as_str).collect();
    assert_eq!(fields, ["code", "message", "param", "type"], "{response:?}");
    assert!(!error["message"].as_str().unwrap().is_empty());
    (response.status, error["code"].as_str().unwrap().to_owned())
}

/// The session of a response.
fn session(response: &Value) -> String {
    response["agent_host"]["session"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The texts of a response's output, with their phases.
fn texts(response: &Value) -> Vec<(String, String)> {
    let output = response["output"].as_array().unwrap().iter();
    let messages = output.filter(|item| item["type"] == "message");
    messages
        .map(|item| {
            let text = item["content"][0]["text"].as_str().unwrap();
            (item["phase"].as_str().unwrap().to_owned(), text.to_owned())
        })
        .collect()
}

/// The messages to the model without system prompts: role and content.
fn conversation(request: &Value) -> Value {
    let messages = request["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] != "system")
        .map(|message| json!([message["role"], message["content"]]))
        .collect()
}

/// A server whose model writes a file, which needs approval, and then says so.
fn writing() -> (TestEnv, ChatServer, ApiServer) {
    let env = TestEnv::new();
    let input = json!({"path": "a.txt", "content": "a"});
    let model = ChatServer::start(vec![
        Answer::calls(&[("write_file", input)]),
        Answer::text("Written."),
        Answer::text("Welcome."),
    ]);
    let server = ApiServer::start(&env, &model, &["--write"]);
    (env, model, server)
}

/// Approves what a session waits for, and waits for the end of its run.
fn approve(server: &ApiServer, session: &str) {
    let mut events = server.events(session, None);
    let requests = server.get(&format!("/sessions/{session}/requests")).json();
    let continuation = requests["requests"][0].clone();
    let request = continuation["request"].as_str().unwrap().to_owned();
    let (_, number) = request.split_once('/').unwrap();
    let decision = json!({"type": "approve", "call_id": "call_0"});
    let body = json!({"continuation": continuation, "decisions": [decision]});
    let path = format!("/sessions/{session}/requests/{number}/answer");
    assert_eq!(server.post(&path, &body).status, 202);
    let is_done = |event: &agent_host_test_support::api::ServerEvent| {
        event.data["event"]["outcome"]["type"] == "done"
    };
    assert!(events.any(|event| is_done(&event)));
}

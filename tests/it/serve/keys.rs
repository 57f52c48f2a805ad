//! Sessions, messages and answers that are taken once for an `Idempotency-Key`.

use super::open_request;
use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, TOKEN},
    chat::{Answer, ChatServer},
    of_kind,
    pictures::png,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A request that is sent again under its key creates nothing, also after a restart of the server.
#[test]
fn session_is_created_once_for_its_key() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("One.")]);
    let create = |server: &ApiServer, key: &str, body: &Value| {
        let field = format!("Idempotency-Key: {key}\r\n");
        server.request_with(TOKEN, "POST /sessions", &field, Some(&body.to_string()))
    };
    let picture = json!({"type": "bytes", "value": STANDARD.encode(png(8, 8))});
    let part = json!({"type": "file", "media_type": "image/png", "data": picture});
    let body = json!({"message": "look", "parts": [part]});
    let server = ApiServer::start(&env, &model, &[]);
    let first = create(&server, "key-1", &body);
    assert_eq!(first.status, 201, "{first:?}");
    let session = first.json()["session"].as_str().unwrap().to_owned();
    server.events(&session, None).until("turn-ended");
    assert_eq!(create(&server, "key-1", &body).json(), first.json());
    server.end();

    let server = ApiServer::start(&env, &model, &[]);
    let again = create(&server, "key-1", &body);
    assert_eq!((again.status, again.json()), (201, first.json()));
    let reused = (422, "key-reused".to_owned());
    let others = [
        json!({"message": "look"}),
        json!({"message": "Look", "parts": body["parts"]}),
    ];
    for other in others {
        assert_eq!(create(&server, "key-1", &other).problem(), reused);
    }
    let long = "k".repeat(256);
    let invalid = (400, "invalid-request".to_owned());
    assert_eq!(create(&server, &long, &body).problem(), invalid);
    assert_eq!(model.requests().len(), 1);
    let list = server.get("/sessions").json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
}

/// A message that is sent again under its key is not taken twice, also after a restart.
#[test]
fn message_is_taken_once_for_its_key() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("One."), Answer::text("Two.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("hi");
    let mut stream = server.events(&session, None);
    stream.until("turn-ended");
    let send = |server: &ApiServer, message: &str| {
        let path = format!("POST /sessions/{session}/messages");
        let body = json!({"message": message}).to_string();
        let sent = server.request_with(TOKEN, &path, "Idempotency-Key: k\r\n", Some(&body));
        (sent.status, sent.json())
    };
    let seq = env.events().len();
    let accepted = (202, json!({"session": session, "seq": seq}));
    assert_eq!(send(&server, "more"), accepted);
    stream.until("turn-ended");
    assert_eq!(send(&server, "more"), accepted);
    server.end();
    let server = ApiServer::start(&env, &model, &[]);
    assert_eq!(send(&server, "more"), accepted);
    let (status, problem) = send(&server, "other");
    assert_eq!((status, &problem["code"]), (422, &json!("key-reused")));
    assert_eq!(of_kind(&env.events(), "input-received").len(), 2);
    assert_eq!(model.requests().len(), 2);
}

/// An answer that is sent again under its key is the one that was taken, also after a restart.
#[test]
fn answer_is_taken_once_for_its_key() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![
        Answer::calls(&[("write_file", json!({"path": "a.txt", "content": "a"}))]),
        Answer::text("Written."),
    ]);
    let server = ApiServer::start(&env, &model, &["--write"]);
    let session = server.create("write");
    let mut stream = server.events(&session, None);
    stream.until("turn-ended");
    let continuation = open_request(&server, &session);
    let (_, number) = continuation["request"]
        .as_str()
        .unwrap()
        .split_once('/')
        .unwrap();
    let path = format!("POST /sessions/{session}/requests/{number}/answer");
    let send = |server: &ApiServer, key: &str, decision: &str| {
        let decision = json!({"type": decision, "call_id": "call_0"});
        let body = json!({"continuation": continuation, "decisions": [decision]}).to_string();
        let sent = server.request_with(TOKEN, &path, key, Some(&body));
        (sent.status, sent.json())
    };
    let key = "Idempotency-Key: k\r\n";
    let taken = send(&server, key, "approve");
    assert_eq!(taken.0, 202);
    stream.until("turn-ended");
    stream.until("turn-ended");
    let check = |server: &ApiServer| {
        assert_eq!(send(server, key, "approve"), taken);
        for (key, decision, expected) in [
            (key, "reject", (422, "key-reused")),
            ("Idempotency-Key: l\r\n", "approve", (409, "not-waiting")),
            ("", "approve", (409, "not-waiting")),
        ] {
            let (status, problem) = send(server, key, decision);
            assert_eq!((status, problem["code"].as_str().unwrap()), expected);
        }
        assert_eq!(of_kind(&env.events(), "decision-recorded").len(), 1);
        assert_eq!(of_kind(&env.events(), "key-taken").len(), 1);
    };
    check(&server);
    server.end();
    check(&ApiServer::start(&env, &model, &["--write"]));
    // The run of the answer is the same again.
    let ran = env.run(&["sessions", "replay", &session]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

//! Notifications: signed, sent again with the same id, and to no address that only this machine
//! reaches.

use super::{change_firing, last, model, past};
use crate::serve::open_request;
use agent_host_journal::{Firing, SqliteOptions, SqliteStore};
use agent_host_test_support::{
    TestEnv,
    api::ApiServer,
    chat::{Answer, ChatServer},
    http::Received,
    running::Running,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use ring::hmac;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    io::{BufReader, Write as _},
    net::{TcpListener, TcpStream},
};

const KEY: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";

/// A receiver of notifications.
struct Receiver {
    listener: TcpListener,
    address: String,
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        Self { listener, address }
    }

    /// Configures a schedule that notifies it.
    fn configure(&self, env: &TestEnv, schedule: &str) {
        env.write("key", KEY);
        let address = &self.address;
        env.configure(format!(
            "{schedule}notify = {{ url = \"http://{address}/hook?a=b\", secret = \"file:key\" }}\n"
        ));
    }

    /// Waits for a request, whose signature is checked.
    fn next(&self) -> (Received, TcpStream) {
        let (stream, _) = self.listener.accept().unwrap();
        let received = Received::read(&mut BufReader::new(&stream)).unwrap();
        assert_eq!(received.target(), "/hook?a=b");
        assert_eq!(received.field("content-type"), Some("application/json"));
        let field = |name: &str| received.field(name).unwrap();
        let (id, sent) = (field("webhook-id"), field("webhook-timestamp"));
        let signed = [format!("{id}.{sent}.").as_bytes(), &received.body].concat();
        let key: Vec<u8> = (0..24).collect();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        let signature = field("webhook-signature").strip_prefix("v1,").unwrap();
        let signature = STANDARD.decode(signature).unwrap();
        hmac::verify(&key, &signed, &signature).unwrap();
        (received, stream)
    }

    /// Waits for a notification, and takes it or does not.
    fn answer(&self, status: &str) -> (String, Value) {
        let (received, mut stream) = self.next();
        let response =
            format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(response.as_bytes()).unwrap();
        let body: Value = serde_json::from_slice(&received.body).unwrap();
        (received.field("webhook-id").unwrap().to_owned(), body)
    }
}

fn message(server: &ApiServer, kind: &str, outcome: &str, answer: &Value, body: &Value) -> Value {
    let [(_, session)] = last(server).try_into().unwrap();
    let waits = kind == "run.waiting";
    assert_eq!(body["data"]["expires_at"].is_string(), waits, "{body}");
    json!({
        "type": kind,
        "timestamp": body["timestamp"],
        "data": {
            "trigger": "schedule s",
            "session": session,
            "outcome": outcome,
            "status": if waits { "waiting-for-approval" } else { "done" },
            "expires_at": body["data"]["expires_at"],
            "answer": answer,
            "link": format!("http://{}/#/s/{session}", server.address),
        },
    })
}

/// Opens the store of a host.
async fn store(env: &TestEnv) -> SqliteStore {
    let state = env.outside().join("home/.local/state/agent-host");
    let store = SqliteStore::open(&state, SqliteOptions::default()).await;
    store.unwrap()
}

/// The name of the schedule in a state directory, which all configurations of a user share.
fn trigger(env: &TestEnv) -> String {
    let file = env.work().join("agent.toml").canonicalize().unwrap();
    format!("schedule s of {}", file.display())
}

fn due_now(firing: Firing) -> Firing {
    Firing {
        due_ms: Some(0),
        ..firing
    }
}

/// The receiver refuses the first attempt; then the server is killed. The next server sends it
/// again, under the same id, and no further one.
#[tokio::test(flavor = "multi_thread")]
async fn notification_is_sent_again_after_a_kill() {
    let env = TestEnv::new();
    let receiver = Receiver::start();
    receiver.configure(&env, &past("s"));
    let (model, _is_asked) = model(1);
    let mut server = ApiServer::start(&env, &model, &["--log", "warn"]);
    let (first, body) = receiver.answer("500 Internal Server Error");
    let expected = message(&server, "run.ended", "done", &json!("Done."), &body);
    assert_eq!(body, expected);
    server.running.stderr.line_with("the receiver answered 500");
    server.running.signal(Signal::KILL);
    drop(server);
    // As time does.
    let store = store(&env).await;
    let is_open = |firing: &Firing| firing.due_ms.is_some();
    change_firing(&store, &trigger(&env), is_open, due_now).await;
    drop(store);
    let server = ApiServer::start(&env, &model, &[]);
    let (second, body) = receiver.answer("204 No Content");
    assert_eq!(second, first);
    let expected = message(&server, "run.ended", "done", &json!("Done."), &body);
    assert_eq!(body, expected);
    assert_eq!(server.end().code, Some(0));
    assert_eq!(model.requests().len(), 1);
}

/// A run that waits for approval is told, and its end, too.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_run_is_told_and_then_its_end() {
    let env = TestEnv::new();
    let receiver = Receiver::start();
    receiver.configure(&env, &past("s"));
    let write = json!({"path": "a.txt", "content": "a"});
    let answers = vec![
        Answer::calls(&[("write_file", write)]),
        Answer::text("Written."),
    ];
    let model = ChatServer::start(answers);
    let server = ApiServer::start(&env, &model, &["--write"]);
    let (first, body) = receiver.answer("200 OK");
    let waits = message(
        &server,
        "run.waiting",
        "awaiting-confirmation",
        &Value::Null,
        &body,
    );
    assert_eq!(body, waits);
    let session = waits["data"]["session"].as_str().unwrap();
    let open = open_request(&server, session);
    let (_, number) = open["request"].as_str().unwrap().split_once('/').unwrap();
    let call = &open["awaiting"]["calls"][0]["call_id"];
    let decisions = json!([{"type": "approve", "call_id": call}]);
    let approve = json!({"continuation": open, "decisions": decisions});
    let path = format!("/sessions/{session}/requests/{number}/answer");
    assert_eq!(server.post(&path, &approve).status, 202);
    server.events(session, None).until("call-settled");
    let mut stream = server.events(session, None);
    stream.until("turn-ended");
    stream.until("turn-ended");
    // As time does: such a run is looked at again after 30 s.
    let store = store(&env).await;
    let is_told = |firing: &Firing| firing.notified.is_some() && firing.due_ms.is_some();
    change_firing(&store, &trigger(&env), is_told, due_now).await;
    let (second, body) = receiver.answer("200 OK");
    assert_ne!(second, first);
    let ended = message(&server, "run.ended", "done", &json!("Written."), &body);
    assert_eq!(body, ended);
}

/// Only the user chooses a receiver, and still: none without TLS but on this machine, and none at
/// an address that is no server's.
#[test]
fn receiver_that_may_not_be_reached_is_refused() {
    let env = TestEnv::new();
    env.write("key", KEY);
    for (url, said) in [
        (
            "http://192.0.2.1/",
            "is neither https nor on the same machine",
        ),
        (
            "https://169.254.169.254/latest",
            "is in a different network from its server",
        ),
    ] {
        env.configure(format!(
            "{}notify = {{ url = \"{url}\", secret = \"file:key\" }}\n",
            past("s")
        ));
        let mut command =
            env.command(&["serve", "--http", "127.0.0.1:0", "--model", "script:tour"]);
        let ran = Running::start(&mut command).end();
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(said), "{url}: {}", ran.stderr);
        assert!(ran.stderr.contains("of the schedule s"), "{ran:?}");
    }
}

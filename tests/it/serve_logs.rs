//! The log of `agent-host serve` as JSON, and what it says of telemetry that is lost.

use agent_host_test_support::{
    TestEnv,
    api::ApiServer,
    chat::{Answer, ChatServer},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::net::TcpListener;

/// Every line is an object with time, level and message; those of a run have its session, and those
/// of a call its call.
#[test]
fn log_is_json_with_session_and_call() {
    let env = TestEnv::new();
    env.write("list.txt", "bread");
    let model = ChatServer::start(vec![
        Answer::calls(&[("read_file", json!({"path": "list.txt"}))]),
        Answer::text("Done \u{1b}[31m."),
    ]);
    let mut server = ApiServer::start(&env, &model, &["--log-format", "json", "--log", "info"]);
    let session = server.create("go");
    let mut stream = server.events(&session, None);
    stream.until("turn-ended");
    stream.until("turn-ended");
    server.running.stderr.until("the run ended");
    let ran = server.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines = ran.stderr.lines();
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    for line in &lines {
        let fields = ["time", "level", "message"].map(|field| line[field].as_str());
        let [Some(time), Some(level), Some(_)] = fields else {
            panic!("{line}");
        };
        assert!(time.ends_with('Z') && time.contains('T'), "{line}");
        assert!(["INFO", "WARN", "ERROR"].contains(&level), "{line}");
    }
    let with = |message: &str| {
        let mut found = lines.iter().filter(|line| line["message"] == message);
        let line = found
            .next()
            .unwrap_or_else(|| panic!("{message}: {lines:#?}"));
        assert_eq!(found.next(), None);
        ["session", "call", "tool", "outcome"].map(|field| line[field].clone())
    };
    assert_eq!(
        with("the call ended"),
        [
            json!(session),
            json!("call_0"),
            json!("read_file"),
            json!("text")
        ]
    );
    assert_eq!(
        with("the run ended"),
        [json!(session), Value::Null, Value::Null, json!("done")]
    );
}

/// A failure before the server serves is a line of the log, too, and the variable is as the flag.
#[test]
fn failure_of_the_start_is_json() {
    let env = TestEnv::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = env
        .command(&["serve", "--quiet", "--http", &address])
        .env("AGENT_HOST_LOG_FORMAT", "json")
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    let line: Value = serde_json::from_slice(&ran.stderr).unwrap();
    assert_eq!(line["level"], "ERROR");
    let message = line["message"].as_str().unwrap();
    let start = format!("cannot listen at {address}: ");
    assert!(message.starts_with(&start), "{message}");
}

/// Traces that the collector does not take are told of while the server runs, and not at its end
/// alone.
#[test]
fn lost_traces_are_logged_while_it_runs() {
    let env = TestEnv::new();
    // Refuses connections: nothing listens there any more.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = listener.local_addr().unwrap();
    drop(listener);
    env.configure(format!("[telemetry]\nendpoint = \"http://{closed}\"\n"));
    let model = ChatServer::start(vec![Answer::text("Done.")]);
    let mut server = ApiServer::start(&env, &model, &["--log-format", "json"]);
    let session = server.create("go");
    server.events(&session, None).until("turn-ended");
    let line = server.running.stderr.line_with("traces are not sent");
    let line: Value = serde_json::from_str(&line).unwrap();
    let message = line["message"].as_str().unwrap();
    assert!(
        message.starts_with("traces are not sent: 2 spans: "),
        "{line}"
    );
    assert_eq!(line["level"], "WARN");
    assert_eq!(server.get("/health").status, 200);
}

//! The reference library of Standard Webhooks signs deliveries that `agent-host serve` takes, and
//! verifies the notifications that it sends.

use agent_host_test_support::{
    TestEnv,
    api::ApiServer,
    chat::{Answer, ChatServer},
    http::Received,
    installed::{here, standard_webhooks},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    io::{BufReader, Write as _},
    net::TcpListener,
    path::Path,
    process::{Command, Stdio},
    time::SystemTime,
};

const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Runs the script, and returns what it printed.
fn check(python: &Path, action: &str, given: &Value) -> String {
    let mut child = Command::new(python)
        .arg(here("interop/webhooks/check.py"))
        .arg(action)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = given.to_string();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn reference_library_signs_and_verifies() {
    let Some(python) = standard_webhooks() else {
        return;
    };
    let receiver = TcpListener::bind("127.0.0.1:0").unwrap();
    let env = TestEnv::new();
    env.write("key", KEY);
    env.configure(format!(
        "[[webhook]]\nname = \"w\"\nprompt = \"Sort this.\"\nsecret = \"file:key\"\n\
         notify = {{ url = \"http://{}/\", secret = \"file:key\" }}\n",
        receiver.local_addr().unwrap()
    ));
    let model = ChatServer::start(vec![Answer::text("Sorted.")]);
    let server = ApiServer::start(&env, &model, &[]);

    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.unwrap().as_secs();
    let body = r#"{"type": "issue.opened", "title": "ünï"}"#;
    let given = json!({"key": KEY, "id": "msg_1", "timestamp": now, "body": body});
    let signature = check(&python, "sign", &given);
    let fields = format!(
        "webhook-id: msg_1\r\nwebhook-timestamp: {now}\r\nwebhook-signature: {signature}\r\n"
    );
    let taken = server.raw("", "POST /webhooks/w", &fields, Some(body));
    assert_eq!(taken.status, 202, "{taken:?}");

    let (mut stream, _) = receiver.accept().unwrap();
    let received = Received::read(&mut BufReader::new(&stream)).unwrap();
    let response = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
    stream.write_all(response.as_bytes()).unwrap();
    let field = |name: &str| received.field(name).unwrap();
    let given = json!({
        "key": KEY,
        "id": field("webhook-id"),
        "timestamp": field("webhook-timestamp"),
        "signature": field("webhook-signature"),
        "body": String::from_utf8(received.body.clone()).unwrap(),
    });
    let verified: Value = serde_json::from_str(&check(&python, "verify", &given)).unwrap();
    assert_eq!(
        json!([
            verified["type"],
            verified["data"]["session"],
            verified["data"]["answer"]
        ]),
        json!(["run.ended", taken.json()["session"], "Sorted."])
    );
}

//! The status of a session: the same in `sessions list`, in the API, on the page and in the metrics.

use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, TOKEN},
    chat::{Answer, ChatServer},
};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::net::TcpListener;

/// A model that never answers.
fn silent() -> (TcpListener, ChatServer) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut server = ChatServer::start(Vec::new());
    server.base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    (listener, server)
}

/// The status of the only session in `sessions list --json`.
fn listed(env: &TestEnv) -> Value {
    let rows = env.run(&["sessions", "list", "--json"]).json_lines();
    assert_eq!(rows.len(), 1, "{rows:?}");
    rows[0]["status"].clone()
}

/// The statuses of the API, which the page reads, of the row and of the list; and those of which the
/// metrics have sessions.
fn served(server: &ApiServer, session: &str) -> (Value, Value, Vec<String>) {
    let row = server.get(&format!("/sessions/{session}")).json();
    let list = server.get("/sessions").json();
    let metrics = server.raw(TOKEN, "GET /metrics", "", None).body;
    let counted = metrics.lines().filter_map(|line| {
        let state = line.strip_prefix("agent_host_sessions{state=\"")?;
        let (state, count) = state.split_once("\"} ")?;
        (count != "0").then(|| format!("{state} {count}"))
    });
    (
        row["status"].clone(),
        list["sessions"][0]["status"].clone(),
        counted.collect(),
    )
}

#[test]
fn session_killed_in_a_turn_is_interrupted_everywhere() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("First.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("go");
    server.events(&session, None).until("turn-ended");
    while server.get(&format!("/sessions/{session}")).json()["running"] == true {}
    let all = |status: &str| (json!(status), json!(status), vec![format!("{status} 1")]);
    assert_eq!(served(&server, &session), all("done"));
    assert_eq!(listed(&env), "done");
    assert_eq!(server.end().code, Some(0));

    // The next turn of the session that was done.
    let (_listener, model) = silent();
    let server = ApiServer::start(&env, &model, &[]);
    let message = json!({"message": "more"});
    let sent = server.post(&format!("/sessions/{session}/messages"), &message);
    assert_eq!(sent.status, 202);
    assert_eq!(served(&server, &session), all("running"));
    assert_eq!(listed(&env), "running");
    server.running.signal(Signal::KILL);
    assert_eq!(server.running.end().code, None);
    assert_eq!(listed(&env), "interrupted");
    let shown = env.run(&["sessions", "list"]).stdout;
    assert!(shown.contains("  interrupted  "), "{shown}");
    let server = ApiServer::start(&env, &model, &[]);
    assert_eq!(served(&server, &session), all("interrupted"));
}

/// A session that waits is listed with its request, as text and as JSON, and `doctor` tells.
#[test]
fn waiting_sessions_are_listed_with_their_requests() {
    let env = TestEnv::new();
    env.configure(
        "approval-expires-seconds = 3600\n[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n",
    );
    let none = env.run(&["sessions", "list", "--waiting"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    assert!(none.stderr.contains("No sessions are waiting."), "{none:?}");
    let note = json!({"path": "note.txt", "content": "hello"});
    let model = ChatServer::start(vec![
        Answer::text("Done."),
        Answer::calls(&[("write_file", note)]),
        Answer::text("Written."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let done = server.create("talk");
    server.events(&done, None).until("turn-ended");
    let waiting = server.create("write");
    server.events(&waiting, None).until("turn-ended");
    let rows = env
        .run(&["sessions", "list", "--waiting", "--json"])
        .json_lines();
    assert_eq!(rows.len(), 1, "{rows:?}");
    let row = &rows[0];
    assert_eq!(
        (&row["session"], &row["status"], &row["requests"]),
        (
            &json!(waiting),
            &json!("waiting-for-approval"),
            &json!([{"kind": "approval", "tools": ["write_file"]}])
        )
    );
    let time = |key: &str| row[key].as_u64().unwrap();
    assert_eq!(time("since_ms"), time("last_ms"));
    let left = time("expires_at_ms") - time("since_ms");
    assert!((3_500_000..=3_600_000).contains(&left), "{left}");
    let shown = env.run(&["sessions", "list", "--waiting"]).stdout;
    let [line] = shown.lines().collect::<Vec<_>>().try_into().unwrap();
    for part in [
        waiting.as_str(),
        "waiting for approval",
        "write_file",
        "in 59 min",
    ] {
        assert!(line.contains(part), "{part}: {shown}");
    }
    let doctor = env.run(&["doctor"]).stdout;
    assert!(
        doctor.contains("1 session waits for an approval"),
        "{doctor}"
    );
}

//! Tests sealed sessions: one host waits for results or a decision, and another host with the same
//! key, and a journal of its own, continues with them.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
};
use pretty_assertions::assert_eq;
use serde_json::json;

const CONFIG: &str = r#"
[[external-tool]]
name = "pay"
description = "Pays a bill."
approval = "never"
[external-tool.input-schema]
type = "object"
properties = { amount = { type = "integer" } }

[[grants.dir]]
host = "."
mode = "read-write"
"#;

const KEY: &str = "0707070707070707070707070707070707070707070707070707070707070707\n";

fn host(key: &str) -> TestEnv {
    let env = TestEnv::new();
    env.configure(CONFIG);
    env.write("key", key);
    env
}

/// Seals the session that one host waits in, and returns the text.
fn sealed(env: &TestEnv) -> String {
    let ran = env.run(&["sessions", "export", "latest", "--seal", "key"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

fn import(env: &TestEnv, sealed: &str, args: &[&str]) -> Ran {
    env.write("sealed", sealed);
    env.run(&[&["sessions", "import", "sealed"], args].concat())
}

/// Returns the id of the session that waits, and the id of the one that was imported.
fn moved(from: &TestEnv, to: &TestEnv) -> (String, String) {
    let ran = import(to, &sealed(from), &["--sealed", "key"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let own = from.run(&["sessions", "list", "--json"]).json()["session"].clone();
    (
        own.as_str().unwrap().to_owned(),
        ran.stdout.trim_end().to_owned(),
    )
}

#[test]
fn another_host_submits_the_results() {
    let (first, second) = (host(KEY), host(KEY));
    let server = ChatServer::start(vec![
        Answer::calls(&[("pay", json!({ "amount": 1 }))]),
        Answer::text("Paid."),
    ]);
    let ran = ask(&first, &server, &["--tool-runtime", "external", "pay"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let (own, there) = moved(&first, &second);
    assert_eq!(own, there);
    second.write(
        "results.json",
        r#"[{ "call_id": "call_0", "value": "done" }]"#,
    );
    let submit = ["--resume", &there, "--submit", "results.json"];
    let ran = ask(&second, &server, &submit);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Paid.\n"),
        "{ran:?}"
    );
    assert_eq!(server.tool_results(), ["done"]);
    // It is answered there once.
    let again = ask(&second, &server, &submit);
    assert_eq!(again.code, Some(2), "{again:?}");
    let again = import(&second, &sealed(&first), &["--sealed", "key"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(
        again.stderr.contains("a session with this id exists"),
        "{}",
        again.stderr
    );
}

/// A call that waits for approval is approved on the other host, and continues there.
#[test]
fn another_host_approves_the_call() {
    let config = CONFIG.replace("\"never\"", "[\"approve\", \"reject\"]");
    let (first, second) = (host(KEY), host(KEY));
    first.configure(&config);
    second.configure(&config);
    let server = ChatServer::start(vec![Answer::calls(&[("pay", json!({ "amount": 1 }))])]);
    let ran = ask(&first, &server, &["--permission-prompts", "later", "pay"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let (_, there) = moved(&first, &second);
    let decide = [
        "--resume",
        &there,
        "--decide",
        "call_0=approve",
        "--output-format",
        "json",
    ];
    let ran = ask(&second, &server, &decide);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(ran.json()["outcome"]["type"], "pending-tool-calls");
}

/// A decided session that was deleted is not imported from the file of before the decision.
#[test]
fn deleted_session_is_not_decided_twice() {
    let (first, second) = (host(KEY), host(KEY));
    let server = ChatServer::start(vec![
        Answer::calls(&[("pay", json!({ "amount": 1 }))]),
        Answer::text("Paid."),
    ]);
    let ran = ask(&first, &server, &["--tool-runtime", "external", "pay"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let file = sealed(&first);
    let ran = import(&second, &file, &["--sealed", "key"]);
    let session = ran.stdout.trim_end().to_owned();
    second.write(
        "results.json",
        r#"[{ "call_id": "call_0", "value": "done" }]"#,
    );
    let submit = ["--resume", &session, "--submit", "results.json"];
    assert_eq!(ask(&second, &server, &submit).code, Some(0));
    let deleted = second.run(&["sessions", "delete", &session]);
    assert_eq!(deleted.code, Some(0), "{deleted:?}");
    let again = import(&second, &file, &["--sealed", "key"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    let why = format!("session {session} was already here, with ");
    assert!(again.stderr.contains(&why), "{again:?}");
    assert_eq!(second.run(&["sessions", "list"]).stdout, "");
}

/// Approval is of a call as it was shown: a tool over another directory is another tool.
#[test]
fn call_of_a_tool_with_other_grants_is_not_approved() {
    let (first, second) = (host(KEY), host(KEY));
    let write = json!({ "path": "note.txt", "content": "hello" });
    let server = ChatServer::start(vec![Answer::calls(&[("write_file", write)])]);
    let ran = ask(&first, &server, &["--permission-prompts", "later", "write"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let (_, there) = moved(&first, &second);
    let ran = ask(
        &second,
        &server,
        &["--resume", &there, "--decide", "call_0=approve"],
    );
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("has changed since the call was shown"),
        "{}",
        ran.stderr
    );
    let written = |env: &TestEnv| env.work().join("note.txt").exists();
    assert_eq!((written(&first), written(&second)), (false, false));
}

/// Each refusal says why, and stores nothing.
#[test]
fn seal_that_does_not_fit_is_refused() {
    let first = host(KEY);
    let server = ChatServer::start(vec![Answer::text("Hello.")]);
    assert_eq!(ask(&first, &server, &["hi"]).code, Some(0));
    let sealed = sealed(&first);
    let flipped = |(at, c): (usize, char)| match (at, c) {
        (40, 'A') => 'B',
        (40, _) => 'A',
        _ => c,
    };
    let changed: String = sealed.char_indices().map(flipped).collect();
    let other = KEY.replace("07", "08");
    let cases: [(&str, &str, &[&str], &str); 5] = [
        (
            &other,
            &sealed,
            &["--sealed", "key"],
            "the seal does not match: it was made with another key, or the file was changed",
        ),
        (
            KEY,
            &changed,
            &["--sealed", "key"],
            "the seal does not match",
        ),
        (
            KEY,
            "{}",
            &["--sealed", "key"],
            "it is not a sealed session of this version of agent-host",
        ),
        (
            "07",
            &sealed,
            &["--sealed", "key"],
            "a key has 64 hexadecimal digits; create one with `openssl rand -hex 32`",
        ),
        // Without its key it is nothing that can be imported.
        (
            KEY,
            &sealed,
            &[],
            "it is neither a session from `sessions export` nor a conversation",
        ),
    ];
    for (key, text, args, why) in cases {
        let env = host(key);
        let ran = import(&env, text, args);
        assert_eq!(ran.code, Some(2), "{why}: {ran:?}");
        assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
        assert_eq!(env.run(&["sessions", "list"]).stdout, "");
    }
}

/// A session that waits for an agent stays where its agent is.
#[test]
fn session_that_waits_for_an_agent_is_not_sealed() {
    let env = host(KEY);
    let agent = "agents = [\"clerk\"]\n[[agent]]\nname = \"clerk\"\ndescription = \"Writes.\"\n";
    env.configure(format!("{agent}{CONFIG}"));
    let write = json!({ "path": "note.txt", "content": "hello" });
    let server = ChatServer::start(vec![
        Answer::calls(&[("agent_clerk", json!({ "instructions": "write" }))]),
        Answer::calls(&[("write_file", write)]),
    ]);
    let ran = ask(&env, &server, &["--permission-prompts", "later", "write"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let ran = env.run(&["sessions", "export", "latest", "--seal", "key"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(
        ran.stderr.contains("it waits for agents or nodes"),
        "{}",
        ran.stderr
    );
}

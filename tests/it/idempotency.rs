//! Tests `run --idempotency-key`: a prompt runs once under its key.

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
};
use pretty_assertions::assert_eq;
use serde_json::json;

/// Runs once, and prints the recorded answer as text and as JSON after that.
#[test]
fn ended_run_is_printed_and_not_repeated() {
    let env = TestEnv::new();
    let server = ChatServer::start(vec![Answer::text("Bees.")]);
    let key = ["--idempotency-key", "monday", "What hums?"];

    let first = ask(&env, &server, &key);
    let second = ask(&env, &server, &key);

    for ran in [&first, &second] {
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "Bees.\n"),
            "{ran:?}"
        );
    }
    assert!(
        second
            .stderr
            .contains("This run has already ended; nothing runs again."),
        "{}",
        second.stderr
    );
    assert_eq!(server.requests().len(), 1);
    let listed = env.run(&["sessions", "list", "--json"]).stdout;
    assert_eq!(listed.lines().count(), 1, "{listed}");

    let other = ask(
        &env,
        &server,
        &["--idempotency-key", "monday", "What sings?"],
    );
    assert_eq!(other.code, Some(2), "{other:?}");
    assert!(
        other.stderr.contains(
            "error: another prompt ran under this `--idempotency-key`; use a different key for each prompt"
        ),
        "{}",
        other.stderr
    );
}

/// A run that a budget ended continues, with the calls that ran before.
#[test]
fn interrupted_run_continues_under_its_key() {
    let env = TestEnv::new();
    env.write("list.txt", "bread");
    let read = Answer::calls(&[("read_file", json!({ "path": "list.txt" }))]);
    let server = ChatServer::start(vec![read, Answer::text("Bread is on it.")]);
    let key = ["--idempotency-key", "k", "What is on the list?"];

    let limited: Vec<&str> = ["--max-turns", "1"].into_iter().chain(key).collect();
    let first = ask(&env, &server, &limited);
    assert_eq!(first.code, Some(4), "{first:?}");
    let second = ask(&env, &server, &key);

    assert_eq!(
        (second.code, second.stdout.as_str()),
        (Some(0), "Bread is on it.\n"),
        "{second:?}"
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let roles: Vec<&str> = requests[1]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .filter(|role| *role != "system")
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool"]);
}

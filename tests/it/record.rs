//! Tests `--record` and `replay:`: a recorded run replays without its server.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

/// A session's events without the values that differ between runs: times and generated ids.
fn story(env: &TestEnv) -> Vec<Value> {
    let kinds = ["model-replied", "call-settled", "turn-ended"];
    let events = env
        .events()
        .into_iter()
        .map(|mut record| record["event"].take());
    events
        .filter(|event| kinds.iter().any(|kind| event["kind"] == *kind))
        .map(|event| {
            json!([
                event["kind"],
                event["reply"],
                event["call_id"],
                event["output"]
            ])
        })
        .collect()
}

fn replay(env: &TestEnv) -> Ran {
    env.run(&[
        "run",
        "--model",
        "replay:../run.jsonl",
        "what does a.txt say?",
    ])
}

/// The first answer asks for a retry, the second breaks off, the third calls tools, and the last
/// reports the results.
#[test]
fn recording_with_cut_stream_and_retry_replays() {
    let env = TestEnv::new();
    env.write("a.txt", "alpha\n");
    let server = ChatServer::start(vec![
        Answer::status("503 Busy", &json!({ "error": "busy" })),
        Answer::text("I will look, and then").cut(),
        Answer::calls(&[
            ("read_file", json!({ "path": "a.txt" })),
            ("read_file", json!({ "path": "gone.txt" })),
        ]),
        Answer::text("The file says alpha."),
    ]);
    let ran = ask(
        &env,
        &server,
        &["--record", "../run.jsonl", "what does a.txt say?"],
    );
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "The file says alpha.\n"),
        "{}",
        ran.stderr
    );
    let recorded = story(&env);
    assert_eq!(recorded.len(), 6, "{recorded:#?}");
    let file = env.work().join("../run.jsonl");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let again = replay(&env);
    assert_eq!(
        (again.code, again.stdout, story(&env)),
        (Some(0), ran.stdout, recorded),
        "{}",
        again.stderr
    );
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn invalid_recording_is_refused() {
    let env = TestEnv::new();
    env.write("taken", "mine");
    let server = ChatServer::start(vec![]);
    let taken = env.work().join("taken");
    for (ran, expected) in [
        (
            ask(&env, &server, &["--record", "taken", "hi"]),
            "taken: it already exists; choose a new file",
        ),
        (
            env.run(&["run", "--model", "script:tour", "--record", "new", "hi"]),
            "there is nothing to record: the model of this run does not use a server",
        ),
        (
            env.run(&["run", "--model", "replay:./taken", "hi"]),
            "Cannot play the recording: it does not start like a recording",
        ),
        (replay(&env), "run.jsonl: No such file"),
    ] {
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains(expected), "{expected}\n{}", ran.stderr);
    }
    assert_eq!(std::fs::read(taken).unwrap(), b"mine");
}

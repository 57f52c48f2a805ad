//! `sessions replay`: the corpus of recorded sessions, the session of a run, and rules tried out on
//! what was recorded.

use agent_host_test_support::{Ran, TestEnv, corpus};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs};

/// The kinds of events that the sessions of the corpus have together. One that a test of a new
/// feature adds belongs here, with a session.
const KINDS: &[&str] = &[
    "agent-spawned",
    "answer-received",
    "approval-requested",
    "call-intended",
    "call-settled",
    "calls-dispatched",
    "children-waiting",
    "decision-recorded",
    "input-received",
    "loop-configured",
    "model-replied",
    "model-requested",
    "node-intended",
    "node-settled",
    "node-skipped",
    "program-called",
    "program-ended",
    "question-asked",
    "repair-requested",
    "run-configured",
    "session-forked",
    "session-started",
    "state-merged",
    "turn-ended",
    "turn-interrupted",
    "workflow-ended",
    "workflow-started",
];

/// A change of the engine that does something else in a recorded session fails here. If it is
/// meant, the corpus is made anew (`tests/corpus/README.md`).
#[test]
fn corpus_of_recorded_sessions_replays_equal() {
    let env = TestEnv::new();
    let mut files: Vec<_> = fs::read_dir(corpus::directory())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
        .collect();
    files.sort();
    let mut differences = Vec::new();
    let mut kinds = BTreeSet::new();
    for file in &files {
        for line in fs::read_to_string(file).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            kinds.extend(line["event"]["kind"].as_str().map(str::to_owned));
        }
        let imported = env.run(&["sessions", "import", file.to_str().unwrap()]);
        assert_eq!(imported.code, Some(0), "{file:?}: {}", imported.stderr);
        let ran = env.run(&["sessions", "replay", imported.stdout.trim(), "--json"]);
        if ran.code != Some(0) {
            differences.push((file, ran));
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
    let missing = KINDS.iter().filter(|kind| !kinds.contains(**kind));
    let missing: Vec<_> = missing.collect();
    assert!(missing.is_empty(), "{missing:?} of {kinds:?}");
}

/// A directory with a note, and a session in which it was read and a file was to be written.
fn recorded() -> TestEnv {
    let env = TestEnv::new();
    env.write("note.txt", "hello\n");
    env.write(
        "script.toml",
        r#"
        [[turn]]
        call = [
            { tool = "read_file", input = { path = "note.txt" } },
            { tool = "write_file", input = { path = "out.txt", content = "x" } },
        ]

        [[turn]]
        text = "It says hello."
        "#,
    );
    let ran = env.run(&["run", "--model", "script:script.toml", "what does it say?"]);
    assert_eq!(ran.stdout, "It says hello.\n", "{}", ran.stderr);
    env
}

fn replay(env: &TestEnv, args: &[&str]) -> Ran {
    env.run(&[&["sessions", "replay", "latest"], args].concat())
}

/// Neither the configuration nor the tools nor the files of the run are needed, and nothing is
/// written.
#[test]
fn recorded_run_replays_without_its_directory() {
    let env = recorded();
    let before = env.events();
    let session = before[0]["session"].as_str().unwrap();
    for file in ["note.txt", "script.toml"] {
        fs::remove_file(env.work().join(file)).unwrap();
    }
    let ran = replay(&env, &[]);
    let count = before.len();
    let expected = format!("replayed {count} events of session {session}: equal\n");
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), expected.as_str()),
        "{}",
        ran.stderr
    );
    let ran = replay(&env, &["--json"]);
    let expected = json!({
        "session": session,
        "events": count,
        "is_equal": true,
        "difference": null,
    });
    assert_eq!((ran.code, ran.json()), (Some(0), expected));
    assert_eq!(env.events(), before);
}

/// Each rules file, the exit code, and the changes that it makes to the two recorded calls.
#[test]
fn recorded_calls_are_decided_again_under_other_rules() {
    let env = recorded();
    let table = [
        ("", 0, ["same", "same"]),
        (
            "[[rule]]\ndecision = \"deny\"\ntool = \"read_*\"\n",
            1,
            ["stricter", "same"],
        ),
        (
            "[[rule]]\ndecision = \"allow\"\ntool = \"write_file\"\n",
            1,
            ["same", "looser"],
        ),
    ];
    for (rules, code, changes) in table {
        env.write("rules.toml", rules);
        let ran = replay(&env, &["--policy", "rules.toml", "--json"]);
        assert_eq!(ran.code, Some(code), "{rules}: {}", ran.stderr);
        let report = ran.json();
        let found: Vec<_> = report["calls"]
            .as_array()
            .unwrap()
            .iter()
            .map(|call| call["change"].as_str().unwrap())
            .collect();
        assert_eq!(found, changes, "{rules}");
    }
    let ran = replay(&env, &["--policy", "rules.toml"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ran.stdout);
    assert!(lines[1].starts_with("looser "), "{}", ran.stdout);
    assert!(lines[1].ends_with("-> allow (rule.0)"), "{}", ran.stdout);
    assert_eq!(
        lines[2],
        "2 calls: 0 decided more strictly, 1 less strictly"
    );
}

/// A conversation of another program has no recorded setup.
#[test]
fn unreplayable_session_is_refused_with_its_own_exit_code() {
    let env = TestEnv::new();
    let messages = json!([
        { "role": "user", "content": "hi" },
        { "role": "assistant", "content": "hello" },
    ]);
    env.write("chat.json", messages.to_string());
    let imported = env.run(&["sessions", "import", "chat.json"]);
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    let ran = replay(&env, &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    let expected = "was recorded without the setup of its loop";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

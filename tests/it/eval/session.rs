//! Cases of recorded sessions.

use super::READER;
use agent_host_test_support::TestEnv;
use pretty_assertions::assert_eq;
use std::fs;

fn recorded() -> TestEnv {
    let env = TestEnv::new();
    env.write("reader.toml", READER);
    env.write("a.txt", "alpha");
    let ran = env.run(&[
        "run",
        "--model",
        "script:./reader.toml",
        "What does it say?",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    env
}

/// The case passes as it is, and fails for an agent that does something else.
#[test]
fn case_of_a_session_passes_and_finds_a_regression() {
    let env = recorded();
    for name in ["what-does-it-say", "what-does-it-say-2"] {
        let added = env.run(&["eval", "suite.toml", "--from-session", "latest"]);
        assert_eq!(
            added.stdout,
            format!("suite.toml: case {name}\n"),
            "{}",
            added.stderr
        );
    }
    // What the calls read is named, and the user chooses what a run gets.
    let added = env.run(&["eval", "other.toml", "--from-session", "latest", "--json"]);
    assert_eq!(
        added.json()["read"],
        serde_json::json!(["/workspace/a.txt"])
    );
    env.write("data/a.txt", "alpha");
    let suite = fs::read_to_string(env.work().join("suite.toml")).unwrap();
    let with_files = suite.replace("prompt =", "files = \"data\"\nprompt =");
    env.write("suite.toml", with_files);
    let eval = |script: &str| env.run(&["eval", "suite.toml", "--model", script, "--json"]);
    let report = eval("script:./reader.toml");
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    env.write("lazy.toml", "[[turn]]\ntext = \"alpha\"\n");
    let report = eval("script:./lazy.toml");
    assert_eq!(report.code, Some(1), "{}", report.stderr);
    assert_eq!(report.json()["totals"]["passed_cases"], 0);
}

#[test]
fn session_that_makes_no_case_changes_nothing() {
    let env = recorded();
    env.write("suite.toml", "[[case]]\nname = \"a\"\nprompt = \"p\"\n");
    let before = fs::read_to_string(env.work().join("suite.toml")).unwrap();
    let cases = [
        (vec!["suite.toml"], "it expects nothing"),
        (
            vec!["new.toml", "--message", "2"],
            "it has 1 messages of the user",
        ),
    ];
    for (args, expected) in cases {
        let args = [&["eval", "--from-session", "latest"], args.as_slice()].concat();
        let ran = env.run(&args);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
    assert_eq!(
        fs::read_to_string(env.work().join("suite.toml")).unwrap(),
        before
    );
    assert!(!env.work().join("new.toml").exists());
}

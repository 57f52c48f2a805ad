//! Tests what tools change beyond their result: artifacts, the end of the run, and the context that
//! they read.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
    installed::here,
    of_kind,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A directory with the tools of the conformance suite.
fn env(tool: &str) -> TestEnv {
    let env = TestEnv::new();
    let guest = here("guests/dist/conformance.wasm");
    env.write("suite.wasm", std::fs::read(guest).unwrap());
    env.configure(format!(
        "agents = [\"clerk\"]\n\
         [[agent]]\nname = \"clerk\"\ndescription = \"Helps.\"\n\
         [[tool]]\nname = \"suite\"\ncomponent = \"suite.wasm\"\napproval = \"never\"\n{tool}"
    ));
    env
}

const GRANTED: &str = "artifacts = \"read-write\"";

fn ends(end: &str) -> Answer {
    Answer::calls(&[("change_and_end", json!({ "end": end }))])
}

fn run(env: &TestEnv, answers: Vec<Answer>, args: &[&str]) -> (Ran, ChatServer) {
    let server = ChatServer::start(answers);
    let ran = ask(env, &server, args);
    (ran, server)
}

fn artifacts(env: &TestEnv) -> Vec<Value> {
    let ran = env.run(&["sessions", "artifacts", "latest", "--json"]);
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn tool_ends_the_run_with_its_message_and_keeps_an_artifact() {
    let env = env(GRANTED);
    let (ran, server) = run(&env, vec![ends("success")], &["go"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "enough\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("A tool ended the run."),
        "{}",
        ran.stderr
    );
    // The model is not asked again.
    assert_eq!(server.requests().len(), 1);
    let events = env.events();
    let ended = of_kind(&events, "turn-ended").remove(0);
    assert_eq!(ended["outcome"]["type"], "halted");
    assert_eq!(ended["outcome"]["message"], "enough");
    // It does not wait.
    let listed = env.run(&["sessions", "list"]).stdout;
    assert!(listed.contains("  halted  "), "{listed}");
    let waiting = env.run(&["sessions", "list", "--waiting"]).stdout;
    assert_eq!(waiting, "");
    let kept = artifacts(&env);
    assert_eq!(kept.len(), 1);
    assert_eq!(
        (
            &kept[0]["name"],
            &kept[0]["media_type"],
            &kept[0]["size"],
            &kept[0]["tool"]
        ),
        (
            &json!("out.txt"),
            &json!("text/plain"),
            &json!(7),
            &json!("change_and_end")
        )
    );
    let read = env.run(&["sessions", "artifacts", "latest", "out.txt"]);
    assert_eq!(read.stdout, "changed");
    // A fork has the artifact with its bytes, whatever becomes of the original.
    let sessions = env.run(&["sessions", "list", "--json"]).json_lines();
    let original = sessions[0]["session"].as_str().unwrap().to_owned();
    let forked = env.run(&["sessions", "fork", &original]);
    assert_eq!(forked.code, Some(0), "{forked:?}");
    let deleted = env.run(&["sessions", "delete", &original]);
    assert_eq!(deleted.code, Some(0), "{deleted:?}");
    let read = env.run(&["sessions", "artifacts", "latest", "out.txt"]);
    assert_eq!(read.stdout, "changed", "{read:?}");
}

/// A failure, a denial, and a tool without the grant change nothing.
#[test]
fn tool_without_a_success_changes_nothing() {
    for (tool, end, code) in [
        (GRANTED, "error", "error-text"),
        (GRANTED, "error_json", "error-json"),
        (GRANTED, "denied", "execution-denied"),
        ("", "success", "execution-denied"),
        ("artifacts = \"read-only\"", "success", "execution-denied"),
    ] {
        let env = env(tool);
        let (ran, server) = run(&env, vec![ends(end), Answer::text("done")], &["go"]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "done\n"),
            "{ran:?}"
        );
        assert_eq!(server.requests().len(), 2);
        let events = env.events();
        let settled = of_kind(&events, "call-settled").remove(0);
        assert_eq!(settled["output"]["type"], code, "{settled}");
        for kind in ["state-merged", "artifact-stored", "run-halted"] {
            assert_eq!(of_kind(&events, kind).len(), 0, "{kind}");
        }
        assert_eq!(artifacts(&env), Vec::<Value>::new());
    }
    let env = env("");
    run(&env, vec![ends("success"), Answer::text("done")], &["go"]);
    let explained = env.run(&["explain", "latest"]);
    assert!(
        explained.stdout.contains("artifacts = \"read-write\""),
        "{}",
        explained.stdout
    );
}

#[test]
fn agent_that_halts_ends_the_whole_run() {
    let env = env(GRANTED);
    let start = Answer::calls(&[("agent_clerk", json!({ "instructions": "help" }))]);
    let args = ["--output-format", "json", "go"];
    let (ran, server) = run(&env, vec![start, ends("success")], &args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let outcome: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(outcome["outcome"]["type"], "halted", "{outcome}");
    assert_eq!(server.requests().len(), 2);
    // What the agent stored is among the artifacts of the one that started it.
    let events = env.events();
    assert_eq!(of_kind(&events, "artifact-stored").len(), 1);
}

#[test]
fn context_reaches_tools_and_not_the_model() {
    let env = env("");
    env.write("context.json", r#"{"user": "bob", "tenant": "bees"}"#);
    let read = || Answer::calls(&[("read_context", json!({}))]);
    for (argument, expected) in [
        (None, json!({})),
        (
            Some(r#"{"user": "ada", "tenant": "bees"}"#),
            json!({"user": "ada", "tenant": "bees"}),
        ),
        (
            Some("@context.json"),
            json!({"user": "bob", "tenant": "bees"}),
        ),
    ] {
        let mut args = vec!["go"];
        args.extend(argument.iter().flat_map(|value| ["--context-json", value]));
        let (ran, server) = run(&env, vec![read(), Answer::text("done")], &args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let result: Value = serde_json::from_str(&server.tool_results().concat()).unwrap();
        assert_eq!(result, expected);
        assert!(!server.requests().remove(0).to_string().contains("bees"));
    }
    // The next message of the session keeps it.
    let args = ["--resume", "latest", "again"];
    let (_, server) = run(&env, vec![read(), Answer::text("done")], &args);
    let results = server.tool_results();
    let last: Value = serde_json::from_str(results.last().unwrap()).unwrap();
    assert_eq!(last, json!({"user": "bob", "tenant": "bees"}));
}

#[test]
fn context_that_cannot_be_used_is_refused_before_anything_runs() {
    let env = env("");
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(16 * 1024));
    for (value, why) in [
        ("[1]", "it is not a JSON object"),
        ("{", "it is not a JSON object"),
        (
            long.as_str(),
            "it has 16392 bytes, and the maximum is 16384",
        ),
        ("@none.json", "none.json:"),
    ] {
        let (ran, server) = run(&env, Vec::new(), &["--context-json", value, "go"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let said = "invalid `--context-json`: ";
        assert!(
            ran.stderr.contains(&format!("{said}{why}")),
            "{}",
            ran.stderr
        );
        assert_eq!(server.requests().len(), 0);
    }
}

/// The grant is shown before anything runs, and configuration that came with a directory needs
/// trust for it.
#[test]
fn grant_of_artifacts_is_shown_and_needs_trust() {
    let env = env(GRANTED);
    let shown = env.run(&["inspect", "suite.wasm", "--grant", "artifacts:read-write"]);
    let line = "artifacts of the session, read-write";
    assert!(shown.stdout.contains(line), "{}", shown.stdout);
    let (ran, _) = run(&env, vec![Answer::text("hi")], &["go"]);
    assert!(ran.stderr.contains(line), "{}", ran.stderr);
}

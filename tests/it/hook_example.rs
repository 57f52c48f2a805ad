//! Runs the hook of `guest-tools/examples/guard` as a `[[hook]]`: each of its verdicts, and what
//! `explain` shows of them.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const CONFIG: &str = r#"
[[tool]]
name = "files"
component = "builtin:files"
[[grants.dir]]
host = "."
mode = "read-write"
[[rule]]
name = "all"
decision = "allow"
tool = "*"
[[hook]]
name = "guard"
component = "guard.wasm"
points = ["before-model", "after-model", "before-tool", "after-tool"]
"#;

/// The verdict about a call with a file of keys.
const BLOCKED: &str = "files with keys are neither read nor written here; continue without them";

/// A test directory with the built example as a hook.
fn guarded() -> TestEnv {
    let env = TestEnv::new();
    let guard = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../tests/guests/dist/guard.wasm"
    );
    env.write("guard.wasm", std::fs::read(guard).unwrap());
    env.write("notes/friends", "Ann is ann@example.com, Bob is out.\n");
    env.configure(CONFIG);
    env
}

/// A run with a model that makes this call, and then writes an address.
fn run(env: &TestEnv, call: (&str, Value), args: &[&str]) -> (ChatServer, Ran) {
    let answers = vec![
        Answer::calls(&[call]),
        Answer::text("Write to <ann@example.com>."),
    ];
    let server = ChatServer::start(answers);
    let ran = ask(env, &server, args);
    (server, ran)
}

/// The verdicts about calls of the latest session, as `explain` shows them.
fn explained(env: &TestEnv) -> Value {
    let explained = env.run(&["explain", "latest", "--json"]).json();
    let calls = explained["calls"].as_array().unwrap().iter();
    calls.map(|call| call["hooks"].clone()).collect()
}

fn verdict(point: &str, verdict: &str) -> Value {
    json!({ "hook": "guard", "point": point, "verdict": verdict })
}

#[test]
fn example_hook_blocks_a_call_with_keys() {
    let env = guarded();
    env.write(".env", "KEY=1");
    let call = ("read_file", json!({ "path": ".env" }));
    let (server, ran) = run(&env, call, &["go"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Write to <[address]>.\n"),
        "{ran:?}"
    );
    let result = &server.tool_results()[0];
    assert!(
        result.contains(&format!("{BLOCKED} (hook.guard)")),
        "{result}"
    );
    let mut expected = verdict("before-tool", "block");
    expected["reason"] = json!(BLOCKED);
    assert_eq!(explained(&env), json!([[expected]]));
    let shown = env.run(&["explain", "latest"]).stdout;
    assert!(
        shown.contains(&format!("hook guard before-tool block: {BLOCKED}")),
        "{shown}"
    );
}

#[test]
fn example_hook_masks_what_a_call_writes() {
    let env = guarded();
    let input = json!({ "path": "notes/new", "content": "To ann@example.com: hello.\n" });
    let (_, ran) = run(&env, ("write_file", input), &["go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let written = std::fs::read_to_string(env.work().join("notes/new")).unwrap();
    assert_eq!(written, "To [address]: hello.\n");
    assert_eq!(explained(&env), json!([[verdict("before-tool", "modify")]]));
}

#[test]
fn example_hook_masks_what_a_call_returns() {
    let env = guarded();
    let call = ("read_file", json!({ "path": "notes/friends" }));
    let (server, ran) = run(&env, call, &["go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let result = &server.tool_results()[0];
    assert!(result.contains("Ann is [address], Bob is out."), "{result}");
    assert!(!result.contains("ann@"), "{result}");
    assert_eq!(explained(&env), json!([[verdict("after-tool", "modify")]]));
}

/// The rules allow every call here, and the user is asked all the same.
#[test]
fn example_hook_asks_about_a_path_with_dots() {
    let env = guarded();
    let input = json!({ "path": "notes/../new", "content": "x" });
    let later = [
        "--permission-prompts",
        "later",
        "--output-format",
        "json",
        "go",
    ];
    let (server, ran) = run(&env, ("write_file", input), &later);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let waiting = &ran.json()["outcome"]["continuation"]["awaiting"]["calls"][0];
    assert_eq!(waiting["rule"], "hook.guard");
    assert!(!env.work().join("new").exists());
    let approved = ["--resume", "latest", "--decide", "call_0=approve"];
    let ran = ask(&env, &server, &approved);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(env.work().join("new").exists());
    assert_eq!(explained(&env), json!([[verdict("before-tool", "ask")]]));
}

#[test]
fn example_hook_blocks_a_request_with_a_key() {
    let env = guarded();
    let call = ("read_file", json!({ "path": "notes/friends" }));
    let key = "What is this? -----BEGIN RSA PRIVATE KEY-----\nMIIEow";
    let (server, ran) = run(&env, call, &[key]);
    let reason = "the conversation has a private key; start a new session without it";
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains(reason), "{ran:?}");
    assert_eq!(server.requests(), Vec::<Value>::new());
}

//! Tests tools that run outside: one process exports their calls, and another takes the results
//! with `--submit`.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
    of_kind,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const CONFIG: &str = r#"
[[external-tool]]
name = "pay"
title = "Pay a bill"
description = "Pays a bill."
approval = "never"
[external-tool.input-schema]
type = "object"
properties = { amount = { type = "integer" } }
required = ["amount"]
"#;

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.configure(CONFIG);
    env
}

/// A test directory whose model called `pay` twice, with a read in between.
fn pending(args: &[&str]) -> (TestEnv, ChatServer, Ran) {
    let env = env();
    let server = ChatServer::start(vec![
        Answer::calls(&[
            ("pay", json!({ "amount": 1 })),
            ("list_directory", json!({ "path": "." })),
            ("pay", json!({ "amount": 2 })),
        ]),
        Answer::text("That is all."),
    ]);
    let ran = ask(&env, &server, &[args, &["pay my bills"]].concat());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    (env, server, ran)
}

fn submit(env: &TestEnv, server: &ChatServer, results: &str) -> Ran {
    env.write("results.json", results);
    ask(
        env,
        server,
        &["--resume", "latest", "--submit", "results.json"],
    )
}

#[test]
fn external_calls_are_exported_and_submitted() {
    let (env, server, ran) = pending(&["--output-format", "json"]);
    let document = ran.json();
    let outcome = &document["outcome"];
    assert_eq!(
        (&outcome["type"], &outcome["summary"]["tool_runtime"]),
        (&json!("pending-tool-calls"), &json!("external"))
    );
    let calls = outcome["continuation"]["awaiting"]["calls"]
        .as_array()
        .unwrap();
    let shown: Vec<[&Value; 4]> = calls
        .iter()
        .map(|call| ["call_id", "tool", "title", "input"].map(|key| &call[key]))
        .collect();
    let (pay, title) = (json!("pay"), json!("Pay a bill"));
    assert_eq!(
        shown,
        [
            [&json!("call_0"), &pay, &title, &json!({ "amount": 1 })],
            [&json!("call_2"), &pay, &title, &json!({ "amount": 2 })],
        ]
    );
    let results = json!([
        { "call_id": "call_2", "output": { "type": "error-text", "value": "no funds" } },
        { "call_id": "call_0", "value": null },
    ]);
    let ran = submit(&env, &server, &results.to_string());
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "That is all.\n"),
        "{}",
        ran.stderr
    );
    let told = server.tool_results();
    assert_eq!([&told[0], &told[2]], ["null", r#"{"error":"no funds"}"#]);
    let events = env.events();
    let settled: Vec<&Value> = of_kind(&events, "call-settled")
        .iter()
        .filter(|event| event["tool"] == "pay")
        .map(|event| &event["output"])
        .collect();
    assert_eq!(
        settled,
        [
            &json!({ "type": "json", "value": null }),
            &json!({ "type": "error-text", "value": "no funds" }),
        ]
    );
    // T10: submitting the same results again reports nothing.
    let again = submit(&env, &server, &results.to_string());
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(
        again.stderr.contains("nothing is pending in this session"),
        "{}",
        again.stderr
    );
    assert_eq!(env.events(), events);
}

/// Without `--json`, the terminal output lists the calls.
#[test]
fn waiting_external_calls_are_listed_in_text_output() {
    let (_place, _server, ran) = pending(&[]);
    assert_eq!(ran.stdout, "");
    for shown in [
        "  call_0  pay {\"amount\":1}\n",
        "  call_2  pay {\"amount\":2}\n",
        "--submit results.json\n",
    ] {
        assert!(ran.stderr.contains(shown), "no {shown:?} in {}", ran.stderr);
    }
}

/// T9, T16: each fault has its own message and exit code 2 and records nothing; the right results
/// still work.
#[test]
fn mismatched_input_changes_nothing() {
    let (env, server, _) = pending(&[]);
    let before = env.events();
    let result = |call: &str| json!({ "call_id": call, "value": "paid" });
    let table = [
        (
            json!([result("call_0")]).to_string(),
            "no result was given for call call_2; submit one for each pending call",
        ),
        (
            json!([result("call_0"), result("call_2"), result("call_0")]).to_string(),
            "call call_0 was given two results",
        ),
        (
            json!([result("call_0"), result("call_1"), result("call_2")]).to_string(),
            "a result was submitted for call call_1, which is not waiting for one",
        ),
        (
            json!([result("call_0"), { "call_id": "call_2" }]).to_string(),
            "the result of call call_2 needs exactly one of `output` and `value`",
        ),
        (
            json!([result("call_0"), { "call_id": "call_2", "output": { "type": "words", "value": "x" } }]).to_string(),
            "unknown variant `words`",
        ),
        (
            json!([result("call_0"), {
                "call_id": "call_2",
                "output": { "type": "content", "value": [{
                    "type": "file", "media_type": "image/png", "data": { "type": "bytes", "value": "aGVsbG8=" },
                }] },
            }])
            .to_string(),
            "invalid result for call call_2",
        ),
        ("{".to_owned(), "cannot use the results in results.json"),
    ];
    for (results, why) in table {
        let ran = submit(&env, &server, &results);
        assert_eq!(ran.code, Some(2), "{results}: {ran:?}");
        assert!(ran.stderr.contains(why), "{results}: {}", ran.stderr);
        assert_eq!(env.events(), before, "{results}");
    }
    let decided = ask(
        &env,
        &server,
        &["--resume", "latest", "--decide", "call_0=approve"],
    );
    assert_eq!(decided.code, Some(2), "{decided:?}");
    assert!(
        decided.stderr.contains("waits for external results"),
        "{}",
        decided.stderr
    );
    let ran = submit(
        &env,
        &server,
        &json!([result("call_2"), result("call_0")]).to_string(),
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// Arguments are validated against the schema before export, and the user is asked first where the
/// tool requires it.
#[test]
fn external_call_is_checked_before_export() {
    let env = env();
    env.configure(CONFIG.replace("\"never\"", "[\"approve\", \"reject\"]"));
    let server = ChatServer::start(vec![
        Answer::calls(&[
            ("pay", json!({ "amount": "all" })),
            ("pay", json!({ "amount": 1 })),
        ]),
        Answer::text("That is all."),
    ]);
    let args = [
        "--permission-prompts",
        "later",
        "--output-format",
        "json",
        "go",
    ];
    let kind = |ran: &Ran| ran.json()["outcome"]["type"].clone();
    let asked = ask(&env, &server, &args);
    assert_eq!(
        (asked.code, kind(&asked)),
        (Some(3), json!("awaiting-confirmation"))
    );
    let args = [
        "--output-format",
        "json",
        "--resume",
        "latest",
        "--decide",
        "call_1=approve",
    ];
    let handed_out = ask(&env, &server, &args);
    assert_eq!(
        (handed_out.code, kind(&handed_out)),
        (Some(3), json!("pending-tool-calls"))
    );
    let ran = submit(
        &env,
        &server,
        &json!([{ "call_id": "call_1", "value": "paid" }]).to_string(),
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = server.tool_results();
    assert!(told[0].contains("invalid-input"), "{told:?}");
    assert_eq!(told[1], "paid");
}

#[test]
fn duplicate_tool_name_is_refused() {
    let env = TestEnv::new();
    env.configure(CONFIG.replace("\"pay\"", "\"read_file\""));
    let ran = env.run(&["run", "go"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains(
            "the component `files` and an [[external-tool]] both have the name `read_file`"
        ),
        "{}",
        ran.stderr
    );
}

const WRITES: &str = r#"
agents = ["clerk"]

[[tool]]
name = "files"
component = "builtin:files"

[[agent]]
name = "clerk"
description = "Reads files."
tools = ["read_file"]

[[grants.dir]]
host = "."
mode = "read-write"
"#;

fn outcome(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(3), "{ran:?}");
    ran.json()["outcome"].clone()
}

/// With `--tool-runtime external` the calls of components are handed out: once they are approved,
/// all of a turn at once, and after the session is resumed, too. Nothing of them runs here.
#[test]
fn calls_of_components_are_handed_out() {
    let env = TestEnv::new();
    env.configure(WRITES);
    env.write("a.txt", "here");
    let server = ChatServer::start(vec![
        Answer::calls(&[
            ("write_file", json!({ "path": "b.txt", "content": "b" })),
            ("read_file", json!({ "path": "a.txt" })),
        ]),
        Answer::calls(&[("read_file", json!({ "path": "a.txt" }))]),
        Answer::text("That is all."),
    ]);
    let args = [
        "--tool-runtime",
        "external",
        "--permission-prompts",
        "later",
    ];
    let json = ["--output-format", "json"];
    let ran = ask(&env, &server, &[&args[..], &json, &["go"]].concat());
    assert_eq!(outcome(&ran)["type"], "awaiting-confirmation");
    let decide = ["--resume", "latest", "--decide", "call_0=approve"];
    let ran = ask(&env, &server, &[&decide[..], &json].concat());
    let waiting = outcome(&ran);
    assert_eq!(waiting["type"], "pending-tool-calls");
    assert_eq!(waiting["summary"]["tool_runtime"], "external");
    let calls = waiting["continuation"]["awaiting"]["calls"].clone();
    let tools: Vec<&Value> = calls
        .as_array()
        .unwrap()
        .iter()
        .map(|call| &call["tool"])
        .collect();
    assert_eq!(tools, ["write_file", "read_file"]);
    assert!(!env.work().join("b.txt").exists());

    let results = json!([
        { "call_id": "call_0", "value": "written elsewhere" },
        { "call_id": "call_1", "value": "there" },
    ]);
    env.write("results.json", results.to_string());
    let submit = ["--resume", "latest", "--submit", "results.json"];
    let ran = ask(&env, &server, &[&submit[..], &json].concat());
    let waiting = outcome(&ran);
    assert_eq!(waiting["type"], "pending-tool-calls");
    assert_eq!(server.tool_results(), ["written elsewhere", "there"]);
    // A later run of the session has its tools here, if it says so.
    let call = &waiting["continuation"]["awaiting"]["calls"][0]["call_id"];
    let results = json!([{ "call_id": call, "value": "there again" }]);
    env.write("results.json", results.to_string());
    let host = ["--tool-runtime", "host"];
    let ran = ask(&env, &server, &[&submit[..], &host].concat());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "That is all.\n"));
    assert!(!env.work().join("b.txt").exists());
    assert_eq!(of_kind(&env.events(), "calls-dispatched").len(), 2);
}

/// Denied calls are denied, and the program's own tools run here; those of an agent wait in
/// its session.
#[test]
fn policy_and_agents_stay_here() {
    let env = TestEnv::new();
    env.configure(format!(
        "{WRITES}\n[[rule]]\nname = \"no\"\ndecision = \"deny\"\ntool = \"write_file\"\n"
    ));
    let start = json!({ "instructions": "read it" });
    let server = ChatServer::start(vec![
        Answer::calls(&[
            ("write_file", json!({ "path": "b.txt", "content": "b" })),
            ("agent_clerk", start),
        ]),
        Answer::calls(&[("read_file", json!({ "path": "a.txt" }))]),
    ]);
    let args = [
        "--tool-runtime",
        "external",
        "--output-format",
        "json",
        "go",
    ];
    let waiting = outcome(&ask(&env, &server, &args));
    assert_eq!(waiting["type"], "awaiting-children");
    let child = &waiting["continuation"]["awaiting"]["children"][0]["continuation"]["awaiting"];
    assert_eq!(
        (&child["kind"], &child["calls"][0]["tool"]),
        (&json!("external"), &json!("read_file"))
    );
    let events = env.events();
    let settled = of_kind(&events, "call-settled");
    assert_eq!(settled.len(), 1, "{settled:?}");
    assert_eq!(settled[0]["rule"], "rule.no");
}

//! Tests `compose` with the filter of `guest-tools/examples/redact` and filters from WebAssembly
//! text, in front of tools in Rust.

use crate::bad_input::check;
use agent_host_test_guests::{ASK, ASKS, BEHIND, Body, Guest, PASS};
use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
    installed::here,
    of_kind,
};
use pretty_assertions::assert_eq;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::fs;

const KEY: &str = "sk-0123456789abcdef";

/// A test directory with `tool.wasm`, the conformance guest in Rust, and the filter `redact.wasm`.
fn env() -> TestEnv {
    let env = TestEnv::new();
    for (name, built) in [("tool", "conformance"), ("redact", "redact")] {
        let bytes = fs::read(here(&format!("guests/dist/{built}.wasm"))).unwrap();
        env.write(&format!("{name}.wasm"), bytes);
    }
    env
}

/// Composes; the conformance guest has a tool that gives its result piece by piece.
fn compose(env: &TestEnv, args: &[&str]) -> Value {
    let ran = env.run(&[&["compose", "--json", "--unfiltered-pieces"], args].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()
}

/// Describes a file as a part.
fn part(env: &TestEnv, name: &str) -> Value {
    let bytes = fs::read(env.work().join(format!("{name}.wasm"))).unwrap();
    json!({ "name": name, "digest": digest(&bytes), "size_bytes": bytes.len() })
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

#[test]
fn example_filter_redacts_results_and_refuses_arguments() {
    let env = env();
    compose(&env, &["tool.wasm", "--with", "redact.wasm"]);
    let component = "tool-filtered.wasm";
    let call = |tool: &str, input: &str| env.run(&["call", component, tool, input, "--json"]);
    // The tool makes a key that is not in its arguments.
    let halves = r#"{"text":"sk-01234","times":2}"#;
    let ran = call("repeat", halves);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json(), json!({ "type": "text", "value": "[key]" }));
    let ran = call("give_text", r#"{"text":"no key"}"#);
    assert_eq!(ran.json(), json!({ "type": "text", "value": "no key" }));
    let ran = call("give_text", &json!({ "text": KEY }).to_string());
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let reason = "the arguments have an API key; call again without it";
    assert_eq!(ran.json()["reason"], reason);
}

#[test]
fn inspect_names_the_parts_of_nested_filters() {
    let env = env();
    let passes = Guest {
        imports: &[BEHIND],
        ..Guest::running(PASS)
    };
    env.write("passes.wasm", passes.bytes());
    let args = [
        "tool.wasm",
        "--with",
        "redact.wasm",
        "--with",
        "passes.wasm",
        "--output",
        "whole.wasm",
    ];
    let composed = compose(&env, &args);
    let whole = fs::read(env.work().join("whole.wasm")).unwrap();
    let parts = ["redact", "passes", "tool"].map(|name| part(&env, name));
    assert_eq!(
        composed,
        json!({
            "component": "whole.wasm",
            "digest": digest(&whole),
            "size_bytes": whole.len(),
            "parts": parts,
            "leaves_hooks_out": false,
        })
    );
    let inspected = env.run(&["inspect", "whole.wasm", "--json"]).json();
    assert_eq!(inspected["digest"], composed["digest"]);
    assert_eq!(inspected["parts"], composed["parts"]);
    let shown = env.run(&["inspect", "whole.wasm"]).stdout;
    let (_, listed) = shown.split_once("Parts (outermost first;").unwrap();
    let order = ["redact", "passes", "tool"].map(|name| listed.find(&format!("\n  {name} ")));
    assert!(order.is_sorted() && order[0].is_some(), "{shown}");
    let single = env.run(&["inspect", "tool.wasm", "--json"]).json();
    assert_eq!(single["parts"], json!([]));
}

/// The first filter is the outermost: it sees what the others make of a result.
#[test]
fn first_filter_sees_what_the_others_return() {
    let env = env();
    let leaks = Guest {
        imports: &[BEHIND],
        // It imports the tool behind, and answers all the same.
        core: r#"(func (export "unused") (call $behind
            (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
            (i32.const 0) (i32.const 0) (i32.const 16)))"#,
        ..Guest::returning(Body::Text(0, KEY.as_bytes()))
    };
    env.write("leaks.wasm", leaks.bytes());
    for (filters, expected) in [(["redact", "leaks"], "[key]"), (["leaks", "redact"], KEY)] {
        let [first, second] = filters.map(|name| format!("{name}.wasm"));
        let output = format!("{first}.composed");
        let args = [
            "tool.wasm",
            "--with",
            &first,
            "--with",
            &second,
            "-o",
            &output,
        ];
        compose(&env, &args);
        let ran = env.run(&["call", &output, "echo", "{}", "--json"]);
        assert_eq!(ran.json(), json!({ "type": "text", "value": expected }));
    }
}

/// The question of the tool behind pauses the run, and its answer runs both parts again.
#[test]
fn question_behind_a_filter_is_answered_by_another_process() {
    let env = env();
    let asks = Guest {
        imports: &[ASK],
        ..Guest::running(ASKS)
    };
    env.write("asks.wasm", asks.bytes());
    compose(&env, &["asks.wasm", "--with", "redact.wasm"]);
    env.configure("[[tool]]\nname = \"asks\"\ncomponent = \"asks-filtered.wasm\"\n");
    let server = ChatServer::start(vec![
        Answer::calls(&[("echo", json!({}))]),
        Answer::text("That is all."),
    ]);
    let ran = ask(&env, &server, &["--permission-prompts", "later", "go"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let answer = format!("call_0=respond:use {KEY}");
    let ran = ask(
        &env,
        &server,
        &["--resume", "latest", "--decide", answer.as_str()],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.tool_results(), ["use [key]"]);
    assert_eq!(of_kind(&env.events(), "call-settled").len(), 1);
}

/// The lock pins the whole; another filter in front of the same tool is a change.
#[test]
fn composed_component_is_pinned_as_a_whole() {
    let env = env();
    compose(&env, &["tool.wasm", "--with", "redact.wasm"]);
    env.configure("[[tool]]\nname = \"mine\"\ncomponent = \"tool-filtered.wasm\"\n");
    let accepted = env.run(&["lock", "--accept", "mine"]);
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
    fs::remove_file(env.work().join("tool-filtered.wasm")).unwrap();
    let args = [
        "tool.wasm",
        "--with",
        "redact.wasm",
        "--with",
        "redact.wasm",
    ];
    compose(&env, &args);
    let ran = env.run(&["call", "mine", "give_text", r#"{"text":"a"}"#]);
    check(&ran, 2, &["agent-host lock --accept mine"]);
}

#[test]
fn bad_input_writes_nothing() {
    let env = env();
    env.write("text.wasm", "hello");
    env.write(
        "cut.wasm",
        &fs::read(env.work().join("tool.wasm")).unwrap()[..70_000],
    );
    env.write("there.wasm", "mine");
    let pipe = env.work().join("pipe.wasm");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
    let table: [(&str, &str, &str, i32, &str); 10] = [
        (
            "tool.wasm",
            "tool.wasm",
            "out.wasm",
            2,
            "`tool`: it is a tool, not a filter",
        ),
        (
            "redact.wasm",
            "redact.wasm",
            "out.wasm",
            2,
            "`redact`: it is a filter, not a tool",
        ),
        (
            "text.wasm",
            "redact.wasm",
            "out.wasm",
            2,
            "`text`: it is not a WebAssembly component",
        ),
        (
            "cut.wasm",
            "redact.wasm",
            "out.wasm",
            2,
            "cannot use `cut`: ",
        ),
        (
            "no.wasm",
            "redact.wasm",
            "out.wasm",
            2,
            "cannot read no.wasm: No such file",
        ),
        (
            ".",
            "redact.wasm",
            "out.wasm",
            2,
            "cannot read .: it is not a regular file",
        ),
        (
            "pipe.wasm",
            "redact.wasm",
            "out.wasm",
            2,
            "it is not a regular file",
        ),
        (
            "tool.wasm",
            "redact.wasm",
            "out.wasm",
            2,
            "gives results that no filter sees; `--unfiltered-pieces` lets them go past the filters",
        ),
        (
            "tool.wasm",
            "redact.wasm",
            "there.wasm",
            2,
            "there.wasm already exists",
        ),
        (
            "tool.wasm",
            "redact.wasm",
            "tool.wasm",
            2,
            "tool.wasm already exists",
        ),
    ];
    let tool = fs::read(env.work().join("tool.wasm")).unwrap();
    for (tool, filter, output, code, says) in table {
        let ran = env.run(&["compose", tool, "--with", filter, "--output", output]);
        check(&ran, code, &[says]);
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        assert!(!env.work().join("out.wasm").exists(), "{ran:?}");
    }
    assert_eq!(fs::read(env.work().join("tool.wasm")).unwrap(), tool);
    assert_eq!(fs::read(env.work().join("there.wasm")).unwrap(), b"mine");
}

#[test]
fn filter_by_itself_is_told_to_be_composed() {
    let env = env();
    let ran = env.run(&["call", "redact.wasm"]);
    let compose = "agent-host compose TOOL --with FILTER";
    check(&ran, 2, &["the component is a filter", compose]);
}

//! A component of ACT, packed by ACT's own tool: the same calls through ACT's host and through this
//! one give the same results.

use agent_host_test_support::{
    TestEnv,
    installed::{act_packages, here},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

/// A tool, its arguments, and the form of its result.
const CALLS: [(&str, &str, Form); 9] = [
    ("greet", r#"{"name":"Ann"}"#, Form::Text),
    ("add", r#"{"a":2,"b":-3}"#, Form::Json),
    (
        "echo",
        r#"{"text":"ü","number":1.5,"list":[1,-2],"flag":true}"#,
        Form::Json,
    ),
    ("json", "{}", Form::Json),
    ("raw", "{}", Form::Json),
    ("count", r#"{"n":3}"#, Form::Text),
    ("fail", r#"{"kind":"std:not-found"}"#, Form::Error),
    ("fail", r#"{"kind":"acme:own"}"#, Form::Error),
    ("read", r#"{"path":"/etc/passwd"}"#, Form::Error),
];

enum Form {
    Text,
    Json,
    /// Both fail with the kind and the message; the reason for a refused file differs.
    Error,
}

#[test]
fn calls_through_both_hosts_have_the_same_results() {
    let Some(packages) = act_packages() else {
        return;
    };
    let env = TestEnv::new();
    let component = packed(&env, &packages);
    env.configure("[sandbox]\nwasi = \"0.3\"\n");
    for (tool, arguments, form) in CALLS {
        let theirs = Command::new(packages.join("bin/act"))
            .args(["call".as_ref(), component.as_os_str(), tool.as_ref()])
            .args(["--args", arguments])
            .env("HOME", env.outside())
            .output()
            .unwrap();
        let (said, failed) = (text(&theirs.stdout), text(&theirs.stderr));
        let ours = env.run(&["call", component.to_str().unwrap(), tool, arguments]);
        match form {
            Form::Text => assert_eq!(lines(&ours.stdout), lines(&said), "{tool}: {failed}"),
            Form::Json => assert_eq!(json_of(&ours.stdout), json_of(&said), "{tool}: {failed}"),
            Form::Error => {
                let failed = failed.lines().find_map(|line| line.strip_prefix("Error: "));
                let failed = failed.unwrap();
                let (kind, _) = failed.split_once(": ").unwrap();
                let expected = if tool == "read" { kind } else { failed };
                let said = format!("{}{}", ours.stdout, ours.stderr);
                assert!(said.contains(expected), "{tool}: {expected} {said}");
                assert!(!said.contains("backtrace"), "{said}");
            }
        }
    }
    let inspected = env.run(&["inspect", component.to_str().unwrap()]).stdout;
    let asked = "it asks for wasi:filesystem (/data/** ro), wasi:http (GET api.example.com)";
    assert!(inspected.contains(asked), "{inspected}");
    assert!(inspected.contains("act:tools@0.2.0"), "{inspected}");
}

/// Packs the component as its author would.
fn packed(env: &TestEnv, packages: &Path) -> std::path::PathBuf {
    let component = env.write("act.wasm", fs::read(here("guests/dist/act.wasm")).unwrap());
    env.write(
        "act.toml",
        r#"[std]
name = "act-guest"
version = "0.1.0"
description = "Tools of every shape"
[std.capabilities."wasi:filesystem"]
allow = [{ path = "/data/**", mode = "ro" }]
[std.capabilities."wasi:http"]
allow = [{ host = "api.example.com", methods = ["GET"] }]
"#,
    );
    let packed = Command::new(packages.join("bin/act-build"))
        .args(["pack".as_ref(), component.as_os_str()])
        .current_dir(env.work())
        .output()
        .unwrap();
    assert!(packed.status.success(), "{}", text(&packed.stderr));
    component
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.is_empty()).collect()
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

//! Attacks by a script on `builtin:code`: the model writes it, perhaps as a page or a file told it
//! to. Each row is a script and the whole end of its call.

mod globals;
mod promises;
mod reach;
mod source;
mod values;

use agent_host_test_support::{Ran, TestEnv, dist};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{io::Write as _, process::Stdio};

/// The tool that changes nothing.
const READ: &str = "run_javascript";

/// The tool with effects.
const CHANGE: &str = "run_javascript_with_effects";

/// The end of a call.
enum End {
    /// The value of the script, alone.
    Value(Value),
    /// The value with a note.
    Noted(Value, &'static str),
    /// A failure with this text.
    Error(&'static str),
    /// A failure of the host with this code.
    Coded(&'static str),
    /// A refusal for this reason, without what the tool said then.
    Denied(&'static str),
}

use End::{Coded, Denied, Error};

fn is(value: impl Into<Value>) -> End {
    End::Value(value.into())
}

/// Runs the program with a script on its standard input.
fn run(env: &TestEnv, tool: &str, code: &str, more: &[&str]) -> Ran {
    let component = dist().join("code.wasm");
    let args = [
        &["call", component.to_str().unwrap(), tool, "-", "--json"],
        more,
    ]
    .concat();
    let mut running = env.command(&args);
    running.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = running.stderr(Stdio::piped()).spawn().unwrap();
    let input = json!({ "code": code }).to_string();
    let mut stdin = running.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    running.wait_with_output().unwrap().into()
}

/// Calls a tool with a script, and returns its result.
fn call(env: &TestEnv, tool: &str, code: &str, more: &[&str]) -> Value {
    run(env, tool, code, more).json()
}

/// Compares the ends of scripts with the expected ones.
fn check(env: &TestEnv, tool: &str, more: &[&str], rows: &[(&str, End)]) {
    for (code, expected) in rows {
        let result = call(env, tool, code, more);
        let row: String = code.chars().take(200).collect();
        match expected {
            End::Value(value) => {
                let expected = json!({ "type": "json", "value": { "value": value } });
                assert_eq!(result, expected, "{row}");
            }
            End::Noted(value, note) => {
                let value = json!({ "notes": [note], "value": value });
                assert_eq!(result, json!({ "type": "json", "value": value }), "{row}");
            }
            Error(text) => {
                let expected = json!({ "type": "error-text", "value": text });
                assert_eq!(result, expected, "{row}");
            }
            Coded(code) => {
                let found = (&result["type"], &result["value"]["code"]);
                assert_eq!(found, (&json!("error-json"), &json!(code)), "{row}");
            }
            Denied(reason) => {
                assert_eq!(result["type"], "execution-denied", "{row}: {result}");
                let found = result["reason"].as_str().unwrap();
                let (host, _) = found
                    .split_once(". The tool then said: ")
                    .unwrap_or((found, ""));
                assert_eq!(host, *reason, "{row}");
            }
        }
    }
}

/// A working directory with a file, a directory, links out of it and a file beside it that nothing
/// grants.
fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("a.txt", "hi");
    env.write("sub/b.txt", "b");
    std::fs::write(env.outside().join("secret"), "SECRET").unwrap();
    for (target, name) in [
        ("..", "up"),
        ("../secret", "out"),
        ("/etc/hostname", "etc"),
        ("loop", "loop"),
    ] {
        std::os::unix::fs::symlink(target, env.work().join(name)).unwrap();
    }
    env
}

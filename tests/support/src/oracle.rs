//! Runs `oracle/check.py`, which checks requests against the official SDKs.

use super::installed::{here, sdks};
use serde_json::{Value, json};
use std::{
    io::{Seek as _, Write as _},
    process::{Command, Output, Stdio},
};

/// The wires, by their names in the oracle and the adapters' directories.
pub const WIRES: [&str; 5] = [
    "anthropic",
    "gemini",
    "ollama",
    "openai_chat",
    "openai_responses",
];

/// A request body of one wire, and its name in an error.
pub struct Request {
    pub wire: String,
    pub name: String,
    pub body: Value,
}

/// Runs the oracle on these lines; `None` if the SDKs cannot be installed.
pub fn ask(args: &[&str], input: &str) -> Option<Output> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(input.as_bytes()).unwrap();
    file.rewind().unwrap();
    let output = Command::new(sdks()?)
        .arg("-B")
        .arg(here("interop/oracle/check.py"))
        .args(args)
        .stdin(Stdio::from(file))
        .output();
    Some(output.unwrap())
}

/// Asserts that the SDKs' types accept all of these requests; skipped with a message if the SDKs
/// cannot be installed.
pub fn assert_accepted(requests: &[Request]) {
    let lines: String = requests
        .iter()
        .map(|Request { wire, name, body }| {
            let line = json!({ "wire": wire, "name": name, "request": body });
            format!("{line}\n")
        })
        .collect();
    let Some(output) = ask(&[], &lines) else {
        return;
    };
    let told = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}{stderr}");
    assert_eq!(told.lines().count(), requests.len(), "{told}{stderr}");
}

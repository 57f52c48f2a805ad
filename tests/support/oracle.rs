//! The official SDKs' opinion of our requests (`oracle/check.py`).

use super::installed::{here, sdks};
use serde_json::{Value, json};
use std::{
    io::{Seek as _, Write as _},
    process::{Command, Output, Stdio},
};

/// The wires, as the oracle and the folders of the adapters call them.
pub(crate) const WIRES: [&str; 5] = [
    "anthropic",
    "gemini",
    "ollama",
    "openai_chat",
    "openai_responses",
];

/// A request body of one wire, and what it is called in a complaint.
pub(crate) struct Request {
    pub(crate) wire: String,
    pub(crate) name: String,
    pub(crate) body: Value,
}

/// Runs the oracle with these lines as its input; none where the SDKs cannot be installed.
pub(crate) fn ask(args: &[&str], input: &str) -> Option<Output> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(input.as_bytes()).unwrap();
    file.rewind().unwrap();
    let output = Command::new(sdks()?)
        .arg("-B")
        .arg(here("oracle/check.py"))
        .args(args)
        .stdin(Stdio::from(file))
        .output();
    Some(output.unwrap())
}

/// The SDKs' types take all of these requests; or the SDKs cannot be installed, and it was said.
pub(crate) fn assert_accepted(requests: &[Request]) {
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

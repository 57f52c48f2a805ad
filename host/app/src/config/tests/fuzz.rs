//! Any text as `agent.toml` and as `agent.lock`: a configuration, or one readable paragraph that
//! names the file.

use super::Tree;
use crate::{LockFile, Overrides, mutations::mutated};
use proptest::prelude::*;

const CONFIG: &str = r#"model = "script:tour"
fallback = ["ollama:m", "openai-compat:m"]
state-dir = "state"
max-turns = 5
approval-timing = "in-order"
[budgets]
tokens = 100000
usd = 1.5
[prices."openai-compat:*"]
input = 0.15
output = 0.6
[ollama]
base-url = "http://127.0.0.1:11434"
api-key = "file:key"
vision = false
max-output-tokens = 100
denied-is-error = true
total-timeout-seconds = 60
retries = 1
[[provider]]
name = "work"
kind = "azure"
base-url = "https://a.example/openai/v1"
api-key = "env:KEY"
key-header = "api-key"
headers = { x-team = "env:TEAM" }
query = { api-version = "preview" }
[[external-tool]]
name = "pay"
description = "Pays."
approval = ["approve", "reject"]
input-schema = { type = "object", properties = { amount = { type = "integer" } } }
[[tool]]
name = "files"
component = "builtin:files"
approval = "always"
[tool.limits]
deadline-ms = 5000
[[tool.dir]]
host = "data"
deny = ["*.key", "a/**/b"]
[[hook]]
name = "guard"
component = "guard.wasm"
points = ["before-tool", "after-model"]
tools = ["write_*"]
on-error = "pass"
[[workflow]]
name = "report"
reduce = { notes = "append" }
[[workflow.node]]
id = "find"
tool = "search_files"
input = { glob = "'*.md'", day = "'2026-01-31'", limit = 5.5 }
next = ["read", { to = "read", when = "find.error == null" }]
retry = { times = 2, backoff-ms = 500 }
[[workflow.node]]
id = "read"
agent = "general-purpose"
foreach = { over = "find.output.files", mode = "parallel", at-once = 4 }
inputs = [{ file = "loop.item" }]
timeout-ms = 1000
[[grants.dir]]
host = "."
guest = "/workspace"
mode = "read-write"
[[grants.http]]
host = "*.example.com"
scheme = "https"
port = 443
[limits]
memory-bytes = 1000000
[sandbox]
pooling = "off"
"#;

const LOCK: &str = r#"version = 1
[tool.files]
component = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
imports = ["wasi:io/streams@0.2.6"]
[tool.files.tools.read]
effect = "read-only"
description = "Reads."
input-schema = '{"type":"object"}'
"#;

fn text(of: &'static str) -> impl Strategy<Value = String> {
    prop_oneof![
        8 => mutated(of.as_bytes().to_vec())
            .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        1 => ".{0,200}",
        1 => (0..2_000_usize).prop_map(|depth| format!("a = {}", "[".repeat(depth))),
    ]
}

proptest! {
    #[test]
    fn agent_toml(text in text(CONFIG)) {
        let tree = Tree::new();
        if let Err(error) = tree.load(&text, &Overrides::default()) {
            prop_assert!(!error.to_string().trim().is_empty());
            prop_assert!(error.to_string().len() < 4_000, "{error}");
        }
    }

    #[test]
    fn agent_lock(text in text(LOCK)) {
        match LockFile::parse(&text) {
            Ok(lock) => {
                let again = toml::to_string_pretty(&lock).unwrap();
                prop_assert_eq!(LockFile::parse(&again), Ok(lock));
            }
            Err(why) => {
                let why = why.to_string();
                prop_assert!(why.starts_with("is not a lock file") || why.starts_with("has version"), "{why}");
            }
        }
    }
}

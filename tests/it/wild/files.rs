//! The cases of `tests/wild/files`, by the tools of `builtin:files` in the real sandbox.

use super::{MadeFile, cases};
use crate::builtins::call_with;
use agent_host_test_support::TestEnv;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The least number of cases.
const LEAST_CASES: usize = 25;

/// A case file.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Case {
    name: String,
    /// The project whose repository has such files, or the service, and the year.
    source: String,
    #[serde(default)]
    files: Vec<MadeFile>,
    calls: Vec<Call>,
    /// Files that the calls change or that have to stay as they are.
    #[serde(default)]
    after: Vec<MadeFile>,
}

/// A call and its result: one of `text`, `json`, `error` and `denied`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Call {
    tool: String,
    #[serde(default)]
    input: Map<String, Value>,
    text: Option<String>,
    json: Option<Value>,
    error: Option<String>,
    denied: Option<String>,
}

impl Call {
    fn expected(&self) -> Value {
        match (&self.text, &self.json, &self.error, &self.denied) {
            (Some(text), None, None, None) => json!({ "type": "text", "value": text }),
            (None, Some(value), None, None) => json!({ "type": "json", "value": value }),
            (None, None, Some(text), None) => json!({ "type": "error-text", "value": text }),
            (None, None, None, Some(reason)) => {
                json!({ "type": "execution-denied", "reason": reason })
            }
            _ => panic!("a call has one of `text`, `json`, `error` and `denied`"),
        }
    }
}

impl Case {
    /// Returns what differs from the case.
    fn differences(&self) -> Vec<String> {
        let env = TestEnv::new();
        for made in &self.files {
            made.make(&env);
        }
        let mut differences = Vec::new();
        for call in &self.calls {
            let input = json!(call.input);
            let called = call_with(&env, "files", &call.tool, &input, &["--write"]);
            let (found, expected) = (called.json(), call.expected());
            if found != expected {
                differences.push(format!("{}: {found:#}, not {expected:#}", call.tool));
            }
        }
        for made in &self.after {
            let place = made.place(&env);
            let bytes = std::fs::read(&place).unwrap();
            let (found, expected) = (bytes.escape_ascii(), made.content.bytes());
            if bytes != expected {
                let expected = expected.escape_ascii();
                differences.push(format!("{}: {found}, not {expected}", place.display()));
            }
        }
        differences
    }
}

#[test]
fn wild_files_are_read_and_changed_right() {
    let cases = cases::<Case>("files");
    assert!(cases.len() >= LEAST_CASES, "{} cases", cases.len());
    let mut differences = Vec::new();
    for (file, case) in cases {
        assert!(!case.source.is_empty() && !case.calls.is_empty(), "{file}");
        let found = case.differences().into_iter();
        differences.extend(found.map(|found| format!("{file} ({}): {found}", case.name)));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

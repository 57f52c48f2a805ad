//! Rows of the probe: a script of attempts with the expected outcome of each. The probe's
//! operations are in `guest-tools/probe/src/script.rs`.

use super::case::{Case, Ends};
use serde_json::{Value, json};
use std::path::Path;

/// A grant of the row's directory for reading and writing.
pub(crate) const OWN_DIRECTORY: &str = "[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"";

/// Attempts, in order.
#[derive(Default)]
pub(crate) struct Script {
    attempts: Vec<Value>,
    outcomes: Vec<Value>,
}

impl Script {
    /// Attempts that must all fail with this code of WASI.
    pub(crate) fn refused(mut self, code: &str, attempts: impl IntoIterator<Item = Value>) -> Self {
        for attempt in attempts {
            self.attempts.push(attempt);
            self.outcomes.push(json!({ "error": code }));
        }
        self
    }

    /// An attempt that must succeed with exactly this value.
    pub(crate) fn gives(mut self, value: Value, attempt: Value) -> Self {
        self.attempts.push(attempt);
        self.outcomes.push(Value::Object(
            [("ok".to_owned(), value)].into_iter().collect(),
        ));
        self
    }

    /// The row in which the effectful probe makes these attempts.
    pub(crate) fn row(self, section: char, name: &str) -> Case {
        self.row_of("probe", section, name)
    }

    /// The row in which one of the component's tools makes these attempts.
    pub(crate) fn row_of(self, tool: &str, section: char, name: &str) -> Case {
        let outcomes = json!({ "type": "json", "value": self.outcomes });
        ending(
            section,
            name,
            tool,
            &self.attempts,
            Ends::Returned(outcomes),
        )
    }
}

/// A row of attempts of which one ends the call.
pub(crate) fn final_attempts(section: char, name: &str, attempts: &[Value], ends: Ends) -> Case {
    ending(section, name, "probe", attempts, ends)
}

fn ending(section: char, name: &str, tool: &str, attempts: &[Value], ends: Ends) -> Case {
    let probe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/guests/dist/probe.wasm");
    Case::prebuilt(section, name, probe, ends)
        .calling(tool, &json!({ "script": attempts }).to_string())
}

/// An attempt with these fields.
pub(crate) fn op(op: &str, mut fields: Value) -> Value {
    fields["op"] = json!(op);
    fields
}

/// An attempt on one path: a path in the first grant, or a list of a grant, directories and a path.
pub(crate) fn at(word: &str, path: impl Into<Value>) -> Value {
    op(word, json!({ "path": path.into() }))
}

/// An attempt with a source and a destination path.
pub(crate) fn from_to(word: &str, from: impl Into<Value>, to: impl Into<Value>) -> Value {
    op(word, json!({ "from": from.into(), "to": to.into() }))
}

/// Writes four bytes, with these flags.
pub(crate) fn write(path: impl Into<Value>, how: &[&str]) -> Value {
    op(
        "write",
        json!({ "path": path.into(), "text": "mine", "how": how }),
    )
}

/// Creates or opens a file, and writes four bytes.
pub(crate) fn create(path: impl Into<Value>) -> Value {
    write(path, &["write", "create"])
}

/// Makes a symbolic link.
pub(crate) fn symlink(target: &str, path: impl Into<Value>) -> Value {
    op("symlink", json!({ "target": target, "path": path.into() }))
}

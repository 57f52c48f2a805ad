//! What was spent since the person last said something: what budgets are held against.

use agent_host_types::{
    id::{Digest, json_digest},
    model::Usage,
};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Sums over the events since the person's last message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    /// The model's replies. A model call that failed is not among them.
    pub turns: u64,
    /// The tokens of those replies.
    pub usage: Usage,
    /// The time of the turns that ended, in milliseconds.
    pub wall_ms: u64,
    /// The tool calls that ran; one that was repeated after a crash counts once.
    pub calls: u64,
    /// The answers that were sent back because they did not fit the schema.
    pub repairs: u64,
    /// How often each tool ran with each arguments.
    same: HashMap<(String, Digest), u64>,
}

impl Spent {
    /// How often this tool ran with these arguments.
    #[must_use]
    pub fn repeats(&self, call: &(String, Digest)) -> u64 {
        self.same.get(call).copied().unwrap_or_default()
    }

    /// Counts a call that begins.
    pub(super) fn call(&mut self, tool: &str, input_digest: Digest) {
        self.calls += 1;
        *self
            .same
            .entry((tool.to_owned(), input_digest))
            .or_default() += 1;
    }
}

/// What makes two calls the same: the tool and the arguments.
pub(crate) fn identity(tool: &str, input: &Map<String, Value>) -> (String, Digest) {
    (tool.to_owned(), json_digest(&Value::Object(input.clone())))
}

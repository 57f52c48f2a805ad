//! The usage since the user's last message, which the budgets bound.

use agent_host_types::{id::Digest, model::Usage, turn::ChildSummary};
use std::collections::HashMap;

/// Sums over the events since the user's last message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    /// The model's replies; failed model calls are excluded.
    pub turns: u64,
    /// The tokens of those replies.
    pub usage: Usage,
    /// The duration of the turns that ended, in milliseconds.
    pub wall_ms: u64,
    /// The tool calls that ran; a repetition after a crash counts once.
    pub calls: u64,
    /// The answers sent back because they did not fit the schema.
    pub repairs: u64,
    /// The runs of each tool with each arguments.
    same: HashMap<(String, Digest), u64>,
}

impl Spent {
    /// Adds what the agent of a call used.
    pub(super) fn child(&mut self, child: &ChildSummary) {
        self.usage += child.usage;
        self.calls += child.tool_calls;
    }

    /// Returns the runs of this tool with these arguments.
    #[must_use]
    pub fn repeats(&self, call: &(String, Digest)) -> u64 {
        self.same.get(call).copied().unwrap_or_default()
    }

    /// Counts a call that starts.
    pub(super) fn call(&mut self, tool: &str, input_digest: Digest) {
        self.calls += 1;
        *self
            .same
            .entry((tool.to_owned(), input_digest))
            .or_default() += 1;
    }
}

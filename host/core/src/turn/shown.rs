//! A call as a person sees it who decides about it: exactly what will run, with nothing shortened and nothing hidden.

use super::PendingCall;
use crate::text::{exact, harmless_line};
use serde_json::{Map, Value};
use std::fmt;

/// The words in which a call is put before a person, wherever that is. As text it is all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownCall {
    /// The tool's name.
    pub tool: String,
    /// What follows the name: its title, and its effect.
    pub about: String,
    /// The whole arguments.
    pub arguments: String,
    /// What stands below them: the name and the size again, since long arguments move what is above out of sight, and the rule.
    pub below: String,
}

impl ShownCall {
    /// The words for a call with these arguments, which are called so.
    #[must_use]
    pub fn new(call: &PendingCall, input: &Map<String, Value>, name: &str) -> Self {
        let text = serde_json::to_string_pretty(input).unwrap_or_default();
        let title = call
            .title
            .as_deref()
            .map(|title| format!(" ({})", harmless_line(title)))
            .unwrap_or_default();
        let tool = harmless_line(&call.tool);
        Self {
            about: format!("{title}, which is {}", call.effect.as_str()),
            arguments: exact(&text),
            below: format!(
                "These are all {} characters of the arguments of {tool}; rule {}, arguments {name}{}",
                text.chars().count(),
                call.rule,
                executables(call, input)
            ),
            tool,
        }
    }
}

/// That the arguments name executable files, where they do. Nothing is known of arguments that the user wrote instead.
fn executables(call: &PendingCall, input: &Map<String, Value>) -> String {
    if call.executables.is_empty() || *input != call.input {
        return String::new();
    }
    let names: Vec<String> = call
        .executables
        .iter()
        .map(|path| exact(&format!("{path:?}")))
        .collect();
    format!(
        ".\nThe call may rewrite what is executable: {}",
        names.join(", ")
    )
}

impl fmt::Display for ShownCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            tool,
            about,
            arguments,
            below,
        } = self;
        write!(
            f,
            "The model wants to run {tool}{about}:\n{arguments}\n{below}"
        )
    }
}

impl PendingCall {
    /// The call in words.
    #[must_use]
    pub fn shown(&self) -> ShownCall {
        ShownCall::new(self, &self.input, &self.input_digest.to_string())
    }
}

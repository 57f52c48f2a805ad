//! Renders a call or a question for the user who decides about it. Text of the host comes first and last; text of a model or a
//! tool stands between, in frames. Pure.

#[cfg(test)]
mod tests;

use crate::text::{escape_line, framed};
use agent_host_types::{continuation::PendingCall, question::Question};
use serde_json::{Map, Value};
use std::fmt;

/// The most rows of a title, and of a question's prompt.
const MAX_TITLE_ROWS: usize = 3;
const MAX_PROMPT_ROWS: usize = 40;

/// A call in words, wherever it is put before the user: exactly what will run, with nothing shortened and nothing hidden. As
/// text it is all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPreview {
    /// The tool's name and its effect, as the policy sees it.
    pub what: String,
    /// The tool's name for people, in a frame.
    pub title: Option<String>,
    /// The whole arguments, in a frame.
    pub arguments: String,
    /// What stands below them: their size, and the rule that asks.
    pub below: String,
}

impl CallPreview {
    /// The words for a waiting call, in rows as long as they are.
    #[must_use]
    pub fn unwrapped(call: &PendingCall) -> Self {
        let name = call.input_digest.to_string();
        Self::new(call, &call.input, &name, usize::MAX)
    }

    /// The words for a call with these arguments, which are called `name`, on a screen of `columns` columns.
    #[must_use]
    pub fn new(call: &PendingCall, input: &Map<String, Value>, name: &str, columns: usize) -> Self {
        let text = serde_json::to_string_pretty(input).unwrap_or_default();
        let title = call.title.as_deref();
        Self {
            what: call_heading(call),
            title: title.map(|title| framed(title, columns, MAX_TITLE_ROWS)),
            arguments: framed(&text, columns, usize::MAX),
            below: format!(
                "These are all {} characters of the arguments of {}; rule {}, arguments {name}{}",
                text.chars().count(),
                escape_line(&call.tool),
                escape_line(&call.rule),
                executables(call, input, columns)
            ),
        }
    }
}

/// That the arguments name executable files, where they do. Nothing is known of arguments that the user wrote instead.
fn executables(call: &PendingCall, input: &Map<String, Value>, columns: usize) -> String {
    if call.executables.is_empty() || *input != call.input {
        return String::new();
    }
    let names = framed(&call.executables.join("\n"), columns, MAX_PROMPT_ROWS);
    format!(".\nThe call may rewrite these executable files:\n{names}")
}

impl fmt::Display for CallPreview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            title,
            arguments,
            below,
        } = self;
        writeln!(f, "The model wants to run {what}.")?;
        if let Some(title) = title {
            writeln!(f, "The tool calls itself:\n{title}")?;
        }
        write!(
            f,
            "The arguments are:\n{arguments}\n{below}\nYou decide about {what}."
        )
    }
}

/// The tool's name and its effect, as the policy sees it.
#[must_use]
pub fn call_heading(call: &PendingCall) -> String {
    format!(
        "{}, which is {}",
        escape_line(&call.tool),
        call.effect.as_str()
    )
}

/// A tool's question in words, wherever it is put before the user. As text it is all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionPreview {
    /// Which tool asks.
    pub asks: String,
    /// What it asks, in a frame.
    pub prompt: String,
    /// The choices, in a frame each.
    pub choices: Vec<String>,
    /// What stands below them: who gets the answer.
    pub below: String,
}

impl QuestionPreview {
    /// The words for a question of a tool, on a screen of `columns` columns.
    #[must_use]
    pub fn new(tool: &str, question: &Question, columns: usize) -> Self {
        let tool = escape_line(tool);
        let choices = question.choices.iter();
        Self {
            asks: format!("The tool {tool} asks you, in its own words:"),
            prompt: framed(&question.prompt, columns, MAX_PROMPT_ROWS),
            choices: choices
                .map(|choice| framed(choice, columns, MAX_PROMPT_ROWS))
                .collect(),
            below: format!("The tool {tool} gets your answer, which approves nothing."),
        }
    }
}

impl fmt::Display for QuestionPreview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            asks,
            prompt,
            choices: _,
            below,
        } = self;
        write!(f, "{asks}\n{prompt}\n{below}")
    }
}

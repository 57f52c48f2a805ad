//! Renders a call or a question for the user who decides on it. The host's text comes first and
//! last; text of a model or a tool stands between, in frames. Pure.

#[cfg(test)]
mod tests;

use crate::text::{escape_line, framed, mixed_scripts};
use agent_host_types::{continuation::PendingCall, question::Question};
use serde_json::{Map, Value};
use std::fmt;

/// The maximum number of rows of a title and of a question's prompt.
const MAX_TITLE_ROWS: usize = 3;
const MAX_PROMPT_ROWS: usize = 40;

/// The maximum number of rows about words that mix scripts.
const MAX_MIXED_ROWS: usize = 8;

/// A call as text for the user, complete and unshortened. `Display` writes all parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPreview {
    /// The tool's name and its effect, as the policy sees it.
    pub what: String,
    /// The tool's display name, in a frame.
    pub title: Option<String>,
    /// The whole arguments, in a frame.
    pub arguments: String,
    /// The size of the arguments, and the rule that requires approval.
    pub below: String,
}

impl CallPreview {
    /// Renders a waiting call, without wrapping rows.
    #[must_use]
    pub fn unwrapped(call: &PendingCall) -> Self {
        let name = call.input_digest.to_string();
        Self::new(call, &call.input, &name, usize::MAX)
    }

    /// Renders a call with these arguments, labelled `name`, for a screen of `columns` columns.
    #[must_use]
    pub fn new(call: &PendingCall, input: &Map<String, Value>, name: &str, columns: usize) -> Self {
        let text = serde_json::to_string_pretty(input).unwrap_or_default();
        let title = call.title.as_deref();
        Self {
            what: call_heading(call),
            title: title.map(|title| framed(title, columns, MAX_TITLE_ROWS)),
            arguments: framed(&text, columns, usize::MAX),
            below: format!(
                "All {} characters of the arguments of {} are shown; rule {}, arguments {name}{}{}",
                text.chars().count(),
                escape_line(&call.tool),
                escape_line(&call.rule),
                executables(call, input, columns),
                mixed(call, input, columns)
            ),
        }
    }
}

/// Returns a note on the files that run, now or later, which the arguments name. Unknown for
/// arguments that the user wrote instead.
fn executables(call: &PendingCall, input: &Map<String, Value>, columns: usize) -> String {
    if call.executables.is_empty() || *input != *call.input {
        return String::new();
    }
    let names = framed(&call.executables.join("\n"), columns, MAX_PROMPT_ROWS);
    format!(".\nThe call may rewrite these files, which run now or later:\n{names}")
}

/// Returns a note on the names in a call that may look like others.
fn mixed(call: &PendingCall, input: &Map<String, Value>, columns: usize) -> String {
    let words = mixed_words(call, input);
    if words.is_empty() {
        return String::new();
    }
    let words = framed(&words.join("\n"), columns, MAX_MIXED_ROWS);
    format!(".\nThese words mix scripts, so they may look like other words:\n{words}")
}

/// Describes each word of a call's names and short texts whose letters are of several scripts, as
/// [`mixed_scripts`] does.
#[must_use]
pub fn mixed_words(call: &PendingCall, input: &Map<String, Value>) -> Vec<String> {
    let mut words = mixed_scripts(&call.tool);
    words.extend(mixed_scripts(call.title.as_deref().unwrap_or_default()));
    mixed_in_fields(input, &mut words);
    words.sort_unstable();
    words.dedup();
    words
}

fn mixed_in(value: &Value, words: &mut Vec<String>) {
    match value {
        Value::String(text) => words.extend(mixed_scripts(text)),
        Value::Array(items) => items.iter().for_each(|item| mixed_in(item, words)),
        Value::Object(fields) => mixed_in_fields(fields, words),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn mixed_in_fields(fields: &Map<String, Value>, words: &mut Vec<String>) {
    for (name, value) in fields {
        words.extend(mixed_scripts(name));
        mixed_in(value, words);
    }
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
            writeln!(f, "The tool's own title is:\n{title}")?;
        }
        write!(
            f,
            "The arguments are:\n{arguments}\n{below}\nYour decision is about {what}."
        )
    }
}

/// Returns the tool's name and its effect, as the policy sees it.
#[must_use]
pub fn call_heading(call: &PendingCall) -> String {
    format!(
        "{}, which is {}",
        escape_line(&call.tool),
        call.effect.as_str()
    )
}

/// A tool's question as text for the user. `Display` writes all parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionPreview {
    /// The tool that asks.
    pub asks: String,
    /// The question, in a frame.
    pub prompt: String,
    /// The choices, each in a frame.
    pub choices: Vec<String>,
    /// The recipient of the answer.
    pub below: String,
}

impl QuestionPreview {
    /// Renders a question of a tool for a screen of `columns` columns.
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
            below: format!("Your answer goes to the tool {tool} and approves nothing."),
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

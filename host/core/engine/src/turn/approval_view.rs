//! Renders a call or a question for the user who decides on it. The host's text comes first and
//! last; text of a model or a tool stands between, in frames, except for a path or URL that is one
//! plain word. Pure.

#[cfg(test)]
mod tests;

use super::argument_text::arguments_text;
use crate::{
    policy::PATH,
    text::{escape_line, framed, is_plainly_shown, mixed_scripts},
};
use agent_host_types::{continuation::PendingCall, question::Question, tool::Effect};
use serde_json::{Map, Value};
use std::{
    fmt,
    path::{Component, Path, PathBuf},
};

/// The maximum length of a target in the heading, in bytes.
const MAX_HEADING_TARGET: usize = 60;

/// The name of the main argument of most tools of the web.
const URL: &str = "url";

/// The maximum number of rows of a question's prompt.
const MAX_PROMPT_ROWS: usize = 40;

/// The maximum number of rows of the place that a path leads to.
const MAX_PLACE_ROWS: usize = 4;

/// The maximum number of rows about words that mix scripts.
const MAX_MIXED_ROWS: usize = 8;

/// A call that needs approval, as text for the user: what it does on one line, then its arguments,
/// complete and unshortened. `Display` writes all parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFrame {
    /// The tool, its target if that is a path or URL of one plain word, and its effect.
    pub heading: String,
    /// The target in a frame, if it is not in the heading.
    pub target: Option<String>,
    /// The other arguments in a frame; empty if there are none.
    pub arguments: String,
    /// Notes about a path with `..`, untrusted sources, programs that the call may rewrite, words that mix alphabets, and characters
    /// that are not visible, each after a line break.
    pub warnings: String,
    /// A sentence about further reach of the tool, where the caller of [`Self::unwrapped`] knows it.
    pub reach: Option<String>,
    /// The rule that requires approval, and the digest of the arguments.
    pub basis: String,
}

/// The arguments of a frame, and the screen that it is for.
#[derive(Clone, Copy, Debug)]
pub struct FrameArguments<'a> {
    /// The arguments of the run.
    pub input: &'a Map<String, Value>,
    /// The name of the argument that the call is mostly about, if its value is a text.
    pub target: Option<&'a str>,
    /// The arguments that are shown elsewhere.
    pub without: &'a [&'a str],
    /// The known change in place of the effect, such as `+1 -1`.
    pub change: Option<&'a str>,
    /// Whether the call runs in the sandbox, which lets a read-only tool change nothing.
    pub is_sandboxed: bool,
    /// The columns of the screen; `usize::MAX` for rows that are not wrapped.
    pub columns: usize,
}

impl CallFrame {
    /// Renders a waiting call for a client without a screen of known width and without the tool's
    /// definition: the target is the text `path`, if the call has one. `reach` is a sentence of the
    /// host about what the tool could reach besides. `is_sandboxed` is
    /// [`FrameArguments::is_sandboxed`].
    #[must_use]
    pub fn unwrapped(call: &PendingCall, reach: Option<&str>, is_sandboxed: bool) -> Self {
        let arguments = FrameArguments {
            input: &call.input,
            target: Some(PATH),
            without: &[],
            change: None,
            is_sandboxed,
            columns: usize::MAX,
        };
        Self {
            reach: reach.map(escape_line),
            ..Self::new(call, &arguments)
        }
    }

    /// Renders a call with these arguments.
    #[must_use]
    pub fn new(call: &PendingCall, arguments: &FrameArguments<'_>) -> Self {
        let FrameArguments {
            input,
            target: name,
            without,
            change,
            is_sandboxed,
            columns,
        } = *arguments;
        let target = name.and_then(|name| Some((name, input.get(name)?.as_str()?)));
        let (mut heading, mut framed_target) = (escape_line(&call.tool), None);
        let mut shown_above = without.to_vec();
        if let Some((name, target)) = target {
            shown_above.push(name);
            match is_place(name) && is_plain_word(target) {
                true => heading.push_str(&format!(" {target}")),
                false => {
                    let only = Map::from_iter([(name.to_owned(), Value::from(target))]);
                    framed_target = Some(framed(&arguments_text(&only, &[]), columns, usize::MAX));
                }
            }
        }
        let leads_to = name.and_then(|name| leads_to(name, input));
        let leads_to = leads_to.map_or_else(String::new, |place| {
            let place = framed(&place, columns, MAX_PLACE_ROWS);
            format!("\nUnless a part of the path is a link, it leads to:\n{place}")
        });
        let text = arguments_text(input, &shown_above);
        let effect = effect_in_words(call.effect, name, is_sandboxed);
        Self {
            heading: format!("{heading}  {}", change.unwrap_or(effect)),
            target: framed_target,
            arguments: match text.is_empty() {
                true => text,
                false => framed(&text, columns, usize::MAX),
            },
            warnings: leads_to
                + &sources(call, columns)
                + &executables(call, input, columns)
                + &mixed(call, input, columns)
                + hidden(input),
            reach: None,
            basis: match *input == *call.input {
                true => format!("rule {}, arguments {}", call.rule, call.input_digest),
                false => format!("rule {}, arguments as you wrote them", call.rule),
            },
        }
    }
}

/// Describes the effect of a call with this main argument in the words of an approval. Only the
/// sandbox enforces that a tool changes nothing; elsewhere it is declared.
#[must_use]
pub fn effect_in_words(effect: Effect, target: Option<&str>, is_sandboxed: bool) -> &'static str {
    match (effect, target, is_sandboxed) {
        (Effect::ReadOnly, Some(URL), true) => {
            "read-only, but sends the URL; the model sees the result"
        }
        (Effect::ReadOnly, Some(URL), false) => {
            "declared read-only, but sends the URL; the model sees the result"
        }
        (Effect::ReadOnly, _, true) => "read-only; the model sees the result",
        _ => effect.in_words(),
    }
}

/// Whether an argument of this name is a place, which needs no name beside the tool's.
#[must_use]
pub fn is_place(name: &str) -> bool {
    [PATH, URL].contains(&name)
}

/// Whether a text stands beside words of the host without looking like some of them: ASCII, without
/// spaces, so that it is one word, and short.
fn is_plain_word(text: &str) -> bool {
    (1..=MAX_HEADING_TARGET).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
}

/// Returns where the path of a call with this main argument leads unless a part of it is a link;
/// `None` if the path has no `..`, or leads out of where it begins.
#[must_use]
pub fn leads_to(target: &str, input: &Map<String, Value>) -> Option<String> {
    let path = (target == PATH).then_some(input.get(PATH)?)?.as_str()?;
    let mut place = PathBuf::new();
    let mut has_steps = false;
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir if !place.pop() => return None,
            Component::ParentDir => has_steps = true,
            Component::CurDir => {}
            part => place.push(part),
        }
    }
    let place = place.to_str()?;
    (has_steps && !place.is_empty()).then(|| place.to_owned())
}

/// Returns a note on the files that run, now or later, which the arguments name. Unknown for
/// arguments that the user wrote instead.
fn executables(call: &PendingCall, input: &Map<String, Value>, columns: usize) -> String {
    if call.executables.is_empty() || *input != *call.input {
        return String::new();
    }
    let names = framed(&call.executables.join("\n"), columns, MAX_PROMPT_ROWS);
    format!("\nThe call may rewrite these files, which run now or later:\n{names}")
}

/// Returns a note on the untrusted sources of the arguments.
fn sources(call: &PendingCall, columns: usize) -> String {
    let rows = call.sources.iter().map(|argument| {
        let sources = argument.sources.join(", ");
        match argument.pointer.as_str() {
            "" => format!("the model has read text from {sources}"),
            pointer => format!("{pointer} is from {sources}, which the model has not read"),
        }
    });
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let rows = framed(&rows.join("\n"), columns, MAX_PROMPT_ROWS);
    format!("\nUntrusted sources may have decided its arguments:\n{rows}")
}

/// Returns a note on the names in a call that may look like others.
fn mixed(call: &PendingCall, input: &Map<String, Value>, columns: usize) -> String {
    let words = mixed_words(call, input);
    if words.is_empty() {
        return String::new();
    }
    let words = framed(&words.join("\n"), columns, MAX_MIXED_ROWS);
    format!("\nThese words mix alphabets, so they may look like other words:\n{words}")
}

/// Returns a note on characters that are shown as their escapes.
fn hidden(input: &Map<String, Value>) -> &'static str {
    let has = |text: &str| !is_plainly_shown(text);
    match any_text(input, &has) {
        true => {
            "\nIt has characters that are invisible or reorder text; they are shown as \\u{...}."
        }
        false => "",
    }
}

fn any_text(fields: &Map<String, Value>, is_sought: &dyn Fn(&str) -> bool) -> bool {
    fields
        .iter()
        .any(|(name, value)| is_sought(name) || any_text_in(value, is_sought))
}

fn any_text_in(value: &Value, is_sought: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_sought(text),
        Value::Array(items) => items.iter().any(|item| any_text_in(item, is_sought)),
        Value::Object(fields) => any_text(fields, is_sought),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
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

impl fmt::Display for CallFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            heading,
            target,
            arguments,
            warnings,
            reach,
            basis,
        } = self;
        writeln!(f, "{heading}")?;
        let framed = target.iter().chain([arguments]);
        for rows in framed.filter(|rows| !rows.is_empty()) {
            writeln!(f, "{rows}")?;
        }
        let warnings = warnings.trim_start_matches('\n');
        if !warnings.is_empty() {
            writeln!(f, "{warnings}")?;
        }
        if let Some(reach) = reach {
            writeln!(f, "{reach}")?;
        }
        write!(
            f,
            "Allow this call? All of its arguments are shown ({basis})."
        )
    }
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

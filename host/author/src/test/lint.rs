//! What is wrong with a tool's definition although it can be called: what a model cannot understand, and what a provider refuses.

#[cfg(test)]
mod tests;

use agent_host_types::{
    output::ToolResultOutput,
    tool::{Effect, ToolDefinition},
};
use serde::Serialize;
use serde_json::Value;

/// The shortest description that says what a tool does and when to use it, in characters.
const MIN_DESCRIPTION: usize = 20;

/// The longest description that every provider takes, in characters (OpenAI refuses a longer one).
const MAX_DESCRIPTION: usize = 1_024;

/// The longest name of a property that every provider takes (Anthropic refuses a longer one).
const MAX_PROPERTY_NAME: usize = 64;

/// What providers refuse at the root of an input schema: Anthropic the first three, OpenAI all of them.
const REFUSED_AT_ROOT: [&str; 6] = ["oneOf", "anyOf", "allOf", "enum", "const", "not"];

/// How deep a schema is looked through. The sandbox takes none that nests deeper.
const MAX_DEPTH: usize = 32;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The tool.
    pub tool: String,
    /// What it is, why it matters, and what to do.
    pub text: String,
}

/// What the cases showed of a tool.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shown {
    /// Whether any was.
    pub(super) was_called: bool,
    /// Whether it returned JSON.
    pub(super) gave_json: bool,
    /// Whether it changed anything.
    pub(super) changed: bool,
}

impl Shown {
    /// Adds what one call showed.
    pub(super) fn add(&mut self, output: Option<&ToolResultOutput>, changed: bool) {
        self.was_called = true;
        self.changed |= changed;
        self.gave_json |= matches!(output, Some(ToolResultOutput::Json(_)));
    }
}

/// What is wrong with a tool. Of what it does not do, only a run of all its cases can tell.
pub(super) fn findings(tool: &ToolDefinition, shown: Shown, all_ran: bool) -> Vec<Finding> {
    let mut texts = Vec::new();
    of_name(&tool.name, &mut texts);
    of_description(&tool.description, &mut texts);
    for keyword in REFUSED_AT_ROOT {
        if tool.input_schema.get(keyword).is_some() {
            texts.push(format!(
                "its input schema has `{keyword}` at the root, which providers refuse; say it in a property, or in the description"
            ));
        }
    }
    of_schema(&tool.input_schema, "input", 0, &mut texts);
    if shown.gave_json && tool.output_schema.is_none() {
        texts.push(
            "it returns JSON and has no output schema, so nobody is told what to expect and nothing checks it; add one"
                .to_owned(),
        );
    }
    let is_effectful = match tool.effect {
        Effect::Effectful => true,
        Effect::ReadOnly | Effect::Idempotent => false,
    };
    if is_effectful && all_ran && shown.was_called && !shown.changed {
        texts.push(
            "it is `effectful`, and no case changed anything: a person is asked before every call; add a case that shows the \
             change, or make it `read-only`"
                .to_owned(),
        );
    }
    let finding = |text| Finding {
        tool: tool.name.clone(),
        text,
    };
    texts.into_iter().map(finding).collect()
}

fn of_name(name: &str, texts: &mut Vec<String>) {
    let begins_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !begins_well {
        texts.push(
            "its name does not begin with a letter or `_`, and Gemini refuses it; rename it"
                .to_owned(),
        );
    }
}

fn of_description(description: &str, texts: &mut Vec<String>) {
    let length = description.trim().chars().count();
    if length == 0 {
        texts.push(
            "it has no description, and the model cannot know when to use it; write one".to_owned(),
        );
    } else if length < MIN_DESCRIPTION {
        texts.push(format!(
            "its description has {length} characters; say in a sentence what it does and when to use it"
        ));
    } else if length > MAX_DESCRIPTION {
        texts.push(format!(
            "its description has {length} characters, and OpenAI refuses more than {MAX_DESCRIPTION}; move details to the properties"
        ));
    }
}

/// Looks through a schema and those in it. `place` is where it is, such as `input.place`.
fn of_schema(schema: &Value, place: &str, depth: usize, texts: &mut Vec<String>) {
    if depth > MAX_DEPTH {
        return;
    }
    for (name, property) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let inner = format!("{place}.{name}");
        let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if name.is_empty() || name.len() > MAX_PROPERTY_NAME || !name.chars().all(is_good) {
            texts.push(format!(
                "the property `{inner}` has a name that Anthropic refuses: names have 1 to {MAX_PROPERTY_NAME} letters of A to Z, \
                 digits, `_`, `.` and `-`; rename it"
            ));
        }
        // What is referred to describes itself.
        let describes = ["description", "$ref"];
        if !describes
            .iter()
            .any(|key| property.get(key).is_some_and(is_said))
        {
            texts.push(format!(
                "the property `{inner}` has no description; say what it means"
            ));
        }
        of_schema(property, &inner, depth + 1, texts);
    }
    if let Some(items) = schema.get("items") {
        of_schema(items, &format!("{place}[]"), depth + 1, texts);
    }
    for keyword in ["oneOf", "anyOf", "allOf", "prefixItems"] {
        let branches = schema.get(keyword).and_then(Value::as_array);
        for branch in branches.into_iter().flatten() {
            of_schema(branch, place, depth + 1, texts);
        }
    }
    for keyword in ["$defs", "definitions"] {
        let named = schema.get(keyword).and_then(Value::as_object);
        for (name, definition) in named.into_iter().flatten() {
            of_schema(definition, name, depth + 1, texts);
        }
    }
}

fn is_said(text: &Value) -> bool {
    text.as_str().is_some_and(|text| !text.trim().is_empty())
}

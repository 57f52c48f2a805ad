//! Checks definitions for what a model cannot understand and what providers refuse.

#[cfg(test)]
mod tests;

use agent_host_types::{
    output::ToolResultOutput,
    tool::{Effect, ToolDefinition},
};
use serde::Serialize;
use serde_json::Value;

/// The minimum length of a useful description in characters.
const MIN_DESCRIPTION: usize = 20;

/// The maximum length of a description in characters (OpenAI).
const MAX_DESCRIPTION: usize = 1_024;

/// The maximum length of a property name (Anthropic).
const MAX_PROPERTY_NAME: usize = 64;

/// Keywords refused at the root of an input schema: the first three by Anthropic, all by OpenAI.
const REFUSED_AT_ROOT: [&str; 6] = ["oneOf", "anyOf", "allOf", "enum", "const", "not"];

/// The maximum depth of checked schemas, which is the sandbox's limit.
const MAX_DEPTH: usize = 32;

/// A defect of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The tool.
    pub tool: String,
    /// The defect, its consequence and the remedy.
    pub text: String,
}

/// The observed behavior of a tool.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Observed {
    /// True if a case called it.
    pub(super) was_called: bool,
    /// True if it returned JSON.
    pub(super) gave_json: bool,
    /// True if it changed anything.
    pub(super) changed: bool,
}

impl Observed {
    /// Adds an observed call.
    pub(super) fn add(&mut self, output: Option<&ToolResultOutput>, changed: bool) {
        self.was_called = true;
        self.changed |= changed;
        self.gave_json |= matches!(output, Some(ToolResultOutput::Json(_)));
    }
}

/// Returns the defects of a tool. Missing changes are reported only if all cases ran.
pub(super) fn findings(tool: &ToolDefinition, observed: Observed, all_ran: bool) -> Vec<Finding> {
    let mut texts = Vec::new();
    if !tool
        .name
        .starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
    {
        let text = "its name does not start with a letter or `_`, so Gemini refuses it; rename it";
        texts.push(text.to_owned());
    }
    check_description(&tool.description, &mut texts);
    for keyword in REFUSED_AT_ROOT {
        if tool.input_schema.get(keyword).is_some() {
            texts.push(format!(
                "its input schema has `{keyword}` at the root, which providers refuse; move it to a property, or \
                 into the description"
            ));
        }
    }
    check_schema(&tool.input_schema, "input", 0, &mut texts);
    if observed.gave_json && tool.output_schema.is_none() {
        texts.push(
            "it returns JSON but has no output schema, so callers do not know what to expect and nothing is checked; \
             add one"
                .to_owned(),
        );
    }
    let is_effectful = tool.effect == Effect::Effectful;
    if is_effectful && all_ran && observed.was_called && !observed.changed {
        texts.push(
            "it is `effectful`, so the user is asked before every call, but no case changed anything; add a case \
             that shows a change, or make it `read-only`"
                .to_owned(),
        );
    }
    let finding = |text| Finding {
        tool: tool.name.clone(),
        text,
    };
    texts.into_iter().map(finding).collect()
}

fn check_description(description: &str, texts: &mut Vec<String>) {
    let length = description.trim().chars().count();
    if length == 0 {
        texts.push(
            "it has no description, so the model cannot know when to use it; write one".to_owned(),
        );
    } else if length < MIN_DESCRIPTION {
        texts.push(format!(
            "its description has {length} characters; say in a sentence what it does and when to use it"
        ));
    } else if length > MAX_DESCRIPTION {
        texts.push(format!(
            "its description has {length} characters, and OpenAI's maximum is {MAX_DESCRIPTION}; move details to the \
             properties"
        ));
    }
}

/// Checks a schema and its subschemas. `place` is its path, such as `input.place`.
fn check_schema(schema: &Value, place: &str, depth: usize, texts: &mut Vec<String>) {
    if depth > MAX_DEPTH {
        return;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let inner = format!("{place}.{name}");
        let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if name.is_empty() || name.len() > MAX_PROPERTY_NAME || !name.chars().all(is_good) {
            texts.push(format!(
                "the property `{inner}` has a name that Anthropic refuses: names have 1 to {MAX_PROPERTY_NAME} \
                 letters (A to Z), digits, `_`, `.` and `-`; rename it"
            ));
        }
        // The target of `$ref` has its own description.
        let is_described = |key| property.get(key).is_some_and(is_nonblank);
        if !is_described("description") && !is_described("$ref") {
            texts.push(format!(
                "the property `{inner}` has no description; explain what it means"
            ));
        }
        check_schema(property, &inner, depth + 1, texts);
    }
    if let Some(items) = schema.get("items") {
        check_schema(items, &format!("{place}[]"), depth + 1, texts);
    }
    for keyword in ["oneOf", "anyOf", "allOf", "prefixItems"] {
        let branches = schema.get(keyword).and_then(Value::as_array);
        for branch in branches.into_iter().flatten() {
            check_schema(branch, place, depth + 1, texts);
        }
    }
    for keyword in ["$defs", "definitions"] {
        let named = schema.get(keyword).and_then(Value::as_object);
        for (name, definition) in named.into_iter().flatten() {
            check_schema(definition, name, depth + 1, texts);
        }
    }
}

fn is_nonblank(text: &Value) -> bool {
    text.as_str().is_some_and(|text| !text.trim().is_empty())
}

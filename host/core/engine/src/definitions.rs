//! Validates and bounds tool definitions from untrusted components and MCP servers. Pure.

mod select;
#[cfg(test)]
mod tests;

pub use select::{InputChecks, ToolNote};

use crate::{
    schema::{InputSchema, OutputSchema},
    text,
};
use agent_host_types::{
    reason::Reason,
    tool::{Effect, SummaryTemplate, ToolDefinition, is_tool_name},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::HashMap, sync::Arc};

/// The most tools of one source. Every request to a model lists all of them.
pub const MAX_TOOLS: usize = 128;

/// The longest title, in bytes: it is shown on one line.
const MAX_TITLE_BYTES: usize = 128;

/// The longest description, in bytes: about 2,000 tokens. A longer one is cut.
pub const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;

/// Ends a description that was cut.
const CUT_MARK: &str = "...\n[The rest of this description is truncated.]";

/// The longest schema, in bytes of JSON text.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// The deepest nesting of objects and arrays in one schema.
const MAX_SCHEMA_DEPTH: usize = 32;

/// All schemas of one source, in bytes of JSON text. Compiled, they take about 100 times as much
/// memory.
const MAX_ALL_SCHEMAS_BYTES: usize = 512 * 1024;

/// The most patterns in all schemas of one source.
const MAX_ALL_PATTERNS: usize = 128;

/// The checked definitions of one source, with their compiled schemas.
#[derive(Debug, Default)]
pub struct Definitions {
    all: Vec<ToolDefinition>,
    schemas: HashMap<String, Schemas>,
}

/// The compiled schemas of one tool, and what else its schemas had.
#[derive(Debug)]
pub struct Schemas {
    /// The schema of the input.
    pub input: Arc<InputSchema>,
    /// The schema of a JSON result, if the tool declares one.
    pub output: Option<OutputSchema>,
    /// The template of its calls in words, if the tool has one
    /// ([`crate::call_summary::KEYWORD`]).
    pub summary: Option<SummaryTemplate>,
}

/// A definition whose texts and schemas are not checked yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RawDefinition {
    /// [`ToolDefinition::name`].
    pub name: String,
    /// [`ToolDefinition::title`].
    pub title: Option<String>,
    /// [`ToolDefinition::description`].
    pub description: String,
    /// [`ToolDefinition::input_schema`], as JSON text.
    pub input_schema: String,
    /// [`ToolDefinition::output_schema`], as JSON text.
    pub output_schema: Option<String>,
    /// [`ToolDefinition::effect`].
    pub effect: Effect,
}

impl RawDefinition {
    /// Creates a definition without a title.
    #[must_use]
    pub fn new(
        name: String,
        description: String,
        input_schema: &Value,
        output_schema: Option<&Value>,
        effect: Effect,
    ) -> Self {
        Self {
            name,
            title: None,
            description,
            input_schema: input_schema.to_string(),
            output_schema: output_schema.map(Value::to_string),
            effect,
        }
    }

    /// Returns the tool's name.
    #[must_use]
    pub fn into_name(self) -> String {
        self.name
    }
}

impl Definitions {
    /// Returns all definitions in the order of the source.
    #[must_use]
    pub fn all(&self) -> &[ToolDefinition] {
        &self.all
    }

    /// Returns the schemas of a tool.
    #[must_use]
    pub fn schemas(&self, tool: &str) -> Option<&Schemas> {
        self.schemas.get(tool)
    }
}

/// Checks the name, the title and the description.
fn check_texts(raw: &RawDefinition) -> Result<(), Reason> {
    if !is_tool_name(&raw.name) {
        return Err("a name has 1 to 64 letters, digits, `_` and `-`".into());
    }
    if let Some(title) = &raw.title {
        check_text("title", title, MAX_TITLE_BYTES)?;
    }
    check_text("description", &raw.description, MAX_DESCRIPTION_BYTES)
}

/// Cuts a description that is too long. The same text is always cut to the same one, which is what
/// `agent.lock` pins. Returns a note on the cut.
fn cut_description(description: &mut String) -> Option<String> {
    let bytes = description.len();
    if bytes <= MAX_DESCRIPTION_BYTES {
        return None;
    }
    description.truncate(description.floor_char_boundary(MAX_DESCRIPTION_BYTES - CUT_MARK.len()));
    description.push_str(CUT_MARK);
    Some(format!(
        "the description has {bytes} bytes and was cut to {MAX_DESCRIPTION_BYTES}"
    ))
}

fn check_length(field: &'static str, content: &str, max_bytes: usize) -> Result<(), Reason> {
    let bytes = content.len();
    if bytes > max_bytes {
        return Err(Reason::from(format!(
            "the {field} has {bytes} bytes, and the maximum is {max_bytes}"
        )));
    }
    Ok(())
}

fn check_text(field: &'static str, content: &str, max_bytes: usize) -> Result<(), Reason> {
    check_length(field, content, max_bytes)?;
    if content.chars().any(text::is_deceptive) {
        return Err(deceptive(field));
    }
    Ok(())
}

/// Returns the error of a field with characters for which [`text::is_deceptive`] is true.
fn deceptive(field: &str) -> Reason {
    Reason::from(format!(
        "the {field} has control characters, invisible characters, or characters that change the text direction"
    ))
}

/// Parses a schema within the bounds of its text.
fn parse_json(field: &'static str, json: &str) -> Result<Value, Reason> {
    check_length(field, json, MAX_SCHEMA_BYTES)?;
    let schema: Value = serde_json::from_str(json).map_err(|error| {
        let error = text::sanitize(&error.to_string(), 200);
        format!("the {field} is not JSON: {error}")
    })?;
    if depth(&schema) > MAX_SCHEMA_DEPTH {
        let reason = format!("the {field} nests deeper than {MAX_SCHEMA_DEPTH} levels");
        return Err(reason.into());
    }
    // The JSON text may escape such characters, as `\u202e`; the model and the operator see the
    // value.
    if is_deceptive(&schema) {
        return Err(deceptive(field));
    }
    Ok(schema)
}

/// Whether a string or a key in a schema has deceptive characters.
fn is_deceptive(value: &Value) -> bool {
    let deceives = |text: &str| text.chars().any(text::is_deceptive);
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => deceives(text),
        Value::Array(items) => items.iter().any(is_deceptive),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, inner)| deceives(name) || is_deceptive(inner)),
    }
}

/// Returns the nesting depth of a value. The parser bounds the recursion at 128 levels.
fn depth(value: &Value) -> usize {
    let inner = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(fields) => fields.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    1 + inner.unwrap_or(0)
}

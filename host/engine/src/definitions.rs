//! What a stranger (a component, a server) says about its tools: every word of it is checked and bounded here before anybody
//! reads it. It never asks anybody anything.

#[cfg(test)]
mod tests;

use crate::{
    schema::{InputSchema, OutputSchema},
    text,
};
use agent_host_types::tool::{Effect, ToolDefinition, is_tool_name};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The tools of one stranger. A model is told of all of them with every request.
const MAX_TOOLS: usize = 128;

/// A title, in bytes: it is shown on one line.
const MAX_TITLE_BYTES: usize = 128;

/// A description, in bytes: about a thousand tokens.
pub const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;

/// One schema, in bytes of JSON text.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// How deep objects and lists of one schema may nest.
const MAX_SCHEMA_DEPTH: usize = 32;

/// All schemas of one stranger, in bytes of JSON text: what is made of them takes about a hundred times as much.
const MAX_ALL_SCHEMAS_BYTES: usize = 512 * 1024;

/// The patterns in all schemas of one stranger.
const MAX_ALL_PATTERNS: usize = 128;

/// What [`text::is_deceptive`] finds, in words.
const DECEPTIVE: &str =
    "control characters, or characters that are not seen or turn the direction of writing";

/// The definitions of one stranger, with their schemas ready for use.
#[derive(Debug)]
pub struct Definitions {
    all: Vec<ToolDefinition>,
    schemas: HashMap<String, Schemas>,
}

/// The schemas of one tool.
#[derive(Debug)]
pub struct Schemas {
    /// Of its input.
    pub input: InputSchema,
    /// Of its JSON result, where it promises one.
    pub output: Option<OutputSchema>,
}

impl Schemas {
    fn patterns(&self) -> usize {
        self.input.patterns() + self.output.as_ref().map_or(0, OutputSchema::patterns)
    }
}

/// A definition whose texts and schemas have not been looked at.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RawDefinition {
    /// As [`ToolDefinition::name`], and so are the others.
    pub name: String,
    /// A short name for people.
    pub title: Option<String>,
    /// What the model reads.
    pub description: String,
    /// The schema of the input, as JSON text.
    pub input_schema: String,
    /// The schema of the result, as JSON text.
    pub output_schema: Option<String>,
    /// What a call may change.
    pub effect: Effect,
}

impl RawDefinition {
    /// What the host itself says of a tool.
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

    /// Whether it can stand among a stranger's definitions.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn check(self) -> Result<(), String> {
        check_one(self).map(drop)
    }

    /// The text of its schemas, in bytes.
    fn schema_bytes(&self) -> usize {
        self.input_schema.len() + self.output_schema.as_ref().map_or(0, String::len)
    }

    /// The tool's name.
    #[must_use]
    pub fn into_name(self) -> String {
        self.name
    }

    /// The form in which a checked definition is kept in the cache: exactly the one that is checked again when it is read.
    #[must_use]
    pub fn from_checked(definition: &ToolDefinition) -> Self {
        Self {
            name: definition.name.clone(),
            title: definition.title.clone(),
            description: definition.description.clone(),
            input_schema: definition.input_schema.to_string(),
            output_schema: definition.output_schema.as_ref().map(Value::to_string),
            effect: definition.effect,
        }
    }
}

impl Definitions {
    /// Checks everything that a stranger says about its tools.
    ///
    /// # Errors
    /// The tool and what is wrong with it, as a fragment.
    pub fn check(raw: Vec<RawDefinition>) -> Result<Self, String> {
        if raw.is_empty() {
            return Err("it defines no tool".to_owned());
        }
        if raw.len() > MAX_TOOLS {
            return Err(format!(
                "it defines {} tools, more than {MAX_TOOLS}",
                raw.len()
            ));
        }
        let bytes: usize = raw.iter().map(RawDefinition::schema_bytes).sum();
        if bytes > MAX_ALL_SCHEMAS_BYTES {
            return Err(format!(
                "its schemas have {bytes} bytes together, more than {MAX_ALL_SCHEMAS_BYTES}"
            ));
        }
        let mut all = Vec::with_capacity(raw.len());
        let mut schemas = HashMap::with_capacity(raw.len());
        let mut names = HashSet::with_capacity(raw.len());
        let mut patterns = 0;
        for raw in raw {
            let name = text::shown(&raw.name, 80);
            let (definition, own) =
                check_one(raw).map_err(|why| format!("tool `{name}`: {why}"))?;
            if !names.insert(definition.name.to_ascii_lowercase()) {
                return Err(format!(
                    "it defines two tools `{name}`, which differ in capital letters at most"
                ));
            }
            patterns += own.patterns();
            if patterns > MAX_ALL_PATTERNS {
                return Err(format!(
                    "its schemas have more than {MAX_ALL_PATTERNS} patterns together"
                ));
            }
            schemas.insert(definition.name.clone(), own);
            all.push(definition);
        }
        Ok(Self { all, schemas })
    }

    /// All definitions, in the stranger's order.
    #[must_use]
    pub fn all(&self) -> &[ToolDefinition] {
        &self.all
    }

    /// The schemas of a tool.
    #[must_use]
    pub fn schemas(&self, tool: &str) -> Option<&Schemas> {
        self.schemas.get(tool)
    }
}

fn check_one(raw: RawDefinition) -> Result<(ToolDefinition, Schemas), String> {
    if !is_tool_name(&raw.name) {
        return Err("a name has 1 to 64 letters, digits, `_` and `-`".to_owned());
    }
    if let Some(title) = &raw.title {
        check_text("title", title, MAX_TITLE_BYTES)?;
    }
    check_text("description", &raw.description, MAX_DESCRIPTION_BYTES)?;
    let (input_schema, input) =
        parse_schema("input schema", &raw.input_schema, InputSchema::compile)?;
    let (output_schema, output) = raw
        .output_schema
        .map(|schema| parse_schema("output schema", &schema, OutputSchema::compile))
        .transpose()?
        .unzip();
    let definition = ToolDefinition {
        name: raw.name,
        title: raw.title,
        description: raw.description,
        input_schema,
        output_schema,
        effect: raw.effect,
    };
    Ok((definition, Schemas { input, output }))
}

fn check_text(what: &str, content: &str, max_bytes: usize) -> Result<(), String> {
    if content.len() > max_bytes {
        return Err(format!(
            "the {what} has {} bytes, more than {max_bytes}",
            content.len()
        ));
    }
    if content.chars().any(text::is_deceptive) {
        return Err(format!("the {what} has {DECEPTIVE}"));
    }
    Ok(())
}

/// The schema as a value, and made ready for use.
fn parse_schema<T>(
    what: &str,
    json: &str,
    compile: fn(&Value) -> Result<T, String>,
) -> Result<(Value, T), String> {
    if json.len() > MAX_SCHEMA_BYTES {
        return Err(format!(
            "the {what} has {} bytes, more than {MAX_SCHEMA_BYTES}",
            json.len()
        ));
    }
    let schema: Value = serde_json::from_str(json).map_err(|error| {
        format!(
            "the {what} is not JSON: {}",
            text::shown(&error.to_string(), 200)
        )
    })?;
    if depth(&schema) > MAX_SCHEMA_DEPTH {
        return Err(format!(
            "the {what} nests deeper than {MAX_SCHEMA_DEPTH} levels"
        ));
    }
    // Of the value: in its text they may be written as `\u202e`, and the model and the operator see the value.
    if is_deceptive(&schema) {
        return Err(format!("the {what} has {DECEPTIVE}"));
    }
    let compiled =
        compile(&schema).map_err(|error| format!("the {what}: {}", text::shown(&error, 300)))?;
    Ok((schema, compiled))
}

/// Whether a text in a schema, or the name of a field, has characters that deceive its reader.
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

/// How deep a value nests. The parser bounds the recursion at 128 levels.
fn depth(value: &Value) -> usize {
    let inner = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(fields) => fields.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    1 + inner.unwrap_or(0)
}

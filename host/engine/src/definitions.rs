//! Validates and bounds tool definitions from untrusted components and MCP servers. Pure.

mod select;
#[cfg(test)]
mod tests;

pub use select::ToolNote;

use crate::{
    schema::{InputSchema, OutputSchema, SchemaError},
    text,
};
use agent_host_types::tool::{Effect, ToolDefinition, is_tool_name};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The most tools of one source. Every request to a model lists all of them.
const MAX_TOOLS: usize = 128;

/// The longest title, in bytes: it is shown on one line.
const MAX_TITLE_BYTES: usize = 128;

/// The longest description, in bytes: about 1,000 tokens.
pub const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;

/// The longest schema, in bytes of JSON text.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// The deepest nesting of objects and arrays in one schema.
const MAX_SCHEMA_DEPTH: usize = 32;

/// All schemas of one source, in bytes of JSON text. Compiled, they take about 100 times as much
/// memory.
const MAX_ALL_SCHEMAS_BYTES: usize = 512 * 1024;

/// The most patterns in all schemas of one source.
const MAX_ALL_PATTERNS: usize = 128;

/// A list of definitions that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionsError {
    /// The list is empty.
    #[error("it defines no tool")]
    NoTools,
    /// The list has this number of tools.
    #[error("it defines {0} tools, more than {MAX_TOOLS}")]
    TooManyTools(usize),
    /// The schemas have this length together.
    #[error("its schemas have {0} bytes together, more than {MAX_ALL_SCHEMAS_BYTES}")]
    SchemasTooLong(usize),
    /// The schemas have too many patterns together.
    #[error("its schemas have more than {MAX_ALL_PATTERNS} patterns together")]
    TooManyPatterns,
    /// Two names are equal when case is ignored; this is the second.
    #[error("it defines two tools `{0}`, which differ in capital letters at most")]
    DuplicateTool(String),
    /// None of several definitions can be used.
    #[error("none of its tools can be used: {0}")]
    NoneUsable(
        /// The reasons, at most 5.
        String,
    ),
    /// One definition cannot be used.
    #[error("tool `{tool}`: {source}")]
    Tool {
        /// The tool's name, escaped and cut to 80 bytes.
        tool: String,
        /// The reason.
        source: DefinitionError,
    },
}

/// A definition that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// Providers would not accept the name.
    #[error("a name has 1 to 64 letters, digits, `_` and `-`")]
    Name,
    /// A field is too long.
    #[error("the {field} has {bytes} bytes, more than {max_bytes}")]
    TooLong {
        /// The field.
        field: &'static str,
        /// Its length.
        bytes: usize,
        /// The bound.
        max_bytes: usize,
    },
    /// A field has characters for which [`text::is_deceptive`] is true.
    #[error(
        "the {0} has control characters, or characters that are not seen or turn the direction of writing"
    )]
    Deceptive(&'static str),
    /// A schema is not JSON.
    #[error("the {field} is not JSON: {}", text::sanitize(&source.to_string(), 200))]
    NotJson {
        /// The field.
        field: &'static str,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// A schema nests too deep.
    #[error("the {0} nests deeper than {MAX_SCHEMA_DEPTH} levels")]
    TooDeep(&'static str),
    /// A schema is longer than what the tools before left.
    #[error(
        "with the {0}, the schemas of all tools would have more than {MAX_ALL_SCHEMAS_BYTES} bytes together"
    )]
    TooLongTogether(&'static str),
    /// Another tool has the same name when case is ignored.
    #[error("another tool has this name, or differs in capital letters at most")]
    Duplicate,
    /// A schema cannot be used.
    #[error("the {field}: {}", text::sanitize(&source.to_string(), 300))]
    Schema {
        /// The field.
        field: &'static str,
        /// The reason.
        source: SchemaError,
    },
}

/// The checked definitions of one source, with their compiled schemas.
#[derive(Debug)]
pub struct Definitions {
    all: Vec<ToolDefinition>,
    schemas: HashMap<String, Schemas>,
}

/// The compiled schemas of one tool.
#[derive(Debug)]
pub struct Schemas {
    /// The schema of the input.
    pub input: InputSchema,
    /// The schema of a JSON result, if the tool declares one.
    pub output: Option<OutputSchema>,
}

impl Schemas {
    fn patterns(&self) -> usize {
        self.input.patterns() + self.output.as_ref().map_or(0, OutputSchema::patterns)
    }
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

    /// Checks the definition alone, as [`Definitions::check`] does for each of a list.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn check(self) -> Result<(), DefinitionError> {
        check_one(self).map(drop)
    }

    /// Returns the length of its schemas, in bytes.
    fn schema_bytes(&self) -> usize {
        self.input_schema.len() + self.output_schema.as_ref().map_or(0, String::len)
    }

    /// Returns the tool's name.
    #[must_use]
    pub fn into_name(self) -> String {
        self.name
    }

    /// Returns the form that the cache stores; it is checked again when it is read.
    #[must_use]
    pub fn from_checked(definition: &ToolDefinition) -> Self {
        Self {
            title: definition.title.clone(),
            ..Self::new(
                definition.name.clone(),
                definition.description.clone(),
                &definition.input_schema,
                definition.output_schema.as_ref(),
                definition.effect,
            )
        }
    }
}

impl Definitions {
    /// Checks all definitions of one source.
    ///
    /// # Errors
    /// The first bound that the list exceeds, or the first definition that cannot be used.
    pub fn check(raw: Vec<RawDefinition>) -> Result<Self, DefinitionsError> {
        if raw.is_empty() {
            return Err(DefinitionsError::NoTools);
        }
        if raw.len() > MAX_TOOLS {
            return Err(DefinitionsError::TooManyTools(raw.len()));
        }
        let bytes = raw.iter().map(RawDefinition::schema_bytes).sum();
        if bytes > MAX_ALL_SCHEMAS_BYTES {
            return Err(DefinitionsError::SchemasTooLong(bytes));
        }
        let mut all = Vec::with_capacity(raw.len());
        let mut schemas = HashMap::with_capacity(raw.len());
        let mut names = HashSet::with_capacity(raw.len());
        let mut patterns = 0;
        for raw in raw {
            let tool = text::sanitize(&raw.name, 80);
            let (definition, own) = match check_one(raw) {
                Ok(checked) => checked,
                Err(source) => return Err(DefinitionsError::Tool { tool, source }),
            };
            if !names.insert(definition.name.to_ascii_lowercase()) {
                return Err(DefinitionsError::DuplicateTool(tool));
            }
            patterns += own.patterns();
            if patterns > MAX_ALL_PATTERNS {
                return Err(DefinitionsError::TooManyPatterns);
            }
            schemas.insert(definition.name.clone(), own);
            all.push(definition);
        }
        Ok(Self { all, schemas })
    }

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

fn check_one(raw: RawDefinition) -> Result<(ToolDefinition, Schemas), DefinitionError> {
    check_texts(&raw)?;
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

/// Checks the name, the title and the description.
fn check_texts(raw: &RawDefinition) -> Result<(), DefinitionError> {
    if !is_tool_name(&raw.name) {
        return Err(DefinitionError::Name);
    }
    if let Some(title) = &raw.title {
        check_text("title", title, MAX_TITLE_BYTES)?;
    }
    check_text("description", &raw.description, MAX_DESCRIPTION_BYTES)
}

fn check_length(
    field: &'static str,
    content: &str,
    max_bytes: usize,
) -> Result<(), DefinitionError> {
    let bytes = content.len();
    if bytes > max_bytes {
        return Err(DefinitionError::TooLong {
            field,
            bytes,
            max_bytes,
        });
    }
    Ok(())
}

fn check_text(field: &'static str, content: &str, max_bytes: usize) -> Result<(), DefinitionError> {
    check_length(field, content, max_bytes)?;
    if content.chars().any(text::is_deceptive) {
        return Err(DefinitionError::Deceptive(field));
    }
    Ok(())
}

/// Parses and compiles a schema.
fn parse_schema<T>(
    field: &'static str,
    json: &str,
    compile: fn(&Value) -> Result<T, SchemaError>,
) -> Result<(Value, T), DefinitionError> {
    let schema = parse_json(field, json)?;
    let compiled = compile(&schema).map_err(|source| DefinitionError::Schema { field, source })?;
    Ok((schema, compiled))
}

/// Parses a schema within the bounds of its text.
fn parse_json(field: &'static str, json: &str) -> Result<Value, DefinitionError> {
    check_length(field, json, MAX_SCHEMA_BYTES)?;
    let schema: Value =
        serde_json::from_str(json).map_err(|source| DefinitionError::NotJson { field, source })?;
    if depth(&schema) > MAX_SCHEMA_DEPTH {
        return Err(DefinitionError::TooDeep(field));
    }
    // The JSON text may escape such characters, as `\u202e`; the model and the operator see the
    // value.
    if is_deceptive(&schema) {
        return Err(DefinitionError::Deceptive(field));
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

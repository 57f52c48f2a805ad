//! Tools that run outside: `[[external-tool]]`.

use super::{
    Config, ConfigError, Confirmation, Environment, RawExternalTool, paths::place, resolve::each,
};
use crate::trusted_file;
use agent_host_engine::schema::InputSchema;
use agent_host_types::tool::{Effect, ToolDefinition, is_tool_name};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use toml::Spanned;

/// The longest schema in a file, in bytes. A model is told of it with every request.
const MAX_SCHEMA_BYTES: u64 = 64 * 1024;

/// A tool whose calls are handed to whoever runs the loop.
#[derive(Clone, Debug)]
pub struct ExternalTool {
    /// What the model is told.
    pub definition: ToolDefinition,
    /// The compiled schema of its arguments.
    pub schema: Arc<InputSchema>,
    /// When a person is asked before a call is handed out.
    pub confirmation: Confirmation,
    /// The file that the schema is in, where it is in one.
    pub(super) schema_file: Option<PathBuf>,
}

/// The external tools of a configuration. Their names differ.
pub(super) fn from_raw(
    raw: Vec<Spanned<RawExternalTool>>,
    base: &Path,
    environment: &Environment,
) -> Result<Vec<ExternalTool>, ConfigError> {
    let mut tools = Vec::<ExternalTool>::new();
    let spans: Vec<_> = raw.iter().map(Spanned::span).collect();
    for (tool, span) in each(raw, |raw| resolve(raw, base, environment))?
        .into_iter()
        .zip(spans)
    {
        let name = &tool.definition.name;
        if tools.iter().any(|other| other.definition.name == *name) {
            return Err(ConfigError::new(format!(
                "two external tools have the name `{name}`, and the model could not tell them apart; change `name` of one"
            ))
            .at(&span));
        }
        tools.push(tool);
    }
    Ok(tools)
}

fn resolve(
    raw: RawExternalTool,
    base: &Path,
    environment: &Environment,
) -> Result<ExternalTool, ConfigError> {
    let RawExternalTool {
        name,
        title,
        description,
        input_schema,
        effect,
        approval,
    } = raw;
    if !is_tool_name(&name) {
        return Err(ConfigError::new(format!(
            "the tool name `{}` cannot be used: names have 1 to 64 letters of A to Z, digits, `_` and `-`; change `name` under \
             [[external-tool]]",
            name.escape_debug()
        )));
    }
    if description.trim().is_empty() {
        return Err(ConfigError::new(format!(
            "`description` of the external tool `{name}` is empty, and the model goes by it; say what the tool does"
        )));
    }
    let (input_schema, schema_file) = schema_of(&name, input_schema, base, environment)?;
    let schema = InputSchema::compile(&input_schema).map_err(|why| {
        ConfigError::new(format!(
            "`input-schema` of the external tool `{name}` cannot be used: {why}; correct it"
        ))
    })?;
    let confirmation = approval.resolve(&name)?;
    Ok(ExternalTool {
        definition: ToolDefinition {
            name,
            title,
            description,
            input_schema,
            output_schema: None,
            effect: effect.unwrap_or(Effect::Effectful),
        },
        schema: Arc::new(schema),
        confirmation,
        schema_file,
    })
}

/// The schema, and the file that it is in.
fn schema_of(
    name: &str,
    raw: Value,
    base: &Path,
    environment: &Environment,
) -> Result<(Value, Option<PathBuf>), ConfigError> {
    let Value::String(text) = raw else {
        return Ok((raw, None));
    };
    let file = place(&text, base, environment)?;
    let fault = |why: String| {
        ConfigError::new(format!(
            "cannot read `input-schema` of the external tool `{name}` from {}: {why}",
            file.display()
        ))
    };
    let text =
        trusted_file::read(&file, MAX_SCHEMA_BYTES).map_err(|error| fault(error.to_string()))?;
    let schema = serde_json::from_str(&text)
        .map_err(|error| fault(format!("it is not JSON ({error}); correct it")))?;
    Ok((schema, Some(file)))
}

impl Config {
    /// The files with the schemas of external tools, which no guest may see.
    pub(super) fn schema_files(&self) -> impl Iterator<Item = &Path> {
        let tools = self.external_tools.iter();
        tools.filter_map(|tool| tool.schema_file.as_deref())
    }
}

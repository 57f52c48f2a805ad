//! Tools that run outside of the host: `[[external-tool]]`.

use super::{
    ConfigError, Confirmation,
    approval::{self, RawApproval},
    lists::{check_name, check_unique},
    paths::Scope,
    problem::{config_error, resolve_all, resolve_steps},
    review::{Danger, Review, quoted},
    section::{section, values},
};
use crate::trusted_file;
use agent_host_engine::schema::InputSchema;
use agent_host_types::tool::{Effect, ToolDefinition};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

/// The maximum size of a schema in a file, in bytes. Every model request contains it.
const MAX_SCHEMA_BYTES: u64 = 64 * 1024;

section! {
    /// `[[external-tool]]`.
    pub(super) struct RawExternalTool {
        /// The name that the model calls.
        name: String => together;
        /// The name for the user.
        title: Option<String> => pinned;
        /// The description for the model.
        description: String => pinned;
        /// The JSON Schema of its arguments: a table, or the path of a file.
        input_schema [PathOrTable]: Value => together;
        /// The effect of a call; absent for `effectful`.
        effect: Option<Effect> => together;
        /// When a call needs approval, or which decisions are offered.
        #[serde(default)]
        approval: RawApproval => together;
    }
}

values!(Effect);

/// Demands what an external tool asks for.
pub(super) fn demand(raw: &RawExternalTool, _: &str, review: &mut Review<'_>) {
    let who = quoted(&raw.name);
    review.demand(
        Danger::Other,
        format!("passes calls of {who} to the program that runs agent-host (external-tool)"),
    );
    if let Some(effect) = raw.effect.filter(|effect| *effect != Effect::Effectful) {
        let effect = effect.as_str();
        review.demand(
            Danger::Unchecked,
            format!("declares calls of {who} to be {effect}"),
        );
    }
    approval::demand(&raw.approval, &BTreeMap::new(), &who, review);
    if let Some(file) = raw.input_schema.as_str()
        && review.reach(file).is_some()
    {
        let file = quoted(file);
        review.demand(
            Danger::Private,
            format!("reads the schema of {who} from {file}, outside of its directory"),
        );
    }
}

/// A tool whose calls are handed to the program that runs the loop.
#[derive(Clone, Debug)]
pub struct ExternalTool {
    /// The definition, as the model reads it.
    pub definition: ToolDefinition,
    /// The compiled schema of its arguments.
    pub schema: Arc<InputSchema>,
    /// When a call needs approval before it is handed out.
    pub confirmation: Confirmation,
    /// The file of the schema, where it is in one.
    pub(super) schema_file: Option<PathBuf>,
}

/// Resolves the external tools. Their names differ.
pub(super) fn resolve(
    raw: Vec<RawExternalTool>,
    scope: Scope<'_>,
) -> Result<Vec<ExternalTool>, ConfigError> {
    let mut names = HashSet::new();
    resolve_all("external-tool", raw, |raw| {
        check_name(&raw.name, "the tool name `", "`", "[[external-tool]]")?;
        check_unique(&mut names, &raw.name, "external tools", "the model")?;
        resolve_one(raw, scope)
    })
}

fn resolve_one(raw: RawExternalTool, scope: Scope<'_>) -> Result<ExternalTool, ConfigError> {
    let name = raw.name;
    let description = if raw.description.trim().is_empty() {
        Err(config_error!(
            "description",
            "`description` of the external tool `{name}` is empty, and the model needs it",
            "describe what the tool does"
        ))
    } else {
        Ok(raw.description)
    };
    resolve_steps! {
        description = description;
        schema = schema_of(&name, raw.input_schema, scope);
        confirmation = raw.approval.resolve("approval", &name);
    }
    let (input_schema, schema, schema_file) = schema;
    Ok(ExternalTool {
        definition: ToolDefinition {
            name,
            title: raw.title,
            description,
            input_schema,
            output_schema: None,
            effect: raw.effect.unwrap_or(Effect::Effectful),
        },
        schema: Arc::new(schema),
        confirmation,
        schema_file,
    })
}

/// Returns the schema, its compiled form, and the file that it is in.
fn schema_of(
    name: &str,
    raw: Value,
    scope: Scope<'_>,
) -> Result<(Value, InputSchema, Option<PathBuf>), ConfigError> {
    const KEY: &str = "input-schema";
    let (value, file) = match raw {
        Value::String(text) => {
            let file = scope.resolve_path(KEY, &text)?;
            let fault = |why: &str, fix: &str| {
                let file = file.display();
                config_error!(
                    KEY,
                    "cannot read `input-schema` of the external tool `{name}` from {file}: {why}",
                    "{fix}"
                )
                .with_value(&text)
            };
            let read = trusted_file::read(&file, MAX_SCHEMA_BYTES);
            let json = read.map_err(|error| fault(&error.reason, &error.fix))?;
            let value = serde_json::from_str(&json)
                .map_err(|error| fault(&format!("it is not JSON ({error})"), "correct it"))?;
            (value, Some(file))
        }
        table => (table, None),
    };
    let schema = InputSchema::compile(&value).map_err(|why| {
        config_error!(
            KEY,
            "invalid `input-schema` of the external tool `{name}`: {why}",
            "correct it"
        )
    })?;
    Ok((value, schema, file))
}

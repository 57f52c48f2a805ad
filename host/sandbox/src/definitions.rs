//! What a component says about its tools. It is guest code that says it, so it runs once for each component, with no grants
//! and tight limits, and every word of it is checked and bounded before anybody reads it.

#[cfg(test)]
mod tests;

use crate::{
    bindings::{HostPre, types as wit},
    caps::{human::Questions, state::SharedState},
    convert,
    error::{LoadError, LoadFault},
    gate::Gate,
    guest,
    sandbox::Room,
    stdio,
    store::{CallSetup, CallState},
    telemetry::Telemetry,
    text,
};
use agent_host_core::{
    limits::Limits,
    policy::Grants,
    schema::{InputSchema, OutputSchema},
    tool::{Effect, ToolDefinition, is_tool_name},
};
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

/// The tools of one component. A model is told of all of them with every request.
const MAX_TOOLS: usize = 128;

/// A title, in bytes: it is shown on one line.
const MAX_TITLE_BYTES: usize = 128;

/// A description, in bytes: about a thousand tokens.
pub(crate) const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;

/// One schema, in bytes of JSON text.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// How deep objects and lists of one schema may nest.
const MAX_SCHEMA_DEPTH: usize = 32;

/// All schemas of one component, in bytes of JSON text: what is made of them takes about a hundred times as much.
const MAX_ALL_SCHEMAS_BYTES: usize = 512 * 1024;

/// The patterns in all schemas of one component.
const MAX_ALL_PATTERNS: usize = 128;

/// What [`text::is_deceptive`] finds, in words.
const DECEPTIVE: &str =
    "control characters, or characters that are not seen or turn the direction of writing";

/// The deadline, in milliseconds. Python needs 10 ms on a quiet machine.
const DEADLINE_MS: u64 = 5_000;

/// The memory, in bytes. Python needs 13 MiB.
const MEMORY_BYTES: u64 = 128 * 1024 * 1024;

/// What is kept of what it writes, and of its stack, in bytes: a panic's message and where it was.
const STDIO_BYTES: usize = 2 * 1024;

/// What may cross to the host at once, in bytes: room for every tool's text.
const TRANSFER_BYTES: u64 = 4 * 1024 * 1024;

/// The definitions of one component, with their schemas ready for use.
pub(crate) struct Definitions {
    all: Vec<ToolDefinition>,
    schemas: HashMap<String, Schemas>,
}

/// The schemas of one tool.
pub(crate) struct Schemas {
    pub(crate) input: InputSchema,
    pub(crate) output: Option<OutputSchema>,
}

impl Schemas {
    fn patterns(&self) -> usize {
        self.input.patterns() + self.output.as_ref().map_or(0, OutputSchema::patterns)
    }
}

/// A definition whose texts and schemas have not been looked at.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct RawDefinition {
    name: String,
    title: Option<String>,
    description: String,
    input_schema: String,
    output_schema: Option<String>,
    effect: Effect,
}

impl RawDefinition {
    /// What the host itself says of a tool.
    pub(crate) fn new(
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

    /// Whether it can stand among a component's definitions.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub(crate) fn check(self) -> Result<(), String> {
        check_one(self).map(drop)
    }

    fn from_wit(definition: wit::ToolDefinition) -> Self {
        Self {
            name: definition.name,
            title: definition.title,
            description: definition.description,
            input_schema: definition.input_schema,
            output_schema: definition.output_schema,
            effect: convert::effect(definition.effect),
        }
    }

    /// The text of its schemas, in bytes.
    fn schema_bytes(&self) -> usize {
        self.input_schema.len() + self.output_schema.as_ref().map_or(0, String::len)
    }

    /// The tool's name.
    pub(crate) fn into_name(self) -> String {
        self.name
    }

    /// The form in which a checked definition is kept in the cache: exactly the one that is checked again when it is read.
    pub(crate) fn from_checked(definition: &ToolDefinition) -> Self {
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

/// Asks a component for its definitions.
pub(crate) async fn ask(
    room: &Arc<Room>,
    pre: &HostPre<CallState>,
) -> Result<Vec<RawDefinition>, LoadError> {
    let _permit = room.defining.acquire().await;
    let limits = Limits {
        deadline_ms: DEADLINE_MS,
        memory_bytes: MEMORY_BYTES,
        max_transfer_bytes: TRANSFER_BYTES,
        ..Limits::default()
    };
    let patience = Duration::from_millis(DEADLINE_MS);
    let gate = Gate::new(Arc::new(Grants::default()), Effect::ReadOnly, &limits);
    let telemetry = Telemetry::new(STDIO_BYTES);
    let setup = CallSetup {
        shared: SharedState::new(Arc::default()),
        questions: Questions::new(Arc::clone(&gate), false, Vec::new()),
        gate,
        deadline: Instant::now() + patience,
        protected: Arc::clone(&room.protected),
        client: Arc::clone(&room.client),
        // Nothing is granted, so nothing comes back.
        secrets: Arc::default(),
        telemetry: Arc::clone(&telemetry),
        progress_interval: room.progress_interval,
        limits: limits.clone(),
    };
    let work = guest::definitions(pre.clone(), setup);
    let mut running = room.guests.run(&room.guests.schedule(), work);
    let ended = match tokio::time::timeout(patience, running.ended()).await {
        Ok(ended) => ended.unwrap_or_else(|error| Err(guest::lost(&error, &limits))),
        Err(_) => Err(crate::failure::timeout(&limits)),
    };
    match ended {
        Ok(definitions) => Ok(definitions
            .into_iter()
            .map(RawDefinition::from_wit)
            .collect()),
        Err(failure) => {
            let mut why = format!(
                "`definitions` ended with {}: {}",
                failure.code,
                failure.message()
            );
            let wrote = stdio::combined(&telemetry);
            if !wrote.is_empty() {
                let wrote = text::shown(wrote.trim(), STDIO_BYTES);
                why = format!("{why} It left:\n{wrote}\n");
            }
            Err(broken(&why))
        }
    }
}

impl Definitions {
    /// Checks everything that a component says about its tools.
    ///
    /// # Errors
    /// `contract-mismatch`, naming the tool and what is wrong with it.
    pub(crate) fn check(raw: Vec<RawDefinition>) -> Result<Self, LoadError> {
        if raw.is_empty() {
            return Err(broken("it defines no tool"));
        }
        if raw.len() > MAX_TOOLS {
            return Err(broken(&format!(
                "it defines {} tools, more than {MAX_TOOLS}",
                raw.len()
            )));
        }
        let bytes: usize = raw.iter().map(RawDefinition::schema_bytes).sum();
        if bytes > MAX_ALL_SCHEMAS_BYTES {
            return Err(broken(&format!(
                "its schemas have {bytes} bytes together, more than {MAX_ALL_SCHEMAS_BYTES}"
            )));
        }
        let mut all = Vec::with_capacity(raw.len());
        let mut schemas = HashMap::with_capacity(raw.len());
        let mut names = HashSet::with_capacity(raw.len());
        let mut patterns = 0;
        for raw in raw {
            let name = text::shown(&raw.name, 80);
            let (definition, own) =
                check_one(raw).map_err(|why| broken(&format!("tool `{name}`: {why}")))?;
            if !names.insert(definition.name.to_ascii_lowercase()) {
                return Err(broken(&format!(
                    "it defines two tools `{name}`, which differ in capital letters at most"
                )));
            }
            patterns += own.patterns();
            if patterns > MAX_ALL_PATTERNS {
                return Err(broken(&format!(
                    "its schemas have more than {MAX_ALL_PATTERNS} patterns together"
                )));
            }
            schemas.insert(definition.name.clone(), own);
            all.push(definition);
        }
        Ok(Self { all, schemas })
    }

    /// All definitions, in the component's order.
    pub(crate) fn all(&self) -> &[ToolDefinition] {
        &self.all
    }

    /// The schemas of a tool.
    pub(crate) fn schemas(&self, tool: &str) -> Option<&Schemas> {
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

fn broken(why: &str) -> LoadError {
    LoadError::new(
        LoadFault::ContractMismatch,
        format!(
            "the component's tool definitions cannot be used: {why}. They have to be corrected in its source; until then, use another version of it"
        ),
    )
}

//! Functions of a client, as external tools: the model calls them, the run pauses, and the client
//! sends their results.

use super::{
    error::ApiError,
    fields::{field, text},
};
use agent_host_engine::{
    schema::{AnswerSchema, InputSchema},
    tool_set::{Offer, ToolEntry, ToolSet},
};
use agent_host_types::tool::{
    Approval, DecisionKind, Effect, RegisteredTool, ToolDefinition, ToolRuntime, is_tool_name,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The most functions of a request.
const MAX_FUNCTIONS: usize = 128;

/// The most regular expressions in the schema of a function.
const MAX_PATTERNS: usize = 32;

/// A function of a client.
#[derive(Clone, Deserialize)]
pub(super) struct Function {
    name: String,
    description: Option<String>,
    parameters: Option<Value>,
}

/// The definition of a function: of a response, or of a chat, where it is one level deeper.
#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    Chat { function: Function },
    Response(Function),
}

/// Reads the `tools` of a request. With the choice `none` there are none.
pub(super) fn functions(
    tools: Vec<Value>,
    choice: Option<&Value>,
) -> Result<Vec<Function>, ApiError> {
    match choice.unwrap_or(&Value::Null) {
        Value::Null => {}
        Value::String(choice) if choice == "auto" => {}
        Value::String(choice) if choice == "none" => return Ok(Vec::new()),
        _ => {
            let message = "an agent chooses its own tools; `tool_choice` must be `auto`, or `none` to leave out the \
                functions of the request";
            return Err(ApiError::unsupported("tool_choice", message));
        }
    }
    if tools.len() > MAX_FUNCTIONS {
        let message = format!(
            "there are {} tools; the maximum is {MAX_FUNCTIONS}",
            tools.len()
        );
        return Err(ApiError::invalid(message).at("tools"));
    }
    let read = |(index, tool): (usize, Value)| {
        let place = format!("tools[{index}]");
        if text(&tool, "type") != "function" {
            let message =
                "agents accept only tools of the type `function`; they have their own tools";
            return Err(ApiError::unsupported(place, message));
        }
        match serde_json::from_value(tool) {
            Ok(Form::Chat { function } | Form::Response(function)) => Ok(function),
            Err(_) => Err(ApiError::invalid(format!("{place} has no `name`")).at(place)),
        }
    };
    tools.into_iter().enumerate().map(read).collect()
}

/// Compiles the schema of an answer from the `format` of a request; `None` for text.
pub(super) fn answer_schema(
    place: &str,
    format: Option<&Value>,
) -> Result<Option<Arc<AnswerSchema>>, ApiError> {
    let format = format.unwrap_or(&Value::Null);
    let schema = match format.get("type").and_then(Value::as_str) {
        None if format.is_null() => return Ok(None),
        Some("text") => return Ok(None),
        // That of a chat is one level deeper.
        Some("json_schema") => match field(format, "json_schema") {
            Value::Null => field(format, "schema"),
            form => field(form, "schema"),
        },
        _ => {
            let message = "the format of an answer must be `text` or `json_schema`";
            return Err(ApiError::unsupported(place, message));
        }
    };
    let compiled = AnswerSchema::compile(schema).map_err(|error| {
        ApiError::invalid(format!("invalid schema of the answer: {error}")).at(place)
    })?;
    Ok(Some(Arc::new(compiled)))
}

/// Puts the functions of a client behind the tools of an agent.
///
/// # Errors
/// A function has the name of another one, or of a tool, or a schema that cannot be used.
pub(super) fn with_functions(
    tools: &Arc<ToolSet>,
    functions: &[Function],
) -> Result<Arc<ToolSet>, ApiError> {
    if functions.is_empty() {
        return Ok(Arc::clone(tools));
    }
    let mut tools = ToolSet::clone(tools);
    for function in functions {
        let name = function.name.clone();
        let refuse = |why: &str| {
            let name = name.escape_debug();
            ApiError::invalid(format!("the function `{name}` {why}")).at("tools")
        };
        if !is_tool_name(&name) {
            return Err(refuse(
                "has a name that is not 1 to 64 letters, digits, `_` and `-`",
            ));
        }
        if tools.get(&name).is_some() {
            return Err(refuse(
                "has the name of another tool of the agent; rename it",
            ));
        }
        let empty = || json!({"type": "object", "properties": {}});
        let input_schema = function.parameters.clone().unwrap_or_else(empty);
        let (schema, _) = InputSchema::compile_relaxed(&input_schema, MAX_PATTERNS)
            .map_err(|error| refuse(&format!("has an invalid schema: {error}")))?;
        let tool = RegisteredTool {
            definition: Arc::new(ToolDefinition {
                name: name.clone(),
                title: None,
                description: function.description.clone().unwrap_or_default(),
                input_schema,
                output_schema: None,
                effect: Effect::Effectful,
            }),
            effect: Effect::Effectful,
            // The client runs it, and asks whom it likes.
            approval: Approval::Never,
            decisions: DecisionKind::ALL.to_vec(),
            runtime: ToolRuntime::External,
            component: None,
            destination: None,
            summary: None,
        };
        tools.push(ToolEntry {
            tool,
            schema: Arc::new(schema),
            handler: None,
            offer: Offer::Always,
        });
    }
    Ok(Arc::new(tools))
}

//! Fits the schemas of tools to what a provider accepts, so that no tool makes it refuse a request.
//! A schema keeps its meaning where the provider can express it; the rest is said in descriptions.
//! Where the arguments then differ, they are converted in both directions: the tool's own schema
//! decides on them, and the model sees in the conversation what it wrote.

mod arguments;
mod bounded;
mod finish;
mod fitter;
mod merge;
mod names;
mod read;
mod rules;
#[cfg(test)]
mod tests;

pub(crate) use arguments::ArgumentMap;
pub(crate) use rules::SchemaDialect;

use agent_host_types::{
    model::{ModelReply, ModelRequest},
    tool::{ToolCall, ToolDefinition},
};
use serde_json::{Map, Value, json};
use std::{borrow::Cow, collections::HashMap};

/// Fits the schema of a tool's input. Takes time and memory in proportion to a bounded result,
/// whatever the schema is.
pub(crate) fn fit_schema(dialect: SchemaDialect, schema: &Value) -> (Value, ArgumentMap) {
    fitter::Fitter::new(dialect, schema).root()
}

/// The tools of a request whose arguments differ from those that the model writes.
#[derive(Debug, Default)]
pub(crate) struct ArgumentMaps(HashMap<String, ArgumentMap>);

/// Fits the tools of a request and the calls in its conversation.
pub(crate) fn fit_request(
    dialect: SchemaDialect,
    request: &ModelRequest,
) -> (Cow<'_, ModelRequest>, ArgumentMaps) {
    let mut maps = ArgumentMaps::default();
    let mut tools = Vec::with_capacity(request.tools.len());
    for tool in &request.tools {
        let (tool, map) = fit_tool(dialect, tool);
        if !map.is_identity() {
            maps.0.insert(tool.name.clone(), map);
        }
        tools.push(tool);
    }
    if tools == request.tools {
        return (Cow::Borrowed(request), maps);
    }
    let mut messages = request.messages.clone();
    if !maps.0.is_empty() {
        let calls = messages
            .iter_mut()
            .flat_map(|message| &mut message.tool_calls);
        calls.for_each(|call| maps.convert(call, ArgumentMap::for_model));
    }
    let request = ModelRequest {
        system: request.system.clone(),
        messages,
        tools,
        answer_schema: request.answer_schema.clone(),
    };
    (Cow::Owned(request), maps)
}

fn fit_tool(dialect: SchemaDialect, tool: &ToolDefinition) -> (ToolDefinition, ArgumentMap) {
    let (mut schema, map) = fit_schema(dialect, &tool.input_schema);
    let mut description = tool.description.clone();
    // Ollama's servers drop the description of the root.
    if dialect == SchemaDialect::Ollama
        && let Some(Value::String(text)) = schema
            .as_object_mut()
            .and_then(|schema| schema.remove("description"))
    {
        description = [description, text].join("\n");
    }
    let tool = ToolDefinition {
        description,
        input_schema: schema,
        output_schema: None,
        ..tool.clone()
    };
    (tool, map)
}

impl ArgumentMaps {
    /// Converts the calls of a reply, so that their arguments are the tools' own.
    pub(crate) fn restore(&self, reply: &mut ModelReply) {
        for call in &mut reply.tool_calls {
            self.convert(call, ArgumentMap::for_tool);
        }
    }

    fn convert(
        &self,
        call: &mut ToolCall,
        convert: fn(&ArgumentMap, Map<String, Value>) -> Map<String, Value>,
    ) {
        let Some(map) = self.0.get(&call.name) else {
            return;
        };
        let Some(before) = call.input.as_deref() else {
            return;
        };
        let input = convert(map, before.clone());
        if input != *before {
            call.raw_arguments = json!(input).to_string();
            call.input = Some(input.into());
        }
    }
}

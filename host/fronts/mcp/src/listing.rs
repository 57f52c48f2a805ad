//! The tool list in the protocol's form, made once per registry. Annotations are hints for clients;
//! the policy uses the registry.

#[cfg(test)]
mod tests;

use crate::result::Structured;
use agent_host_types::tool::{Effect, RegisteredTool, ToolRuntime};
use rmcp::{
    ErrorData,
    model::{JsonObject, ListToolsResult, Tool, ToolAnnotations},
};
use serde_json::Value;
use std::sync::Arc;

/// Tools on one page.
const PAGE: usize = 100;

/// The served tools, in the registry's order.
#[derive(Debug)]
pub(crate) struct ServedTools {
    tools: Vec<Tool>,
}

impl ServedTools {
    /// Makes the list, without external tools, which only the program of the host's own loop runs.
    /// `is_open` returns whether calls of the named tool may reach the network.
    pub(crate) fn new<'t>(
        tools: impl Iterator<Item = &'t RegisteredTool>,
        is_open: impl Fn(&str) -> bool,
    ) -> Self {
        let served = tools.filter(|tool| match tool.runtime {
            ToolRuntime::Host | ToolRuntime::Agent => true,
            ToolRuntime::External => false,
        });
        Self {
            tools: served
                .map(|tool| describe(tool, is_open(&tool.definition.name)))
                .collect(),
        }
    }

    /// Returns the names of the tools.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.tools.iter().map(|tool| tool.name.to_string());
        names.collect()
    }

    /// Returns the tool with this name.
    pub(crate) fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Returns a page of the list. The cursor is the name of the last tool of the page before, so
    /// it stays valid over a reload.
    ///
    /// # Errors
    /// Returns `-32602` for an unknown cursor.
    pub(crate) fn page(
        &self,
        cursor: Option<&str>,
        structured: Structured,
    ) -> Result<ListToolsResult, ErrorData> {
        let rest = match cursor {
            None => self.tools.as_slice(),
            Some(cursor) => {
                let last = self.tools.iter().position(|tool| tool.name == cursor);
                let rest = last.and_then(|last| self.tools.get(last + 1..));
                rest.ok_or_else(|| {
                    ErrorData::invalid_params(
                        "invalid cursor; list the tools from the beginning, without one",
                        None,
                    )
                })?
            }
        };
        let page = rest.get(..PAGE).unwrap_or(rest);
        let is_last = page.len() == rest.len();
        let last = page.last().filter(|_| !is_last);
        let mut result = ListToolsResult::with_all_items(
            page.iter()
                .map(|tool| for_version(tool, structured))
                .collect(),
        );
        result.next_cursor = last.map(|tool| tool.name.clone().into_owned());
        Ok(result)
    }
}

/// Returns a tool as a version of the protocol allows it: in versions where only objects may be
/// structured content, the root of an output schema must be an object.
fn for_version(tool: &Tool, structured: Structured) -> Tool {
    let mut tool = tool.clone();
    if structured == Structured::Objects {
        tool.output_schema = tool
            .output_schema
            .filter(|schema| schema.get("type").and_then(Value::as_str) == Some("object"));
    }
    tool
}

fn describe(tool: &RegisteredTool, is_open: bool) -> Tool {
    let definition = &tool.definition;
    let mut described = Tool::new(
        definition.name.clone(),
        definition.description.clone(),
        object(&definition.input_schema).unwrap_or_default(),
    );
    described.title.clone_from(&definition.title);
    described.output_schema = definition.output_schema.as_ref().and_then(object);
    described.annotations = Some(annotations(tool.effect, is_open));
    described
}

/// Returns the annotations for the effect that the policy uses. The absent `destructiveHint` means
/// that a tool that is not read-only may be destructive.
fn annotations(effect: Effect, is_open: bool) -> ToolAnnotations {
    let annotations = ToolAnnotations::new().open_world(is_open);
    match effect {
        Effect::ReadOnly => annotations.read_only(true),
        Effect::Idempotent => annotations.read_only(false).idempotent(true),
        Effect::Effectful => annotations.read_only(false).idempotent(false),
    }
}

fn object(schema: &Value) -> Option<Arc<JsonObject>> {
    schema.as_object().cloned().map(Arc::new)
}

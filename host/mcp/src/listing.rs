//! The tools as clients are told of them: made once for each registry, so that neither a call nor a page of the list makes them
//! anew. Nothing here decides whether a call runs: annotations are hints, and the policy goes by the registry.

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

/// How many tools one page has.
const PAGE: usize = 100;

/// The tools that are served, in the registry's order.
#[derive(Debug)]
pub(crate) struct Listing {
    tools: Vec<Tool>,
}

impl Listing {
    /// Makes the list. Tools that run outside of the host are left out: whoever drives the host's own loop runs them. `is_open` says
    /// of a tool's name whether its calls may reach the network.
    pub(crate) fn new(tools: &[RegisteredTool], is_open: impl Fn(&str) -> bool) -> Self {
        let served = tools.iter().filter(|tool| match tool.runtime {
            ToolRuntime::Host => true,
            ToolRuntime::External => false,
        });
        Self {
            tools: served
                .map(|tool| describe(tool, is_open(&tool.definition.name)))
                .collect(),
        }
    }

    /// The tool of this name.
    pub(crate) fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// A page of the list. The cursor is the name of the last tool of the page before, so that it means the same after a reload.
    ///
    /// # Errors
    /// `-32602` for a cursor that is none.
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
                        "there is no such cursor; list the tools from the beginning, without one",
                        None,
                    )
                })?
            }
        };
        let page = rest.get(..PAGE).unwrap_or(rest);
        let is_last = page.len() == rest.len();
        let last = page.last().filter(|_| !is_last);
        let mut result = ListToolsResult::with_all_items(
            page.iter().map(|tool| told(tool, structured)).collect(),
        );
        result.next_cursor = last.map(|tool| tool.name.clone().into_owned());
        Ok(result)
    }
}

/// The tool as a version of the protocol allows it to be told: before any value could be structured content, the root of an
/// output schema had to be an object.
fn told(tool: &Tool, structured: Structured) -> Tool {
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
    let mut told = Tool::new(
        definition.name.clone(),
        definition.description.clone(),
        object(&definition.input_schema).unwrap_or_default(),
    );
    told.title.clone_from(&definition.title);
    told.output_schema = definition.output_schema.as_ref().and_then(object);
    told.annotations = Some(annotations(tool.effect, is_open));
    told
}

/// What the effect that the policy goes by says to clients. A tool that changes something may destroy something as far as anybody
/// knows, which is what the absence of `destructiveHint` means.
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

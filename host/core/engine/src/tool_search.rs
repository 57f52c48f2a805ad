//! Search of tools, for more tools than a model chooses well from: it is offered one tool that
//! finds the others, and those that it has found in this session.
//!
//! The tools found are part of the session's state, by the results of the search, so a resumed or
//! copied session offers the same ones. Nothing is granted or withheld: a call of a tool that was
//! not found passes the same checks.

mod index;
#[cfg(test)]
mod tests;

use crate::{
    BoxFuture, text,
    tool::{Invocation, ProgressSink, RunEnd, ToolHandler},
    tool_set::{ToolEntry, ToolSet},
};
use agent_host_types::{
    output::ToolResultOutput,
    tool::{Effect, ToolDefinition},
};
pub(crate) use index::Index;
use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, future::ready, sync::Arc};

/// The name of the tool that searches.
pub const SEARCH_TOOL: &str = "search_tools";

/// The maximum of tools in one result. Each found tool costs its definition in every later request.
const MAX_FOUND: usize = 8;

/// The length of a description in a result, in bytes; the definition follows in the next request.
const SUMMARY_BYTES: usize = 300;

/// The length of all names in the description of the search, in bytes: about 1,500 tokens.
const NAMES_BYTES: usize = 6 * 1024;

/// The tools that a search finds.
struct SearchedTools {
    definitions: Vec<Arc<ToolDefinition>>,
    index: Index,
}

/// Puts a search before tools, which the model is offered once it has found them. Returns the tools
/// as they are if they are fewer than `from`, or `from` is 0.
#[must_use]
pub fn searched(mut tools: ToolSet, from: usize) -> ToolSet {
    if from == 0 || tools.len() < from {
        return tools;
    }
    let shared = tools.tools().map(|tool| Arc::clone(&tool.definition));
    let definitions: Vec<Arc<ToolDefinition>> = shared.collect();
    let definition = search_tool(&definitions);
    let index = Index::new(definitions.iter().map(AsRef::as_ref));
    let search = SearchedTools { definitions, index };
    let Ok(search) = ToolEntry::own(definition, Arc::new(search)) else {
        return tools;
    };
    tools.offer_found();
    tools.behind([search.with_summary("Searched the tools for {query|quoted}")])
}

impl ToolHandler for SearchedTools {
    fn run<'a>(&'a self, invocation: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, RunEnd> {
        Box::pin(ready(self.search(&invocation.input).into()))
    }
}

impl SearchedTools {
    fn search(&self, input: &Map<String, Value>) -> ToolResultOutput {
        let query = input.get("query").and_then(Value::as_str);
        let found = self.index.search(query.unwrap_or_default(), MAX_FOUND);
        let found: Vec<Value> = found
            .into_iter()
            .filter_map(|at| self.definitions.get(at))
            .map(|tool| {
                let description = text::sanitize(&tool.description, SUMMARY_BYTES);
                json!({ "name": tool.name, "description": description })
            })
            .collect();
        if found.is_empty() {
            let hint = "No tool matches these words. Use other words, or a name from the list.";
            return ToolResultOutput::json(json!({ "tools": [], "hint": hint }));
        }
        ToolResultOutput::json(json!({ "tools": found }))
    }
}

/// Returns the names in a result of the search; none for another result.
pub(crate) fn found_in(output: &ToolResultOutput) -> BTreeSet<String> {
    let ToolResultOutput::Json(json) = output else {
        return BTreeSet::new();
    };
    let value = json.to_value();
    let found = value.get("tools").and_then(Value::as_array);
    let names = found.into_iter().flatten();
    names
        .filter_map(|tool| Some(tool.get("name")?.as_str()?.to_owned()))
        .collect()
}

/// Returns the tool that searches these tools.
fn search_tool(tools: &[Arc<ToolDefinition>]) -> ToolDefinition {
    let mut listed = String::new();
    for tool in tools {
        let name = &tool.name;
        if listed.len() + name.len() > NAMES_BYTES {
            listed.push_str(", and others");
            break;
        }
        if !listed.is_empty() {
            listed.push_str(", ");
        }
        listed.push_str(name);
    }
    ToolDefinition {
        name: SEARCH_TOOL.to_owned(),
        title: Some("Search tools".to_owned()),
        description: format!(
            "Finds tools by what they do. Search before calling a tool that is only named here: tools that are found \
             can be called from the next message on. There are {} tools: {listed}.",
            tools.len()
        ),
        input_schema: json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "maxLength": 1000,
                    "description": "Words for what the tool does, or tool names.",
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        }),
        output_schema: None,
        effect: Effect::ReadOnly,
    }
}

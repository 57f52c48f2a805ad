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
    BoxFuture,
    schema::InputSchema,
    text,
    tool::{CallReport, Invocation, ProgressSink, RunEnd, ToolRunner},
};
use agent_host_types::{
    failure::ToolFailure,
    limits::Limits,
    output::ToolResultOutput,
    tool::{Approval, DecisionKind, Effect, RegisteredTool, ToolDefinition, ToolRuntime},
};
use index::Index;
use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, sync::Arc};

/// The name of the tool that searches.
pub const SEARCH_TOOL: &str = "search_tools";

/// The maximum of tools in one result. Each found tool costs its definition in every later request.
const MAX_FOUND: usize = 8;

/// The length of a description in a result, in bytes; the definition follows in the next request.
const SUMMARY_BYTES: usize = 300;

/// The length of all names in the description of the search, in bytes: about 1,500 tokens.
const NAMES_BYTES: usize = 6 * 1024;

/// Tools of a runner that are found by a search.
pub struct SearchedTools {
    inner: Arc<dyn ToolRunner>,
    /// The search, and then the tools of `inner`.
    tools: Vec<RegisteredTool>,
    schema: InputSchema,
    index: Index,
}

impl SearchedTools {
    /// Puts a search before the tools of a runner. Returns the runner if it has fewer than `from`
    /// tools, `from` is 0, or it has a tool of the search's name.
    #[must_use]
    pub fn wrap(inner: Arc<dyn ToolRunner>, from: usize) -> Arc<dyn ToolRunner> {
        let tools = inner.tools();
        let is_taken = tools.iter().any(|tool| tool.definition.name == SEARCH_TOOL);
        if from == 0 || tools.len() < from || is_taken {
            return inner;
        }
        let search = search_tool(tools);
        // It is a constant, and a test compiles it.
        let Ok(schema) = InputSchema::compile(&search.definition.input_schema) else {
            return inner;
        };
        let index = Index::new(tools.iter().map(|tool| &tool.definition));
        let tools = std::iter::once(search).chain(tools.iter().cloned());
        Arc::new(Self {
            tools: tools.collect(),
            inner,
            schema,
            index,
        })
    }

    /// Returns the result of a search.
    fn search(&self, input: &Map<String, Value>) -> Value {
        let query = input.get("query").and_then(Value::as_str);
        let found = self.index.search(query.unwrap_or_default(), MAX_FOUND);
        let found: Vec<Value> = found
            .into_iter()
            .filter_map(|at| Some(&self.inner.tools().get(at)?.definition))
            .map(|tool| {
                let description = text::sanitize(&tool.description, SUMMARY_BYTES);
                json!({ "name": tool.name, "description": description })
            })
            .collect();
        if found.is_empty() {
            let hint = "No tool has any of these words. Use other words, or a name of the list.";
            return json!({ "tools": [], "hint": hint });
        }
        json!({ "tools": found })
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
fn search_tool(tools: &[RegisteredTool]) -> RegisteredTool {
    let mut listed = String::new();
    for tool in tools {
        let name = &tool.definition.name;
        if listed.len() + name.len() > NAMES_BYTES {
            listed.push_str(", and others");
            break;
        }
        if !listed.is_empty() {
            listed.push_str(", ");
        }
        listed.push_str(name);
    }
    RegisteredTool {
        definition: ToolDefinition {
            name: SEARCH_TOOL.to_owned(),
            title: Some("Search tools".to_owned()),
            description: format!(
                "Finds tools by what they do. Search before you call a tool that is only named here: what is found can be \
                 called from the next message on. There are {} tools: {listed}.",
                tools.len()
            ),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "maxLength": 1000,
                        "description": "Words for what the tool does, or names of tools.",
                    },
                },
                "required": ["query"],
                "additionalProperties": false,
            }),
            output_schema: None,
            effect: Effect::ReadOnly,
        },
        effect: Effect::ReadOnly,
        approval: Approval::Never,
        decisions: DecisionKind::ALL.to_vec(),
        runtime: ToolRuntime::Host,
        component: None,
    }
}

impl ToolRunner for SearchedTools {
    fn tools(&self) -> &[RegisteredTool] {
        &self.tools
    }

    fn is_offered(&self, tool: &str, found: &BTreeSet<String>) -> bool {
        tool == SEARCH_TOOL || found.contains(tool)
    }

    fn limits(&self, tool: &str) -> Option<&Limits> {
        self.inner.limits(tool)
    }

    fn executables(&self, tool: &str, input: &Map<String, Value>) -> Vec<String> {
        self.inner.executables(tool, input)
    }

    fn validate(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        match tool {
            SEARCH_TOOL => self.schema.validate(input),
            _ => self.inner.validate(tool, input),
        }
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        if invocation.tool != SEARCH_TOOL {
            return self.inner.run(invocation, progress);
        }
        let output = ToolResultOutput::json(self.search(&invocation.input));
        Box::pin(std::future::ready(CallReport::of(output).into()))
    }
}

//! The tool that declares those of an agent's tools for which the description of its programs has
//! no space.

use super::{MAX_DECLARATIONS_BYTES, declarations};
use crate::{
    BoxFuture,
    policy::NameGlob,
    tool::{Invocation, ProgressSink, RunEnd, ToolHandler},
    tool_search::Index,
    tool_set::{ToolEntry, ToolSet},
};
use agent_host_types::{
    output::ToolResultOutput,
    tool::{Effect, ToolDefinition},
};
use serde_json::{Map, Value, json};
use std::{future::ready, sync::Arc};

/// The tool that describes others.
pub const DESCRIBE_TOOLS: &str = "describe_tools";

/// The most tools in one result.
const MAX_DESCRIBED: usize = 12;

struct Described {
    tools: Vec<Arc<ToolDefinition>>,
    index: Index,
}

/// Returns the tools of the model of an agent whose programs call `tools`: those that the model
/// calls itself, by their names, and before them the tool that declares the others, if not all of
/// them are declared with the tool that runs programs.
#[must_use]
pub fn direct_tools(tools: &ToolSet, direct: &[NameGlob]) -> ToolSet {
    let definitions = tools.tools().map(|tool| Arc::clone(&tool.definition));
    let described: Vec<Arc<ToolDefinition>> = definitions.collect();
    let direct = tools.filtered(direct);
    let all: Vec<&ToolDefinition> = described.iter().map(AsRef::as_ref).collect();
    if declarations(&all, usize::MAX).len() <= MAX_DECLARATIONS_BYTES {
        return direct;
    }
    let index = Index::new(described.iter().map(AsRef::as_ref));
    let own = Described {
        tools: described,
        index,
    };
    let describe = ToolEntry::own(definition(), Arc::new(own));
    direct.behind(describe.map(|tool| tool.with_summary("Looked up tools for {query|quoted}")))
}

impl ToolHandler for Described {
    fn run<'a>(&'a self, invocation: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, RunEnd> {
        Box::pin(ready(self.describe(&invocation.input).into()))
    }
}

impl Described {
    fn describe(&self, input: &Map<String, Value>) -> ToolResultOutput {
        let query = input.get("query").and_then(Value::as_str);
        let found = self.index.search(query.unwrap_or_default(), MAX_DESCRIBED);
        let found: Vec<&ToolDefinition> = found
            .into_iter()
            .filter_map(|at| self.tools.get(at).map(AsRef::as_ref))
            .collect();
        match found.is_empty() {
            true => ToolResultOutput::Text(
                "No tool matches these words. Use other words, or a name from the list.".to_owned(),
            ),
            false => ToolResultOutput::Text(declarations(&found, MAX_DECLARATIONS_BYTES)),
        }
    }
}

fn definition() -> ToolDefinition {
    ToolDefinition {
        name: DESCRIBE_TOOLS.to_owned(),
        title: Some("Describe tools".to_owned()),
        description: "Declares tools that a program can call, found by name or description."
            .to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "maxLength": 1000,
                    "description": "Tool names, or words for what they do.",
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        }),
        output_schema: None,
        effect: Effect::ReadOnly,
    }
}

//! The tools that start agents, in one runner before those of another: its cost grows with the
//! number of agents, not with the square of it.

use super::SubAgent;
use crate::{
    BoxFuture,
    schema::InputSchema,
    tool::{Invocation, ProgressSink, RunEnd, ToolRunner},
};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    limits::Limits,
    output::ToolResultOutput,
    tool::RegisteredTool,
};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeSet, HashMap},
    future::ready,
    sync::Arc,
};

struct AgentTools {
    others: Arc<dyn ToolRunner>,
    /// All tools, those that start agents first.
    tools: Vec<RegisteredTool>,
    /// The schemas of the tools that start agents, by their names.
    schemas: HashMap<String, Arc<InputSchema>>,
}

/// Puts the tools that start agents before those of a runner, none of which has the name of one.
pub(super) fn with_agents<'a>(
    agents: impl Iterator<Item = &'a SubAgent>,
    others: Arc<dyn ToolRunner>,
) -> Arc<dyn ToolRunner> {
    let (mut tools, mut schemas) = (Vec::new(), HashMap::new());
    // All agents have the same schema, and programs another one.
    let mut compiled: Vec<(Value, Arc<InputSchema>)> = Vec::new();
    for tool in agents.map(SubAgent::tool) {
        let schema = &tool.definition.input_schema;
        let known = compiled.iter().find(|(known, _)| known == schema);
        let known = match known {
            Some((_, known)) => Arc::clone(known),
            // It is a constant of this program.
            None => match InputSchema::compile(schema) {
                Ok(new) => {
                    let new = Arc::new(new);
                    compiled.push((schema.clone(), Arc::clone(&new)));
                    new
                }
                Err(_) => continue,
            },
        };
        schemas.insert(tool.definition.name.clone(), known);
        tools.push(tool);
    }
    if tools.is_empty() {
        return others;
    }
    tools.extend_from_slice(others.tools());
    Arc::new(AgentTools {
        others,
        tools,
        schemas,
    })
}

impl ToolRunner for AgentTools {
    fn tools(&self) -> &[RegisteredTool] {
        &self.tools
    }

    fn is_offered(&self, tool: &str, found: &BTreeSet<String>) -> bool {
        self.schemas.contains_key(tool) || self.others.is_offered(tool, found)
    }

    fn limits(&self, tool: &str) -> Option<&Limits> {
        self.others.limits(tool)
    }

    fn executables(&self, tool: &str, input: &Map<String, Value>) -> Vec<String> {
        self.others.executables(tool, input)
    }

    fn validate(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        match self.schemas.get(tool) {
            Some(schema) => schema.validate(input),
            None => self.others.validate(tool, input),
        }
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        if !self.schemas.contains_key(&invocation.tool) {
            return self.others.run(invocation, progress);
        }
        let message = "An agent is started by the loop alone.";
        let failure = ToolFailure::new(ToolErrorCode::ToolUnavailable, message);
        Box::pin(ready(ToolResultOutput::from(failure).into()))
    }
}

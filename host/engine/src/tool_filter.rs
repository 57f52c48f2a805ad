//! Some of the tools of a runner, for an agent that has fewer than the one that starts it.

#[cfg(test)]
mod tests;

use crate::{
    BoxFuture,
    policy::NameGlob,
    tool::{Invocation, ProgressSink, RunEnd, ToolRunner},
};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    limits::Limits,
    output::ToolResultOutput,
    tool::RegisteredTool,
};
use serde_json::{Map, Value};
use std::{collections::BTreeSet, future::ready, sync::Arc};

struct FilteredTools {
    all: Arc<dyn ToolRunner>,
    tools: Vec<RegisteredTool>,
}

/// Leaves the tools of a runner whose names one of the globs matches. The others can neither be
/// seen nor called.
#[must_use]
pub fn filter_tools(all: Arc<dyn ToolRunner>, globs: &[NameGlob]) -> Arc<dyn ToolRunner> {
    let named = |tool: &&RegisteredTool| {
        let mut globs = globs.iter();
        globs.any(|glob| glob.matches(&tool.definition.name))
    };
    let tools = all.tools().iter().filter(named).cloned().collect();
    Arc::new(FilteredTools { all, tools })
}

impl FilteredTools {
    fn has(&self, tool: &str) -> bool {
        let mut tools = self.tools.iter();
        tools.any(|known| known.definition.name == tool)
    }
}

fn unknown(tool: &str) -> ToolFailure {
    let name = tool.escape_debug();
    ToolFailure::new(
        ToolErrorCode::UnknownTool,
        format!("There is no tool `{name}`."),
    )
}

impl ToolRunner for FilteredTools {
    fn tools(&self) -> &[RegisteredTool] {
        &self.tools
    }

    fn is_offered(&self, tool: &str, found: &BTreeSet<String>) -> bool {
        self.all.is_offered(tool, found)
    }

    fn limits(&self, tool: &str) -> Option<&Limits> {
        self.all.limits(tool)
    }

    fn executables(&self, tool: &str, input: &Map<String, Value>) -> Vec<String> {
        self.all.executables(tool, input)
    }

    fn validate(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        match self.has(tool) {
            true => self.all.validate(tool, input),
            false => Err(unknown(tool)),
        }
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        match self.has(&invocation.tool) {
            true => self.all.run(invocation, progress),
            false => {
                let failure = ToolResultOutput::from(unknown(&invocation.tool));
                Box::pin(ready(failure.into()))
            }
        }
    }
}

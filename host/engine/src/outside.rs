//! Tools of a runner that run outside of the host: the caller of the loop gets their calls, after
//! policy and approval, and submits the results.

use crate::{
    BoxFuture,
    tool::{Invocation, ProgressSink, RunEnd, ToolRunner},
};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    limits::Limits,
    output::ToolResultOutput,
    tool::{RegisteredTool, ToolRuntime},
};
use serde_json::{Map, Value};
use std::{collections::BTreeSet, future::ready, sync::Arc};

struct OutsideTools {
    inner: Arc<dyn ToolRunner>,
    tools: Vec<RegisteredTool>,
}

/// Has the tools of a runner run outside of the host for which `is_outside` returns true by their
/// name. The runner still validates their arguments.
#[must_use]
pub fn run_outside(
    inner: Arc<dyn ToolRunner>,
    is_outside: impl Fn(&str) -> bool,
) -> Arc<dyn ToolRunner> {
    let mut tools = inner.tools().to_vec();
    for tool in &mut tools {
        if is_outside(&tool.definition.name) {
            tool.runtime = ToolRuntime::External;
        }
    }
    Arc::new(OutsideTools { inner, tools })
}

impl ToolRunner for OutsideTools {
    fn tools(&self) -> &[RegisteredTool] {
        &self.tools
    }

    fn is_offered(&self, tool: &str, found: &BTreeSet<String>) -> bool {
        self.inner.is_offered(tool, found)
    }

    fn limits(&self, tool: &str) -> Option<&Limits> {
        self.inner.limits(tool)
    }

    fn executables(&self, tool: &str, input: &Map<String, Value>) -> Vec<String> {
        self.inner.executables(tool, input)
    }

    fn validate(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        self.inner.validate(tool, input)
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        let mut tools = self.tools.iter();
        let tool = tools.find(|tool| tool.definition.name == invocation.tool);
        if tool.is_none_or(|tool| tool.runtime != ToolRuntime::External) {
            return self.inner.run(invocation, progress);
        }
        // The loop hands external calls out.
        let failure = ToolFailure::new(
            ToolErrorCode::ToolUnavailable,
            "This tool runs outside of the host.",
        );
        Box::pin(ready(ToolResultOutput::from(failure).into()))
    }
}

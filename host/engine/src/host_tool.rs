//! A runner with one more tool, which the program itself runs: it is read-only and needs no
//! approval.

use crate::{
    BoxFuture,
    schema::InputSchema,
    tool::{Invocation, ProgressSink, RunEnd, ToolRunner},
};
use agent_host_types::{
    failure::ToolFailure,
    limits::Limits,
    tool::{Approval, DecisionKind, Effect, RegisteredTool, ToolDefinition, ToolRuntime},
};
use serde_json::{Map, Value};
use std::{collections::BTreeSet, iter::once, sync::Arc};

/// A tool that the program itself runs.
pub trait HostTool: Send + Sync + 'static {
    /// Runs a call whose arguments fit the schema.
    fn call<'a>(&'a self, invocation: &'a Invocation) -> BoxFuture<'a, RunEnd>;

    /// Returns whether the model is offered this tool, if the session has found these tools
    /// ([`ToolRunner::is_offered`]).
    fn is_offered(&self, _found: &BTreeSet<String>) -> bool {
        true
    }

    /// Returns whether the model is offered `tool`, one of `others`, if the session has found these
    /// tools.
    fn offers(&self, others: &dyn ToolRunner, tool: &str, found: &BTreeSet<String>) -> bool {
        others.is_offered(tool, found)
    }
}

impl<T: HostTool + ?Sized> HostTool for Arc<T> {
    fn call<'a>(&'a self, invocation: &'a Invocation) -> BoxFuture<'a, RunEnd> {
        self.as_ref().call(invocation)
    }

    fn is_offered(&self, found: &BTreeSet<String>) -> bool {
        self.as_ref().is_offered(found)
    }

    fn offers(&self, others: &dyn ToolRunner, tool: &str, found: &BTreeSet<String>) -> bool {
        self.as_ref().offers(others, tool, found)
    }
}

/// The tools of a runner after one of the program.
struct WithHostTool<T> {
    others: Arc<dyn ToolRunner>,
    own: T,
    name: String,
    tools: Vec<RegisteredTool>,
    schema: InputSchema,
}

/// Puts a tool of the program before those of a runner. One of theirs that has its name is not
/// offered any more: no tool stands in the place of the program's. The definition is a constant of
/// the caller; one whose schema cannot be used is left out.
pub fn with_host_tool<T: HostTool>(
    others: Arc<dyn ToolRunner>,
    definition: ToolDefinition,
    own: T,
) -> Arc<dyn ToolRunner> {
    let Ok(schema) = InputSchema::compile(&definition.input_schema) else {
        return others;
    };
    let name = definition.name.clone();
    let registered = RegisteredTool {
        definition: Arc::new(definition),
        effect: Effect::ReadOnly,
        approval: Approval::Never,
        decisions: DecisionKind::ALL.to_vec(),
        runtime: ToolRuntime::Host,
        component: None,
    };
    let others_tools = others.tools().iter();
    let others_tools = others_tools.filter(|tool| tool.definition.name != name);
    let tools = once(registered).chain(others_tools.cloned());
    Arc::new(WithHostTool {
        tools: tools.collect(),
        others,
        own,
        name,
        schema,
    })
}

impl<T: HostTool> ToolRunner for WithHostTool<T> {
    fn tools(&self) -> &[RegisteredTool] {
        &self.tools
    }

    fn is_offered(&self, tool: &str, found: &BTreeSet<String>) -> bool {
        match tool == self.name {
            true => self.own.is_offered(found),
            false => self.own.offers(self.others.as_ref(), tool, found),
        }
    }

    fn limits(&self, tool: &str) -> Option<&Limits> {
        self.others.limits(tool)
    }

    fn executables(&self, tool: &str, input: &Map<String, Value>) -> Vec<String> {
        self.others.executables(tool, input)
    }

    fn validate(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        if tool == self.name {
            return self.schema.validate(input);
        }
        self.others.validate(tool, input)
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        if invocation.tool != self.name {
            return self.others.run(invocation, progress);
        }
        Box::pin(async move { self.own.call(&invocation).await })
    }
}

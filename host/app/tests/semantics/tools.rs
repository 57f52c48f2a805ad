//! The tools of these tests: those of the host, with closures as native tools, and a count of every
//! run.

use super::components::SCHEMA;
use agent_host_engine::{
    BoxFuture,
    tool::{Invocation, ProgressSink, RunEnd, ToolHandler},
    tool_set::{ToolEntry, ToolSet},
};
use agent_host_types::{
    failure::ToolFailure,
    limits::Limits,
    tool::{Approval, DecisionKind, Effect, RegisteredTool, ToolDefinition, ToolRuntime},
};
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex};

/// A native tool.
#[derive(Clone)]
pub(super) struct Native {
    registered: RegisteredTool,
    body: fn(&Invocation) -> RunEnd,
}

impl Native {
    /// A read-only tool that calls this function.
    pub(super) fn new(name: &str, body: fn(&Invocation) -> RunEnd) -> Self {
        let definition = ToolDefinition {
            name: name.to_owned(),
            title: None,
            description: format!("Does {name}."),
            input_schema: serde_json::from_str(SCHEMA).unwrap(),
            output_schema: None,
            effect: Effect::ReadOnly,
        };
        let registered = RegisteredTool {
            definition: definition.into(),
            effect: Effect::ReadOnly,
            approval: Approval::ByEffect,
            decisions: DecisionKind::ALL.into(),
            runtime: ToolRuntime::Host,
            component: None,
            destination: None,
            summary: None,
        };
        Self { registered, body }
    }
}

/// The ids of the calls that ran, in order of their start, over all restarts.
pub(super) type Runs = Arc<Mutex<Vec<String>>>;

/// Runs a tool of the host, or a closure, and counts the run.
struct Counted {
    tool: Ran,
    runs: Runs,
}

enum Ran {
    Host(Arc<dyn ToolHandler>),
    Native(fn(&Invocation) -> RunEnd),
}

/// Returns the tools of the host with closures beside them.
pub(super) fn counted(host: &ToolSet, natives: &[Native], runs: &Runs) -> ToolSet {
    let counted = |tool| -> Arc<dyn ToolHandler> {
        let runs = runs.clone();
        Arc::new(Counted { tool, runs })
    };
    let of_host = host.entries().map(|entry| ToolEntry {
        handler: entry.handler.clone().map(|it| counted(Ran::Host(it))),
        ..entry.clone()
    });
    let natives = natives.iter().map(|native| {
        let handler = counted(Ran::Native(native.body));
        ToolEntry::new(native.registered.clone(), Some(handler)).unwrap()
    });
    of_host.chain(natives).collect()
}

impl ToolHandler for Counted {
    fn limits(&self) -> Option<&Limits> {
        match &self.tool {
            Ran::Host(handler) => handler.limits(),
            Ran::Native(_) => None,
        }
    }

    fn check(&self, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        match &self.tool {
            Ran::Host(handler) => handler.check(input),
            Ran::Native(_) => Ok(()),
        }
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        self.runs.lock().unwrap().push(invocation.call_id.0.clone());
        match &self.tool {
            Ran::Host(handler) => handler.run(invocation, progress),
            Ran::Native(body) => Box::pin(std::future::ready(body(&invocation))),
        }
    }
}

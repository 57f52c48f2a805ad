//! The runner of these tests: the host's own, with closures as native tools, and a count of every
//! run.

use super::components::SCHEMA;
use agent_host_engine::{
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
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

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
        };
        Self { registered, body }
    }
}

/// The ids of the calls that ran, in order of their start, over all restarts.
pub(super) type Runs = Arc<Mutex<Vec<String>>>;

/// The host's runner with closures beside it.
pub(super) struct Tools {
    host: Arc<dyn ToolRunner>,
    natives: Vec<Native>,
    schema: InputSchema,
    registered: Vec<RegisteredTool>,
    runs: Runs,
}

impl Tools {
    pub(super) fn new(host: Arc<dyn ToolRunner>, natives: Vec<Native>, runs: Runs) -> Self {
        let own = natives.iter().map(|native| native.registered.clone());
        Self {
            registered: host.tools().iter().cloned().chain(own).collect(),
            schema: InputSchema::compile(&serde_json::from_str(SCHEMA).unwrap()).unwrap(),
            host,
            natives,
            runs,
        }
    }

    fn native(&self, tool: &str) -> Option<&Native> {
        let mut natives = self.natives.iter();
        natives.find(|native| native.registered.definition.name == tool)
    }
}

impl ToolRunner for Tools {
    fn tools(&self) -> &[RegisteredTool] {
        &self.registered
    }

    fn is_offered(&self, tool: &str, found: &BTreeSet<String>) -> bool {
        self.native(tool).is_some() || self.host.is_offered(tool, found)
    }

    fn limits(&self, tool: &str) -> Option<&Limits> {
        self.host.limits(tool)
    }

    fn validate(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        match self.native(tool) {
            Some(_) => self.schema.validate(input),
            None => self.host.validate(tool, input),
        }
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        self.runs.lock().unwrap().push(invocation.call_id.0.clone());
        match self.native(&invocation.tool) {
            Some(native) => Box::pin(std::future::ready((native.body)(&invocation))),
            None => self.host.run(invocation, progress),
        }
    }
}

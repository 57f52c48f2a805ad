//! A tool and journals that cost nothing, for benchmarks of the loop.

use agent_host_engine::{
    BoxFuture,
    agents::Journals,
    journal::{Journal, JournalError, MemoryJournal},
    tool::{CallReport, Invocation, ProgressSink, RunEnd, ToolRunner},
};
use agent_host_types::{
    failure::ToolFailure,
    id::SessionId,
    output::ToolResultOutput,
    tool::{Approval, DecisionKind, Effect, RegisteredTool, ToolDefinition, ToolRuntime},
};
use serde_json::{Map, Value};
use std::{future::ready, sync::Arc};

/// One tool that returns a text at once, without a check of its arguments and without approval.
pub struct InstantTool {
    tools: Vec<RegisteredTool>,
    text: String,
}

impl InstantTool {
    pub fn new(
        name: &str,
        description: &str,
        effect: Effect,
        input_schema: Value,
        text: &str,
    ) -> Self {
        let definition = ToolDefinition {
            name: name.to_owned(),
            title: None,
            description: description.to_owned(),
            input_schema,
            output_schema: None,
            effect,
        };
        Self {
            tools: vec![RegisteredTool {
                effect,
                approval: Approval::Never,
                decisions: DecisionKind::ALL.into(),
                runtime: ToolRuntime::Host,
                component: None,
                definition: definition.into(),
            }],
            text: text.to_owned(),
        }
    }
}

impl ToolRunner for InstantTool {
    fn tools(&self) -> &[RegisteredTool] {
        &self.tools
    }

    fn validate(&self, _: &str, _: &Map<String, Value>) -> Result<(), ToolFailure> {
        Ok(())
    }

    fn run<'a>(&'a self, _: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, RunEnd> {
        let report = CallReport::of(ToolResultOutput::Text(self.text.clone()));
        Box::pin(ready(report.into()))
    }
}

/// Journals of agents in memory.
pub struct InMemory;

impl Journals for InMemory {
    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<Arc<dyn Journal>, JournalError>> {
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new(session));
        Box::pin(ready(Ok(journal)))
    }
}

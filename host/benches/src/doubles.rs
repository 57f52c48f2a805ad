//! A tool and journals that cost nothing, for benchmarks of the loop.

use agent_host_engine::{
    BoxFuture,
    agents::Journals,
    journal::{Journal, JournalError, MemoryJournal},
    tool::{Invocation, ProgressSink, RunEnd, ToolHandler},
    tool_set::ToolEntry,
};
use agent_host_types::{
    id::SessionId,
    output::ToolResultOutput,
    tool::{Approval, DecisionKind, Effect, RegisteredTool, ToolDefinition, ToolRuntime},
};
use serde_json::Value;
use std::{future::ready, sync::Arc};

/// Returns a tool that returns a text at once, without approval.
///
/// # Panics
/// The schema cannot be used.
#[must_use]
pub fn instant_tool(
    name: &str,
    description: &str,
    effect: Effect,
    input_schema: Value,
    text: &str,
) -> ToolEntry {
    let definition = ToolDefinition {
        name: name.to_owned(),
        title: None,
        description: description.to_owned(),
        input_schema,
        output_schema: None,
        effect,
    };
    let tool = RegisteredTool {
        effect,
        approval: Approval::Never,
        decisions: DecisionKind::ALL.into(),
        runtime: ToolRuntime::Host,
        component: None,
        destination: None,
        summary: None,
        definition: definition.into(),
    };
    ToolEntry::new(tool, Some(Arc::new(Instant(text.to_owned())))).expect("the schema is valid")
}

struct Instant(String);

impl ToolHandler for Instant {
    fn run<'a>(&'a self, _: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, RunEnd> {
        Box::pin(ready(ToolResultOutput::Text(self.0.clone()).into()))
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

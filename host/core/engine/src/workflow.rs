//! A workflow that an agent runs in place of its model: the checked definition and the closures of
//! its handlers. Nodes of agents and tools are calls like those of a model, behind the same gate.

mod facts;
#[cfg(test)]
mod tests;

pub use facts::{RecordedRun, whole_of};

use crate::{BoxFuture, text::escape_line, turn::Agent};
use agent_host_types::{
    failure::ToolFailure,
    id::CallId,
    reason::Reason,
    tool::{Effect, ToolRuntime},
    workflow::NodeOutput,
};
use agent_host_workflow::{
    check::{Catalog, Fault, check},
    definition::WorkflowDefinition,
    run::{Input, Iteration},
    workflow::Workflow,
};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt, sync::Arc};
use tokio_util::sync::CancellationToken;

/// The code of a node. From `agent.toml` its equivalent is a tool, which is sandboxed.
pub trait Handler: Send + Sync {
    /// Returns its effect: one that is not read-only does not run twice after a crash.
    fn effect(&self) -> Effect;

    /// Runs it. A failure is the `error` of the output.
    fn run(&self, input: HandlerInput) -> BoxFuture<'_, NodeOutput>;
}

/// The input of one run of a handler.
#[derive(Clone, Debug)]
pub struct HandlerInput {
    /// The id of the node.
    pub node: String,
    /// The call of the node, which is the same in every attempt.
    pub call_id: CallId,
    /// The message or the arguments.
    pub input: Input,
    /// The iteration of a `foreach`.
    pub iteration: Option<Iteration>,
    /// Cancels the run, which is to end soon after that.
    pub cancel: CancellationToken,
}

/// The handlers of workflows, by name.
pub type Handlers = BTreeMap<String, Arc<dyn Handler>>;

/// A checked workflow with the handlers of its nodes.
#[derive(Clone)]
pub struct Graph {
    pub(crate) workflow: Arc<Workflow>,
    pub(crate) handlers: Handlers,
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Graph").field(&self.workflow.name()).finish()
    }
}

impl Graph {
    /// Checks a workflow for an agent: its nodes are agents that this one can start, tools that it
    /// has, and these handlers.
    ///
    /// # Errors
    /// All faults, in the order of the definition.
    pub fn check(
        definition: &WorkflowDefinition,
        agent: &Agent,
        handlers: Handlers,
    ) -> Result<Self, Vec<Fault>> {
        let workflow = check(
            definition,
            &Known {
                agent,
                handlers: &handlers,
            },
        )?;
        Ok(Self {
            workflow: Arc::new(workflow),
            handlers,
        })
    }

    /// Returns the workflow.
    #[must_use]
    pub fn workflow(&self) -> &Arc<Workflow> {
        &self.workflow
    }
}

/// The agents and tools of an agent, and the handlers.
struct Known<'a> {
    agent: &'a Agent,
    handlers: &'a Handlers,
}

impl Catalog for Known<'_> {
    fn agent(&self, name: &str) -> Option<Effect> {
        let agents = self.agent.agents.as_ref()?;
        Some(agents.named(name)?.effect())
    }

    fn tool(&self, name: &str) -> Option<Effect> {
        let tool = self.agent.tool(name)?;
        (tool.runtime != ToolRuntime::Agent).then_some(tool.effect)
    }

    fn handler(&self, name: &str) -> Option<Effect> {
        Some(self.handlers.get(name)?.effect())
    }

    fn check_tool_input(&self, name: &str, input: &Map<String, Value>) -> Result<(), Reason> {
        let checked = self.agent.tools.accept(name, input);
        checked.map(drop).map_err(|failure| input_reason(&failure))
    }
}

/// Returns why an input does not fit, on one line and without the words about the call, which a
/// model reads.
fn input_reason(failure: &ToolFailure) -> Reason {
    let message = failure.message();
    let reason = message.split_once(" did not run. ");
    escape_line(reason.map_or(message, |(_, reason)| reason)).into()
}

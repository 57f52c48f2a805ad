//! The run of a workflow in the state of a session: what started and has not ended. Outputs stay in
//! the journal, which the driver reads when it continues a run.

use super::SessionState;
use agent_host_types::{
    accounting::Accounting, event::Event, hook::CallReview, id::CallId, output::BlobRef,
    tool::Effect, turn::ChildSummary, workflow::WorkflowSummary,
};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc};

/// A run of a workflow, without its outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowProgress {
    /// The name of the workflow.
    pub name: String,
    /// The number of the run in the session, from 1.
    pub run: u64,
    /// The definition as JSON.
    pub definition: BlobRef,
    /// Whether it ended.
    pub has_ended: bool,
    /// The nodes that started and have not settled, by their calls.
    pub(crate) open: BTreeMap<CallId, OpenNode>,
    /// The reviews of calls that have not settled.
    pub(crate) reviews: BTreeMap<CallId, CallReview>,
}

/// A node that started and has not settled.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenNode {
    /// The id of the node.
    pub node: String,
    /// The index of the item; `None` for a node without `foreach`.
    pub iteration: Option<u32>,
    /// The tool or the handler.
    pub tool: String,
    /// The arguments of a tool.
    pub input: Option<Arc<Map<String, Value>>>,
    /// The effect that the policy applied.
    pub effect: Effect,
    /// The name of the agent in whose session it runs, if it has one.
    pub agent: Option<String>,
}

impl SessionState {
    /// Applies an event of a workflow.
    pub(super) fn apply_to_workflow(&mut self, event: &Event) {
        self.progress.is_open = true;
        match event {
            Event::WorkflowStarted {
                workflow,
                run,
                definition,
            } => {
                self.workflow_runs = *run;
                self.workflow = Some(WorkflowProgress {
                    name: workflow.clone(),
                    run: *run,
                    definition: definition.clone(),
                    has_ended: false,
                    open: BTreeMap::new(),
                    reviews: BTreeMap::new(),
                });
            }
            Event::NodeIntended {
                call_id,
                node,
                iteration,
                tool,
                input,
                effect,
                ..
            } => {
                let intended = OpenNode {
                    node: node.clone(),
                    iteration: *iteration,
                    tool: tool.clone(),
                    input: input.clone(),
                    effect: *effect,
                    agent: None,
                };
                let is_tool = input.is_some();
                self.node_intended(call_id, intended, is_tool);
            }
            Event::NodeSettled {
                call_id,
                child,
                accounting,
                ..
            }
            | Event::NodeRetried {
                call_id,
                child,
                accounting,
                ..
            } => self.node_settled(call_id, child.as_ref(), accounting),
            Event::WorkflowEnded { summary } => self.workflow_ended(summary),
            _ => {}
        }
    }

    fn node_intended(&mut self, call_id: &CallId, intended: OpenNode, is_tool: bool) {
        self.open = None;
        let Some(run) = &mut self.workflow else {
            return;
        };
        let same =
            |open: &OpenNode| open.node == intended.node && open.iteration == intended.iteration;
        let before = run.open.len();
        run.open.retain(|_, open| !same(open));
        // A repetition after a crash, or in a session of its own, counts once.
        if is_tool && run.open.len() == before {
            self.spent.calls += 1;
        }
        run.open.insert(call_id.clone(), intended);
    }

    fn node_settled(
        &mut self,
        call_id: &CallId,
        child: Option<&ChildSummary>,
        accounting: &Accounting,
    ) {
        self.open = None;
        self.progress.interruptions = 0;
        let workflow = self.workflow.as_mut();
        let settled = workflow.and_then(|run| {
            run.reviews.remove(call_id);
            run.open.remove(call_id)
        });
        if let (Some(node), Some(limits)) = (settled, &accounting.limits) {
            self.limits.insert(node.tool, limits.clone());
        }
        // A `foreach` can have thousands of them: their figures are in the events.
        if let Some(child) = child {
            self.spent.child(child);
            self.usage += child.usage;
            self.turn_stats.usage += child.usage;
        }
    }

    fn workflow_ended(&mut self, summary: &WorkflowSummary) {
        self.open = None;
        self.turn_stats.workflow = Some(summary.clone());
        self.end_workflow();
    }

    /// Ends the run of a workflow, as nothing of it can continue.
    pub(super) fn end_workflow(&mut self) {
        if let Some(run) = &mut self.workflow {
            run.has_ended = true;
            run.open.clear();
            run.reviews.clear();
        }
    }

    /// Records that a node of the open run has a session. Returns whether the call is one of a
    /// node.
    pub(super) fn node_spawned(&mut self, call_id: &CallId, agent: &str) -> bool {
        let workflow = self.workflow.as_mut();
        let node = workflow.and_then(|run| run.open.get_mut(call_id));
        node.map(|node| node.agent = Some(agent.to_owned()))
            .is_some()
    }
}

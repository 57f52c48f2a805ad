//! The events of a run as facts of the state machine, to continue the run or to draw it.

use agent_host_types::{
    event::Event,
    id::CallId,
    output::{BlobRef, ContentPart},
    reason::Reason,
    tool::Effect,
    workflow::NodeOutput,
};
use agent_host_workflow::{
    check::{Catalog, check},
    definition::WorkflowDefinition,
    run::{Fact, NodeRun, Run},
};
use serde_json::{Map, Value};
use std::{collections::HashMap, sync::Arc};

/// Returns where the whole output of a node is, if its event has a preview.
#[must_use]
pub fn whole_of(event: &Event) -> Option<&BlobRef> {
    match event {
        Event::NodeSettled { whole, .. } => whole.as_ref(),
        _ => None,
    }
}

/// A recorded run, to be continued or drawn.
#[derive(Debug)]
pub struct RecordedRun {
    run: Run,
    /// The nodes that started and have not settled.
    open: HashMap<CallId, NodeRun>,
}

impl RecordedRun {
    pub(crate) fn from_run(run: Run) -> Self {
        Self {
            run,
            open: HashMap::new(),
        }
    }

    pub(crate) fn into_run(self) -> Run {
        self.run
    }

    /// Creates a run of a recorded definition with the message of the user, for a drawing: what its
    /// nodes name need not exist any more. `None` for a definition that this program cannot read.
    #[must_use]
    pub fn new(definition: &[u8], message: Vec<ContentPart>) -> Option<Self> {
        let definition: WorkflowDefinition = serde_json::from_slice(definition).ok()?;
        let workflow = check(&definition, &Anything).ok()?;
        Some(Self::from_run(Run::of_parts(Arc::new(workflow), message)))
    }

    /// Applies the next event of the journal; `whole` is the output that its preview stands for
    /// ([`whole_of`]).
    ///
    /// # Errors
    /// If it could not be.
    pub fn add(&mut self, event: Event, whole: Option<NodeOutput>) -> Result<(), Reason> {
        match event {
            Event::ChildrenWaiting { children, .. } => {
                for child in children {
                    // One that settled meanwhile waits no more.
                    let node = self.open.get(&child.call_id);
                    let _ = node.map(|node| self.run.waiting(node));
                }
                Ok(())
            }
            Event::NodeIntended {
                call_id,
                node,
                iteration,
                attempt,
                ..
            } => {
                let run = node_run(node, iteration);
                self.open.insert(call_id, run.clone());
                self.run.replay(Fact::Intended { run, attempt })
            }
            Event::NodeRetried { call_id, .. } => {
                self.open.remove(&call_id);
                Ok(())
            }
            Event::NodeSettled {
                call_id,
                node,
                iteration,
                output,
                ..
            } => {
                let run = node_run(node, iteration);
                // One that the policy denied has no intent.
                let is_open = self.open.remove(&call_id).is_some();
                if !is_open && !self.open.values().any(|open| *open == run) {
                    let (run, attempt) = (run.clone(), 1);
                    self.run.replay(Fact::Intended { run, attempt })?;
                }
                let output = Box::new(whole.unwrap_or(output));
                self.run.replay(Fact::Settled { run, output })
            }
            Event::NodeSkipped { node } => self.run.replay(Fact::Skipped { node: node.into() }),
            _ => Ok(()),
        }
    }

    /// Returns the run.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }
}

fn node_run(node: String, iteration: Option<u32>) -> NodeRun {
    NodeRun {
        node: node.into(),
        iteration,
    }
}

/// Knows every name.
struct Anything;

impl Catalog for Anything {
    fn agent(&self, _: &str) -> Option<Effect> {
        Some(Effect::ReadOnly)
    }

    fn tool(&self, _: &str) -> Option<Effect> {
        Some(Effect::ReadOnly)
    }

    fn handler(&self, _: &str) -> Option<Effect> {
        Some(Effect::ReadOnly)
    }

    fn check_tool_input(&self, _: &str, _: &Map<String, Value>) -> Result<(), Reason> {
        Ok(())
    }
}

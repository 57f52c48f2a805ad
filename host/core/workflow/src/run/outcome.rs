//! The states of nodes and the outcome of a run.

use super::{Phase, Run};
use agent_host_types::{
    words,
    workflow::{NodeOutput, WorkflowEnd},
};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc};

words! {
    /// The state of a node.
    pub enum NodeState {
        /// It has not started.
        Pending,
        /// It was started.
        Running,
        /// All that was started of it waits for the user.
        Waiting,
        /// It succeeded.
        Done,
        /// It failed.
        Failed,
        /// No edge to it fired, or it needs the success of a node that failed.
        Skipped,
    }
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The end, which is never `Halted`. Of a run that is not done, what it would be.
    pub end: WorkflowEnd,
    /// The outputs of the nodes that settled, by id; those of an aborted run, too.
    pub outputs: BTreeMap<Arc<str>, Arc<NodeOutput>>,
    /// The nodes that were skipped, in the order of ids.
    pub skipped: Vec<Arc<str>>,
    /// The shared state.
    pub state: Map<String, Value>,
}

impl Run {
    /// Returns the state of each node, in the order of ids.
    pub fn states(&self) -> impl Iterator<Item = (&Arc<str>, NodeState)> {
        let nodes = self.workflow.nodes.iter().zip(&self.records);
        nodes.map(|(node, record)| (&node.id, state_of(&record.phase)))
    }

    /// Returns the outcome so far. Outputs are shared with the run.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let (mut outputs, mut skipped) = (BTreeMap::new(), Vec::new());
        for (node, record) in self.workflow.nodes.iter().zip(&self.records) {
            match &record.phase {
                Phase::Settled { output, .. } => {
                    outputs.insert(Arc::clone(&node.id), Arc::clone(output));
                }
                Phase::Skipped => skipped.push(Arc::clone(&node.id)),
                Phase::Pending | Phase::Active(_) => {}
            }
        }
        Outcome {
            end: self.end.clone().unwrap_or(WorkflowEnd::Completed),
            outputs,
            skipped,
            state: self.state(),
        }
    }
}

fn state_of(phase: &Phase) -> NodeState {
    match phase {
        Phase::Pending => NodeState::Pending,
        Phase::Skipped => NodeState::Skipped,
        Phase::Settled { output, .. } if output.is_success() => NodeState::Done,
        Phase::Settled { .. } => NodeState::Failed,
        Phase::Active(active) if active.next == 0 => NodeState::Pending,
        Phase::Active(active) => {
            let mut flights = active.flights.values();
            let all_wait = !active.flights.is_empty() && flights.all(|flight| flight.is_waiting);
            match all_wait && !active.is_startable() {
                true => NodeState::Waiting,
                false => NodeState::Running,
            }
        }
    }
}

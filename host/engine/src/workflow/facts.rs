//! The events of a run as facts of the state machine, to continue the run or to draw it.

use agent_host_types::{
    event::Event,
    id::CallId,
    output::{BlobRef, ContentPart},
    tool::Effect,
    workflow::NodeOutput,
};
use agent_host_workflow::{
    check::{Catalog, check},
    definition::WorkflowDefinition,
    run::{Fact, NodeRun, ReplayError, Run},
};
use serde_json::{Map, Value};
use std::{collections::HashMap, sync::Arc};

/// Returns what an event says about a run; `None` if nothing. `whole` is the output of a node whose
/// event has a preview ([`whole_of`]).
pub(crate) fn fact_of(event: Event, whole: Option<NodeOutput>) -> Option<Fact> {
    let of_node = |node: String, iteration| NodeRun {
        node: node.into(),
        iteration,
    };
    Some(match event {
        Event::NodeIntended {
            node,
            iteration,
            attempt,
            ..
        } => Fact::Intended {
            run: of_node(node, iteration),
            attempt,
        },
        Event::NodeSettled {
            node,
            iteration,
            output,
            ..
        } => Fact::Settled {
            run: of_node(node, iteration),
            output: Box::new(whole.unwrap_or(output)),
        },
        Event::NodeSkipped { node } => Fact::Skipped { node: node.into() },
        _ => return None,
    })
}

/// Returns where the whole output of a node is, if its event has a preview.
#[must_use]
pub fn whole_of(event: &Event) -> Option<&BlobRef> {
    match event {
        Event::NodeSettled { whole, .. } => whole.as_ref(),
        _ => None,
    }
}

/// A recorded run, for a drawing. What its nodes name need not exist any more.
#[derive(Debug)]
pub struct RecordedRun {
    run: Run,
    nodes: HashMap<CallId, NodeRun>,
}

impl RecordedRun {
    /// Creates a run of a recorded definition with the message of the user; `None` for a definition
    /// that this program cannot read.
    #[must_use]
    pub fn new(definition: &[u8], message: Vec<ContentPart>) -> Option<Self> {
        let definition: WorkflowDefinition = serde_json::from_slice(definition).ok()?;
        let workflow = check(&definition, &Anything).ok()?;
        Some(Self {
            run: Run::of_parts(Arc::new(workflow), message),
            nodes: HashMap::new(),
        })
    }

    /// Applies the next event of the journal; `whole` is the output that its preview stands for
    /// ([`whole_of`]).
    ///
    /// # Errors
    /// If it could not be.
    pub fn add(&mut self, event: Event, whole: Option<NodeOutput>) -> Result<(), ReplayError> {
        let call = match &event {
            Event::NodeIntended { call_id, .. } => Some(call_id.clone()),
            _ => None,
        };
        if let Event::ChildrenWaiting { children, .. } = &event {
            for child in children {
                // One that settled meanwhile waits no more.
                let node = self.nodes.get(&child.call_id);
                let _ = node.map(|node| self.run.waiting(node));
            }
        }
        let Some(fact) = fact_of(event, whole) else {
            return Ok(());
        };
        if let (Some(call), Fact::Intended { run, .. }) = (call, &fact) {
            self.nodes.insert(call, run.clone());
        }
        self.run.replay(fact)
    }

    /// Returns the run.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
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

    fn check_tool_input(&self, _: &str, _: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}

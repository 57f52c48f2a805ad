//! The state machine of a run. It says which nodes may start, with which input, and is told how
//! they ended; the driver runs them, asks the user, writes the journal and enforces timeouts and
//! budgets.
//!
//! A step costs what it changes: a settlement looks at the edges of its node only, and an iteration
//! copies nothing but its own text.

mod active;
mod advance;
mod each;
mod finish;
mod input;
mod outcome;
mod queue;
mod replay;
mod shared;
mod start;
#[cfg(test)]
mod tests;

pub use each::MAX_ITEMS;
pub use outcome::{NodeState, Outcome};
pub use replay::Fact;
pub use start::{Input, Iteration, NodeRun, PriorResults, Start};

use crate::workflow::{NodeIndex, Workflow};
use active::Active;
use agent_host_types::{
    output::{ContentPart, FilePart},
    workflow::{NodeOutput, WorkflowEnd},
};
use queue::Queue;
use std::{collections::VecDeque, sync::Arc};

/// A run of a workflow.
///
/// ```
/// use agent_host_types::workflow::{NodeOutput, WorkflowEnd};
/// use agent_host_workflow::run::{Input, Progress, Run};
/// # use agent_host_types::{reason::Reason, tool::Effect};
/// # use agent_host_workflow::check::{Catalog, check};
/// # use serde_json::{Map, Value};
/// # struct Agents;
/// # impl Catalog for Agents {
/// #     fn agent(&self, _: &str) -> Option<Effect> { Some(Effect::ReadOnly) }
/// #     fn tool(&self, _: &str) -> Option<Effect> { None }
/// #     fn handler(&self, _: &str) -> Option<Effect> { None }
/// #     fn check_tool_input(&self, _: &str, _: &Map<String, Value>) -> Result<(), Reason> { Ok(()) }
/// # }
/// let definition = toml::from_str(
///     r#"
///     name = "report"
///     [[node]]
///     id = "plan"
///     agent = "planner"
///     next = "write"
///     [[node]]
///     id = "write"
///     agent = "writer"
///     inputs = [{ plan = "plan.text" }, { tone = "'formal'" }]
///     "#,
/// )?;
/// let workflow = check(&definition, &Agents).expect("no faults");
///
/// let mut run = Run::new(workflow.into(), "bees", Vec::new());
/// let plan = run.ready().remove(0);
/// let output = NodeOutput::of_text("plan", Some("planner"), "1. hives");
/// assert_eq!(run.settled(&plan.run, output)?, Progress::Settled);
///
/// let write = run.ready().remove(0);
/// let Input::Message { text, .. } = &write.input else { unreachable!() };
/// assert_eq!(text, "[plan]\n1. hives\n\n[tone]\nformal");
/// run.settled(&write.run, NodeOutput::of_text("write", None, "Bees live in hives."))?;
/// assert!(run.is_done());
/// assert_eq!(run.outcome().end, WorkflowEnd::Completed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Run {
    workflow: Arc<Workflow>,
    message: Arc<str>,
    files: Arc<[FilePart]>,
    records: Vec<Record>,
    queue: Queue,
    /// Runs of nodes that were started and have not settled, those that wait for the user included.
    unsettled: usize,
    /// Nodes that neither settled nor were skipped.
    open: usize,
    /// Nodes of which the edges are to be followed.
    work: VecDeque<NodeIndex>,
    end: Option<WorkflowEnd>,
    news: News,
}

/// A node in a run.
#[derive(Debug)]
struct Record {
    /// The edges to it whose start has neither settled nor was skipped.
    pending: u32,
    /// Whether an edge to it fired.
    has_fired: bool,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Pending,
    Active(Box<Active>),
    Settled {
        output: Arc<NodeOutput>,
        writes: Vec<shared::Write>,
    },
    Skipped,
}

/// Changes that the driver has not taken yet.
#[derive(Debug, Default)]
struct News {
    skipped: Vec<NodeIndex>,
    cancelled: Vec<NodeRun>,
}

/// The effect of a settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The output is final; the driver journals it.
    Settled,
    /// The node starts again: [`Run::ready`] returns it, and nothing is journaled.
    Retry,
}

/// A report about a run of a node that is not under way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// It was not started, or has settled.
    #[error("`{0}` is not running; report each start once")]
    NotStarted(NodeRun),
    /// It does not wait for the user.
    #[error("`{0}` is not waiting for the user; report that it waits before the decision")]
    NotWaiting(NodeRun),
}

impl Run {
    /// Starts a run with the initial message.
    #[must_use]
    pub fn new(
        workflow: Arc<Workflow>,
        message: impl Into<Arc<str>>,
        files: Vec<FilePart>,
    ) -> Self {
        let records = workflow.nodes.iter().map(|node| Record {
            pending: node.in_degree,
            has_fired: false,
            phase: Phase::Pending,
        });
        let indexed = (0..).zip(&workflow.nodes);
        let entries = indexed.filter_map(|(index, node)| node.is_entry().then_some(index));
        let entries: Vec<NodeIndex> = entries.collect();
        let mut run = Self {
            records: records.collect(),
            message: message.into(),
            files: files.into(),
            queue: Queue::default(),
            unsettled: 0,
            open: workflow.nodes.len(),
            work: VecDeque::new(),
            end: None,
            news: News::default(),
            workflow,
        };
        for index in entries {
            run.admit(index);
        }
        run.follow();
        run
    }

    /// Starts a run with a message of several parts; its texts are joined by lines.
    #[must_use]
    pub fn of_parts(workflow: Arc<Workflow>, parts: Vec<ContentPart>) -> Self {
        let (mut texts, mut files) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                ContentPart::Text { text } => texts.push(text),
                ContentPart::File(file) => files.push(file),
            }
        }
        Self::new(workflow, texts.join("\n"), files)
    }

    /// Returns the workflow.
    #[must_use]
    pub fn workflow(&self) -> &Arc<Workflow> {
        &self.workflow
    }

    /// Returns what may start now, and counts it as started: async nodes, then parallel ones, each
    /// in the order of ids, and then the next sync node if none is under way.
    pub fn ready(&mut self) -> Vec<Start> {
        let mut starts = Vec::new();
        while self.end.is_none()
            && let Some(index) = self.queue.pop()
        {
            self.start(index, &mut starts);
        }
        starts
    }

    /// Records how a started run of a node ended. One that was cancelled settles, too.
    ///
    /// # Errors
    /// If it is not under way.
    pub fn settled(&mut self, run: &NodeRun, output: NodeOutput) -> Result<Progress, RunError> {
        self.settle(run, output, true)
    }

    /// Records that a started run of a node waits for the user. Others continue: it holds up no
    /// sync node.
    ///
    /// # Errors
    /// If it is not under way.
    pub fn waiting(&mut self, run: &NodeRun) -> Result<(), RunError> {
        let (index, active) = self.active(run)?;
        let Some(flight) = active.flights.get_mut(&run.key()) else {
            return Err(RunError::NotStarted(run.clone()));
        };
        flight.is_waiting = true;
        self.requeue(index);
        Ok(())
    }

    /// Records that the user decided. [`Self::ready`] returns the run of the node again, as
    /// resumed, once it may continue.
    ///
    /// # Errors
    /// If it does not wait.
    pub fn decided(&mut self, run: &NodeRun) -> Result<(), RunError> {
        let has_ended = self.end.is_some();
        let (index, active) = self.active(run)?;
        if !active.resume(run.key(), has_ended) {
            return Err(RunError::NotWaiting(run.clone()));
        }
        if !has_ended {
            self.unsettled = self.unsettled.saturating_sub(1);
        }
        self.requeue(index);
        Ok(())
    }

    /// Ends the run: nothing starts any more, and all that is under way is to be cancelled.
    pub fn cancel(&mut self) {
        if !self.is_done() {
            self.stop(WorkflowEnd::Cancelled);
        }
    }

    /// Returns the nodes that were skipped since the last call, in the order of the journal.
    pub fn take_skipped(&mut self) -> Vec<Arc<str>> {
        let skipped = std::mem::take(&mut self.news.skipped);
        let nodes = skipped.iter().filter_map(|&node| self.workflow.at(node));
        nodes.map(|node| Arc::clone(&node.id)).collect()
    }

    /// Returns what is to be cancelled at once and was not returned before. Each of them still
    /// settles.
    pub fn take_cancelled(&mut self) -> Vec<NodeRun> {
        std::mem::take(&mut self.news.cancelled)
    }

    /// Returns whether nothing is left: all nodes settled or were skipped, or the run ended early
    /// and all that was under way settled.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.open == 0 || (self.end.is_some() && self.unsettled == 0)
    }

    /// Returns the output of a node that settled.
    #[must_use]
    pub fn output(&self, node: &str) -> Option<&Arc<NodeOutput>> {
        self.output_at(self.workflow.index(node)?)
    }

    fn output_at(&self, node: NodeIndex) -> Option<&Arc<NodeOutput>> {
        match &self.record(node)?.phase {
            Phase::Settled { output, .. } => Some(output),
            Phase::Pending | Phase::Active(_) | Phase::Skipped => None,
        }
    }

    fn record(&self, node: NodeIndex) -> Option<&Record> {
        self.records.get(node as usize)
    }

    /// Returns the node of a run of it that may be under way.
    fn active(&mut self, run: &NodeRun) -> Result<(NodeIndex, &mut Active), RunError> {
        let index = self.workflow.index(&run.node);
        let node = index.and_then(|index| self.workflow.at(index));
        let is_known = node.is_some_and(|node| node.is_foreach() == run.iteration.is_some());
        let record = index.filter(|_| is_known).and_then(|index| {
            let record = self.records.get_mut(index as usize)?;
            Some((index, record))
        });
        match record {
            Some((
                index,
                Record {
                    phase: Phase::Active(active),
                    ..
                },
            )) => Ok((index, active)),
            Some(_) | None => Err(RunError::NotStarted(run.clone())),
        }
    }
}

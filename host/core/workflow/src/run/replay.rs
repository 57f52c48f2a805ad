//! Rebuilds a run from the facts of its journal.

use super::{
    Phase, Run,
    active::{Flight, Restart},
    finish::cancelled,
    start::NodeRun,
};
use crate::workflow::NodeIndex;
use agent_host_types::{
    failure::ToolErrorCode,
    reason::Reason,
    tool::Effect,
    workflow::{NodeFailure, NodeOutput},
};
use std::sync::Arc;

/// A fact of the journal.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A run of a node was about to start.
    Intended {
        /// The run of the node.
        run: NodeRun,
        /// The number of the attempt, from 1.
        attempt: u32,
    },
    /// A run of a node settled. The output of a whole `foreach` is no fact: it follows from those
    /// of its iterations.
    Settled {
        /// The run of the node.
        run: NodeRun,
        /// The output.
        output: Box<NodeOutput>,
    },
    /// A node was skipped.
    Skipped {
        /// The id of the node.
        node: Arc<str>,
    },
}

impl Run {
    /// Applies a fact of the journal, in its order. After the last one comes [`Self::resume`].
    ///
    /// # Errors
    /// If the fact could not be: the definition has changed.
    pub fn replay(&mut self, fact: Fact) -> Result<(), Reason> {
        match fact {
            Fact::Intended { run, attempt } => self.replay_intended(&run, attempt),
            Fact::Settled { run, output } => match self.settle(&run, *output, false) {
                Ok(_) => Ok(()),
                Err(_) => Err(format!(
                    "the journal has a result of `{run}`, which had not started; the definition has changed"
                )
                .into()),
            },
            Fact::Skipped { node } => {
                let index = self.workflow.index(&node);
                let record = index.and_then(|index| self.record(index));
                match record.map(|record| &record.phase) {
                    Some(Phase::Skipped) => {
                        let mut unread = self.news.skipped.iter();
                        if let Some(at) = unread.position(|&skipped| Some(skipped) == index) {
                            self.news.skipped.remove(at);
                        }
                        Ok(())
                    }
                    _ => Err(format!(
                        "the journal says that `{node}` was skipped, but now it would run; the definition has changed"
                    )
                    .into()),
                }
            }
        }
    }

    fn replay_intended(&mut self, run: &NodeRun, attempt: u32) -> Result<(), Reason> {
        let not_ready = || {
            Reason::from(format!(
                "the journal has a start of `{run}`, which could not start then; the definition has changed"
            ))
        };
        let key = run.key();
        let (index, active) = self.active(run).map_err(|_| not_ready())?;
        let flight = Flight::new(attempt);
        if let Some(again) = active.flights.get_mut(&key) {
            *again = flight;
            return Ok(());
        }
        if active.restarts.remove(&key).is_none() {
            if key != active.next || !active.has_next() {
                return Err(not_ready());
            }
            active.next += 1;
        }
        active.flights.insert(key, flight);
        self.unsettled += 1;
        self.requeue(index);
        Ok(())
    }

    /// Ends a replay: what was under way starts again if it is read-only or idempotent, or if
    /// `continues` says that the driver holds its continuation, such as the session of an agent.
    /// Other runs of nodes fail as `interrupted-unknown`, and those that were to be cancelled as
    /// `cancelled`; both are returned with their outputs, for the journal. Then
    /// [`Self::take_skipped`] returns the nodes whose skip the journal lacks.
    pub fn resume(&mut self, continues: impl Fn(&NodeRun) -> bool) -> Vec<(NodeRun, NodeOutput)> {
        self.news.cancelled.clear();
        let mut failed = Vec::new();
        for (index, run, flight) in self.under_way() {
            let Some(node) = self.workflow.at(index).map(Arc::clone) else {
                continue;
            };
            let is_resumed = continues(&run);
            let may_run = is_resumed || node.effect != Effect::Effectful;
            if may_run && !flight.is_cancelled {
                self.restart(index, &run, flight.attempt, is_resumed);
                continue;
            }
            let failure = match may_run {
                true => cancelled(),
                false => NodeFailure::new(
                    ToolErrorCode::InterruptedUnknown.as_str(),
                    "the program ended during this node; it may or may not have taken effect, and it was not repeated",
                ),
            };
            let mut output = NodeOutput::of_failure(&node.id, failure);
            output.agent_id = node.agent().map(str::to_owned);
            // It is under way until then, unless an earlier one ended its loop.
            if self.settle(&run, output.clone(), false).is_ok() {
                failed.push((run, output));
            }
        }
        failed
    }

    /// Returns what is under way, in the order of ids and items.
    fn under_way(&self) -> Vec<(NodeIndex, NodeRun, Flight)> {
        let nodes = (0..).zip(&self.workflow.nodes).zip(&self.records);
        let runs = nodes.flat_map(|((index, node), record)| {
            let flights = match &record.phase {
                Phase::Active(active) => Some(&active.flights),
                Phase::Pending | Phase::Settled { .. } | Phase::Skipped => None,
            };
            flights.into_iter().flatten().map(move |(&key, flight)| {
                let run = NodeRun {
                    node: Arc::clone(&node.id),
                    iteration: node.is_foreach().then_some(key),
                };
                (index, run, *flight)
            })
        });
        runs.collect()
    }

    fn restart(&mut self, index: NodeIndex, run: &NodeRun, attempt: u32, is_resumed: bool) {
        let Ok((_, active)) = self.active(run) else {
            return;
        };
        if active.flights.remove(&run.key()).is_some() {
            let restart = Restart {
                attempt,
                not_before_ms: 0,
                is_resumed,
            };
            active.restarts.insert(run.key(), restart);
            self.unsettled = self.unsettled.saturating_sub(1);
            self.requeue(index);
        }
    }
}

//! Follows the edges of settled and skipped nodes, and admits the nodes whose predecessors all
//! have.

use super::{
    Phase, Run,
    active::{Active, Flight},
    each::{self, Each},
    start::{NodeRun, Start},
};
use crate::{
    definition::Needs,
    reference::{Field, Reference},
    workflow::{InputPlan, Node, NodeIndex},
};
use agent_host_types::workflow::{NodeFailure, NodeOutput};
use std::{collections::BTreeMap, sync::Arc};

impl Run {
    /// Follows the edges of all nodes in `work`, and of those that thereby settle or are skipped.
    pub(super) fn follow(&mut self) {
        let workflow = Arc::clone(&self.workflow);
        while let Some(from) = self.work.pop_front() {
            if self.end.is_some() {
                self.work.clear();
                return;
            }
            let edges = workflow.at(from).map(|node| &node.edges);
            for edge in edges.into_iter().flatten() {
                let fires = self.output_at(from).is_some()
                    && edge.when.as_ref().is_none_or(|when| {
                        let view = self.view_after(from);
                        when.holds(&|reference| view.resolve(reference))
                    });
                let Some(record) = self.records.get_mut(edge.to as usize) else {
                    continue;
                };
                record.has_fired |= fires;
                record.pending = record.pending.saturating_sub(1);
                if record.pending == 0 {
                    if record.has_fired {
                        self.admit(edge.to);
                    } else {
                        self.skip(edge.to);
                    }
                }
            }
        }
    }

    /// Lets a node start, or settles or skips it at once. The caller follows its edges.
    pub(super) fn admit(&mut self, index: NodeIndex) {
        let workflow = Arc::clone(&self.workflow);
        let Some(node) = workflow.at(index).filter(|_| self.end.is_none()) else {
            return;
        };
        if node.needs == Needs::Success && self.depends_on_failure(node) {
            self.skip(index);
            return;
        }
        match self.activate(index, node) {
            Ok(active) if active.total == 0 => self.finish_loop(index, node, active),
            Ok(active) => {
                if let Some(record) = self.records.get_mut(index as usize) {
                    record.phase = Phase::Active(Box::new(active));
                }
                self.requeue(index);
            }
            Err(failure) => {
                let mut output = NodeOutput::of_failure(&node.id, failure);
                output.agent_id = node.agent().map(str::to_owned);
                self.conclude(index, output, Vec::new());
            }
        }
    }

    fn skip(&mut self, index: NodeIndex) {
        if let Some(record) = self.records.get_mut(index as usize) {
            record.phase = Phase::Skipped;
            self.open = self.open.saturating_sub(1);
            self.news.skipped.push(index);
            self.work.push_back(index);
        }
    }

    fn has_failed(&self, index: NodeIndex) -> bool {
        self.output_at(index)
            .is_some_and(|output| !output.is_success())
    }

    fn depends_on_failure(&self, node: &Node) -> bool {
        let mut nodes = node.predecessors.iter().chain(&node.values_of);
        nodes.any(|&before| self.has_failed(before))
    }

    /// Resolves the list and the files of a node.
    fn activate(&self, index: NodeIndex, node: &Node) -> Result<Active, NodeFailure> {
        if let InputPlan::Object(_) = node.input
            && let Some(&failed) = node.values_of.iter().find(|&&node| self.has_failed(node))
        {
            return Err(self.failed_input("`input`", failed));
        }
        let each = match &node.foreach {
            None => None,
            Some(foreach) => {
                if let Reference::Node { node, field, .. } = &foreach.over
                    && *field != Field::Items
                    && let Some(failed) = self.workflow.index(node)
                    && self.has_failed(failed)
                {
                    return Err(self.failed_input("`foreach`", failed));
                }
                let items = each::items(&self.view(index).resolve(&foreach.over))?;
                let each = Each::new(items, foreach.is_parallel, node.on_error);
                Some((each, foreach.at_once))
            }
        };
        let total = each.as_ref().map_or(1, |(each, _)| each.len());
        let (each, at_once) = each.map_or((None, 1), |(each, at_once)| (Some(each), at_once));
        Ok(Active {
            next: 0,
            total,
            at_once,
            flights: BTreeMap::new(),
            restarts: BTreeMap::new(),
            files: self.input_files(node),
            parts: match total {
                0 | 1 => Vec::new(),
                _ => self.input_parts(index, node),
            },
            each,
        })
    }

    /// A failed value is never passed as data.
    fn failed_input(&self, place: &str, failed: NodeIndex) -> NodeFailure {
        let id = self.workflow.at(failed).map_or("", |node| &node.id);
        let error = self
            .output_at(failed)
            .and_then(|output| output.error.as_ref());
        let cause = error.map(ToString::to_string).unwrap_or_default();
        NodeFailure::new(
            "failed-input",
            format!("{place} refers to `{id}`, which failed with {cause}"),
        )
    }

    /// Queues a node if it has something to start, and gives up its place if nothing of it runs.
    pub(super) fn requeue(&mut self, index: NodeIndex) {
        let Some(node) = self.workflow.at(index) else {
            return;
        };
        let (is_startable, is_busy) = match self.record(index).map(|record| &record.phase) {
            Some(Phase::Active(active)) => (active.is_startable(), active.is_busy()),
            Some(Phase::Pending | Phase::Settled { .. } | Phase::Skipped) | None => (false, false),
        };
        let is_startable = is_startable && self.end.is_none();
        self.queue.set(index, node.mode, is_startable);
        if !is_busy {
            self.queue.leave(index);
        }
    }

    /// Starts what may start of a queued node.
    pub(super) fn start(&mut self, index: NodeIndex, starts: &mut Vec<Start>) {
        let Some(node) = self.workflow.at(index).map(Arc::clone) else {
            return;
        };
        while let Some((key, flight, not_before_ms, is_resumed)) = self.take_next(index) {
            self.queue.enter(index, node.mode);
            let (input, iteration) = self.input(index, &node, key);
            starts.push(Start {
                run: NodeRun {
                    node: Arc::clone(&node.id),
                    iteration: node.is_foreach().then_some(key),
                },
                node: Arc::clone(&node),
                input,
                iteration,
                attempt: flight.attempt,
                not_before_ms,
                is_resumed,
            });
        }
        self.requeue(index);
    }

    /// Takes the next iteration to start again, or the next one that never started.
    fn take_next(&mut self, index: NodeIndex) -> Option<(u32, Flight, u64, bool)> {
        let Phase::Active(active) = &mut self.records.get_mut(index as usize)?.phase else {
            return None;
        };
        let mut flight = Flight::new(1);
        let (key, not_before_ms, is_resumed) = match active.restarts.pop_first() {
            Some((key, restart)) => {
                flight.attempt = restart.attempt;
                (key, restart.not_before_ms, restart.is_resumed)
            }
            None if active.has_next() => {
                active.next += 1;
                (active.next - 1, 0, false)
            }
            None => return None,
        };
        active.flights.insert(key, flight);
        self.unsettled += 1;
        Some((key, flight, not_before_ms, is_resumed))
    }
}

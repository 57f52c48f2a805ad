//! The end of iterations, of nodes and of the run.

use super::{
    Phase, Progress, Run, RunError,
    active::{Active, Restart},
    shared::{self, Write},
    start::NodeRun,
};
use crate::{
    definition::OnError,
    workflow::{Node, NodeIndex},
};
use agent_host_types::{
    failure::ToolErrorCode,
    workflow::{NodeFailure, NodeOutput, WorkflowEnd},
};
use std::sync::Arc;

/// The longest wait before an attempt: a day, in milliseconds.
const MAX_BACKOFF_MS: u64 = 24 * 60 * 60 * 1000;

impl Run {
    /// Records the end of a run of a node. In a replay a failure is final, since only final outputs
    /// were journaled.
    pub(super) fn settle(
        &mut self,
        run: &NodeRun,
        mut output: NodeOutput,
        may_retry: bool,
    ) -> Result<Progress, RunError> {
        let (index, active) = self.active(run)?;
        let Some(flight) = active.flights.remove(&run.key()) else {
            return Err(RunError::NotStarted(run.clone()));
        };
        self.unsettled = self.unsettled.saturating_sub(1);
        let workflow = Arc::clone(&self.workflow);
        let Some(node) = workflow.at(index) else {
            return Err(RunError::NotStarted(run.clone()));
        };
        output.node_id = node.id.to_string();
        output.agent_id = node.agent().map(str::to_owned);
        output.normalize();
        let writes = shared::writes(&workflow.definition.reduce, &mut output);
        if may_retry
            && !flight.is_cancelled
            && let Some(restart) = next_attempt(node, flight.attempt, &output)
        {
            if let Some(Phase::Active(active)) = self.phase_mut(index) {
                active.restarts.insert(run.key(), restart);
            }
            self.requeue(index);
            return Ok(Progress::Retry);
        }
        self.finish(index, node, run.key(), output, writes);
        self.follow();
        Ok(Progress::Settled)
    }

    fn phase_mut(&mut self, index: NodeIndex) -> Option<&mut Phase> {
        Some(&mut self.records.get_mut(index as usize)?.phase)
    }

    /// Records the final output of an iteration that is not under way any more.
    pub(super) fn finish(
        &mut self,
        index: NodeIndex,
        node: &Node,
        key: u32,
        output: NodeOutput,
        writes: Vec<Write>,
    ) {
        let Some(Phase::Active(active)) = self.phase_mut(index) else {
            return;
        };
        let Some(each) = &mut active.each else {
            self.conclude(index, output, writes);
            return;
        };
        each.settle(key, output, writes);
        if let Some(at) = each.stopped_at() {
            self.give_up(index, node, at + 1);
        }
        self.finish_if_complete(index, node);
    }

    /// Settles a loop of which nothing is left; in a run that ended, also one that did not start
    /// all of its iterations.
    fn finish_if_complete(&mut self, index: NodeIndex, node: &Node) {
        let has_ended = self.end.is_some();
        let Some(Phase::Active(active)) = self.phase_mut(index) else {
            return;
        };
        if let Some(each) = &mut active.each
            && has_ended
            && active.flights.is_empty()
            && active.next < active.total
            && each.stopped_at().is_none()
        {
            each.stop_at(active.next, cancelled());
        }
        if !active.is_complete() {
            self.requeue(index);
            return;
        }
        let phase = self
            .phase_mut(index)
            .map(|phase| std::mem::replace(phase, Phase::Pending));
        if let Some(Phase::Active(active)) = phase {
            self.finish_loop(index, node, *active);
        }
    }

    /// Settles a loop with the results of its iterations.
    pub(super) fn finish_loop(&mut self, index: NodeIndex, node: &Node, active: Active) {
        if let Some(each) = active.each {
            let (output, writes) = each.finish(node);
            self.conclude(index, output, writes);
        }
    }

    /// Settles a node. The caller follows its edges.
    pub(super) fn conclude(&mut self, index: NodeIndex, output: NodeOutput, writes: Vec<Write>) {
        let error = output.error.clone();
        let on_error = self.workflow.at(index).map(|node| node.on_error);
        if let Some(phase) = self.phase_mut(index) {
            *phase = Phase::Settled {
                output: Arc::new(output),
                writes,
            };
        }
        self.open = self.open.saturating_sub(1);
        self.requeue(index);
        match error {
            Some(failure) if on_error == Some(OnError::Abort) && self.end.is_none() => {
                let node = self.workflow.at(index).map(|node| node.id.to_string());
                let node = node.unwrap_or_default();
                self.stop(WorkflowEnd::Aborted { node, failure });
            }
            Some(_) | None => self.work.push_back(index),
        }
    }

    /// Ends the run: nothing starts any more, and what is under way is to be cancelled.
    pub(super) fn stop(&mut self, end: WorkflowEnd) {
        if self.end.is_some() {
            return;
        }
        self.end = Some(end);
        self.queue.clear();
        self.work.clear();
        let workflow = Arc::clone(&self.workflow);
        for (index, node) in (0..).zip(&workflow.nodes) {
            self.give_up(index, node, 0);
            // One that waited for another attempt has nothing under way.
            let idle = match self.phase_mut(index) {
                Some(Phase::Active(active)) => active.next > 0 && active.flights.is_empty(),
                Some(Phase::Pending | Phase::Settled { .. } | Phase::Skipped) | None => false,
            };
            if idle && node.is_foreach() {
                self.finish_if_complete(index, node);
            } else if idle {
                let output = NodeOutput::of_failure(&node.id, cancelled());
                self.conclude(index, output, Vec::new());
            }
        }
        self.work.clear();
    }

    /// Cancels the iterations of a node from `from` on.
    fn give_up(&mut self, index: NodeIndex, node: &Node, from: u32) {
        let Some(Phase::Active(active)) = self.phase_mut(index) else {
            return;
        };
        let given_up = active.give_up(from);
        self.unsettled += given_up.resumed;
        let runs = given_up.keys.into_iter().map(|key| NodeRun {
            node: Arc::clone(&node.id),
            iteration: node.is_foreach().then_some(key),
        });
        self.news.cancelled.extend(runs);
    }
}

/// The failure of what was stopped before it ended.
pub(super) fn cancelled() -> NodeFailure {
    NodeFailure::new(
        ToolErrorCode::Cancelled.as_str(),
        "the run ended before this node did",
    )
}

/// Returns the attempt after a failed one.
fn next_attempt(node: &Node, attempt: u32, output: &NodeOutput) -> Option<Restart> {
    let (retry, error) = (node.retry?, output.error.as_ref()?);
    if error.is_final() || attempt > retry.times.get() {
        return None;
    }
    let doublings = attempt.saturating_sub(1).min(32);
    let wait = retry.backoff_ms.saturating_mul(1_u64 << doublings);
    Some(Restart {
        attempt: attempt.saturating_add(1),
        not_before_ms: wait.min(MAX_BACKOFF_MS),
        is_resumed: false,
    })
}

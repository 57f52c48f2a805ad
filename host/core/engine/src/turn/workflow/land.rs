//! Takes what nodes ended with, and records it.

use super::{
    Driver,
    node::{Landed, NodeEnd},
    start::tool_of,
};
use crate::{
    artifact::result_name,
    session::OpenNode,
    spill::{SpilledNode, spill_node},
    tool::CallReport,
    turn::{
        TurnError,
        begin::refuse,
        hooks::decided,
        job::{Unsettled, files_labelled, unknown_limits},
    },
};
use agent_host_types::{
    accounting::Accounting,
    event::Event,
    failure::ToolErrorCode,
    id::CallId,
    tool::Effect,
    workflow::{NodeFailure, NodeOutput},
};
use agent_host_workflow::run::{NodeRun, Progress, RunError, Start};

/// The failure of a node that was stopped before it ended.
const STOPPED: &str = "the run ended before this node did";

impl Driver<'_> {
    /// Takes the end of a node.
    pub(super) async fn land(&mut self, landed: Landed) -> Result<(), TurnError> {
        let Landed {
            start,
            call_id,
            effect,
            end,
        } = landed;
        self.under_way.remove(&start.run);
        match end {
            Ok(NodeEnd::Settled(ended)) => {
                self.settle(&start, &call_id, *ended).await?;
                // Others may run for long, and a crash meanwhile would leave the effect in doubt.
                if effect != Effect::ReadOnly && !self.under_way.is_empty() {
                    self.session.barrier(self.cx.observer).await?;
                }
                Ok(())
            }
            Err(Unsettled::Waiting(child)) => {
                self.run
                    .waiting(&start.run)
                    .map_err(|error| broken(&error))?;
                self.waiting.insert(start.run, *child);
                Ok(())
            }
            Err(Unsettled::Drained) => {
                self.drained.insert(start.run);
                Ok(())
            }
            Ok(NodeEnd::Asked(call)) => {
                // The hooks review it there, and see the arguments of the node as here.
                let input = call.entry.call.input.clone().unwrap_or_default();
                self.start_in_session(call.entry, input, start).await
            }
            Err(Unsettled::Failed(error)) => {
                for flight in self.under_way.values() {
                    flight.cancel.cancel();
                }
                self.failed.get_or_insert(error);
                Ok(())
            }
        }
    }

    /// Records how a node ended, unless another attempt follows.
    pub(super) async fn settle(
        &mut self,
        start: &Start,
        call_id: &CallId,
        ended: CallReport<NodeOutput>,
    ) -> Result<(), TurnError> {
        let labels = self
            .agent
            .node_labels(self.session, call_id, &tool_of(start), &ended);
        let failed = |failure| NodeOutput::of_failure(&start.node.id, failure);
        let ended = self.agent.within_quota(self.session, ended, failed);
        let SpilledNode {
            output,
            preview,
            mut blobs,
        } = spill_node(ended.output, result_name(call_id).as_str());
        let failure = output.error.clone();
        let (shown, whole) = match preview {
            Some((preview, whole)) => (preview, Some(whole)),
            None => (output.clone(), None),
        };
        let progress = self
            .run
            .settled(&start.run, output)
            .map_err(|error| broken(&error))?;
        let (call_id, node) = (call_id.clone(), start.node.id.to_string());
        let iteration = start.run.iteration;
        if progress == Progress::Retry {
            let retried_id = call_id.clone();
            let retried = Event::NodeRetried {
                call_id,
                node,
                iteration,
                attempt: start.attempt,
                failure: failure.unwrap_or_else(|| cancelled(STOPPED)),
                child: ended.child,
                accounting: ended.accounting,
                audit: ended.audit,
            };
            let labelled = files_labelled(&retried_id, ended.files);
            let events = decided(ended.verdicts, Some(&retried_id))
                .chain([retried])
                .chain(labelled);
            self.session.record_all(events.collect(), Vec::new());
            return Ok(());
        }
        let tool = tool_of(start);
        let changes = ended.changes.into_iter();
        let changed: Vec<Event> = changes
            .map(|change| change.into_event(&call_id, &tool, &mut blobs))
            .collect();
        let labelled = files_labelled(&call_id, ended.files);
        let accounting = unknown_limits(self.session, &tool, ended.accounting);
        let settled = Event::NodeSettled {
            call_id: call_id.clone(),
            node,
            iteration,
            tool,
            output: shown,
            whole,
            child: ended.child,
            accounting,
            audit: ended.audit,
            rule: ended.rule,
            labels,
        };
        let events = decided(ended.verdicts, Some(&call_id))
            .chain([settled])
            .chain(labelled)
            .chain(changed);
        let events = events.collect();
        self.session.record_all(events, blobs);
        self.record_skipped();
        Ok(())
    }

    /// Settles a node that never began. The journal does not know it.
    pub(super) fn settle_unrecorded(&mut self, node: &NodeRun) {
        let output = NodeOutput::of_failure(&node.node, cancelled(STOPPED));
        // It is not under way if it settled meanwhile.
        let _ = self.run.settled(node, output);
    }

    /// Ends the session of a node that waited for the user or was drained, and settles the node.
    pub(super) async fn stop_waiting(&mut self, node: &NodeRun) -> Result<(), TurnError> {
        self.abandon(node).await?;
        let mut output = NodeOutput::of_failure(&node.node, cancelled(STOPPED));
        let of_node = self.graph.workflow.node(&node.node);
        output.agent_id = of_node.and_then(|node| node.agent()).map(str::to_owned);
        let settled = self.run.settled(node, output.clone());
        settled.map_err(|error| broken(&error))?;
        if let Some((call_id, open)) = self.open_node(node) {
            let settled = settled_without_run(call_id.clone(), open.clone(), output);
            self.session.record(settled, Vec::new());
        }
        self.record_skipped();
        Ok(())
    }
}

/// Returns the event that a node settled which did not run to its end.
pub(super) fn settled_without_run(call_id: CallId, node: OpenNode, output: NodeOutput) -> Event {
    Event::NodeSettled {
        call_id,
        node: node.node,
        iteration: node.iteration,
        tool: node.tool,
        output,
        whole: None,
        child: None,
        accounting: Accounting::default(),
        audit: Vec::new(),
        rule: None,
        labels: Vec::new(),
    }
}

pub(super) fn cancelled(message: &str) -> NodeFailure {
    NodeFailure::new(ToolErrorCode::Cancelled.as_str(), message)
}

/// Reports a fault of the driver: the state machine does not know what ended.
pub(super) fn broken(error: &RunError) -> TurnError {
    refuse(error.to_string())
}

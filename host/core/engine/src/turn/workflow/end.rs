//! The end of a run: the event, and the end of the turn that follows from it.

use super::Driver;
use crate::{artifact::result_name, spill::spill_output};
use agent_host_types::{
    event::Event,
    message::ToolResult,
    output::Blob,
    turn::{TurnEnd, TurnError},
    workflow::{NodeOutput, WorkflowEnd, WorkflowSummary},
};
use agent_host_workflow::{
    run::{NodeRun, Outcome},
    workflow::Node,
};
use std::sync::Arc;

impl Driver<'_> {
    /// Records the end of the run. Returns that of the turn.
    pub(super) fn end(&mut self) -> TurnEnd {
        let outcome = self.run.outcome();
        let summary = self.summary(&outcome);
        let (end, blobs) = match &summary.end {
            WorkflowEnd::Halted { message } => {
                let message = message.clone();
                (TurnEnd::Halted { message }, Vec::new())
            }
            WorkflowEnd::Cancelled => (TurnEnd::Cancelled, Vec::new()),
            WorkflowEnd::Aborted { node, failure } => {
                let error = TurnError::Workflow {
                    node: node.clone(),
                    code: failure.code.clone(),
                    message: failure.message.clone(),
                };
                (TurnEnd::Error { error }, Vec::new())
            }
            WorkflowEnd::Completed => self.completed(&outcome, &summary),
        };
        let ended = Event::WorkflowEnded { summary };
        self.session.record(ended, blobs);
        end
    }

    fn summary(&self, outcome: &Outcome) -> WorkflowSummary {
        let outputs = outcome.outputs.iter();
        let failed =
            outputs.filter_map(|(id, output)| Some((id.to_string(), output.error.clone()?)));
        let done = outcome
            .outputs
            .values()
            .filter(|output| output.is_success());
        WorkflowSummary {
            workflow: self.graph.workflow.name().to_owned(),
            end: match (&outcome.end, self.session.state().halt()) {
                (WorkflowEnd::Completed | WorkflowEnd::Cancelled, Some(message))
                    if !self.cx.cancel.is_cancelled() =>
                {
                    WorkflowEnd::Halted {
                        message: message.to_owned(),
                    }
                }
                (end, _) => end.clone(),
            },
            done: done.count() as u64,
            failed: failed.collect(),
            skipped: outcome.skipped.iter().map(ToString::to_string).collect(),
        }
    }

    /// Returns the end of a turn with what the last nodes returned: the result of one, or a section
    /// for each of several. Without any, the failure of one of them is the end.
    fn completed(&self, outcome: &Outcome, summary: &WorkflowSummary) -> (TurnEnd, Vec<Blob>) {
        let exits = self.graph.workflow.nodes().iter();
        let exits: Vec<&Arc<Node>> = exits.filter(|node| node.is_exit()).collect();
        let outputs: Vec<(&Arc<Node>, &Arc<NodeOutput>)> = exits
            .iter()
            .filter_map(|node| Some((*node, outcome.outputs.get(&node.id)?)))
            .collect();
        let mut successful = outputs.iter().filter(|(_, output)| output.is_success());
        if let (None, Some((node, failure))) =
            (successful.clone().next(), summary.failed.iter().last())
        {
            let error = TurnError::Workflow {
                node: node.clone(),
                code: failure.code.clone(),
                message: failure.message.clone(),
            };
            return (TurnEnd::Error { error }, Vec::new());
        }
        // Of several, all but one may be on ways that were not taken.
        if let ([_], Some((node, output))) = (outputs.as_slice(), successful.clone().next()) {
            return self.single(node, output);
        }
        let sections: Vec<String> = successful
            .by_ref()
            .map(|(node, output)| format!("[{}]\n{}", node.id, output.text))
            .collect();
        let end = TurnEnd::Done {
            text: sections.join("\n\n"),
            output: None,
            result: None,
        };
        (end, Vec::new())
    }

    /// Returns the end of a turn with the output of the only last node.
    fn single(&self, node: &Node, output: &NodeOutput) -> (TurnEnd, Vec<Blob>) {
        let call_id = self.call_id(&NodeRun {
            node: Arc::clone(&node.id),
            iteration: None,
        });
        let spilled = output
            .output
            .clone()
            .map(|result| spill_output(result, result_name(&call_id).as_str()));
        let (result, blobs) = match spilled {
            None => (None, Vec::new()),
            Some(spilled) => {
                let result = ToolResult {
                    call_id,
                    name: node.kind.name().to_owned(),
                    output: spilled.output,
                    whole: spilled.whole,
                };
                (Some(result), spilled.blobs)
            }
        };
        let end = TurnEnd::Done {
            text: output.text.clone(),
            output: None,
            result,
        };
        (end, blobs)
    }
}

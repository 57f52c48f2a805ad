//! One run of a node: its agent, its call or its handler, with its timeout.

use crate::{
    tool::{CallReport, RunEnd},
    turn::{
        Agent, TurnContext, budget,
        job::{Caller, Unsettled},
        plan::CallRun as PlannedCall,
    },
    workflow::{Handler, HandlerInput},
};
use agent_host_types::{
    failure::ToolErrorCode,
    id::CallId,
    tool::Effect,
    workflow::{NodeFailure, NodeOutput},
};
use agent_host_workflow::run::Start;
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// The work of a node.
pub(super) enum NodeTask {
    Handler(Arc<dyn Handler>),
    Call(Box<PlannedCall>),
}

/// A node that runs.
pub(super) struct Flight {
    pub(super) start: Start,
    pub(super) call_id: CallId,
    pub(super) effect: Effect,
    pub(super) caller: Caller,
    pub(super) share: budget::Share,
    pub(super) cancel: CancellationToken,
}

/// A node that does not run any more.
pub(super) struct Landed {
    pub(super) start: Start,
    pub(super) call_id: CallId,
    pub(super) effect: Effect,
    pub(super) end: Result<NodeEnd, Unsettled>,
}

/// How a run of a node ended.
pub(super) enum NodeEnd {
    Settled(Box<CallReport<NodeOutput>>),
    /// The call asks the user, and is to run in a session of its own.
    Asked(Box<PlannedCall>),
}

impl Flight {
    /// Runs the node to its end, which is a failure if it takes longer than its timeout.
    pub(super) async fn run(self, agent: &Agent, task: NodeTask, cx: &TurnContext<'_>) -> Landed {
        let wait = Duration::from_millis(self.start.not_before_ms);
        if !wait.is_zero() {
            tokio::select! {
                () = sleep(wait) => {}
                () = self.cancel.cancelled() => {}
                () = cx.drain.cancelled() => {}
            }
        }
        // A node that is tried again may be tried later as well.
        let end = match !wait.is_zero() && cx.is_drained() {
            true => Err(Unsettled::Drained),
            false => self.within_timeout(agent, task, cx).await,
        };
        Landed {
            end,
            start: self.start,
            call_id: self.call_id,
            effect: self.effect,
        }
    }

    async fn within_timeout(
        &self,
        agent: &Agent,
        task: NodeTask,
        cx: &TurnContext<'_>,
    ) -> Result<NodeEnd, Unsettled> {
        let mut working = pin!(self.work(agent, task, cx));
        let Some(limit) = self.start.node.timeout_ms else {
            return working.await;
        };
        tokio::select! {
            end = &mut working => end,
            () = sleep(Duration::from_millis(limit.get())) => {
                self.cancel.cancel();
                self.timed_out(working.await, limit.get())
            }
        }
    }

    async fn work(
        &self,
        agent: &Agent,
        task: NodeTask,
        cx: &TurnContext<'_>,
    ) -> Result<NodeEnd, Unsettled> {
        let cx = &TurnContext {
            cancel: &self.cancel,
            ..*cx
        };
        let call = match task {
            NodeTask::Handler(handler) => return Ok(self.handle(&*handler).await),
            NodeTask::Call(call) => call,
        };
        Ok(
            match agent.work(&self.caller, &call, &self.share, cx).await? {
                RunEnd::Settled(report) => {
                    let report = report.map(|result| self.start.output_of(result));
                    NodeEnd::Settled(Box::new(report))
                }
                RunEnd::Asked(_) => NodeEnd::Asked(call),
            },
        )
    }

    async fn handle(&self, handler: &dyn Handler) -> NodeEnd {
        let input = HandlerInput {
            node: self.start.node.id.to_string(),
            call_id: self.call_id.clone(),
            input: self.start.input.clone(),
            iteration: self.start.iteration.clone(),
            cancel: self.cancel.clone(),
        };
        let mut output = handler.run(input).await;
        if let Some(result) = &output.output
            && let Err(failure) = result.validate()
        {
            output = NodeOutput::of_failure(&self.start.node.id, failure);
        }
        output.normalize();
        NodeEnd::Settled(Box::new(CallReport::of(output)))
    }

    /// Replaces the end of a node that took too long.
    fn timed_out(
        &self,
        end: Result<NodeEnd, Unsettled>,
        limit_ms: u64,
    ) -> Result<NodeEnd, Unsettled> {
        let doubt = match self.effect {
            Effect::ReadOnly => "",
            Effect::Idempotent | Effect::Effectful => "; it may or may not have taken effect",
        };
        let failure = NodeFailure::new(
            ToolErrorCode::Timeout.as_str(),
            format!("the node did not finish within {limit_ms} ms{doubt}"),
        );
        let mut output = NodeOutput::of_failure(&self.start.node.id, failure);
        output.agent_id = self.start.node.agent().map(str::to_owned);
        let ended = match end {
            Ok(NodeEnd::Settled(ended)) => CallReport {
                output,
                changes: Vec::new(),
                ..*ended
            },
            // Its session is not continued.
            Ok(NodeEnd::Asked(_)) | Err(Unsettled::Waiting(_) | Unsettled::Drained) => {
                CallReport::of(output)
            }
            Err(Unsettled::Failed(error)) => return Err(error.into()),
        };
        Ok(NodeEnd::Settled(Box::new(ended)))
    }
}

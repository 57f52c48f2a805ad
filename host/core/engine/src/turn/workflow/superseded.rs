//! The inputs of a session whose workflow has not ended, and the end of a run that a new message
//! supersedes.

use super::{
    Driver,
    land::{cancelled, settled_without_run},
};
use crate::{
    agents::SubAgent,
    session::{OpenNode, Session},
    turn::{Agent, TurnError, begin::refuse, job::files_labelled},
};
use agent_host_types::{
    approval::RememberScope,
    event::Event,
    failure::ToolErrorCode,
    id::CallId,
    tool::Effect,
    turn::AgentInput,
    workflow::{NodeFailure, NodeOutput, WorkflowEnd, WorkflowSummary},
};
use agent_host_workflow::run::NodeRun;
use std::{collections::BTreeMap, iter};

/// The failure of a node that a new message stopped.
const SUPERSEDED: &str = "the user sent a new message before this node ended";

impl Driver<'_> {
    /// Ends the session of a node.
    pub(super) async fn abandon(&mut self, node: &NodeRun) -> Result<(), TurnError> {
        let Some((call_id, open)) = self.open_node(node) else {
            return Ok(());
        };
        let Some(child) = self.agent.agent_of_node(open) else {
            return Ok(());
        };
        let call_id = call_id.clone();
        let agent = self.agent;
        agent
            .abandon_child(self.session, &call_id, &child, self.cx)
            .await
    }
}

impl Agent {
    /// Checks that the workflow of this agent is the one that the session runs.
    pub(in crate::turn) fn check_workflow(
        &self,
        session: &Session,
        input: &AgentInput,
    ) -> Result<(), TurnError> {
        if matches!(input, AgentInput::Text(_) | AgentInput::Message(_)) {
            return Ok(());
        }
        let state = session.state();
        match (state.workflow(), &self.workflow) {
            (None, _) => Ok(()),
            (Some(run), _) if run.has_ended => Err(refuse(format!(
                "the workflow `{}` has ended, so there is nothing to continue; send a message",
                run.name
            ))),
            (Some(run), Some(graph)) if run.name == graph.workflow.name() => {
                let is_same = run.definition.digest == graph.workflow.digest();
                match is_same || self.settings.accepts_changed_workflow {
                    true => Ok(()),
                    false => Err(refuse(format!(
                        "the workflow `{}` has changed since this run of it started; undo the change, or continue \
                         with `--accept-changed`, which keeps the results so far",
                        run.name
                    ))),
                }
            }
            (Some(run), _) => Err(refuse(format!(
                "this session runs the workflow `{0}`; continue it with `--workflow {0}`",
                run.name
            ))),
        }
    }

    /// Returns the agent in whose session a node runs.
    pub(in crate::turn) fn agent_of_node(&self, node: &OpenNode) -> Option<SubAgent> {
        let agent = node.agent.as_ref()?;
        if *agent == node.tool {
            let input = node.input.clone().unwrap_or_default();
            return Some(self.in_session(&node.tool, input));
        }
        self.agents.as_ref()?.of_tool(&node.tool).cloned()
    }

    /// Keeps the approvals of the session that decisions about its nodes asked to remember: each of
    /// them was made in a session of its own.
    pub(in crate::turn) fn remember_of_nodes(&self, session: &mut Session, input: &AgentInput) {
        if session.state().open_workflow().is_none() {
            return;
        }
        for (rule, scope) in self.rules_of(input) {
            if scope == RememberScope::Session && self.tool(&rule.tool).is_some() {
                session.record(Event::ApprovalRemembered { rule, scope }, Vec::new());
            }
        }
    }

    /// Returns the events that a node ended of which no one knows what it did.
    pub(super) fn lost_node(
        &self,
        session: &Session,
        call_id: &CallId,
        node: &OpenNode,
        output: NodeOutput,
    ) -> impl Iterator<Item = Event> {
        let sources = self.seen_sources(session);
        let files = self.possibly_written(session, call_id, &node.tool, sources);
        let settled = settled_without_run(call_id.clone(), node.clone(), output);
        iter::once(settled).chain(files_labelled(call_id, files))
    }

    /// Records the end of a run that a new message supersedes.
    pub(in crate::turn) fn supersede_workflow(&self, session: &mut Session) {
        let Some(run) = session.state().open_workflow() else {
            return;
        };
        let summary = WorkflowSummary {
            workflow: run.name.clone(),
            end: WorkflowEnd::Cancelled,
            done: 0,
            failed: BTreeMap::new(),
            skipped: Vec::new(),
        };
        let stopped = run.open.iter().flat_map(|(call_id, node)| {
            let output = NodeOutput::of_failure(&node.node, failure_of(node));
            self.lost_node(session, call_id, node, output)
        });
        let ended = Event::WorkflowEnded { summary };
        let events = stopped.chain([ended]).collect();
        session.record_all(events, Vec::new());
    }
}

fn failure_of(node: &OpenNode) -> NodeFailure {
    // Its session has its calls, with what is known of them.
    if node.agent.is_some() || node.effect == Effect::ReadOnly {
        return cancelled(SUPERSEDED);
    }
    NodeFailure::new(
        ToolErrorCode::InterruptedUnknown.as_str(),
        "the program ended during this node; it may or may not have taken effect",
    )
}

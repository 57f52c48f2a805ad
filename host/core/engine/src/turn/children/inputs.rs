//! Inputs of agents that wait, on their way down to the sessions that they are for; and the end of
//! those whose calls are answered without them.

use super::super::{Agent, TurnContext, begin::refuse, job::files_labelled, resume::other_kind};
use crate::{BoxFuture, agents::SubAgent, observer::Unobserved, session::Session};
use agent_host_types::{
    approval::{ApprovalRule, RememberScope},
    continuation::{Awaiting, Continuation},
    event::Event,
    id::CallId,
    turn::{AgentInput, ChildInput, TurnEnd, TurnError},
};
use std::{borrow::Cow, collections::HashSet, time::Instant};

impl Agent {
    /// Checks inputs of agents before anything of the turn is recorded.
    pub(in crate::turn) async fn check_handed_down(
        &self,
        session: &Session,
        input: &AgentInput,
    ) -> Result<(), TurnError> {
        match input {
            AgentInput::Children {
                continuation,
                inputs,
            } => self.check_children(session, continuation, inputs).await,
            _ => Ok(()),
        }
    }

    /// Checks what agents are to be resumed with, down to the sessions that it is for. Nothing is
    /// recorded.
    async fn check_children(
        &self,
        session: &Session,
        continuation: &Continuation,
        inputs: &[ChildInput],
    ) -> Result<(), TurnError> {
        self.check_open(session, continuation)?;
        let Awaiting::Children { children } = &continuation.awaiting else {
            return Err(other_kind(continuation, "inputs of agents"));
        };
        let mut seen = HashSet::new();
        for ChildInput { call_id, input } in inputs {
            if !children.iter().any(|child| child.call_id == *call_id) {
                return Err(refuse(format!("no agent of call {call_id} is waiting")));
            }
            if !seen.insert(call_id) {
                return Err(refuse(format!("call {call_id} was given two inputs")));
            }
            let Some(child) = self.agent_of_call(session, call_id) else {
                return Err(refuse(format!(
                    "the agent of call {call_id} is no longer configured"
                )));
            };
            let child_session = self.open_child(&child, session, call_id).await?;
            let made = self.loop_of(&child, child_session.id())?;
            made.agent.check_input(&child_session, input).await?;
        }
        Ok(())
    }

    /// Returns whether an agent of the open request is further than the request says: the program
    /// ended after the agent's session took an input, and before this one recorded it. The session
    /// is then continued before another input is given.
    ///
    /// # Errors
    /// The session of an agent cannot be read.
    pub fn is_behind_children<'a>(
        &'a self,
        session: &'a Session,
    ) -> BoxFuture<'a, Result<bool, TurnError>> {
        Box::pin(async move {
            let open = self.continuation(session);
            let Some(Awaiting::Children { children }) = open.map(|open| open.awaiting) else {
                return Ok(false);
            };
            for waiting in children {
                let Some(child) = self.agent_of_call(session, &waiting.call_id) else {
                    continue;
                };
                let of_child = self.open_child(&child, session, &waiting.call_id).await?;
                let agent = self.loop_of(&child, of_child.id())?.agent;
                if agent.continuation(&of_child) != Some(waiting.continuation)
                    || agent.is_behind_children(&of_child).await?
                {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    /// Returns the agent in whose session a call of a model or a node runs.
    fn agent_of_call(&self, session: &Session, call_id: &CallId) -> Option<SubAgent> {
        let workflow = session.state().open_workflow();
        if let Some(node) = workflow.and_then(|run| run.open.get(call_id)) {
            return self.agent_of_node(node);
        }
        let mut batch = session.state().batch().iter();
        let entry = batch.find(|entry| entry.call.id == *call_id)?;
        let child = self.sub_agent(&entry.call.name, entry.effective_input()?);
        child.map(Cow::into_owned)
    }

    /// Checks the input of a session that waits.
    fn check_input<'a>(
        &'a self,
        session: &'a Session,
        input: &'a AgentInput,
    ) -> BoxFuture<'a, Result<(), TurnError>> {
        Box::pin(async move {
            match input {
                AgentInput::Resume {
                    continuation,
                    decisions,
                } => self
                    .check_decided(session, continuation, decisions)
                    .map(drop),
                AgentInput::Answer {
                    continuation,
                    answer,
                } => self.check_answered(session, continuation, answer).map(drop),
                AgentInput::SubmitToolResults {
                    continuation,
                    results,
                } => self.check_submitted(session, continuation, results),
                AgentInput::Children { .. } => self.check_handed_down(session, input).await,
                AgentInput::Text(_) | AgentInput::Message(_) | AgentInput::Continue => Err(refuse(
                    "a waiting agent takes decisions, an answer or results",
                )),
            }
        })
    }

    /// Returns the rules that an input's decisions ask to remember, those about the calls of agents
    /// included ([`Self::rules_to_remember`]).
    #[must_use]
    pub fn rules_of(&self, input: &AgentInput) -> Vec<(ApprovalRule, RememberScope)> {
        match input {
            AgentInput::Resume {
                continuation,
                decisions,
            } => self.rules_to_remember(continuation.calls(), decisions),
            AgentInput::Children {
                continuation,
                inputs,
            } => {
                let Awaiting::Children { children } = &continuation.awaiting else {
                    return Vec::new();
                };
                let of_child = |given: &ChildInput| {
                    let mut waiting = children.iter();
                    let child = waiting.find(|child| child.call_id == given.call_id)?;
                    let agents = self.agents.as_ref();
                    // A call in a session of its own has the tools of this agent.
                    match agents.and_then(|agents| agents.named(&child.agent)) {
                        None => Some(self.rules_of(&given.input)),
                        Some(named) => {
                            let made = named.agent.make(child.continuation.session).ok()?;
                            Some(made.agent.rules_of(&given.input))
                        }
                    }
                };
                inputs.iter().filter_map(of_child).flatten().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Keeps the approvals of the session that decisions about calls of its programs asked to
    /// remember, for its other programs.
    pub(in crate::turn) fn remember_of_programs(&self, session: &mut Session, input: &AgentInput) {
        let AgentInput::Children {
            continuation:
                Continuation {
                    awaiting: Awaiting::Children { children },
                    ..
                },
            inputs,
        } = input
        else {
            return;
        };
        for ChildInput { call_id, input } in inputs {
            let waiting = children.iter().find(|child| child.call_id == *call_id);
            let child = waiting.and_then(|child| self.agents.as_ref()?.named(&child.agent));
            let (
                Some(child),
                AgentInput::Resume {
                    continuation,
                    decisions,
                },
            ) = (child, input)
            else {
                continue;
            };
            let Some(program) = child.program_loop() else {
                continue;
            };
            let rules = program.rules_to_remember(continuation.calls(), decisions);
            for (rule, scope) in rules {
                if scope == RememberScope::Session {
                    session.record(Event::ApprovalRemembered { rule, scope }, Vec::new());
                }
            }
        }
    }

    /// Ends the sessions of agents whose calls are answered without them, and those of nodes.
    pub(in crate::turn) async fn abandon_children(
        &self,
        session: &mut Session,
        cx: &TurnContext<'_>,
    ) -> Result<(), TurnError> {
        for (call_id, child) in self.open_agents(session) {
            self.abandon_child(session, &call_id, &child, cx).await?;
        }
        Ok(())
    }

    /// Ends the session of a call that is answered without it.
    pub(in crate::turn) async fn abandon_child(
        &self,
        session: &mut Session,
        call_id: &CallId,
        child: &SubAgent,
        cx: &TurnContext<'_>,
    ) -> Result<(), TurnError> {
        let mut of_child = self.open_child(child, session, call_id).await?;
        let made = self.loop_of(child, of_child.id())?;
        made.agent.abandon(&mut of_child, cx).await?;
        let labelled = files_labelled(call_id, of_child.state().flow.files.recorded());
        session.record_all(labelled.into_iter().collect(), Vec::new());
        Ok(())
    }

    /// Reads the sessions of the calls and the nodes that continue, so that each of them knows the
    /// files that the others wrote before the program ended.
    pub(in crate::turn) async fn read_labelled_files(
        &self,
        session: &Session,
    ) -> Result<(), TurnError> {
        if self.settings.flow.is_off() {
            return Ok(());
        }
        let agents = self.open_agents(session);
        let files = &session.state().flow.files;
        loop {
            let before = files.count();
            for (call_id, child) in &agents {
                drop(self.open_child(child, session, call_id).await?);
            }
            // A file that one wrote, another one can have moved.
            if agents.len() < 2 || files.count() == before {
                break;
            }
        }
        Ok(())
    }

    /// Returns the agents that have a session for a call or a node which has no result.
    fn open_agents(&self, session: &Session) -> Vec<(CallId, SubAgent)> {
        let workflow = session.state().open_workflow();
        let nodes = workflow.iter().flat_map(|run| &run.open);
        let nodes = nodes.filter_map(|(id, node)| Some((id.clone(), self.agent_of_node(node)?)));
        let open = session.state().batch().iter();
        let open = open.filter(|entry| entry.is_spawned && entry.result.is_none());
        let calls = open.filter_map(|entry| {
            let child = self.sub_agent(&entry.call.name, entry.effective_input()?)?;
            Some((entry.call.id.clone(), child.into_owned()))
        });
        nodes.chain(calls).collect()
    }

    pub(in crate::turn) fn abandon<'a>(
        &'a self,
        session: &'a mut Session,
        cx: &'a TurnContext<'a>,
    ) -> BoxFuture<'a, Result<(), TurnError>> {
        Box::pin(async move {
            self.abandon_children(session, cx).await?;
            self.supersede_workflow(session);
            if session.state().has_ended() {
                return Ok(());
            }
            self.answer_open(session, cx);
            let outcome = self.report(session, TurnEnd::Cancelled, Instant::now());
            session.record(Event::TurnEnded { outcome, by: None }, Vec::new());
            Ok(session.barrier(&Unobserved).await?)
        })
    }
}

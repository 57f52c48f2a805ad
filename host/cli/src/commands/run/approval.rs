//! Approvals and questions at the terminal: asks the user and returns the answers to the session.

use super::{Run, waiting::waiting_name};
use crate::{
    commands::permission_summary,
    terminal::{Review, ask_question},
};
use agent_host_app::project;
use agent_host_engine::{BoxFuture, session::Session, turn::Prompts};
use agent_host_types::{
    approval::{ApprovalRule, RememberScope},
    continuation::{Awaiting, Continuation},
    turn::{AgentInput, ChildInput, TurnEnd, TurnError},
};

impl Run<'_> {
    /// Asks about every waiting call; `None` if the user decides later or cannot be asked.
    pub(super) async fn decide(&self, continuation: &Continuation) -> Option<AgentInput> {
        if !self.can_ask() {
            return None;
        }
        let mut decisions = Vec::with_capacity(continuation.calls().len());
        for call in continuation.calls() {
            let (terminal, call) = (*self.terminal, call.clone());
            let tools = self.agent.tools.clone();
            let reach = permission_summary::for_tool(self.host.registry(), &call.tool);
            let project = project(self.host.config());
            let ask = move || {
                let review = Review {
                    terminal: &terminal,
                    call: &call,
                    tools: tools.as_ref(),
                    reach: &reach,
                    project: &project,
                };
                review.ask()
            };
            decisions.push(self.unless_stopped(ask).await??);
        }
        Some(AgentInput::Resume {
            continuation: continuation.clone(),
            decisions,
        })
    }

    /// Asks the user what a turn waits for; `None` if nothing of it can be answered now.
    pub(super) fn respond<'a>(
        &'a self,
        continuation: &'a Continuation,
    ) -> BoxFuture<'a, Option<AgentInput>> {
        Box::pin(async move {
            match &continuation.awaiting {
                Awaiting::Confirm { .. } => self.decide(continuation).await,
                Awaiting::Answer { .. } => self.answer_question(continuation).await,
                Awaiting::External { .. } => None,
                Awaiting::Children { children } => {
                    let mut inputs = Vec::new();
                    for child in children {
                        if self.can_ask() {
                            let name = waiting_name(child);
                            self.terminal.note(&format!("{name} waits:"));
                        }
                        let call_id = child.call_id.clone();
                        if let Some(input) = self.respond(&child.continuation).await {
                            inputs.push(ChildInput { call_id, input });
                        }
                    }
                    (!inputs.is_empty()).then(|| AgentInput::Children {
                        continuation: continuation.clone(),
                        inputs,
                    })
                }
            }
        })
    }

    /// Asks a call's question; `None` if the user answers later or cannot be asked.
    pub(super) async fn answer_question(&self, continuation: &Continuation) -> Option<AgentInput> {
        let Awaiting::Answer { tool, question, .. } = &continuation.awaiting else {
            return None;
        };
        if !self.can_ask() {
            return None;
        }
        let (terminal, tool, question) = (*self.terminal, tool.clone(), question.clone());
        let ask = move || ask_question(&terminal, &tool, &question);
        Some(AgentInput::Answer {
            answer: self.unless_stopped(ask).await??,
            continuation: continuation.clone(),
        })
    }

    fn can_ask(&self) -> bool {
        !self.stop.is_requested()
            && self.terminal.can_ask()
            && self.agent.settings.prompts == Prompts::Ask
    }

    /// Returns the rules that an input's decisions ask to remember for this project.
    pub(super) fn project_rules(&self, input: &AgentInput) -> Vec<ApprovalRule> {
        let rules = self.agent.rules_of(input);
        let of_project = |(rule, scope)| (scope == RememberScope::Project).then_some(rule);
        rules.into_iter().filter_map(of_project).collect()
    }

    /// Stores rules for this project, if the decisions behind them were accepted. A failure is
    /// printed and does not end the run: the user is asked again.
    pub(super) async fn remember(
        &self,
        session: &Session,
        end: &TurnEnd,
        rules: Vec<ApprovalRule>,
    ) {
        let refused = matches!(
            end,
            TurnEnd::Error {
                error: TurnError::Input { .. } | TurnError::Journal { .. }
            }
        );
        if rules.is_empty() || refused {
            return;
        }
        if let Err(error) = self.host.remember(session.id(), rules).await {
            self.terminal.error(&error.to_string());
        }
    }
}

//! The requests of a waiting agent, put to the client's user one after another. Where no one can be
//! asked, calls are rejected and questions declined, so that the agent continues.

use crate::{
    call::elicit,
    elicitation::{self, AwaitedInput},
};
use agent_host_app::Registry;
use agent_host_engine::BoxFuture;
use agent_host_types::{
    continuation::{Awaiting, WaitingChild},
    failure::{ToolErrorCode, ToolFailure},
    turn::{AgentInput, ChildInput, SubmittedResult},
};
use rmcp::{RoleServer, model::ElicitResult, service::RequestContext};

/// The result of a call that runs outside of the host.
const EXTERNAL: &str = "This tool runs outside of the host, in the program that drives the agent loop; MCP clients cannot do that, so it did not run.";

/// Returns what a waiting agent continues with. Without a context no one is asked.
pub(crate) fn respond<'a>(
    waiting: &'a WaitingChild,
    registry: &'a Registry,
    context: Option<&'a RequestContext<RoleServer>>,
) -> BoxFuture<'a, AgentInput> {
    Box::pin(async move {
        let continuation = waiting.continuation.clone();
        match &waiting.continuation.awaiting {
            Awaiting::Confirm { calls, .. } => {
                let mut decisions = Vec::with_capacity(calls.len());
                for call in calls {
                    let prompt = AwaitedInput::approval(call.clone(), registry);
                    let reply = ask(&prompt, &waiting.agent, context).await;
                    decisions.push(elicitation::decision(call, &reply));
                }
                AgentInput::Resume {
                    continuation,
                    decisions,
                }
            }
            Awaiting::Answer { tool, question, .. } => {
                let prompt = AwaitedInput::Question {
                    tool: tool.clone(),
                    question: question.clone(),
                };
                let reply = ask(&prompt, &waiting.agent, context).await;
                AgentInput::Answer {
                    continuation,
                    answer: elicitation::answer(question, &reply),
                }
            }
            Awaiting::External { calls } => {
                let failure = ToolFailure::new(ToolErrorCode::ToolUnavailable, EXTERNAL);
                let results = calls.iter().map(|call| SubmittedResult {
                    call_id: call.call_id.clone(),
                    output: failure.clone().into(),
                });
                AgentInput::SubmitToolResults {
                    continuation,
                    results: results.collect(),
                }
            }
            Awaiting::Children { children } => {
                let mut inputs = Vec::with_capacity(children.len());
                for child in children {
                    inputs.push(ChildInput {
                        call_id: child.call_id.clone(),
                        input: respond(child, registry, context).await,
                    });
                }
                AgentInput::Children {
                    continuation,
                    inputs,
                }
            }
        }
    })
}

async fn ask(
    prompt: &AwaitedInput,
    agent: &str,
    context: Option<&RequestContext<RoleServer>>,
) -> ElicitResult {
    match context {
        Some(context) => elicit(prompt, Some(agent), context).await,
        None => elicitation::no_reply(),
    }
}

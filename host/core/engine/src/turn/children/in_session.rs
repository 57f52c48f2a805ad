//! A call of a workflow's node in a session of its own, because the user decides on it or
//! answers it: a turn of a model that requests this call and nothing else.

use super::report_of;
use crate::{
    BoxFuture,
    agents::SubAgent,
    model::{DeltaSink, Model},
    session::Session,
    turn::{
        Agent, TurnContext, TurnError,
        budget::Share,
        job::{Caller, JobEnd, checked},
        plan::CallRun,
        review::of_calls,
    },
};
use agent_host_types::{
    failure::ToolFailure,
    id::{CallId, Digest},
    message::Role,
    model::{ModelError, ModelErrorKind, ModelReply, ModelRequest, Provenance, StopReason},
    output::ToolResultOutput,
    tool::{Approval, ToolCall},
};
use serde_json::{Map, Value, json};
use std::{future::ready, sync::Arc};

/// The rule by which a call runs in a session of its own, where it is decided on.
pub(in crate::turn) const SESSION_RULE: &str = "workflow-session";

/// The name of the call in its session.
const CALL: &str = "call";

/// The error that ends such a session after its call. It has the words of an empty reply, which
/// recorded sessions have.
const ANSWERED: &str = "the model's reply is empty: it has neither text nor a tool call; ask again with another prompt, or use another model";

/// A model that requests one call.
struct OneCall {
    tool: String,
    input: Arc<Map<String, Value>>,
}

impl Model for OneCall {
    fn provenance(&self) -> Provenance {
        Provenance {
            provider: "workflow".to_owned(),
            model: "call".to_owned(),
        }
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let messages = request.messages.iter();
        let is_answered = messages
            .rev()
            .any(|message| message.role == Role::ToolResult);
        let call = ToolCall {
            id: CallId(CALL.to_owned()),
            name: self.tool.clone(),
            raw_arguments: json!(self.input).to_string(),
            input: Some(self.input.clone()),
        };
        let reply = match is_answered {
            true => Err(ModelError::new(ModelErrorKind::Protocol, ANSWERED)),
            false => Ok(ModelReply {
                stop_reason: Some(StopReason::ToolUse),
                tool_calls: vec![call],
                ..ModelReply::default()
            }),
        };
        Box::pin(ready(reply))
    }
}

/// Returns the input that stands for the message of the user in such a session.
pub(in crate::turn) fn in_session(node: &str, tool: &str) -> Map<String, Value> {
    let text = format!("The node {node} calls {tool}.");
    Map::from_iter([("instructions".to_owned(), Value::from(text))])
}

impl Agent {
    /// Returns the agent of a session with one call, which has the tools and the rules of this one.
    pub(in crate::turn) fn in_session(
        &self,
        tool: &str,
        input: Arc<Map<String, Value>>,
    ) -> SubAgent {
        let agent = Agent {
            model: Arc::new(OneCall {
                tool: tool.to_owned(),
                input,
            }),
            workflow: None,
            program: None,
            hooks: of_calls(&self.hooks),
            settings: self.settings.clone().without_model(),
            ..self.clone()
        };
        SubAgent {
            name: tool.to_owned(),
            description: Arc::default(),
            system: None,
            agent: agent.into(),
            approval: Approval::Never,
            decisions: Vec::new(),
            is_interactive: true,
            price: None,
            definition: Digest::of(tool.as_bytes()),
        }
    }

    /// Runs a call in a session of its own.
    pub(in crate::turn) async fn run_in_session(
        &self,
        child: &SubAgent,
        caller: &Caller,
        run: &CallRun,
        share: &Share,
        cx: &TurnContext<'_>,
    ) -> JobEnd {
        let (session, _) = self.drive(child, caller, run, share, cx).await?;
        let output = last_result(&session, run).await?;
        let mut report = report_of(child, &session, output).await?;
        report.sources = session.state().flow.all(&self.settings.flow);
        Ok(checked(report).into())
    }
}

/// Returns the result of the call; if it has none, it was stopped.
async fn last_result(session: &Session, run: &CallRun) -> Result<ToolResultOutput, TurnError> {
    let results = session.state().messages().iter();
    let result = results
        .rev()
        .find_map(|message| message.tool_results.last());
    let Some(result) = result.cloned() else {
        return Ok(ToolFailure::stopped(run.effect).into());
    };
    let mut whole = session.whole_result(result).await?;
    session.hydrate_output(&mut whole.output).await?;
    Ok(whole.output)
}

//! Approvals and questions that a turn waits for, put to the user of the client, also those of its
//! agents. Nothing but a clear choice of the user decides: an error, an unknown option or a client
//! that is gone leaves the request waiting.

use crate::{
    agent::AcpAgent,
    connection::NoAnswer,
    sessions::Opened,
    tools,
    updates::{call_fields, content, id_of},
    wire::{ErrorCode, PermissionAnswer, PermissionOutcome, RpcError},
};
use agent_host_app::tool_reach;
use agent_host_engine::{
    BoxFuture,
    text::escape_line,
    turn::{CallFrame, QuestionPreview},
};
use agent_host_mcp::{question_answer, question_form};
use agent_host_types::{
    approval::{Decision, Remember, RememberScope, RememberWhat},
    continuation::{Awaiting, Continuation, PendingCall},
    id::{CallId, SessionId},
    question::{Answer, Question},
    tool::DecisionKind,
    turn::{AgentInput, ChildInput},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The options of an approval.
const ALLOW_ONCE: &str = "allow-once";
const ALLOW_ALWAYS: &str = "allow-always";
const REJECT_ONCE: &str = "reject-once";

/// The option that declines to answer a question.
const NO_ANSWER: &str = "no-answer";

impl AcpAgent {
    /// Asks for what a turn waits for, and returns the input that continues it. `path` has the
    /// calls that started the agent which waits, outermost first.
    pub(crate) fn ask<'a>(
        &'a self,
        session: SessionId,
        opened: &'a mut Opened,
        path: &'a [CallId],
        continuation: Continuation,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<AgentInput, NoAnswer>> {
        Box::pin(async move {
            match &continuation.awaiting {
                Awaiting::Confirm { calls, .. } => {
                    let mut decisions = Vec::with_capacity(calls.len());
                    for call in calls {
                        decisions.push(self.approve(session, opened, path, call, cancel).await?);
                    }
                    Ok(AgentInput::Resume {
                        continuation,
                        decisions,
                    })
                }
                Awaiting::Answer {
                    call_id,
                    tool,
                    question,
                } => {
                    let id = id_of(path, call_id);
                    let answer = self.question(session, &id, tool, question, cancel).await?;
                    Ok(AgentInput::Answer {
                        continuation,
                        answer,
                    })
                }
                Awaiting::Children { children } => {
                    let mut inputs = Vec::with_capacity(children.len());
                    for child in children {
                        let path: Vec<CallId> =
                            path.iter().chain([&child.call_id]).cloned().collect();
                        let waits = child.continuation.clone();
                        let input = self.ask(session, opened, &path, waits, cancel).await?;
                        let call_id = child.call_id.clone();
                        inputs.push(ChildInput { call_id, input });
                    }
                    Ok(AgentInput::Children {
                        continuation,
                        inputs,
                    })
                }
                Awaiting::External { .. } => Err(NoAnswer::Failed(RpcError::new(
                    ErrorCode::ExternalCalls,
                    "calls of external tools wait for their results, which this protocol cannot carry; submit them \
                     with `agent-host run --resume`",
                ))),
            }
        })
    }

    /// Asks for approval of a call.
    async fn approve(
        &self,
        session: SessionId,
        opened: &mut Opened,
        path: &[CallId],
        call: &PendingCall,
        cancel: &CancellationToken,
    ) -> Result<Decision, NoAnswer> {
        let registry = self.host.agents().registry();
        let id = id_of(path, &call.call_id);
        let announced = opened
            .transcript
            .announced(registry, &id, &call.tool, Some(&call.input));
        for update in announced {
            self.update(session, &update).await;
        }
        // Everything that the user decides by is in the request: editors do not look elsewhere.
        let mut fields = call_fields(registry, &id, &call.tool, Some(&call.input));
        let reach = tool_reach(registry, &call.tool);
        let frame = CallFrame::unwrapped(call, reach.beyond.as_deref(), !reach.is_outside);
        fields.insert("title".to_owned(), frame.heading.as_str().into());
        fields.insert("status".to_owned(), "pending".into());
        let preview = json!({"type": "text", "text": frame.to_string()});
        let texts = registry.file_texts(&call.tool, &call.input).await;
        let diff = tools::diff(registry, &call.tool, &call.input, texts);
        if let Some(diff) = &diff {
            opened.transcript.keep_diff(&id, diff.clone());
        }
        let shown: Vec<Value> = diff.into_iter().chain([content(&preview)]).collect();
        fields.insert("content".to_owned(), shown.into());
        let options = approval_options(call);
        let chosen = self
            .choose(session, &fields.into(), &options, cancel)
            .await?;
        Ok(decision(call, &chosen))
    }

    /// Asks a question of a tool: by a form if the client has them, otherwise by its choices. One
    /// that can be asked in neither way is declined.
    async fn question(
        &self,
        session: SessionId,
        id: &str,
        tool: &str,
        question: &Question,
        cancel: &CancellationToken,
    ) -> Result<Answer, NoAnswer> {
        if self.client().forms {
            let mut params = question_form(tool, question);
            if let Some(params) = params.as_object_mut() {
                params.insert("mode".to_owned(), "form".into());
                params.insert("sessionId".to_owned(), json!(session));
                params.insert("toolCallId".to_owned(), id.into());
            }
            let asked = self
                .connection
                .request("elicitation/create", params, cancel);
            return Ok(question_answer(question, &asked.await?));
        }
        if question.choices.is_empty() {
            return Ok(Answer::Cancelled);
        }
        let preview = QuestionPreview::new(tool, question, usize::MAX).to_string();
        let fields = json!({
            "toolCallId": id,
            "title": format!("{} asks a question", escape_line(tool)),
            "content": [content(&json!({"type": "text", "text": preview}))],
        });
        let mut options: Vec<Value> = question
            .choices
            .iter()
            .enumerate()
            .map(|(index, choice)| option(&index.to_string(), &escape_line(choice), "allow_once"))
            .collect();
        options.push(option(NO_ANSWER, "Do not answer", "reject_once"));
        let chosen = self.choose(session, &fields, &options, cancel).await?;
        let index = chosen.parse();
        Ok(index.map_or(Answer::Cancelled, |index| Answer::Choice { index }))
    }

    /// Sends a permission request, and returns the chosen option, which is one of those offered.
    async fn choose(
        &self,
        session: SessionId,
        call: &Value,
        options: &[Value],
        cancel: &CancellationToken,
    ) -> Result<String, NoAnswer> {
        const METHOD: &str = "session/request_permission";
        let params = json!({"sessionId": session, "toolCall": call, "options": options});
        let answer = self.connection.request(METHOD, params, cancel).await?;
        let invalid = |why: String| {
            let message = format!(
                "the answer to {METHOD} {why}, so nothing was decided and the session is still waiting; send another \
                 message, or answer with `agent-host run --resume`"
            );
            NoAnswer::Failed(RpcError::new(ErrorCode::Unanswered, message))
        };
        match serde_json::from_value::<PermissionAnswer>(answer) {
            Ok(PermissionAnswer {
                outcome: PermissionOutcome::Cancelled,
            }) => Err(NoAnswer::Cancelled),
            Ok(PermissionAnswer {
                outcome: PermissionOutcome::Selected { option_id },
            }) if options
                .iter()
                .any(|option| option["optionId"] == *option_id) =>
            {
                Ok(option_id)
            }
            Ok(_) => Err(invalid("names an option that was not offered".to_owned())),
            Err(error) => Err(invalid(format!("cannot be read: {error}"))),
        }
    }
}

/// Returns the options for a call: those of its decisions that the protocol can express.
fn approval_options(call: &PendingCall) -> Vec<Value> {
    let always = format!(
        "Allow all calls of {} in this session",
        escape_line(&call.tool)
    );
    let approve = [
        option(ALLOW_ONCE, "Allow this call", "allow_once"),
        option(ALLOW_ALWAYS, &always, "allow_always"),
    ];
    let may_approve = call.decisions.contains(&DecisionKind::Approve);
    let offered = if call.is_rememberable() { 2 } else { 1 };
    let approve = approve.into_iter().take(offered);
    let approve = approve.filter(|_| may_approve);
    let reject = option(REJECT_ONCE, "Reject this call", "reject_once");
    approve.chain([reject]).collect()
}

fn option(id: &str, name: &str, kind: &str) -> Value {
    json!({"optionId": id, "name": name, "kind": kind})
}

fn decision(call: &PendingCall, chosen: &str) -> Decision {
    let call_id = call.call_id.clone();
    match chosen {
        ALLOW_ONCE => Decision::approve(call_id),
        ALLOW_ALWAYS => Decision::Approve {
            call_id,
            remember: Some(Remember {
                what: RememberWhat::Tool,
                scope: RememberScope::Session,
            }),
        },
        _ => Decision::Reject {
            call_id,
            reason: Some("The user rejected this call.".to_owned()),
        },
    }
}

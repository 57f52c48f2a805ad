//! How a turn begins: the input is checked against the state of the session, and calls that an earlier turn left open are
//! dealt with. Nothing is recorded before every check has passed.

use super::{
    Agent, AgentInput, CONTINUATION_VERSION, Continuation, Decision, End, Step, Transition,
    TurnError, execute,
};
use crate::{
    event::Event,
    id::json_digest,
    json,
    message::{Message, Role},
    output::{ToolResultOutput, settle_message},
    session::Session,
};
use serde_json::Value;

/// What the model reads of a call that still waited when the person said something else.
const SUPERSEDED: &str = "This call did not run: the person sent a new message first.";

impl Agent {
    pub(super) fn begin(
        &self,
        session: &mut Session,
        input: AgentInput,
    ) -> Result<Transition, TurnError> {
        match input {
            AgentInput::Text(text) => Ok(self.receive(session, Message::text(Role::User, text))),
            AgentInput::Message(message) => {
                if message.role != Role::User
                    || !message.tool_calls.is_empty()
                    || !message.tool_results.is_empty()
                {
                    return Err(refuse(
                        "an input message must be a user message without tool calls and results",
                    ));
                }
                check_message(&message)?;
                Ok(self.receive(session, message))
            }
            AgentInput::Resume {
                continuation,
                decisions,
            } => {
                self.check_resume(session, &continuation, &decisions)?;
                session.record(
                    Event::DecisionRecorded {
                        request: continuation.request,
                        decisions,
                    },
                    Vec::new(),
                );
                Ok(Transition::Continue(Step::CheckApproval))
            }
            AgentInput::Continue => go_on(session),
        }
    }

    /// A new message: calls that still wait are answered first, since a conversation with unanswered calls is one that no
    /// provider accepts.
    fn receive(&self, session: &mut Session, message: Message) -> Transition {
        for entry in session.state().batch().to_vec() {
            if entry.result.is_some() {
                continue;
            }
            let decided = entry.decision.as_ref().and_then(execute::answer_of);
            let output = match (decided, entry.intended) {
                (Some(output), _) => output,
                (None, Some(_)) => execute::interrupted(&entry.call.name).into(),
                (None, None) => ToolResultOutput::ExecutionDenied(Some(SUPERSEDED.to_owned())),
            };
            self.settle_unrun(session, &entry.call, output);
        }
        let (message, blobs) = settle_message(message);
        session.record(Event::InputReceived { message }, blobs);
        Transition::Continue(Step::CheckBudgets)
    }

    /// Checks that the decisions are about exactly what was asked. Whatever is wrong, the open request stays usable.
    fn check_resume(
        &self,
        session: &Session,
        continuation: &Continuation,
        decisions: &[Decision],
    ) -> Result<(), TurnError> {
        if continuation.version != CONTINUATION_VERSION {
            return Err(refuse(format!(
                "this continuation has version {}; this program reads version {CONTINUATION_VERSION}",
                continuation.version
            )));
        }
        if continuation.session != session.id() {
            return Err(refuse(format!(
                "this continuation belongs to session {}",
                continuation.session
            )));
        }
        let open = session.state().continuation(session.id()).ok_or_else(|| {
            refuse("no approval is open in this session; the continuation was used already, or its calls were answered")
        })?;
        if open != *continuation {
            return Err(refuse(format!(
                "this continuation is not the open one ({}), or its calls were altered",
                open.request
            )));
        }
        for (pending, entry) in open.calls.iter().filter_map(|pending| {
            let entry = session
                .state()
                .batch()
                .iter()
                .find(|entry| entry.call.id == pending.call_id)?;
            Some((pending, entry))
        }) {
            let input = Value::Object(entry.call.input.clone().unwrap_or_default());
            if json_digest(&input) != pending.input_digest {
                return Err(refuse(format!(
                    "the arguments of call {} changed after the request",
                    pending.call_id
                )));
            }
        }
        self.check_decisions(&open, decisions)
    }

    fn check_decisions(
        &self,
        open: &Continuation,
        decisions: &[Decision],
    ) -> Result<(), TurnError> {
        if decisions.len() != open.calls.len() {
            return Err(refuse(format!(
                "{} calls wait and {} decisions were given; give one for each, in order",
                open.calls.len(),
                decisions.len()
            )));
        }
        for (pending, decision) in open.calls.iter().zip(decisions) {
            if decision.call_id() != &pending.call_id {
                return Err(refuse(format!(
                    "a decision about call {} stands where one about call {} is expected",
                    decision.call_id(),
                    pending.call_id
                )));
            }
            if let Decision::Edit { input, .. } = decision {
                if json::is_object_too_deep(input) {
                    return Err(refuse(format!(
                        "the edited arguments of call {} nest more than {} levels deep",
                        pending.call_id,
                        json::MAX_DEPTH
                    )));
                }
                self.tools
                    .validate(&pending.tool, input)
                    .map_err(|failure| {
                        refuse(format!(
                            "the edited arguments of call {} are not valid: {}",
                            pending.call_id,
                            failure.message()
                        ))
                    })?;
            }
        }
        Ok(())
    }
}

/// Goes on where the last turn ended.
fn go_on(session: &Session) -> Result<Transition, TurnError> {
    let state = session.state();
    if let Some(continuation) = state.continuation(session.id()) {
        return Ok(Transition::End(End::AwaitingConfirmation(continuation)));
    }
    if !state.batch().is_empty() {
        return Ok(Transition::Continue(Step::CheckApproval));
    }
    if state.model_paused() {
        return Ok(Transition::Continue(Step::CheckBudgets));
    }
    match state.messages().last().map(|message| message.role) {
        Some(Role::User | Role::ToolResult) => Ok(Transition::Continue(Step::CheckBudgets)),
        Some(Role::Assistant | Role::System) => Err(refuse(
            "the model has given its answer; there is nothing to continue, send a message",
        )),
        None => Err(refuse("the session is empty; send a message")),
    }
}

/// Checks what would make every later turn fail: a file that no provider accepts, a blob that is not there, a record that
/// cannot be read again.
fn check_message(message: &Message) -> Result<(), TurnError> {
    for (index, part) in message.content.iter().enumerate() {
        part.validate()
            .map_err(|why| refuse(format!("part {index} of the message {why}")))?;
    }
    if json::is_object_too_deep(&message.metadata) {
        return Err(refuse(format!(
            "the metadata of the message nests more than {} levels deep",
            json::MAX_DEPTH
        )));
    }
    Ok(())
}

fn refuse(message: impl Into<String>) -> TurnError {
    TurnError::Input {
        message: message.into(),
    }
}

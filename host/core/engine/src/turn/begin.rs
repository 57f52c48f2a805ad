//! Starts a turn: checks the input against the state of the session, and answers calls that an
//! earlier turn left open. Nothing is recorded before every check has passed.

use super::{Agent, Step, Transition, TurnContext, plan, resume};
use crate::{
    session::Session,
    spill::{SpilledMessage, spill_message},
    tool::CallReport,
};
use agent_host_types::{
    event::{Event, SentInput},
    failure::{ToolErrorCode, ToolFailure},
    json,
    message::{Message, Role},
    output::ToolResultOutput,
    turn::{AgentInput, TurnEnd, TurnError},
};

/// The result of a call that still waited when a new message came.
const SUPERSEDED: &str = "This call did not run: the user sent a new message first.";

/// The result of an agent that waited when a new message came.
const STOPPED: &str = "The agent was stopped: the user sent a new message first.";

impl Agent {
    pub(super) fn begin(
        &self,
        session: &mut Session,
        input: AgentInput,
        cx: &TurnContext<'_>,
    ) -> Result<Transition, TurnError> {
        self.check_until_tool()?;
        self.check_workflow(session, &input)?;
        let transition = self.take(session, input, cx)?;
        // With the input: no barrier is between them.
        if let Some((key, input)) = cx.actors.key {
            let (key, input) = (key.clone(), *input);
            session.record(Event::KeyTaken { key, input }, Vec::new());
        }
        Ok(transition)
    }

    fn take(
        &self,
        session: &mut Session,
        input: AgentInput,
        cx: &TurnContext<'_>,
    ) -> Result<Transition, TurnError> {
        match input {
            AgentInput::Text(text) => {
                Ok(self.receive(session, Message::text(Role::User, text), cx))
            }
            AgentInput::Message(message) => {
                if !message.is_input() {
                    return Err(refuse(
                        "an input message must be a user message without tool calls or results",
                    ));
                }
                check_message(&message)?;
                Ok(self.receive(session, message, cx))
            }
            AgentInput::Resume {
                continuation,
                decisions,
            } => self.decide(session, &continuation, decisions, cx),
            AgentInput::Answer {
                continuation,
                answer,
            } => self.answer_question(session, &continuation, &answer, cx),
            AgentInput::SubmitToolResults {
                continuation,
                results,
            } => self.submit(session, &continuation, &results, cx),
            AgentInput::Children { .. } if session.state().open_workflow().is_some() => {
                self.remember_of_nodes(session, &input);
                hand_down(session, input);
                Ok(Transition::to(Step::RunWorkflow))
            }
            AgentInput::Children { .. } => {
                self.remember_of_programs(session, &input);
                hand_down(session, input);
                Ok(Transition::to(Step::ExecuteTools))
            }
            AgentInput::Continue => {
                let transition = self.resume(session, cx)?;
                record_sender(session, SentInput::Continue, cx);
                Ok(transition)
            }
        }
    }

    /// Takes a new message. Waiting calls are answered first, since providers refuse a conversation
    /// with unanswered calls.
    fn receive(&self, session: &mut Session, message: Message, cx: &TurnContext<'_>) -> Transition {
        record_interruption(session);
        self.supersede_workflow(session);
        self.answer_open(session, cx);
        let SpilledMessage {
            message,
            stored: mut events,
            blobs,
        } = spill_message(message);
        events.push(Event::InputReceived {
            message,
            labels: self.input_labels(cx),
            by: cx.actors.sent_by(),
        });
        session.record_all(events, blobs);
        Transition::to(Step::CheckBudgets)
    }

    /// Answers the calls of the open batch without running them.
    pub(super) fn answer_open(&self, session: &mut Session, cx: &TurnContext<'_>) {
        for entry in session.state().batch().to_vec() {
            if entry.result.is_some() {
                continue;
            }
            let decided = entry.decision.as_ref().and_then(plan::answer_of);
            let report: CallReport = match (decided, entry.intended) {
                (Some(output), _) => output.into(),
                (None, Some(_)) if entry.dispatched_externally => resume::unanswered().into(),
                (None, Some(_)) if entry.is_spawned => {
                    ToolFailure::new(ToolErrorCode::Cancelled, STOPPED).into()
                }
                (None, Some(_)) => self.interrupted(session, &entry),
                (None, None) => {
                    ToolResultOutput::ExecutionDenied(Some(SUPERSEDED.to_owned())).into()
                }
            };
            self.settle_skipped(session, cx, &entry.call, report);
        }
    }

    /// Resumes where the last turn ended, or where the program ended during it.
    fn resume(&self, session: &mut Session, cx: &TurnContext<'_>) -> Result<Transition, TurnError> {
        let interruptions = session.state().interruptions();
        let was_open = session.state().turn_is_open();
        if was_open && interruptions >= self.settings.resumes_without_progress {
            return Err(TurnError::NoProgress {
                resumes: interruptions,
            });
        }
        record_interruption(session);
        self.expire(session);
        match self.pause(session) {
            // An agent may be further than the request says, if the program ended meanwhile.
            None | Some(TurnEnd::AwaitingChildren { .. }) => {}
            // The call is shown again, as it would run now.
            Some(TurnEnd::AwaitingConfirmation { continuation })
                if self.is_outdated(session, &continuation, cx) => {}
            Some(end) => return Ok(Transition::end(end)),
        }
        let state = session.state();
        if !state.batch().is_empty() {
            return Ok(Transition::to(self.before_approval()));
        }
        if let Some(message) = state.halt() {
            return match (state.open_workflow(), was_open) {
                (Some(_), _) => Ok(Transition::to(Step::RunWorkflow)),
                (None, true) => Ok(Transition::end(TurnEnd::Halted {
                    message: message.to_owned(),
                })),
                (None, false) => Err(refuse(
                    "a tool has ended the run, so there is nothing to continue; send a message",
                )),
            };
        }
        if self.workflow.is_some() || self.program.is_some() {
            return Ok(Transition::to(Step::CheckBudgets));
        }
        if state.model_paused() {
            return Ok(Transition::to(Step::CheckBudgets));
        }
        match state.messages().last().map(|message| message.role) {
            // One of the results may be the end of the run.
            Some(Role::ToolResult) if was_open && self.settings.until_tool.is_some() => {
                Ok(Transition::to(Step::ExecuteTools))
            }
            Some(Role::User | Role::ToolResult) => Ok(Transition::to(Step::CheckBudgets)),
            Some(Role::Assistant) if was_open => Ok(Transition::end(self.replied(session)?)),
            Some(Role::Assistant | Role::System) => Err(refuse(
                "the model has given its answer, so there is nothing to continue; send a message",
            )),
            None => Err(refuse("the session is empty; send a message")),
        }
    }
}

/// Keeps the inputs of agents until their sessions run.
fn hand_down(session: &mut Session, input: AgentInput) {
    if let AgentInput::Children { inputs, .. } = input {
        let inputs = inputs.into_iter();
        session.hand_down(inputs.map(|child| (child.call_id, child.input)));
    }
}

/// Records who sent an input that has no event of its own, if the front end names them.
pub(super) fn record_sender(session: &mut Session, input: SentInput, cx: &TurnContext<'_>) {
    if let Some(by) = cx.actors.sent_by() {
        session.record(Event::SenderNamed { input, by }, Vec::new());
    }
}

/// Records that the program ended during the turn, if it did.
fn record_interruption(session: &mut Session) {
    let state = session.state();
    if state.turn_is_open() {
        let lost_tokens = state.asked_tokens();
        session.record(Event::TurnInterrupted { lost_tokens }, Vec::new());
    }
}

/// Checks for content that would make every later turn fail: a file that no provider accepts, a
/// missing blob, a record that cannot be parsed.
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

pub(super) fn refuse(message: impl Into<String>) -> TurnError {
    TurnError::Input {
        message: message.into(),
    }
}

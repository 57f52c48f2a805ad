//! The inputs of clients: a message, or the answer to what a session waits for.

use crate::{access::AccessRole, problem::Problem};
use agent_host_types::{
    approval::{Decision, RememberScope},
    continuation::{Awaiting, Continuation},
    id::CallId,
    message::{Message, Role},
    output::ContentPart,
    question::Answer,
    turn::{AgentInput, ChildInput, SubmittedResult},
};
use schemars::JsonSchema;
use serde::Deserialize;

/// The most parts of a message.
const MAX_PARTS: usize = 64;

/// A message to an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessageBody {
    /// The text.
    #[serde(default)]
    pub(crate) message: String,
    /// Files, before the text: `{"type": "file", "media_type", "data": {"type": "bytes", "value":
    /// BASE64}}`.
    #[serde(default)]
    pub(crate) parts: Vec<ContentPart>,
}

impl MessageBody {
    pub(crate) fn into_message(self) -> Result<Message, Problem> {
        if self.message.trim().is_empty() && self.parts.is_empty() {
            return Err(Problem::invalid(
                "the message is empty; add text to `message`",
            ));
        }
        if self.parts.len() > MAX_PARTS {
            return Err(Problem::invalid(format!(
                "the message has {} parts; the maximum is {MAX_PARTS}",
                self.parts.len()
            )));
        }
        for (index, part) in self.parts.iter().enumerate() {
            part.validate().map_err(|error| {
                Problem::invalid(format!("part {index} of the message {error}"))
            })?;
        }
        let mut content = self.parts;
        if !self.message.is_empty() {
            content.push(ContentPart::Text { text: self.message });
        }
        Ok(Message::parts(Role::User, content))
    }
}

/// The answer to a request of a session.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AnswerBody {
    /// The continuation of the request, unchanged.
    continuation: Continuation,
    /// The answer.
    #[serde(flatten)]
    answer: AnswerForm,
}

/// An answer: exactly one of its fields.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AnswerForm {
    /// One decision for each waiting call, in order.
    decisions: Option<Vec<Decision>>,
    /// The answer to a question.
    answer: Option<Answer>,
    /// The results of external calls.
    results: Option<Vec<SubmittedResult>>,
    /// The answers to what agents wait for; those that are not named wait on.
    children: Option<Vec<ChildAnswer>>,
}

/// The answer to what an agent waits for.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ChildAnswer {
    /// The call that started it.
    call_id: CallId,
    /// The answer.
    #[serde(flatten)]
    answer: AnswerForm,
}

impl AnswerBody {
    /// Returns the name of the answered request.
    pub(crate) fn request(&self) -> &str {
        &self.continuation.request
    }

    /// Returns the least role of those who may give the answer.
    pub(crate) fn least_role(&self) -> AccessRole {
        self.answer.least_role()
    }

    /// Returns the input of a turn.
    pub(crate) fn into_input(self) -> Result<AgentInput, Problem> {
        self.answer.into_input(self.continuation)
    }
}

impl AnswerForm {
    /// Returns the least role of those who may give the answer, that of an invalid one included.
    fn least_role(&self) -> AccessRole {
        let remembers = |decision: &Decision| {
            matches!(decision, Decision::Approve { remember: Some(remember), .. }
                if remember.scope == RememberScope::Project)
        };
        let own = match &self.decisions {
            Some(decisions) if decisions.iter().any(remembers) => AccessRole::Operator,
            Some(_) => AccessRole::Approver,
            None => AccessRole::User,
        };
        let children = self.children.iter().flatten();
        let roles = children.map(|child| child.answer.least_role());
        roles.fold(own, AccessRole::max)
    }

    fn into_input(self, continuation: Continuation) -> Result<AgentInput, Problem> {
        match self {
            Self {
                decisions: Some(decisions),
                answer: None,
                results: None,
                children: None,
            } => Ok(AgentInput::Resume {
                continuation,
                decisions,
            }),
            Self {
                decisions: None,
                answer: Some(answer),
                results: None,
                children: None,
            } => Ok(AgentInput::Answer {
                continuation,
                answer,
            }),
            Self {
                decisions: None,
                answer: None,
                results: Some(results),
                children: None,
            } => Ok(AgentInput::SubmitToolResults {
                continuation,
                results,
            }),
            Self {
                decisions: None,
                answer: None,
                results: None,
                children: Some(children),
            } => children_input(continuation, children),
            _ => Err(Problem::invalid(
                "an answer must have exactly one of `decisions`, `answer`, `results` and `children`",
            )),
        }
    }
}

fn children_input(
    continuation: Continuation,
    answers: Vec<ChildAnswer>,
) -> Result<AgentInput, Problem> {
    let Awaiting::Children { children } = &continuation.awaiting else {
        return Err(Problem::invalid(
            "no agent is waiting in this request; answer it with `decisions`, `answer` or `results`",
        ));
    };
    let mut inputs = Vec::with_capacity(answers.len());
    for ChildAnswer { call_id, answer } in answers {
        let child = children.iter().find(|child| child.call_id == call_id);
        let child = child.ok_or_else(|| {
            Problem::invalid(format!(
                "no agent of call {} is waiting",
                call_id.0.escape_debug()
            ))
        })?;
        let input = answer.into_input(child.continuation.clone())?;
        inputs.push(ChildInput { call_id, input });
    }
    Ok(AgentInput::Children {
        continuation,
        inputs,
    })
}

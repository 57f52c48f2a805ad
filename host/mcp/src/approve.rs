//! What a person is asked through a client, as a form of the protocol, and what their answer means. Anything but a clear yes is a no.

#[cfg(test)]
mod tests;

use agent_host_engine::turn::{CallPreview, QuestionPreview};
use agent_host_types::{
    approval::Decision,
    continuation::PendingCall,
    question::{Answer, Question},
    tool::DecisionKind,
};
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, EnumSchema,
};
use serde_json::Value;

/// The field of a form that decides about a call.
const DECISION: &str = "decision";
/// Its values.
const APPROVE: &str = "approve";
const REJECT: &str = "reject";

/// The fields of a form that answers a question.
const CHOICE: &str = "choice";
const TEXT: &str = "text";

/// What a call waits for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Asked {
    /// Whether it may run.
    Confirm(PendingCall),
    /// An answer to what it asks.
    Question {
        /// The tool that asks.
        tool: String,
        /// What it asks.
        question: Question,
    },
}

impl Asked {
    /// The form that the person fills in.
    pub(crate) fn form(&self) -> ElicitRequestParams {
        let (message, requested_schema) = match self {
            Self::Confirm(call) => (
                CallPreview::unwrapped(call).to_string(),
                decision_schema(call),
            ),
            Self::Question { tool, question } => (
                QuestionPreview::new(tool, question, usize::MAX).to_string(),
                answer_schema(question),
            ),
        };
        ElicitRequestParams::FormElicitationParams {
            meta: None,
            message,
            requested_schema,
        }
    }
}

/// What the person's reply means for the call.
pub(crate) fn decision(call: &PendingCall, reply: &ElicitResult) -> Decision {
    let said = field(reply, DECISION);
    let why = match (&reply.action, said) {
        (ElicitationAction::Accept, Some(APPROVE)) => {
            return Decision::approve(call.call_id.clone());
        }
        (ElicitationAction::Accept, Some(REJECT)) | (ElicitationAction::Decline, _) => {
            "the person whom the client asked rejected it"
        }
        (ElicitationAction::Cancel, _) => "the person whom the client asked did not decide",
        _ => "what came back from the client is no decision",
    };
    Decision::Reject {
        call_id: call.call_id.clone(),
        reason: Some(format!(
            "This call needs a person's approval (rule {}), and {why}.",
            call.rule
        )),
    }
}

/// What the person's reply means for the question.
pub(crate) fn answer(question: &Question, reply: &ElicitResult) -> Answer {
    if reply.action != ElicitationAction::Accept {
        return Answer::Cancelled;
    }
    // Where both fields are filled in, their own words say more.
    let text = field(reply, TEXT).filter(|text| !text.is_empty());
    if let Some(text) = text.filter(|_| takes_text(question)) {
        let text = text.to_owned();
        return Answer::Text { text };
    }
    let chosen = field(reply, CHOICE);
    let index = chosen.and_then(|chosen| question.choices.iter().position(|known| known == chosen));
    match index.map(u32::try_from) {
        Some(Ok(index)) => Answer::Choice { index },
        Some(Err(_)) | None => Answer::Cancelled,
    }
}

/// A field of the reply's content that is a string.
fn field<'a>(reply: &'a ElicitResult, name: &str) -> Option<&'a str> {
    reply.content.as_ref()?.get(name)?.as_str()
}

fn takes_text(question: &Question) -> bool {
    question.free_text || question.choices.is_empty()
}

fn decision_schema(call: &PendingCall) -> ElicitationSchema {
    let approve = call.decisions.contains(&DecisionKind::Approve);
    let values = approve.then_some(APPROVE).into_iter().chain([REJECT]);
    let decision = EnumSchema::builder(values.map(str::to_owned).collect()).title("Run it?");
    ElicitationSchema::builder()
        .required_enum_schema(DECISION, decision.build())
        .build_unchecked()
}

fn answer_schema(question: &Question) -> ElicitationSchema {
    let mut choices: Vec<String> = Vec::new();
    for choice in &question.choices {
        // A form's values differ; of two equal choices the first is meant.
        if !choices.contains(choice) {
            choices.push(choice.clone());
        }
    }
    let form = ElicitationSchema::builder();
    let choice = || EnumSchema::builder(choices.clone()).build();
    let form = match (choices.is_empty(), takes_text(question)) {
        (true, _) => form.required_string(TEXT),
        (false, false) => form.required_enum_schema(CHOICE, choice()),
        (false, true) => form
            .optional_enum_schema(CHOICE, choice())
            .optional_string(TEXT),
    };
    form.build_unchecked()
}

/// The reply of a person who was not reached, or whose client went away.
pub(crate) fn no_reply() -> ElicitResult {
    ElicitResult::new(ElicitationAction::Cancel)
}

/// Reads a reply that came with a repeated request.
pub(crate) fn parse(reply: &Value) -> Option<ElicitResult> {
    serde_json::from_value(reply.clone()).ok()
}

//! Approvals and questions as elicitation forms of the protocol, and the meaning of the replies.
//! Anything but a clear approval rejects a call.

#[cfg(test)]
mod tests;

use agent_host_app::{Registry, ToolReach, tool_reach};
use agent_host_engine::{
    text::{escape_line, escape_values},
    turn::{CallFrame, QuestionPreview},
};
use agent_host_types::{
    approval::Decision,
    continuation::PendingCall,
    form::Form,
    question::{Answer, Question},
    tool::DecisionKind,
};
use rmcp::model::{
    ClientCapabilities, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    EnumSchema,
};
use serde_json::{Value, json};

/// The field of an approval form, and its values.
const DECISION: &str = "decision";
const APPROVE: &str = "approve";
const REJECT: &str = "reject";

/// The keys of a field whose values the client sends back.
const VERBATIM: [&str; 3] = ["const", "enum", "default"];

/// The fields of a question form.
const CHOICE: &str = "choice";
const TEXT: &str = "text";

/// How a client's user can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elicitation {
    /// The client supports no forms.
    Unsupported,
    /// By `elicitation/create`, in the lifecycle with a handshake.
    Push,
    /// By an `InputRequiredResult`, after which the client repeats its request, in the stateless
    /// lifecycle.
    Poll,
}

impl Elicitation {
    pub(crate) fn from_capabilities(
        capabilities: Option<&ClientCapabilities>,
        is_stateless: bool,
    ) -> Self {
        let elicitation = capabilities.and_then(|known| known.elicitation.as_ref());
        // A client that names no mode supports forms, the only mode of older versions.
        let has_forms =
            elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none());
        match (has_forms, is_stateless) {
            (false, _) => Self::Unsupported,
            (true, false) => Self::Push,
            (true, true) => Self::Poll,
        }
    }
}

/// The input that a call waits for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AwaitedInput {
    /// Approval of the call.
    Approval {
        /// The call.
        call: Box<PendingCall>,
        /// The reach of its tool.
        reach: ToolReach,
    },
    /// An answer to the tool's question.
    Question { tool: String, question: Question },
}

impl AwaitedInput {
    /// Returns the approval of a call of one of these tools.
    pub(crate) fn approval(call: PendingCall, registry: &Registry) -> Self {
        let reach = tool_reach(registry, &call.tool);
        let call = Box::new(call);
        Self::Approval { call, reach }
    }

    /// Returns the form for the client's user, which names the agent that waits for it.
    pub(crate) fn form(&self, agent: Option<&str>) -> ElicitRequestParams {
        let (message, requested_schema) = match self {
            Self::Approval { call, reach } => (
                CallFrame::unwrapped(call, reach.beyond.as_deref(), !reach.is_outside).to_string(),
                decision_schema(call),
            ),
            Self::Question { tool, question } => (
                QuestionPreview::new(tool, question, usize::MAX).to_string(),
                answer_schema(question),
            ),
        };
        let of_agent = agent.map(|agent| format!("The agent {agent} is waiting.\n"));
        ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: of_agent.unwrap_or_default() + &message,
            requested_schema,
        }
    }
}

/// Returns the decision that a reply to an approval form makes.
pub(crate) fn decision(call: &PendingCall, reply: &ElicitResult) -> Decision {
    let reason = match (&reply.action, field(reply, DECISION)) {
        (ElicitationAction::Accept, Some(APPROVE)) => {
            return Decision::approve(call.call_id.clone());
        }
        (ElicitationAction::Accept, Some(REJECT)) | (ElicitationAction::Decline, _) => {
            "the client's user rejected it"
        }
        (ElicitationAction::Cancel, _) => "the client's user did not decide",
        _ => "the client did not return a decision",
    };
    Decision::Reject {
        call_id: call.call_id.clone(),
        reason: Some(format!(
            "This call needs the user's approval (rule {}), and {reason}.",
            call.rule
        )),
    }
}

/// Returns the answer that a reply to a question form gives.
pub(crate) fn answer(question: &Question, reply: &ElicitResult) -> Answer {
    if reply.action != ElicitationAction::Accept {
        return Answer::Cancelled;
    }
    if question.form.is_some() {
        let fields = reply.content.as_ref().and_then(Value::as_object);
        let answer = fields.cloned().map(|fields| Answer::Fields { fields });
        let answer = answer.filter(|answer| question.check(answer).is_ok());
        return answer.unwrap_or(Answer::Cancelled);
    }
    // If both fields are filled in, the text is more specific.
    let text = field(reply, TEXT).filter(|text| !text.is_empty());
    if let Some(text) = text.filter(|_| takes_text(question)) {
        let text = text.to_owned();
        return Answer::Text { text };
    }
    let index = |chosen: &Value| {
        let mut choices = question.choices.iter();
        let at = choices.position(|known| *chosen == escape_line(known))?;
        u32::try_from(at).ok()
    };
    match reply
        .content
        .as_ref()
        .and_then(|content| content.get(CHOICE))
    {
        Some(Value::Array(chosen)) if question.multiple => {
            let indexes: Option<Vec<u32>> = chosen.iter().map(index).collect();
            indexes.map_or(Answer::Cancelled, |indexes| Answer::Choices { indexes })
        }
        Some(chosen) => index(chosen).map_or(Answer::Cancelled, |index| Answer::Choice { index }),
        None => Answer::Cancelled,
    }
}

/// Returns a tool's question as the `message` and the `requestedSchema` of a form in JSON, for
/// protocols that have the same forms.
#[must_use]
pub fn question_form(tool: &str, question: &Question) -> Value {
    let (tool, question) = (tool.to_owned(), question.clone());
    json!(AwaitedInput::Question { tool, question }.form(None))
}

/// Returns the answer that the reply to such a form gives.
#[must_use]
pub fn question_answer(question: &Question, reply: &Value) -> Answer {
    answer(question, &parse(reply).unwrap_or_else(no_reply))
}

/// Returns a string field of the reply's content.
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
    if let Some(form) = &question.form {
        return form_schema(form);
    }
    let mut choices: Vec<String> = Vec::new();
    for choice in &question.choices {
        let choice = escape_line(choice);
        // A form's values must differ; of equal choices the first is offered.
        if !choices.contains(&choice) {
            choices.push(choice);
        }
    }
    let form = ElicitationSchema::builder();
    let choice = || {
        let choice = EnumSchema::builder(choices.clone());
        match question.multiple {
            true => choice.multiselect().build(),
            false => choice.build(),
        }
    };
    let form = match (choices.is_empty(), takes_text(question)) {
        (true, _) => form.required_string(TEXT),
        (false, false) => form.required_enum_schema(CHOICE, choice()),
        (false, true) => form
            .optional_enum_schema(CHOICE, choice())
            .optional_string(TEXT),
    };
    form.build_unchecked()
}

/// Returns a tool's form in the protocol's form.
fn form_schema(form: &Form) -> ElicitationSchema {
    let mut schema = ElicitationSchema::builder();
    let mut order = Vec::new();
    for field in form.fields() {
        // Each kind of field is one of the protocol's.
        let mut definition = field.schema();
        escape_values(&mut definition, &VERBATIM);
        let Ok(definition) = serde_json::from_value(definition) else {
            continue;
        };
        order.push(field.name.clone());
        schema = match field.required {
            true => schema.required_property(&field.name, definition),
            false => schema.property(&field.name, definition),
        };
    }
    let mut schema = schema.build_unchecked();
    schema.property_order = Some(order);
    schema
}

/// Returns the reply of a user who cannot be asked or whose client is gone.
pub(crate) fn no_reply() -> ElicitResult {
    ElicitResult::new(ElicitationAction::Cancel)
}

/// Parses a reply that came with a repeated request.
pub(crate) fn parse(reply: &Value) -> Option<ElicitResult> {
    serde_json::from_value(reply.clone()).ok()
}

//! The tool with which the model asks the user. Each question pauses the turn as a tool's does.

#[cfg(test)]
mod tests;

use crate::{
    BoxFuture,
    tool::{Invocation, ProgressSink, RunEnd, ToolHandler},
    tool_set::ToolEntry,
};
use agent_host_types::{
    accounting::Accounting,
    failure::{ToolErrorCode, ToolFailure},
    output::ToolResultOutput,
    question::{Answer, AnsweredBy, PendingQuestion, Question},
    tool::{Effect, ToolDefinition},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    future::ready,
    sync::{Arc, LazyLock},
};

/// The name of the tool.
pub const ASK_USER: &str = "ask_user";

/// The maximum number of questions of one call: more at once are hard to answer.
const MAX_QUESTIONS: usize = 4;

struct AskUser;

/// The tool that asks the user.
#[must_use]
pub fn ask_user() -> Option<ToolEntry> {
    static TOOL: LazyLock<Option<ToolEntry>> = LazyLock::new(|| {
        let tool = ToolEntry::own(definition(), Arc::new(AskUser)).ok()?;
        Some(tool.with_summary("Asked {questions|count:question:questions}"))
    });
    TOOL.clone()
}

impl ToolHandler for AskUser {
    fn run<'a>(&'a self, invocation: Invocation, _: ProgressSink<'a>) -> BoxFuture<'a, RunEnd> {
        Box::pin(ready(ask(&invocation)))
    }
}

/// The arguments, which fit the schema.
#[derive(Deserialize)]
struct Arguments {
    questions: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    question: String,
    #[serde(default)]
    choices: Vec<String>,
    #[serde(default)]
    multiple: bool,
    #[serde(default = "yes")]
    free_text: bool,
}

fn yes() -> bool {
    true
}

/// Asks the first question without an answer. After the last one, or one that the user declined,
/// returns the answers.
fn ask(invocation: &Invocation) -> RunEnd {
    let arguments = Value::Object(invocation.input.clone().into_object());
    let Ok(Arguments { questions }) = serde_json::from_value(arguments) else {
        let message = "The questions are invalid; send them as the schema requires.";
        let failure = ToolFailure::new(ToolErrorCode::InvalidInput, message);
        return ToolResultOutput::from(failure).into();
    };
    let answers = &invocation.answers;
    let declined = answers
        .last()
        .is_some_and(|last| last.answer == Answer::Cancelled);
    let open = questions.get(answers.len()).filter(|_| !declined);
    match open {
        Some(_) if !invocation.can_ask => ToolResultOutput::ErrorText(
            "The user cannot be asked now. Decide yourself, and say what you assumed.".to_owned(),
        )
        .into(),
        Some(open) => RunEnd::Asked(PendingQuestion {
            question: Question {
                prompt: open.question.clone(),
                choices: open.choices.clone(),
                free_text: open.free_text,
                multiple: open.multiple,
                form: None,
            },
            answered_by: AnsweredBy::Rerun,
            accounting: Accounting::default(),
            audit: Vec::new(),
        }),
        None => {
            let mut answers = answers.iter();
            let answers = questions.iter().map(|asked| {
                let answered = answers.next();
                let answer = answered.map(|answered| answered.question.value(&answered.answer));
                json!({ "question": asked.question, "answer": answer })
            });
            let answers: Vec<Value> = answers.collect();
            ToolResultOutput::json(json!({ "answers": answers })).into()
        }
    }
}

fn definition() -> ToolDefinition {
    ToolDefinition {
        name: ASK_USER.to_owned(),
        title: Some("Ask the user".to_owned()),
        description: "Asks the user and waits for the answers. Ask only what you can neither find out nor decide \
            yourself, and offer choices where you know them. Each answer is a text, or with `multiple` a list of the \
            chosen texts; `null` means that the user declined."
            .to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "questions": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MAX_QUESTIONS,
                    "items": {
                        "type": "object",
                        "properties": {
                            "question": {
                                "type": "string",
                                "minLength": 1,
                                "maxLength": 1000,
                                "description": "One question, with what the user needs to know to answer it.",
                            },
                            "choices": {
                                "type": "array",
                                "maxItems": 12,
                                "items": { "type": "string", "minLength": 1, "maxLength": 120 },
                                "description": "The answers to choose from.",
                            },
                            "multiple": {
                                "type": "boolean",
                                "description": "Whether several of the choices may be chosen.",
                            },
                            "free_text": {
                                "type": "boolean",
                                "description": "Whether the user may answer with something other than the choices; \
                                    the default is true.",
                            },
                        },
                        "required": ["question"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["questions"],
            "additionalProperties": false,
        }),
        output_schema: None,
        effect: Effect::ReadOnly,
    }
}

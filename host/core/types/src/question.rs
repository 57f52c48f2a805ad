//! Questions of a call to the user, and the answers (`agent:tool/human`).

use crate::{
    accounting::{Accounting, AuditEntry},
    failure::ToolFailure,
    form::Form,
    output::ToolResultOutput,
    reason::Reason,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The most questions of one call. Each answer costs another run of the call from its start.
pub const MAX_QUESTIONS: usize = 16;

/// A question of a call to the user: a text with choices, or a form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The text of the question.
    pub prompt: String,
    /// The choices; may be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Whether the answer may be free text. Without choices and a form it may in any case.
    pub free_text: bool,
    /// Whether the answer may be several of the choices.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multiple: bool,
    /// The fields to fill in; a question with a form has no choices. Absent in requests of version
    /// 3 and older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
}

/// The user's answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Answer {
    /// Free text.
    Text {
        /// The text.
        text: String,
    },
    /// One of the choices.
    Choice {
        /// The index of the choice, from 0.
        index: u32,
    },
    /// Several of the choices.
    Choices {
        /// The indexes of the choices, from 0.
        indexes: Vec<u32>,
    },
    /// The values of a form.
    Fields {
        /// The values by the names of their fields.
        fields: Map<String, Value>,
    },
    /// The user declined to answer.
    Cancelled,
}

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnsweredQuestion {
    /// The question.
    pub question: Question,
    /// The answer.
    pub answer: Answer,
}

/// The delivery of the answer to the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AnsweredBy {
    /// The call runs again from its start with the answers so far: for guests, which do not survive
    /// a pause.
    Rerun,
    /// The answer is the call's result: for host-side tools that return a question.
    Result,
}

/// A run of a call that ended with a question.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingQuestion {
    /// The question.
    pub question: Question,
    /// The delivery of the answer to the call.
    pub answered_by: AnsweredBy,
    /// The resources that the run used.
    pub accounting: Accounting,
    /// The run's requests to the gate.
    pub audit: Vec<AuditEntry>,
}

/// The longest prompt, in bytes.
const MAX_PROMPT_BYTES: usize = 4 * 1024;

/// The most choices of a question.
const MAX_CHOICES: usize = 32;

/// The longest choice, in bytes.
const MAX_CHOICE_BYTES: usize = 512;

/// The refusal of an answer of another kind to a form.
const NOT_FIELDS: &str = "the question is a form; its answer is `{\"type\": \"fields\", \"fields\": {...}}` with the \
    values of its fields";

impl Question {
    /// Checks the bounds of the question: a prompt of at most 4 KiB that is not blank, and at most
    /// 32 choices of 512 bytes, or a form. A form is bounded by its construction.
    ///
    /// # Errors
    /// `invalid-output`, naming the bound.
    pub fn validate(&self) -> Result<(), ToolFailure> {
        let why = if self.prompt.trim().is_empty() {
            "it has no prompt".to_owned()
        } else if self.prompt.len() > MAX_PROMPT_BYTES {
            format!("its prompt has more than {MAX_PROMPT_BYTES} bytes")
        } else if self.choices.len() > MAX_CHOICES {
            format!("it has more than {MAX_CHOICES} choices")
        } else if self
            .choices
            .iter()
            .any(|choice| choice.len() > MAX_CHOICE_BYTES)
        {
            format!("one of its choices has more than {MAX_CHOICE_BYTES} bytes")
        } else if self.form.is_some() && (self.free_text || !self.choices.is_empty()) {
            "it has a form but also allows another answer".to_owned()
        } else {
            return Ok(());
        };
        Err(ToolFailure::invalid_output(format!(
            "The tool asked a question that cannot be shown: {why}."
        )))
    }

    /// Checks that the question allows an answer.
    ///
    /// # Errors
    /// If it does not.
    pub fn check(&self, answer: &Answer) -> Result<(), Reason> {
        let choices = self.choices.len();
        match answer {
            Answer::Cancelled => Ok(()),
            Answer::Fields { fields } => match &self.form {
                Some(form) => form.check(fields),
                None => Err(format!(
                    "the question is not a form; it allows text or one of its {choices} choices"
                )
                .into()),
            },
            _ if self.form.is_some() => Err(NOT_FIELDS.into()),
            Answer::Text { .. } if self.free_text || choices == 0 => Ok(()),
            Answer::Text { .. } => {
                let why =
                    format!("the question allows one of its {choices} choices and no free text");
                Err(why.into())
            }
            Answer::Choice { index } => self.check_choice(*index),
            Answer::Choices { .. } if !self.multiple => {
                Err(format!("the question allows one of its {choices} choices").into())
            }
            Answer::Choices { indexes } => indexes
                .iter()
                .try_for_each(|index| self.check_choice(*index)),
        }
    }

    fn check_choice(&self, index: u32) -> Result<(), Reason> {
        match self.choice(index) {
            Some(_) => Ok(()),
            None => {
                let choices = self.choices.len();
                let why = format!(
                    "invalid choice {index}; the question has {choices} choices, counted from 0"
                );
                Err(why.into())
            }
        }
    }

    /// Returns the answer as the result of the call that asked.
    #[must_use]
    pub fn result(&self, answer: &Answer) -> ToolResultOutput {
        match self.value(answer) {
            Value::String(text) => ToolResultOutput::Text(text),
            Value::Null => ToolResultOutput::ExecutionDenied(Some(
                "The user declined to answer the question.".to_owned(),
            )),
            chosen => ToolResultOutput::json(chosen),
        }
    }

    /// Returns the answer in words: a text, a list of them, or the values of a form; `null` if the
    /// user declined.
    #[must_use]
    pub fn value(&self, answer: &Answer) -> Value {
        let choice = |index: &u32| self.choice(*index).unwrap_or_default().into();
        match answer {
            Answer::Text { text } => text.as_str().into(),
            Answer::Choice { index } => choice(index),
            Answer::Choices { indexes } => {
                indexes.iter().map(choice).collect::<Vec<Value>>().into()
            }
            Answer::Fields { fields } => fields.clone().into(),
            Answer::Cancelled => Value::Null,
        }
    }

    fn choice(&self, index: u32) -> Option<&str> {
        let index = usize::try_from(index).ok()?;
        self.choices.get(index).map(String::as_str)
    }
}

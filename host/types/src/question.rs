//! Questions that a call asks a person, and their answers (`agent:tool/human`).

use crate::{
    accounting::{Accounting, AuditEntry},
    failure::ToolFailure,
    output::ToolResultOutput,
};
use serde::{Deserialize, Serialize};

/// The most questions of one call. Each but the first costs another run of the call from its start.
pub const MAX_QUESTIONS: usize = 16;

/// A question of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// What the person reads.
    pub prompt: String,
    /// What they may choose from; possibly nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Whether they may write something of their own.
    pub free_text: bool,
}

/// What a person answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Answer {
    /// Their own words.
    Text {
        /// The words.
        text: String,
    },
    /// One of the choices.
    Choice {
        /// Which one, from 0.
        index: u32,
    },
    /// They do not want to answer.
    Cancelled,
}

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// What was asked.
    pub question: Question,
    /// What was answered.
    pub answer: Answer,
}

/// How the answer reaches the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnsweredBy {
    /// The call runs again from its start and is given the answers so far: for guests, which do not survive a pause.
    Rerun,
    /// The answer is the call's result: for tools that end by asking back.
    Result,
}

/// A run of a call that ended with a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// What it asks.
    pub question: Question,
    /// How the answer reaches it.
    pub answered_by: AnsweredBy,
    /// What the run used.
    pub accounting: Accounting,
    /// What it asked of the gate.
    pub audit: Vec<AuditEntry>,
}

/// The longest prompt, in bytes.
const MAX_PROMPT_BYTES: usize = 4 * 1024;

/// The most choices of a question, and the longest of them, in bytes.
const MAX_CHOICES: usize = 32;
const MAX_CHOICE_BYTES: usize = 512;

impl Question {
    /// Checks that the question can be shown to a person.
    ///
    /// # Errors
    /// `invalid-output`, saying what is wrong with it.
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
        } else {
            return Ok(());
        };
        Err(ToolFailure::invalid_output(format!(
            "The tool asked a question that cannot be shown: {why}."
        )))
    }

    /// Checks that an answer is one of those that the question allows.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub fn check(&self, answer: &Answer) -> Result<(), String> {
        match answer {
            Answer::Cancelled => Ok(()),
            Answer::Text { .. } if self.free_text || self.choices.is_empty() => Ok(()),
            Answer::Text { .. } => Err(format!(
                "the question allows one of its {} choices and no text of one's own",
                self.choices.len()
            )),
            Answer::Choice { index } if self.choice(*index).is_some() => Ok(()),
            Answer::Choice { index } => Err(format!(
                "there is no choice {index}; the question has {} choices, counted from 0",
                self.choices.len()
            )),
        }
    }

    /// The answer as the result of the call that asked.
    #[must_use]
    pub fn result(&self, answer: &Answer) -> ToolResultOutput {
        match answer {
            Answer::Text { text } => ToolResultOutput::Text(text.clone()),
            Answer::Choice { index } => {
                ToolResultOutput::Text(self.choice(*index).unwrap_or_default().to_owned())
            }
            Answer::Cancelled => ToolResultOutput::ExecutionDenied(Some(
                "The person did not want to answer the question.".to_owned(),
            )),
        }
    }

    fn choice(&self, index: u32) -> Option<&str> {
        let index = usize::try_from(index).ok()?;
        self.choices.get(index).map(String::as_str)
    }
}

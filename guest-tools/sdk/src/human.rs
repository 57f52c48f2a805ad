//! Questions to the user. The agent pauses, and the call is run again from its start with the
//! earlier answers, so a tool must ask before its first effect, and ask the same questions again in
//! the same order.

use serde_json::{Map, Value};

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The text that the user reads.
    pub prompt: String,
    /// The choices; may be empty when `free_text` is set.
    pub choices: Vec<String>,
    /// True if the user may answer with free text.
    pub free_text: bool,
    /// True if the user may take several of the choices.
    pub multiple: bool,
}

impl Question {
    /// A question that is answered as free text.
    pub fn open(prompt: impl Into<String>) -> Self {
        Self {
            prompt: prompt.into(),
            choices: Vec::new(),
            free_text: true,
            multiple: false,
        }
    }

    /// A question that is answered by one of the choices.
    pub fn choice<C: Into<String>>(
        prompt: impl Into<String>,
        choices: impl IntoIterator<Item = C>,
    ) -> Self {
        Self {
            prompt: prompt.into(),
            choices: choices.into_iter().map(Into::into).collect(),
            free_text: false,
            multiple: false,
        }
    }

    /// Lets the user take several of the choices.
    #[must_use]
    pub fn multiple(mut self) -> Self {
        self.multiple = true;
        self
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Free text.
    Text(String),
    /// The index of one of the choices.
    Choice(usize),
    /// The indexes of several of the choices, ascending; only for a question with `multiple`.
    Choices(Vec<usize>),
    /// The user declined to answer.
    Cancelled,
    /// No user can be asked here, or the call has already changed something.
    Unavailable,
}

/// An answer to a form.
#[derive(Clone, Debug, PartialEq)]
pub enum FormAnswer {
    /// The fields, which fit the schema of the form.
    Fields(Map<String, Value>),
    /// The user declined to answer.
    Cancelled,
    /// No user can be asked here, or the call has already changed something.
    Unavailable,
}

/// Asks the user for several fields at once. The schema is a JSON Schema of one flat object:
/// properties of the types string, number, integer and boolean, with `enum` for choices.
#[must_use]
pub fn ask_form(prompt: &str, schema: &Value) -> FormAnswer {
    send_form(prompt, schema)
}

#[cfg(target_family = "wasm")]
fn send_form(prompt: &str, schema: &Value) -> FormAnswer {
    use crate::bindings::human;

    match human::ask_form(prompt, &schema.to_string()) {
        // An object by contract.
        human::FormAnswer::Fields(fields) => {
            FormAnswer::Fields(serde_json::from_str(&fields).unwrap_or_default())
        }
        human::FormAnswer::Cancelled => FormAnswer::Cancelled,
        human::FormAnswer::Unavailable => FormAnswer::Unavailable,
    }
}

#[cfg(not(target_family = "wasm"))]
fn send_form(prompt: &str, schema: &Value) -> FormAnswer {
    crate::testing::fill_form(prompt, schema)
}

/// Asks the user and waits for the answer, for days if needed.
#[must_use]
pub fn ask(question: &Question) -> Answer {
    send(question)
}

#[cfg(target_family = "wasm")]
fn send(question: &Question) -> Answer {
    use crate::bindings::human;

    let question = human::Question {
        prompt: question.prompt.clone(),
        choices: question.choices.clone(),
        free_text: question.free_text,
        multiple: question.multiple,
    };
    match human::ask(&question) {
        human::Answer::Text(text) => Answer::Text(text),
        // Indexes are 32 bits wide on both sides of this conversion.
        human::Answer::Choice(index) => Answer::Choice(index as usize),
        human::Answer::Choices(indexes) => {
            Answer::Choices(indexes.into_iter().map(|index| index as usize).collect())
        }
        human::Answer::Cancelled => Answer::Cancelled,
        human::Answer::Unavailable => Answer::Unavailable,
    }
}

#[cfg(not(target_family = "wasm"))]
fn send(question: &Question) -> Answer {
    crate::testing::answer(question)
}

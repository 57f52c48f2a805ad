//! `agent:tool/human`: questions to the user. A guest is not kept while the user thinks, so a
//! question ends it, and the call runs again from its start with the answers so far. That is only
//! right while the call has changed nothing, and only if it asks the same again.

#[cfg(test)]
mod tests;

use crate::{
    bindings::human::{self, Answer as WitAnswer, FormAnswer, Question as WitQuestion},
    caps::unwind::Unwind,
    gate::Gate,
};
use agent_host_engine::secrets::Secrets;
use agent_host_types::{
    form::Form,
    question::{Answer, AnsweredQuestion, Question},
    tool::Effect,
};
use serde_json::Value;
use std::sync::Arc;

/// The questions of one call.
pub(crate) struct HumanCtx {
    pub(crate) gate: Arc<Gate>,
    /// The secrets of the tool.
    pub(crate) granted: Arc<Secrets>,
    pub(crate) can_ask: bool,
    /// The answers of earlier runs that this one has not reached yet.
    pub(crate) answers: std::vec::IntoIter<AnsweredQuestion>,
}

impl HumanCtx {
    /// Returns the answer of an earlier run; `None` if no user can be asked.
    fn answer(&mut self, mut question: Question) -> Result<Option<Answer>, Unwind> {
        // Redacted like the journaled question with which it is compared. Other tools' secrets
        // stay: two questions that become equal by their marks would tell the guest what is in
        // them.
        self.granted.question(&mut question);
        if let Some(earlier) = self.answers.next() {
            return if earlier.question == question {
                Ok(Some(earlier.answer))
            } else {
                Err(Unwind::QuestionChanged)
            };
        }
        // The effects of an effectful call cannot be repeated, so it may not be ended for a
        // question.
        let is_bound = self.gate.effect == Effect::Effectful && self.gate.is_dirty();
        if !self.can_ask || is_bound {
            return Ok(None);
        }
        Err(Unwind::Asked(question))
    }
}

impl human::Host for HumanCtx {
    async fn ask(&mut self, question: WitQuestion) -> wasmtime::Result<WitAnswer> {
        let answer = self.answer(Question {
            prompt: question.prompt,
            choices: question.choices,
            free_text: question.free_text,
            multiple: question.multiple,
            form: None,
        })?;
        Ok(match answer {
            None => WitAnswer::Unavailable,
            Some(Answer::Text { text }) => WitAnswer::Text(text),
            Some(Answer::Choice { index }) => WitAnswer::Choice(index),
            Some(Answer::Choices { mut indexes }) => {
                indexes.sort_unstable();
                indexes.dedup();
                WitAnswer::Choices(indexes)
            }
            // A question without a form allows no fields.
            Some(Answer::Fields { .. } | Answer::Cancelled) => WitAnswer::Cancelled,
        })
    }

    async fn ask_form(&mut self, prompt: String, schema: String) -> wasmtime::Result<FormAnswer> {
        let form = Form::parse(&schema).map_err(Unwind::InvalidForm)?;
        let answer = self.answer(Question {
            prompt,
            form: Some(form),
            ..Question::default()
        })?;
        Ok(match answer {
            None => FormAnswer::Unavailable,
            Some(Answer::Fields { fields }) => {
                FormAnswer::Fields(Value::Object(fields).to_string())
            }
            // A form allows nothing else.
            Some(_) => FormAnswer::Cancelled,
        })
    }
}

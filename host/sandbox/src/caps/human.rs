//! `agent:tool/human`: questions to the person. A guest cannot be kept while a person thinks, so a question ends it, and the call
//! runs again from its start with the answers so far. That is only right while the call has changed nothing, and only if it asks
//! the same again.

#[cfg(test)]
mod tests;

use crate::{
    bindings::human::{self, Answer as WitAnswer, Question as WitQuestion},
    caps::unwind::Unwind,
    gate::Gate,
    instance::store::CallState,
};
use agent_host_core::{
    question::{Answer, Exchange, Question},
    tool::Effect,
};
use std::sync::Arc;

/// The questions of one call.
pub(crate) struct Questions {
    gate: Arc<Gate>,
    can_ask: bool,
    /// The answers of earlier runs that this one has not come to yet.
    answers: std::vec::IntoIter<Exchange>,
}

impl Questions {
    pub(crate) fn new(gate: Arc<Gate>, can_ask: bool, answers: Vec<Exchange>) -> Self {
        Self {
            gate,
            can_ask,
            answers: answers.into_iter(),
        }
    }

    fn ask(&mut self, question: Question) -> Result<WitAnswer, Unwind> {
        if let Some(earlier) = self.answers.next() {
            return if earlier.question == question {
                Ok(to_wit(earlier.answer))
            } else {
                Err(Unwind::QuestionChanged)
            };
        }
        // What an effectful call has done cannot be done again, so it may not be ended for a question any more.
        let is_bound = self.gate.effect() == Effect::Effectful && self.gate.is_dirty();
        if !self.can_ask || is_bound {
            return Ok(WitAnswer::Unavailable);
        }
        Err(Unwind::Asked(question))
    }
}

fn to_wit(answer: Answer) -> WitAnswer {
    match answer {
        Answer::Text { text } => WitAnswer::Text(text),
        Answer::Choice { index } => WitAnswer::Choice(index),
        Answer::Cancelled => WitAnswer::Cancelled,
    }
}

impl human::Host for CallState {
    async fn ask(&mut self, question: WitQuestion) -> wasmtime::Result<WitAnswer> {
        let WitQuestion {
            prompt,
            choices,
            free_text,
        } = question;
        let mut question = Question {
            prompt,
            choices,
            free_text,
        };
        // Before it is compared with the journaled one, which has no values of the tool's secrets either. Other secrets stay: two
        // questions that become equal by their marks would tell the guest what is in them.
        self.secrets.granted.question(&mut question);
        Ok(self.questions.ask(question)?)
    }
}

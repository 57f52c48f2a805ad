//! `agent:tool/human`: questions to the person.
//!
//! The loop cannot pause a call yet, so every question is answered with `unavailable`, which a tool must expect anyway.

use crate::{
    bindings::human::{self, Answer, Question},
    store::CallState,
};

impl human::Host for CallState {
    async fn ask(&mut self, _question: Question) -> wasmtime::Result<Answer> {
        Ok(Answer::Unavailable)
    }
}

//! A stand-in for the host, for tests outside WebAssembly. It keeps what a tool reported and hands
//! out what a test prepared. Each thread has its own, so tests that run beside each other do not
//! meet. It does not exist in a component.

use std::cell::RefCell;
use std::collections::VecDeque;

use serde_json::{Map, Value};

use crate::{Answer, Question};

/// The calls of this thread's tools to the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// Progress: the message and the part that is done.
    pub progress: Vec<(String, Option<f64>)>,
    /// The requested changes of the state.
    pub deltas: Vec<Map<String, Value>>,
    /// Questions.
    pub questions: Vec<Question>,
}

#[derive(Default)]
struct StandIn {
    recorded: Recorded,
    state: Map<String, Value>,
    answers: VecDeque<Answer>,
}

thread_local! {
    static HOST: RefCell<StandIn> = RefCell::default();
}

/// Starts over: nothing recorded, this state, and these answers, in the order of the questions. A
/// question without an answer is answered `Unavailable`.
pub fn prepare(state: Map<String, Value>, answers: impl IntoIterator<Item = Answer>) {
    let answers = answers.into_iter().collect();
    HOST.set(StandIn {
        recorded: Recorded::default(),
        state,
        answers,
    });
}

/// The calls recorded since [`prepare`], or since the thread began.
#[must_use]
pub fn recorded() -> Recorded {
    HOST.with_borrow(|host| host.recorded.clone())
}

pub(crate) fn record_progress(message: String, fraction: Option<f64>) {
    HOST.with_borrow_mut(|host| host.recorded.progress.push((message, fraction)));
}

pub(crate) fn state() -> Map<String, Value> {
    HOST.with_borrow(|host| host.state.clone())
}

pub(crate) fn record_delta(delta: Map<String, Value>) {
    HOST.with_borrow_mut(|host| host.recorded.deltas.push(delta));
}

pub(crate) fn answer(question: &Question) -> Answer {
    HOST.with_borrow_mut(|host| {
        host.recorded.questions.push(question.clone());
        host.answers.pop_front().unwrap_or(Answer::Unavailable)
    })
}

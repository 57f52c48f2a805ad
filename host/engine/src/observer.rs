//! The observer of a session: durable events, and transient progress.

use crate::turn::{Step, StepResult};
use agent_host_types::{
    context::CompactionStats, event::EventRecord, id::CallId, output::ToolResultOutput,
};
use serde_json::{Map, Value};

/// A transient progress event; never journaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Live<'a> {
    /// The model has been asked and is silent so far.
    ModelAsked,
    /// More text of the answer.
    Text(&'a str),
    /// More text of the model's reasoning.
    Reasoning(&'a str),
    /// The model's attempt broke off and starts anew; its text so far does not count.
    Restarted,
    /// Old results were too much for the model's window, and references stand in their places.
    ResultsReferenced {
        /// How many.
        count: usize,
        /// How large a request was and is.
        size: CompactionStats,
    },
    /// The older part of the conversation was too much for the model's window, and a summary stands in its place.
    HistorySummarised {
        /// How many messages it stands for.
        messages: usize,
        /// How large a request was and is.
        size: CompactionStats,
    },
    /// Something that the user should know of the model's request; a sentence, which is no part of the answer.
    Note(&'a str),
    /// A call begins.
    CallStarted {
        /// The call.
        call_id: &'a CallId,
        /// The tool.
        tool: &'a str,
        /// What it runs with.
        input: &'a Map<String, Value>,
    },
    /// A running call reports how far it is.
    CallProgress {
        /// The call.
        call_id: &'a CallId,
        /// The tool's words.
        message: &'a str,
        /// Between 0 and 1, where it is known.
        fraction: Option<f64>,
    },
    /// A call has its result, whether it ran or not.
    CallEnded {
        /// The call.
        call_id: &'a CallId,
        /// The tool.
        tool: &'a str,
        /// What it was to run with, where the model's arguments could be read.
        input: Option<&'a Map<String, Value>>,
        /// The result, with its bytes.
        output: &'a ToolResultOutput,
        /// How long it ran, in microseconds.
        wall_us: u64,
    },
}

/// Watches a session. Implemented by the terminal, by `stream-json`, and by tests. Its methods are called from the loop and must
/// return at once.
pub trait Observer: Send + Sync {
    /// A record has become durable. Records come in order and each comes once.
    fn recorded(&self, record: &EventRecord);

    /// Progress.
    fn live(&self, live: Live<'_>);

    /// A step of a turn is over. What it found may not be durable yet.
    fn step(&self, _step: Step, _result: &StepResult) {}
}

/// Ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn recorded(&self, _record: &EventRecord) {}

    fn live(&self, _live: Live<'_>) {}
}

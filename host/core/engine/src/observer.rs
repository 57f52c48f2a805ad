//! The observer of a session: durable events and transient progress.

use crate::{
    model::ModelDelta,
    turn::{Step, StepResult},
};
use agent_host_types::{
    accounting::AuditEntry,
    context::CompactionStats,
    event::EventRecord,
    id::{CallId, SessionId},
    output::ToolResultOutput,
};
use serde_json::{Map, Value};
use std::{sync::Arc, time::Duration};

/// A request that leaves the program, as the trace of a session has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traced<'a> {
    /// The request to a model that the event with this number tells of.
    Request(u64),
    /// A call of a tool.
    Call(&'a CallId),
}

/// A transient progress event; never journaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Live<'a> {
    /// The model was called and has not replied yet.
    ModelAsked,
    /// A part of the model's reply arrived.
    Delta(ModelDelta<'a>),
    /// Old results exceeded the model's window and are now references.
    ResultsReferenced {
        /// The number of results.
        count: usize,
        /// The size of a request before and after.
        size: CompactionStats,
    },
    /// The older part of the conversation exceeded the model's window and is now a summary.
    HistorySummarised {
        /// The number of replaced messages.
        messages: usize,
        /// The size of a request before and after.
        size: CompactionStats,
    },
    /// A call starts.
    CallStarted {
        /// The call.
        call_id: &'a CallId,
        /// The tool.
        tool: &'a str,
        /// The arguments.
        input: &'a Map<String, Value>,
    },
    /// A running call reports progress.
    CallProgress {
        /// The call.
        call_id: &'a CallId,
        /// The tool's message.
        message: &'a str,
        /// The fraction, between 0 and 1, if known.
        fraction: Option<f64>,
    },
    /// A running call printed lines, and maybe others before.
    CallOutput {
        /// The call.
        call_id: &'a CallId,
        /// The lines.
        text: &'a str,
    },
    /// A call has its result, whether or not it ran.
    CallEnded {
        /// The call.
        call_id: &'a CallId,
        /// The tool.
        tool: &'a str,
        /// The arguments, if the model's text is valid.
        input: Option<&'a Map<String, Value>>,
        /// The result, with its bytes.
        output: &'a ToolResultOutput,
        /// The call's requests to the gate.
        audit: &'a [AuditEntry],
        /// The duration of the run, in microseconds.
        wall_us: u64,
    },
}

/// Watches a session. The loop calls the methods and waits for them, so they must return at once.
pub trait Observer: Send + Sync {
    /// A record became durable. Called once for each, in order.
    fn recorded(&self, record: &Arc<EventRecord>);

    /// Progress was made.
    fn live(&self, live: Live<'_>);

    /// The journal made records durable, for which the loop waited this long.
    fn durable_after(&self, _time: Duration) {}

    /// Returns the [traceparent](https://www.w3.org/TR/trace-context/#traceparent-header) of a
    /// request of a session; `None` where no one traces it.
    fn traceparent(&self, _session: SessionId, _request: Traced<'_>) -> Option<String> {
        None
    }

    /// An agent runs for a call. Returns the observer of its session; `None` if no one watches it.
    fn child<'a>(
        &'a self,
        _call_id: &'a CallId,
        _agent: &'a str,
    ) -> Option<Box<dyn Observer + 'a>> {
        None
    }

    /// The program of this session printed lines, and maybe others before.
    fn printed(&self, _text: &str) {}

    /// A step of a turn ended. Its output may not be durable yet.
    fn step(&self, _step: Step, _result: &StepResult) {}
}

/// Several observers of one session, which are told everything in turn.
#[derive(Default)]
pub struct Observers<'a>(pub Vec<Box<dyn Observer + 'a>>);

impl Observer for Observers<'_> {
    fn recorded(&self, record: &Arc<EventRecord>) {
        self.0.iter().for_each(|one| one.recorded(record));
    }

    fn live(&self, live: Live<'_>) {
        self.0.iter().for_each(|one| one.live(live));
    }

    fn durable_after(&self, time: Duration) {
        self.0.iter().for_each(|one| one.durable_after(time));
    }

    fn traceparent(&self, session: SessionId, request: Traced<'_>) -> Option<String> {
        let mut all = self.0.iter();
        all.find_map(|one| one.traceparent(session, request))
    }

    fn child<'a>(&'a self, call_id: &'a CallId, agent: &'a str) -> Option<Box<dyn Observer + 'a>> {
        let children = self.0.iter().filter_map(|one| one.child(call_id, agent));
        let children: Vec<_> = children.collect();
        (!children.is_empty()).then(|| Box::new(Observers(children)) as Box<dyn Observer + 'a>)
    }

    fn printed(&self, text: &str) {
        self.0.iter().for_each(|one| one.printed(text));
    }

    fn step(&self, step: Step, result: &StepResult) {
        self.0.iter().for_each(|one| one.step(step, result));
    }
}

impl<T: Observer + ?Sized> Observer for &T {
    fn recorded(&self, record: &Arc<EventRecord>) {
        (**self).recorded(record);
    }

    fn live(&self, live: Live<'_>) {
        (**self).live(live);
    }

    fn durable_after(&self, time: Duration) {
        (**self).durable_after(time);
    }

    fn traceparent(&self, session: SessionId, request: Traced<'_>) -> Option<String> {
        (**self).traceparent(session, request)
    }

    fn child<'a>(&'a self, call_id: &'a CallId, agent: &'a str) -> Option<Box<dyn Observer + 'a>> {
        (**self).child(call_id, agent)
    }

    fn printed(&self, text: &str) {
        (**self).printed(text);
    }

    fn step(&self, step: Step, result: &StepResult) {
        (**self).step(step, result);
    }
}

/// An observer that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn recorded(&self, _record: &Arc<EventRecord>) {}

    fn live(&self, _live: Live<'_>) {}
}

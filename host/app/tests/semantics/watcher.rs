//! An observer of turns: records the durable events and the steps, and can be waited for.

use agent_host_engine::{
    observer::{Live, Observer},
    turn::{Step, StepResult},
};
use agent_host_types::event::{Event, EventRecord};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

#[derive(Default)]
pub(super) struct Watcher {
    records: Mutex<Vec<EventRecord>>,
    steps: Mutex<Vec<(Step, StepResult)>>,
    ended: Mutex<Vec<String>>,
    /// Notified when a call of the tool `spin` begins.
    pub(super) spinning: Notify,
}

impl Watcher {
    /// The durable events.
    pub(super) fn events(&self) -> Vec<Event> {
        let records = self.records.lock().unwrap();
        records.iter().map(|record| record.event.clone()).collect()
    }

    /// Its kinds, in order.
    pub(super) fn kinds(&self) -> Vec<String> {
        let kind = |event: &Event| json!(event)["kind"].as_str().map(str::to_owned);
        self.events().iter().filter_map(kind).collect()
    }

    /// The number of events of this kind.
    pub(super) fn count(&self, kind: &str) -> usize {
        self.kinds().iter().filter(|other| *other == kind).count()
    }

    /// Every step so far with its outcome.
    pub(super) fn steps(&self) -> Vec<(Step, StepResult)> {
        self.steps.lock().unwrap().clone()
    }

    /// The transition of each step: `step: next` or `step: end`.
    pub(super) fn path(&self) -> Vec<String> {
        let line = |(step, result): &(Step, StepResult)| {
            let (step, result) = (json!(step), json!(result));
            let transition = &result["transition"];
            let next = match &transition["next_step"] {
                Value::Null => &transition["action"],
                next => next,
            };
            format!("{}: {}", step.as_str().unwrap(), next.as_str().unwrap())
        };
        self.steps().iter().map(line).collect()
    }

    /// The ids of the calls that ended, in order of their end.
    pub(super) fn ended(&self) -> Vec<String> {
        self.ended.lock().unwrap().clone()
    }
}

impl Observer for Watcher {
    fn recorded(&self, record: &Arc<EventRecord>) {
        self.records
            .lock()
            .unwrap()
            .push(EventRecord::clone(record));
    }

    fn live(&self, live: Live<'_>) {
        match live {
            Live::CallStarted { tool: "spin", .. } => self.spinning.notify_one(),
            Live::CallEnded { call_id, .. } => self.ended.lock().unwrap().push(call_id.0.clone()),
            Live::ModelAsked
            | Live::Delta(_)
            | Live::ResultsReferenced { .. }
            | Live::HistorySummarised { .. }
            | Live::CallStarted { .. }
            | Live::CallProgress { .. }
            | Live::CallOutput { .. } => {}
        }
    }

    fn step(&self, step: Step, result: &StepResult) {
        self.steps.lock().unwrap().push((step, result.clone()));
    }
}

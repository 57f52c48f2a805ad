//! An observer that records.

use super::{super::program::printed::Prints, TestJournal};
use crate::{
    model::ModelDelta,
    observer::{Live, Observer},
    turn::{Step, StepResult},
};
use agent_host_types::{event::EventRecord, id::CallId};
use std::sync::{Arc, Mutex};

/// Records everything, and whether a record came before it was durable.
pub(in crate::turn::tests) struct Recorder {
    journal: Arc<TestJournal>,
    pub(in crate::turn::tests) records: Mutex<Vec<EventRecord>>,
    pub(in crate::turn::tests) premature: Mutex<Vec<u64>>,
    pub(in crate::turn::tests) live: Mutex<Vec<String>>,
    pub(in crate::turn::tests) steps: Mutex<Vec<(Step, StepResult)>>,
}

impl Recorder {
    pub(in crate::turn::tests) fn new(journal: Arc<TestJournal>) -> Arc<Self> {
        Arc::new(Self {
            journal,
            records: Mutex::default(),
            premature: Mutex::default(),
            live: Mutex::default(),
            steps: Mutex::default(),
        })
    }
}

impl Observer for Recorder {
    fn child<'a>(&'a self, _: &'a CallId, _: &'a str) -> Option<Box<dyn Observer + 'a>> {
        Some(Box::new(Prints(&self.live)))
    }

    fn step(&self, step: Step, result: &StepResult) {
        self.steps.lock().unwrap().push((step, result.clone()));
    }

    fn recorded(&self, record: &Arc<EventRecord>) {
        if record.seq >= self.journal.durable_count() as u64 {
            self.premature.lock().unwrap().push(record.seq);
        }
        self.records
            .lock()
            .unwrap()
            .push(EventRecord::clone(record));
    }

    fn live(&self, live: Live<'_>) {
        let line = match live {
            Live::ModelAsked => "asked".to_owned(),
            Live::Delta(ModelDelta::Text(text)) => format!("text {text}"),
            Live::Delta(ModelDelta::Reasoning(text)) => format!("reasoning {text}"),
            Live::Delta(ModelDelta::Restarted) => "restarted".to_owned(),
            Live::ResultsReferenced { count, .. } => format!("referenced {count}"),
            Live::HistorySummarised { messages, .. } => format!("summarised {messages}"),
            Live::Delta(ModelDelta::Note(text)) => format!("note {text}"),
            Live::Delta(ModelDelta::Waiting { error, .. }) => {
                format!("waiting after {}", error.message)
            }
            Live::CallStarted { call_id, .. } => format!("started {call_id}"),
            Live::CallProgress {
                call_id, message, ..
            } => format!("{message} {call_id}"),
            Live::CallOutput { call_id, text } => format!("{text} {call_id}"),
            Live::CallEnded {
                call_id, output, ..
            } => format!("ended {call_id} {}", output.tag()),
        };
        self.live.lock().unwrap().push(line);
    }
}

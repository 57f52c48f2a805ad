//! A run as lines of JSON: everything that an observer is told, for programs that read it.

#[cfg(test)]
mod tests;

use crate::{
    model::ModelDelta,
    observer::{Live, Observer},
    turn::{Step, StepResult, Transition},
};
use agent_host_types::{
    context::CompactionStats,
    event::EventRecord,
    id::{CallId, SessionId},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The version of the lines. A new kind of line or a new field does not change it; a reader ignores
/// what it does not know.
pub const STREAM_VERSION: u32 = 1;

/// A line: an event of the journal, once it is durable, or something transient with a `live` key.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StreamLine<'a> {
    /// The content.
    #[serde(flatten)]
    pub content: StreamContent<'a>,
    /// The calls that started the agent which the line is about, outermost first; absent for the
    /// one that the user talks to.
    #[serde(skip_serializing_if = "<[CallId]>::is_empty")]
    pub path: &'a [CallId],
}

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum StreamContent<'a> {
    /// An event of the journal.
    Record(&'a EventRecord),
    /// Something that is not in the journal.
    Live(LiveLine<'a>),
}

/// Something that is not in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "live", rename_all = "kebab-case")]
pub enum LiveLine<'a> {
    /// The first line of a run.
    Session {
        /// The version of the lines.
        version: u32,
        /// The session.
        session: SessionId,
        /// The version of the program.
        program: &'a str,
    },
    /// A step of a turn ended.
    Step {
        /// The step.
        step: Step,
        /// The step that follows; absent if the turn ends.
        #[serde(skip_serializing_if = "Option::is_none")]
        next_step: Option<Step>,
        /// How the turn ends: the `type` of the report.
        #[serde(skip_serializing_if = "Option::is_none")]
        end: Option<&'a str>,
    },
    /// The model was called.
    ModelAsked,
    /// More text of the answer.
    Text {
        /// The text.
        text: &'a str,
    },
    /// More text of the model's reasoning.
    Reasoning {
        /// The text.
        text: &'a str,
    },
    /// The reply broke off, and the model is called again; its text so far is void.
    Restarted,
    /// A sentence for the user, such as that another model is called.
    Note {
        /// The sentence.
        text: &'a str,
    },
    /// A request to the model failed, and is repeated after a wait.
    Waiting {
        /// The message of the failure.
        error: &'a str,
        /// The wait, in milliseconds.
        wait_ms: u64,
    },
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
    /// An agent starts; the lines about it have the call in their path.
    AgentStarted {
        /// The call.
        call_id: &'a CallId,
        /// The agent.
        agent: &'a str,
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
        #[serde(skip_serializing_if = "Option::is_none")]
        fraction: Option<f64>,
    },
    /// A call has its result, whether or not it ran. The result itself is in the event
    /// `call-settled`, once that is durable.
    CallEnded {
        /// The call.
        call_id: &'a CallId,
        /// The tool.
        tool: &'a str,
        /// The variant of the result.
        output: &'a str,
        /// The duration of the run, in microseconds.
        wall_us: u64,
    },
}

/// Writes a line. It must return at once.
pub type WriteLine<'a> = dyn Fn(&StreamLine<'_>) + Send + Sync + 'a;

/// An observer that hands each line to a function.
pub struct StreamObserver<'a> {
    write: &'a WriteLine<'a>,
    /// The calls that started the agent which is observed.
    path: Vec<CallId>,
}

impl<'a> StreamObserver<'a> {
    /// Creates the observer of a run.
    #[must_use]
    pub fn new(write: &'a WriteLine<'a>) -> Self {
        Self {
            write,
            path: Vec::new(),
        }
    }

    /// Writes the first line of a run.
    pub fn begin(&self, session: SessionId, program: &str) {
        self.write_live(LiveLine::Session {
            version: STREAM_VERSION,
            session,
            program,
        });
    }

    fn write_live(&self, line: LiveLine<'_>) {
        self.write_content(StreamContent::Live(line));
    }

    fn write_content(&self, content: StreamContent<'_>) {
        (self.write)(&StreamLine {
            content,
            path: &self.path,
        });
    }
}

impl Observer for StreamObserver<'_> {
    fn recorded(&self, record: &EventRecord) {
        self.write_content(StreamContent::Record(record));
    }

    fn live(&self, live: Live<'_>) {
        self.write_live(live.into());
    }

    fn child<'b>(&'b self, call_id: &'b CallId, agent: &'b str) -> Option<Box<dyn Observer + 'b>> {
        self.write_live(LiveLine::AgentStarted { call_id, agent });
        let mut path = self.path.clone();
        path.push(call_id.clone());
        Some(Box::new(StreamObserver {
            write: self.write,
            path,
        }))
    }

    fn step(&self, step: Step, result: &StepResult) {
        let (next_step, end) = match &result.transition {
            Transition::Continue { next_step } => (Some(*next_step), None),
            Transition::End { end } => (None, Some(end.kind())),
        };
        self.write_live(LiveLine::Step {
            step,
            next_step,
            end,
        });
    }
}

impl<'a> From<Live<'a>> for LiveLine<'a> {
    fn from(live: Live<'a>) -> Self {
        match live {
            Live::ModelAsked => Self::ModelAsked,
            Live::Delta(ModelDelta::Text(text)) => Self::Text { text },
            Live::Delta(ModelDelta::Reasoning(text)) => Self::Reasoning { text },
            Live::Delta(ModelDelta::Restarted) => Self::Restarted,
            Live::Delta(ModelDelta::Note(text)) => Self::Note { text },
            Live::Delta(ModelDelta::Waiting { error, wait }) => Self::Waiting {
                error: &error.message,
                wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            },
            Live::ResultsReferenced { count, size } => Self::ResultsReferenced { count, size },
            Live::HistorySummarised { messages, size } => {
                Self::HistorySummarised { messages, size }
            }
            Live::CallStarted {
                call_id,
                tool,
                input,
            } => Self::CallStarted {
                call_id,
                tool,
                input,
            },
            Live::CallProgress {
                call_id,
                message,
                fraction,
            } => Self::CallProgress {
                call_id,
                message,
                fraction,
            },
            Live::CallEnded {
                call_id,
                tool,
                output,
                wall_us,
                ..
            } => Self::CallEnded {
                call_id,
                tool,
                output: output.tag(),
                wall_us,
            },
        }
    }
}

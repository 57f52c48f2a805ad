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
    event::{EVENT_VERSION, EventError, EventRecord},
    id::{CallId, SessionId},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock};

/// The version of the lines. A new kind of line or a new field does not change it; a reader ignores
/// what it does not know.
pub const STREAM_VERSION: u32 = 1;

/// A line: an event of the journal, once it is durable, or something transient with a `live` key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct StreamLine {
    /// The content.
    #[serde(flatten)]
    pub content: StreamContent,
    /// The calls that started the agent which the line is about, outermost first; absent for the
    /// one that the user talks to.
    #[serde(default, skip_serializing_if = "<[CallId]>::is_empty")]
    pub path: Arc<[CallId]>,
    #[serde(skip)]
    json: OnceLock<Arc<str>>,
}

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StreamContent {
    /// An event of the journal.
    Record(Arc<EventRecord>),
    /// Something that is not in the journal.
    Live(LiveLine),
}

/// Something that is not in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "live", rename_all = "kebab-case")]
pub enum LiveLine {
    /// The first line of a run.
    Session {
        /// The version of the lines.
        version: u32,
        /// The session.
        session: SessionId,
        /// The version of the program.
        program: String,
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
        end: Option<String>,
    },
    /// The model was called.
    ModelAsked,
    /// More text of the answer.
    Text {
        /// The text.
        text: Arc<str>,
    },
    /// More text of the model's reasoning.
    Reasoning {
        /// The text.
        text: Arc<str>,
    },
    /// The text of the reply so far is void: it broke off and the model is called again, or what
    /// follows is the reply from its start, for a reader that came while it arrived.
    Restarted,
    /// A sentence for the user, such as that another model is called.
    Note {
        /// The sentence.
        text: Arc<str>,
    },
    /// A request to the model failed, and is repeated after a wait.
    Waiting {
        /// The message of the failure.
        error: String,
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
        call_id: CallId,
        /// The agent.
        agent: String,
    },
    /// A call starts.
    CallStarted {
        /// The call.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// The arguments.
        input: Map<String, Value>,
    },
    /// A running call reports progress.
    CallProgress {
        /// The call.
        call_id: CallId,
        /// The tool's message.
        message: String,
        /// The fraction, between 0 and 1, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        fraction: Option<f64>,
    },
    /// A running call printed lines to its standard output or error, and maybe others before.
    CallOutput {
        /// The call.
        call_id: CallId,
        /// The lines.
        text: String,
    },
    /// A call has its result, whether or not it ran. The result itself is in the event
    /// `call-settled`, once that is durable.
    CallEnded {
        /// The call.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// The variant of the result.
        output: String,
        /// The duration of the run, in microseconds.
        wall_us: u64,
    },
}

impl StreamLine {
    /// Creates a line about the agent at this path.
    #[must_use]
    pub fn new(content: StreamContent, path: Arc<[CallId]>) -> Self {
        Self {
            content,
            path,
            json: OnceLock::new(),
        }
    }

    /// Reads a line that another host wrote, and keeps its text: a newer host may have written
    /// fields that have no place here.
    ///
    /// # Errors
    /// [`EventError`]; its messages follow "the line".
    pub fn from_json(json: Arc<str>) -> Result<Self, EventError> {
        let mut line: Self = serde_json::from_str(&json)?;
        if let StreamContent::Record(record) = &line.content
            && record.v > EVENT_VERSION
        {
            return Err(EventError::Newer(record.v));
        }
        line.json = json.into();
        Ok(line)
    }

    /// Returns the number of the event, if the line is an event of the journal of the agent that
    /// the user talks to.
    #[must_use]
    pub fn seq(&self) -> Option<u64> {
        match &self.content {
            StreamContent::Record(record) if self.path.is_empty() => Some(record.seq),
            StreamContent::Record(_) | StreamContent::Live(_) => None,
        }
    }

    /// Returns the JSON text, which is made for the first reader and kept for the others.
    pub fn json(&self) -> &Arc<str> {
        self.json.get_or_init(|| {
            // Only a map with other keys than text cannot be written, and there is none.
            let text = serde_json::to_string(self).unwrap_or_default();
            text.into()
        })
    }
}

/// Writes a line. It must return at once.
pub type WriteLine<'a> = dyn Fn(Arc<StreamLine>) + Send + Sync + 'a;

/// An observer that hands each line to a function.
pub struct StreamObserver<'a> {
    write: &'a WriteLine<'a>,
    /// The calls that started the agent which is observed.
    path: Arc<[CallId]>,
}

impl<'a> StreamObserver<'a> {
    /// Creates the observer of a run.
    #[must_use]
    pub fn new(write: &'a WriteLine<'a>) -> Self {
        Self {
            write,
            path: Arc::default(),
        }
    }

    /// Writes the first line of a run.
    pub fn begin(&self, session: SessionId, program: &str) {
        self.write_live(LiveLine::Session {
            version: STREAM_VERSION,
            session,
            program: program.to_owned(),
        });
    }

    fn write_live(&self, line: LiveLine) {
        self.write_content(StreamContent::Live(line));
    }

    fn write_content(&self, content: StreamContent) {
        let line = StreamLine::new(content, Arc::clone(&self.path));
        (self.write)(Arc::new(line));
    }
}

impl Observer for StreamObserver<'_> {
    fn recorded(&self, record: &Arc<EventRecord>) {
        self.write_content(StreamContent::Record(Arc::clone(record)));
    }

    fn live(&self, live: Live<'_>) {
        self.write_live(live.into());
    }

    fn child<'b>(&'b self, call_id: &'b CallId, agent: &'b str) -> Option<Box<dyn Observer + 'b>> {
        self.write_live(LiveLine::AgentStarted {
            call_id: call_id.clone(),
            agent: agent.to_owned(),
        });
        let path = self.path.iter().chain([call_id]);
        Some(Box::new(StreamObserver {
            write: self.write,
            path: path.cloned().collect(),
        }))
    }

    /// The output of a program is that of the call that started it.
    fn printed(&self, text: &str) {
        if let Some((call_id, path)) = self.path.split_last() {
            let output = Live::CallOutput { call_id, text };
            let line = StreamLine::new(StreamContent::Live(output.into()), path.into());
            (self.write)(Arc::new(line));
        }
    }

    fn step(&self, step: Step, result: &StepResult) {
        let (next_step, end) = match &result.transition {
            Transition::Continue { next_step } => (Some(*next_step), None),
            Transition::End { end } => (None, Some(end.kind().to_owned())),
        };
        self.write_live(LiveLine::Step {
            step,
            next_step,
            end,
        });
    }
}

impl From<Live<'_>> for LiveLine {
    fn from(live: Live<'_>) -> Self {
        match live {
            Live::ModelAsked => Self::ModelAsked,
            Live::Delta(ModelDelta::Text(text)) => Self::Text { text: text.into() },
            Live::Delta(ModelDelta::Reasoning(text)) => Self::Reasoning { text: text.into() },
            Live::Delta(ModelDelta::Restarted) => Self::Restarted,
            Live::Delta(ModelDelta::Note(text)) => Self::Note { text: text.into() },
            Live::Delta(ModelDelta::Waiting { error, wait }) => Self::Waiting {
                error: error.message.clone(),
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
                call_id: call_id.clone(),
                tool: tool.to_owned(),
                input: input.clone(),
            },
            Live::CallProgress {
                call_id,
                message,
                fraction,
            } => Self::CallProgress {
                call_id: call_id.clone(),
                message: message.to_owned(),
                fraction,
            },
            Live::CallOutput { call_id, text } => Self::CallOutput {
                call_id: call_id.clone(),
                text: text.to_owned(),
            },
            Live::CallEnded {
                call_id,
                tool,
                output,
                wall_us,
                ..
            } => Self::CallEnded {
                call_id: call_id.clone(),
                tool: tool.to_owned(),
                output: output.tag().to_owned(),
                wall_us,
            },
        }
    }
}

//! The JSON documents that other programs read, each with its JSON Schema.

use crate::{stream::StreamLine, turn::TurnStep};
use agent_host_types::{
    continuation::Continuation,
    event::EventRecord,
    output::ToolResultOutput,
    schema,
    turn::{SubmittedResult, TurnReport},
    workflow::NodeOutput,
};
use serde_json::Value;

/// A JSON document that programs read or write.
#[derive(Clone, Copy, Debug)]
pub struct Document {
    /// The name, kebab-case.
    pub name: &'static str,
    /// Where it is found, as a noun phrase.
    pub place: &'static str,
    schema: fn() -> Value,
}

impl Document {
    /// Generates the JSON Schema, draft 2020-12.
    #[must_use]
    pub fn schema(&self) -> Value {
        (self.schema)()
    }
}

/// All documents, by name.
///
/// ```
/// use agent_host_engine::documents::DOCUMENTS;
///
/// let names: Vec<_> = DOCUMENTS.iter().map(|document| document.name).collect();
/// assert!(names.contains(&"tool-result-output"));
/// ```
pub const DOCUMENTS: [Document; 8] = [
    Document {
        name: "continuation",
        place: "the handle of a paused turn",
        schema: schema::of::<Continuation>,
    },
    Document {
        name: "event",
        place: "a line of `sessions show --json`",
        schema: schema::of::<EventRecord>,
    },
    Document {
        name: "node-output",
        place: "the output of a node of a workflow",
        schema: schema::of::<NodeOutput>,
    },
    Document {
        name: "stream-line",
        place: "a line of `run --output-format stream-json`",
        schema: schema::of::<StreamLine>,
    },
    Document {
        name: "submitted-result",
        place: "a result in the file of `run --submit`",
        schema: schema::of_input::<SubmittedResult>,
    },
    Document {
        name: "tool-result-output",
        place: "the result of a call, as `call --json` prints it",
        schema: schema::of::<ToolResultOutput>,
    },
    Document {
        name: "turn-report",
        place: "`outcome` of `run --output-format json`",
        schema: schema::of::<TurnReport>,
    },
    Document {
        name: "turn-step",
        place: "a line of `sessions show --steps`",
        schema: schema::of::<TurnStep>,
    },
];

//! Information flow: what becomes of text from sources that the operator does not trust.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The source of messages that a client sends or a file has of an earlier conversation.
pub const HISTORY: &str = "history";

/// The treatment of text from untrusted sources. Ordered: a later one is stricter.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FlowMode {
    /// Nothing is recorded or decided.
    #[default]
    Off,
    /// The sources of each result are recorded; they decide nothing.
    Observe,
    /// Once the model has seen untrusted text, its calls with effects need approval.
    Ask,
    /// The model sees references in place of untrusted results, and hands them on as arguments.
    Quarantine,
}

impl FlowMode {
    /// Whether what flows into a call decides about it.
    #[must_use]
    pub fn decides(self) -> bool {
        self >= Self::Ask
    }
}

/// A kind of answer about untrusted text that can say nothing but what its schema allows. Ordered by
/// their names.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum AnswerKind {
    /// True or false.
    Boolean,
    /// A date, a time, or both.
    Date,
    /// One of the values that the schema lists.
    Enum,
    /// A number.
    Number,
}

/// A file that text from sources which are untrusted or have an audience may be in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelledFile {
    /// The path that tools see, such as `/workspace/notes.txt`. A directory stands for all that is
    /// below it.
    pub path: String,
    /// The sources, such as `http:example.com`.
    pub sources: Vec<String>,
}

/// The untrusted sources of an argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArgumentSources {
    /// The JSON pointer of the argument; empty for all arguments.
    pub pointer: String,
    /// The reference that the model wrote in its place, such as `@r3`; absent for what it wrote
    /// after it had read text from these sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The sources, such as `http:example.com`.
    pub sources: Vec<String>,
}

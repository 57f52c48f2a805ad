//! What goes into a turn and what comes out.

use crate::{
    approval::Decision,
    budget::Budget,
    continuation::Continuation,
    id::{CallId, SessionId},
    message::{Message, ToolResult},
    model::{ModelError, Provenance, StopReason, Usage},
    output::ToolResultOutput,
    question::Answer,
    tool::ToolRuntime,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// What starts a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentInput {
    /// The person said something.
    Text(String),
    /// The person said something with files in it.
    Message(Message),
    /// Decisions about the calls that wait.
    Resume {
        /// What the earlier turn returned.
        continuation: Continuation,
        /// One decision for each call of the continuation, in order.
        decisions: Vec<Decision>,
    },
    /// The answer to a call's question.
    Answer {
        /// What the earlier turn returned.
        continuation: Continuation,
        /// The answer.
        answer: Answer,
    },
    /// The results of calls that ran outside.
    SubmitToolResults {
        /// What the earlier turn returned.
        continuation: Continuation,
        /// One result for each call of the continuation, in any order.
        results: Vec<SubmittedResult>,
    },
    /// Go on where the last turn ended.
    Continue,
}

/// The result of a call that ran outside. In JSON it has the union as `output`, or any other value as `value`, which becomes
/// text or JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Submitted")]
pub struct SubmittedResult {
    /// The call.
    pub call_id: CallId,
    /// What it came to.
    pub output: ToolResultOutput,
}

/// The JSON form of [`SubmittedResult`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Submitted {
    call_id: CallId,
    output: Option<ToolResultOutput>,
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
}

/// A value that is there, which `null` is, too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl TryFrom<Submitted> for SubmittedResult {
    type Error = String;

    fn try_from(form: Submitted) -> Result<Self, String> {
        let call_id = form.call_id;
        let output = match (form.output, form.value) {
            (Some(output), None) => output,
            (None, Some(value)) => ToolResultOutput::from_value(value),
            (Some(_), Some(_)) | (None, None) => {
                return Err(format!(
                    "the result of call {call_id} has not exactly one of `output` and `value`"
                ));
            }
        };
        Ok(Self { call_id, output })
    }
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Outcome {
    /// Tools ran; the model has yet to hear of it. Run another turn with [`AgentInput::Continue`].
    NeedsMoreTurns {
        /// Facts of the turn.
        summary: TurnSummary,
    },
    /// The model gave its answer.
    Done {
        /// Facts of the turn.
        summary: TurnSummary,
        /// The answer.
        text: String,
        /// The answer as the value that was asked for, where one was (`output_schema`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        /// The result with which the run ended, where it had to end through a tool (`until_tool`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<ToolResult>,
    },
    /// A budget is used up. With a larger one the session can go on.
    BudgetExceeded {
        /// Facts of the turn.
        summary: TurnSummary,
        /// Which one.
        budget: Budget,
    },
    /// Calls wait for a person. Nothing of the batch has run.
    AwaitingConfirmation {
        /// Facts of the turn.
        summary: TurnSummary,
        /// What to resume with.
        continuation: Continuation,
    },
    /// A call asks the person a question.
    AwaitingAnswer {
        /// Facts of the turn.
        summary: TurnSummary,
        /// What to answer with.
        continuation: Continuation,
    },
    /// Calls are to run outside of this process.
    PendingToolCalls {
        /// Facts of the turn.
        summary: TurnSummary,
        /// What to submit their results with.
        continuation: Continuation,
    },
    /// The model declined to answer.
    Refusal {
        /// Facts of the turn.
        summary: TurnSummary,
        /// What it said.
        text: String,
    },
    /// The turn was stopped from outside. Every call that had begun is answered.
    Cancelled {
        /// Facts of the turn.
        summary: TurnSummary,
    },
    /// The turn failed. What happened before is kept.
    Error {
        /// Why.
        error: TurnError,
    },
}

impl Outcome {
    /// The facts of the turn; every outcome but `Error` has them.
    #[must_use]
    pub fn summary(&self) -> Option<&TurnSummary> {
        match self {
            Self::NeedsMoreTurns { summary }
            | Self::Done { summary, .. }
            | Self::BudgetExceeded { summary, .. }
            | Self::AwaitingConfirmation { summary, .. }
            | Self::AwaitingAnswer { summary, .. }
            | Self::PendingToolCalls { summary, .. }
            | Self::Refusal { summary, .. }
            | Self::Cancelled { summary } => Some(summary),
            Self::Error { .. } => None,
        }
    }
}

/// Facts of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnSummary {
    /// The session.
    pub session: SessionId,
    /// The turn: the number of its model call, from 1. A turn that ended before its model call has the number of the last
    /// one, which is 0 in a new session.
    pub turn: u64,
    /// The turns of the session so far.
    pub total_turns: u64,
    /// The tokens of this turn.
    pub turn_usage: Usage,
    /// The tokens of the session so far.
    pub total_usage: Usage,
    /// Which model answered.
    pub provenance: Provenance,
    /// The provider's id of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// Why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// The calls that the model asked for in this turn.
    pub tool_calls: u64,
    /// From input to outcome, in milliseconds.
    pub duration_ms: u64,
    /// Where the calls of this turn run: outside, if any of them does.
    pub tool_runtime: ToolRuntime,
}

/// Why a turn failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum TurnError {
    /// The model did not answer.
    #[error("{error}")]
    Model {
        /// Why.
        error: ModelError,
    },
    /// The conversation does not fit into the model's window, also not with what can be made shorter.
    #[error(
        "context-window: {}; the largest part is {largest}, and nothing more of the conversation can be made shorter. Use a model \
         with a larger window, and set `window-tokens` under [context] to it, or begin a new session and ask for less at once",
        misfit(*needed_tokens, *window_tokens, said.as_deref())
    )]
    ContextWindow {
        /// How large the request is, in estimated tokens.
        needed_tokens: u64,
        /// The model's window as configured, in tokens.
        window_tokens: u64,
        /// The largest part of the request, in words.
        largest: String,
        /// What the provider said, where it refused the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    },
    /// The journal could not be written or read; nothing further was done.
    #[error("{message}")]
    Journal {
        /// Why.
        message: String,
    },
    /// The model stopped without calling the tool through which the run was to end.
    #[error(
        "until-tool-not-called: the model stopped without {}; send another message, or run without `until-tool`",
        list(tools)
    )]
    UntilToolNotCalled {
        /// The tools of which one was to be called.
        tools: Vec<String>,
    },
    /// The model's answer does not fit the schema that was asked for, also not after it was told why.
    #[error(
        "the model's answer does not fit the output schema: {message}; try another model, or a simpler schema"
    )]
    InvalidAnswer {
        /// Why.
        message: String,
    },
    /// The input does not fit the state of the session. Nothing ran, and the session is as it was.
    #[error("{message}")]
    Input {
        /// Why.
        message: String,
    },
}

/// How a request does not fit.
fn misfit(needed: u64, window: u64, said: Option<&str>) -> String {
    match said {
        None => {
            format!("the request needs about {needed} tokens, and the model's window has {window}")
        }
        Some(said) => format!(
            "the model found the request of about {needed} tokens too long, although its window was taken for {window} ({said})"
        ),
    }
}

/// Names for a sentence.
fn list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(" or ")
}

//! The trait behind which tools run, and what goes in and out of one run.

use crate::BoxFuture;
use agent_host_types::{
    accounting::{Accounting, AuditEntry},
    failure::ToolFailure,
    id::{CallId, SessionId},
    limits::Limits,
    output::ToolResultOutput,
    question::{AnsweredQuestion, PendingQuestion},
    tool::RegisteredTool,
};
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// One run of one call, with everything that the runner needs to know.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The session in which the call happens.
    pub session: SessionId,
    /// The call.
    pub call_id: CallId,
    /// The tool's name in the registry.
    pub tool: String,
    /// The arguments, already checked to be an object that fits the tool's schema.
    pub input: Map<String, Value>,
    /// The same for every attempt at this call.
    pub idempotency_key: String,
    /// The session's shared state as the call sees it. A call that runs again sees what its first run saw.
    pub shared: Arc<Map<String, Value>>,
    /// The questions of earlier runs of this call with their answers, in order.
    pub answers: Vec<AnsweredQuestion>,
    /// Whether a person can be asked. Where not, a question is answered with `unavailable`.
    pub can_ask: bool,
    /// Tells that the call is to be stopped.
    pub cancel: CancellationToken,
}

/// How a run of a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEnd {
    /// With a result.
    Settled(CallReport),
    /// With a question to a person.
    Asked(PendingQuestion),
}

impl RunEnd {
    /// The report of a call that has its result; nothing of one that asks.
    #[must_use]
    pub fn settled(self) -> Option<CallReport> {
        match self {
            Self::Settled(report) => Some(report),
            Self::Asked(_) => None,
        }
    }
}

impl From<CallReport> for RunEnd {
    fn from(report: CallReport) -> Self {
        Self::Settled(report)
    }
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct CallReport {
    /// The result; an abnormal end is in here too, as `error-json`.
    pub output: ToolResultOutput,
    /// What the call used.
    pub accounting: Accounting,
    /// What it asked of the gate, and what the gate said.
    pub audit: Vec<AuditEntry>,
    /// What it merges into the session's shared state, in its order. Calls that ended abnormally merge nothing.
    pub merges: Vec<Map<String, Value>>,
}

impl CallReport {
    /// The report of a call of which nothing but the result is to be told.
    #[must_use]
    pub fn of(output: ToolResultOutput) -> Self {
        Self {
            output,
            accounting: Accounting::default(),
            audit: Vec::new(),
            merges: Vec::new(),
        }
    }
}

/// Receives progress reports of a running call: message, and fraction where it is known.
pub type ProgressSink<'a> = &'a (dyn Fn(&str, Option<f64>) + Send + Sync);

/// Runs tools. Implemented by agent-host-app over the sandbox, and by tests and embedders over plain closures.
pub trait ToolRunner: Send + Sync {
    /// The tools that exist, in the order in which the model is told of them.
    fn tools(&self) -> &[RegisteredTool];

    /// The limits that hold for each call of a tool; nothing for a tool that does not run in the sandbox.
    fn limits(&self, _tool: &str) -> Option<&Limits> {
        None
    }

    /// The executable files that the arguments name and a call with them may rewrite, by the tool's paths; for people, before
    /// they approve it.
    fn executables(&self, _tool: &str, _input: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    /// Checks arguments against the tool's schema.
    ///
    /// # Errors
    /// `unknown-tool` or `invalid-input`, with the path of the first argument that does not fit.
    fn validate(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure>;

    /// Runs one call to its end. When [`Invocation::cancel`] is cancelled, it stops the call and reports what that used until then,
    /// at once: after half a second the future is dropped, which stops the call as well, but its audit and accounting are lost.
    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd>;
}

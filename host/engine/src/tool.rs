//! The trait that runs tools, with the input and the report of one run.

use crate::{BoxFuture, artifact::SessionArtifacts};
use agent_host_types::{
    accounting::{Accounting, AuditEntry},
    failure::ToolFailure,
    hook::HookVerdict,
    id::{CallId, SessionId},
    limits::Limits,
    output::ToolResultOutput,
    question::{AnsweredQuestion, PendingQuestion},
    tool::RegisteredTool,
};
use serde_json::{Map, Value};
use std::{collections::BTreeSet, sync::Arc};
use tokio_util::sync::CancellationToken;

/// The input of one run of a call.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The session of the call.
    pub session: SessionId,
    /// The id of the call.
    pub call_id: CallId,
    /// The tool's name in the registry.
    pub tool: String,
    /// The arguments, which fit the tool's schema.
    pub input: Map<String, Value>,
    /// The idempotency key, equal in every run of the call.
    pub idempotency_key: String,
    /// The session's shared state at the first run of the call; later runs see the same.
    pub shared: Arc<Map<String, Value>>,
    /// The answered questions of earlier runs of the call, in order.
    pub answers: Vec<AnsweredQuestion>,
    /// The artifacts of the session; `None` for a call outside of one.
    pub artifacts: Option<SessionArtifacts>,
    /// Whether the user can be asked. If not, questions are answered with `unavailable`.
    pub can_ask: bool,
    /// Cancels the call.
    pub cancel: CancellationToken,
}

/// The end of a run of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEnd {
    /// The call has its result.
    Settled(CallReport),
    /// The call asked the user a question.
    Asked(PendingQuestion),
}

impl RunEnd {
    /// Returns the report of a settled call.
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

impl From<ToolResultOutput> for RunEnd {
    fn from(output: ToolResultOutput) -> Self {
        CallReport::of(output).into()
    }
}

/// The report of a settled call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallReport {
    /// The result; an abnormal end is `error-json`.
    pub output: ToolResultOutput,
    /// The resources that the call used.
    pub accounting: Accounting,
    /// The call's requests to the gate, with its decisions.
    pub audit: Vec<AuditEntry>,
    /// The merges into the session's shared state, in order. Those of a call that does not
    /// succeed are dropped.
    pub merges: Vec<Map<String, Value>>,
    /// The verdicts of hooks about the run, beside `pass`.
    pub verdicts: Vec<HookVerdict>,
}

impl CallReport {
    /// Creates a report of the result alone.
    #[must_use]
    pub fn of(output: ToolResultOutput) -> Self {
        Self {
            output,
            accounting: Accounting::default(),
            audit: Vec::new(),
            merges: Vec::new(),
            verdicts: Vec::new(),
        }
    }
}

/// Receives the progress of a running call: a message, and the fraction if known.
pub type ProgressSink<'a> = &'a (dyn Fn(&str, Option<f64>) + Send + Sync);

/// Runs tools. agent-host-app implements it over the sandbox, tests and embedders over plain
/// closures.
pub trait ToolRunner: Send + Sync {
    /// Returns all tools, in the order for the model.
    fn tools(&self) -> &[RegisteredTool];

    /// Returns whether the model is offered a tool, if the session has found these by a search (see
    /// [`crate::tool_search`]).
    fn is_offered(&self, _tool: &str, _found: &BTreeSet<String>) -> bool {
        true
    }

    /// Returns the limits of each call of a tool; `None` for a tool outside the sandbox.
    fn limits(&self, _tool: &str) -> Option<&Limits> {
        None
    }

    /// Returns the executable files that the arguments name and the call may rewrite, by the tool's
    /// paths, for display before the approval.
    fn executables(&self, _tool: &str, _input: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    /// Checks arguments against the tool's schema.
    ///
    /// # Errors
    /// `unknown-tool` or `invalid-input`, with the path of the first argument that does not fit.
    fn validate(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure>;

    /// Runs one call to its end. When [`Invocation::cancel`] is cancelled, stops the call and
    /// reports at once: after 500 ms the future is dropped, which stops the call and loses its
    /// audit and accounting.
    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd>;
}

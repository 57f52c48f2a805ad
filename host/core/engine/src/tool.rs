//! The trait that runs the calls of a tool, with the input and the report of one run.

use crate::{
    BoxFuture,
    arguments::Arguments,
    artifact::{ArtifactName, NewArtifact, SessionArtifacts},
    flow::CallFlow,
};
use agent_host_types::{
    accounting::{Accounting, AuditEntry},
    custom_context::CustomContext,
    event::Event,
    failure::ToolFailure,
    flow::LabelledFile,
    hook::HookVerdict,
    id::{CallId, SessionId},
    limits::Limits,
    output::{Blob, ToolResultOutput},
    question::{AnsweredQuestion, PendingQuestion},
    turn::ChildSummary,
};
use serde_json::{Map, Value};
use std::sync::Arc;
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
    pub input: Arguments,
    /// The idempotency key, equal in every run of the call.
    pub idempotency_key: String,
    /// The session's shared state at the first run of the call; later runs see the same.
    pub shared: Arc<Map<String, Value>>,
    /// The session's custom context at the first run of the call.
    pub context: Arc<CustomContext>,
    /// The answered questions of earlier runs of the call, in order.
    pub answers: Vec<AnsweredQuestion>,
    /// The artifacts of the session; `None` for a call outside of one.
    pub artifacts: Option<SessionArtifacts>,
    /// The number of agents, each started by the one before, that the call is below; 0 for a call
    /// of no agent.
    pub agent_depth: u8,
    /// The [traceparent](https://www.w3.org/TR/trace-context/#traceparent-header) of the call, for
    /// an MCP server; `None` where nothing is traced. No guest and none of its requests gets it.
    pub traceparent: Option<String>,
    /// The sources of the arguments that are untrusted or have an audience; none where sources are
    /// not recorded.
    pub sources: Vec<String>,
    /// Where the call may hand text, and which files it reaches.
    pub flow: CallFlow,
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
        CallReport::from(output).into()
    }
}

impl From<ToolResultOutput> for CallReport {
    fn from(output: ToolResultOutput) -> Self {
        Self::of(output)
    }
}

impl From<ToolFailure> for CallReport {
    fn from(failure: ToolFailure) -> Self {
        Self::of(failure.into())
    }
}

/// The report of a settled call; `O` is its result.
#[derive(Clone, Debug, PartialEq)]
pub struct CallReport<O = ToolResultOutput> {
    /// The result; an abnormal end is `error-json`.
    pub output: O,
    /// The resources that the call used.
    pub accounting: Accounting,
    /// The call's requests to the gate, with its decisions.
    pub audit: Vec<AuditEntry>,
    /// The changes of the session, in order. Those of a call that does not succeed are dropped.
    pub changes: Vec<SessionChange>,
    /// The verdicts of hooks about the run, beside those that passed it.
    pub verdicts: Vec<HookVerdict>,
    /// The figures of the session that an agent of the host had for it; set by the loop.
    pub child: Option<ChildSummary>,
    /// The rule of the policy that denied it; set by the loop.
    pub rule: Option<String>,
    /// The sources of the result that `audit` does not have: [`crate::flow::SHARED_STATE`], and of
    /// an agent what it has seen.
    pub sources: Vec<String>,
    /// The files that its agent wrote with text of sources that count; set by the loop.
    pub files: Vec<LabelledFile>,
}

/// A change of its session that a call asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionChange {
    /// Merges a JSON object into the shared state: objects deeply; other values replace.
    Merge(Map<String, Value>),
    /// Ends the run with a message for the user.
    Halt(String),
    /// Stores an artifact, in place of one with its name.
    Store(NewArtifact),
    /// Deletes an artifact.
    Delete(ArtifactName),
}

impl<O> CallReport<O> {
    /// Creates a report of the result alone.
    #[must_use]
    pub fn of(output: O) -> Self {
        Self {
            output,
            accounting: Accounting::default(),
            audit: Vec::new(),
            changes: Vec::new(),
            verdicts: Vec::new(),
            child: None,
            rule: None,
            sources: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Names the rule that denied the call.
    #[must_use]
    pub fn denied_by(mut self, rule: String) -> Self {
        self.rule = Some(rule);
        self
    }

    /// Replaces the result by one that follows from it.
    pub(crate) fn map<T>(self, result: impl FnOnce(O) -> T) -> CallReport<T> {
        CallReport {
            output: result(self.output),
            accounting: self.accounting,
            audit: self.audit,
            changes: self.changes,
            verdicts: self.verdicts,
            child: self.child,
            rule: self.rule,
            sources: self.sources,
            files: self.files,
        }
    }
}

impl SessionChange {
    /// Returns whether it ends the run.
    #[must_use]
    pub fn is_halt(&self) -> bool {
        matches!(self, Self::Halt(_))
    }

    /// Returns the event of the change by a call of a tool, and adds the blob that it refers to.
    pub(crate) fn into_event(self, call_id: &CallId, tool: &str, blobs: &mut Vec<Blob>) -> Event {
        let call_id = call_id.clone();
        match self {
            Self::Merge(delta) => Event::StateMerged {
                call_id,
                delta,
                labels: Vec::new(),
            },
            Self::Halt(message) => Event::RunHalted { call_id, message },
            Self::Store(artifact) => {
                let by = (Some(call_id), Some(tool.to_owned()));
                let (event, blob) = artifact.into_event(by);
                blobs.push(blob);
                event
            }
            Self::Delete(name) => Event::ArtifactDeleted {
                call_id: Some(call_id),
                name,
            },
        }
    }
}

/// An update of a running call, for the user who waits. Never for the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CallUpdate<'a> {
    /// The tool reports progress.
    Progress {
        /// The tool's message.
        message: &'a str,
        /// The fraction, between 0 and 1, if known.
        fraction: Option<f64>,
    },
    /// The tool printed these lines to its standard output or error, and maybe others before.
    Output(&'a str),
}

/// Receives the updates of a running call.
pub type ProgressSink<'a> = &'a (dyn Fn(CallUpdate<'_>) + Send + Sync);

/// Runs the calls of a tool, or of several, which [`Invocation::tool`] tells apart.
pub trait ToolHandler: Send + Sync {
    /// Returns the limits of each call; `None` for a tool outside the sandbox.
    fn limits(&self) -> Option<&Limits> {
        None
    }

    /// Returns the files that run, now or later, which the arguments name and the call may rewrite,
    /// by the tool's paths, for display before the approval.
    fn executables(&self, _input: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    /// Returns the end of a call that approval would not change: the gate would certainly deny it,
    /// so that the user need not be asked about it.
    fn foreseen_denial(
        &self,
        _session: SessionId,
        _call_id: &CallId,
        _input: &Map<String, Value>,
        _flow: &CallFlow,
    ) -> Option<CallReport> {
        None
    }

    /// Returns where a call may have written whose end is not known, with the sources of what it may
    /// have read by its own requests, other than files and the shared state.
    fn possibly_written(&self, _session: SessionId, _call_id: &CallId) -> Vec<LabelledFile> {
        Vec::new()
    }

    /// Checks what the schema cannot say of arguments that fit it.
    ///
    /// # Errors
    /// `invalid-input`, with what does not fit.
    fn check(&self, _input: &Map<String, Value>) -> Result<(), ToolFailure> {
        Ok(())
    }

    /// Runs one call, whose arguments fit, to its end. When [`Invocation::cancel`] is
    /// cancelled, stops the call and reports at once: after 500 ms the future is dropped, which
    /// stops the call and loses its audit and accounting.
    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd>;
}

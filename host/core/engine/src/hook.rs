//! Hooks: code around model calls and tool calls that inspects, and may replace or stop them. An
//! embedder's are Rust; those of a configuration are components.

use crate::{BoxFuture, session::Session, tool::Invocation};
use agent_host_types::{
    hook::VerdictKind,
    id::{CallId, SessionId},
    model::{ModelReply, ModelRequest},
    output::ToolResultOutput,
};
use serde_json::{Map, Value};
use std::{future::ready, sync::Arc};

/// The verdict of a hook. The strongest of several counts, and of equals the first: `Fail` >
/// `Fallback` > `Block` > `Retry` > `Modify` > `Pass`.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict<T> {
    /// Continue.
    Pass,
    /// Continue with this value; the next hook sees it. Before the call, the same as `Fallback`.
    Modify(T),
    /// Repeat the call, at most [`MAX_RETRIES`] times; after that, the same as `Pass`. A model is
    /// told the feedback. Before the call, the same as `Pass`.
    Retry(Option<String>),
    /// Stop, for this reason. A blocked model call ends the turn as a refusal; a blocked tool call
    /// is denied, and the result of one that ran is withheld.
    Block(String),
    /// Continue with this value instead.
    Fallback(T),
    /// The hook could not judge, for this reason. After a model's reply, the turn ends with an
    /// error; elsewhere the same as `Block`.
    Fail(String),
}

/// The verdict of a hook about a call that the model requested ([`Hook::review_call`]).
#[derive(Clone, Debug, PartialEq)]
pub enum CallVerdict {
    /// Continue.
    Pass,
    /// Continue with these arguments; the next hook sees them.
    Modify(Arc<Map<String, Value>>),
    /// The call needs approval, whatever the rules say.
    Ask,
    /// The call is denied, for this reason.
    Block(String),
    /// The call does not run, and has this result. It may have neither bytes nor more than
    /// [`crate::spill::INLINE_TEXT_BYTES`] of text.
    Fallback(ToolResultOutput),
}

/// The maximum repetitions of one model call or tool call.
pub const MAX_RETRIES: u32 = 2;

/// The maximum size of a reason or a feedback, in bytes; the rest is cut.
pub const MAX_REASON_BYTES: usize = 2 * 1024;

/// A call that the model requested, before its approval.
#[derive(Clone, Copy, Debug)]
pub struct RequestedCall<'a> {
    /// The session of the call.
    pub session: SessionId,
    /// The id of the call.
    pub call_id: &'a CallId,
    /// The tool's name in the registry.
    pub tool: &'a str,
    /// The arguments, which fit the tool's schema.
    pub input: &'a Map<String, Value>,
    /// The idempotency key of the call.
    pub idempotency_key: &'a str,
}

/// Inspects model calls and tool calls. Every default method passes. Hooks run on the loop: a slow
/// one delays the session.
pub trait Hook: Send + Sync {
    /// Returns the name under which the journal has its verdicts; `None` to record none. A review
    /// is recorded in any case.
    fn name(&self) -> Option<&str> {
        None
    }

    /// Returns text that the system prompt of the next request ends with. Text that stays the same
    /// lets providers cache the request; it may depend on the session alone.
    fn prompt(&self, _session: &Session) -> Option<String> {
        None
    }

    /// Changes the next request before it is recorded and sent. The files of its messages are
    /// references to blobs. The change may depend on the session alone.
    fn prepare_request(&self, _session: &Session, _request: &mut ModelRequest) {}

    /// Runs before a model call. A fallback becomes the reply, without a model call.
    fn before_model<'a>(
        &'a self,
        _request: &'a ModelRequest,
    ) -> BoxFuture<'a, Verdict<ModelReply>> {
        Box::pin(ready(Verdict::Pass))
    }

    /// Runs after a model's reply. `Retry` calls the model again; the discarded reply's tokens
    /// count.
    fn after_model<'a>(
        &'a self,
        _request: &'a ModelRequest,
        _reply: &'a ModelReply,
    ) -> BoxFuture<'a, Verdict<ModelReply>> {
        Box::pin(ready(Verdict::Pass))
    }

    /// Returns whether a reply is shown only after this hook has judged it, and not while it comes.
    fn withholds_replies(&self) -> bool {
        false
    }

    /// Returns whether the hook reviews the calls of a tool. A call that is to be reviewed never
    /// runs without.
    fn reviews(&self, _tool: &str) -> bool {
        false
    }

    /// Reviews a call after the model requested it and before rules and user decide on it, so
    /// that they decide on the arguments that it runs with.
    fn review_call<'a>(&'a self, _call: RequestedCall<'a>) -> BoxFuture<'a, CallVerdict> {
        Box::pin(ready(CallVerdict::Pass))
    }

    /// Runs before a tool, after policy and user allowed it. A fallback becomes the result, and the
    /// tool does not run.
    fn before_tool<'a>(
        &'a self,
        _invocation: &'a Invocation,
    ) -> BoxFuture<'a, Verdict<ToolResultOutput>> {
        Box::pin(ready(Verdict::Pass))
    }

    /// Runs after a tool. `Retry` runs it again with the same idempotency key, unless it is
    /// effectful.
    fn after_tool<'a>(
        &'a self,
        _invocation: &'a Invocation,
        _output: &'a ToolResultOutput,
    ) -> BoxFuture<'a, Verdict<ToolResultOutput>> {
        Box::pin(ready(Verdict::Pass))
    }
}

impl<T> Verdict<T> {
    pub(crate) fn strength(&self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Modify(_) => 1,
            Self::Retry(_) => 2,
            Self::Block(_) => 3,
            Self::Fallback(_) => 4,
            Self::Fail(_) => 5,
        }
    }

    /// Returns its kind and its reason, as the journal has them.
    pub(crate) fn recorded(&self) -> (VerdictKind, Option<&str>) {
        match self {
            Self::Pass => (VerdictKind::Pass, None),
            Self::Modify(_) => (VerdictKind::Modify, None),
            Self::Retry(feedback) => (VerdictKind::Retry, feedback.as_deref()),
            Self::Block(reason) | Self::Fail(reason) => (VerdictKind::Block, Some(reason)),
            Self::Fallback(_) => (VerdictKind::Fallback, None),
        }
    }
}

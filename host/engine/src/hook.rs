//! Hooks: an embedder's code that inspects, and may replace or stop, model calls and tool calls.

use crate::{BoxFuture, tool::Invocation};
use agent_host_types::{
    model::{ModelReply, ModelRequest},
    output::ToolResultOutput,
};
use std::future::ready;

/// The verdict of a hook. The strongest of several counts, and of equals the first: `Fallback` >
/// `Block` > `Retry` > `Pass`.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict<T> {
    /// Continue.
    Pass,
    /// Repeat the call, at most [`MAX_RETRIES`] times. Before the call, the same as `Pass`.
    Retry,
    /// Stop, for this reason. A blocked model call ends the turn as a refusal; a blocked tool call
    /// is denied, and the result of one that ran is withheld.
    Block(String),
    /// Continue with this value instead.
    Fallback(T),
}

/// The maximum repetitions of one model call or tool call. After that, `Retry` is `Pass`.
pub const MAX_RETRIES: u32 = 2;

/// Inspects model calls and tool calls. Every default method passes. Hooks run on the loop: a slow
/// one delays the session.
pub trait Hook: Send + Sync {
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
    /// Returns the stronger of two; `self` if they are equal.
    #[must_use]
    pub fn or_stronger(self, other: Self) -> Self {
        if other.strength() > self.strength() {
            other
        } else {
            self
        }
    }

    fn strength(&self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Retry => 1,
            Self::Block(_) => 2,
            Self::Fallback(_) => 3,
        }
    }
}

//! Hooks: code of an embedder that looks at what goes to and comes from the model and the tools, and may step in.

use crate::{BoxFuture, tool::Invocation};
use agent_host_types::{
    model::{ModelReply, ModelRequest},
    output::ToolResultOutput,
};
use std::future::ready;

/// The verdict of a hook. Of several hooks the strongest verdict counts, and of equal ones the first: `Fallback` beats `Block`,
/// which beats `Retry`, which beats `Pass`.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict<T> {
    /// Continue.
    Pass,
    /// Do it again. Before anything happened, this is `Pass`. The loop bounds how often it listens ([`MAX_RETRIES`]).
    Retry,
    /// Stop here, for this reason. A blocked model call ends the turn as a refusal; a blocked tool call is denied,
    /// and the result of one that ran is withheld.
    Block(String),
    /// Continue with this value instead.
    Fallback(T),
}

/// How often one model call or one tool call is repeated because a hook asked for it. After that, `Retry` is `Pass`.
pub const MAX_RETRIES: u32 = 2;

/// Looks at model calls and tool calls. Every method passes unless it is written otherwise. Hooks run on the loop: a slow
/// one delays the session.
pub trait Hook: Send + Sync {
    /// Before a model is asked. A fallback is the reply, and no model is asked.
    fn before_model<'a>(
        &'a self,
        _request: &'a ModelRequest,
    ) -> BoxFuture<'a, Verdict<ModelReply>> {
        Box::pin(ready(Verdict::Pass))
    }

    /// After a model replied. `Retry` asks it again; the tokens of the reply that is thrown away are counted.
    fn after_model<'a>(
        &'a self,
        _request: &'a ModelRequest,
        _reply: &'a ModelReply,
    ) -> BoxFuture<'a, Verdict<ModelReply>> {
        Box::pin(ready(Verdict::Pass))
    }

    /// Before a tool runs, when policy and user have allowed it. A fallback is the result, and the tool does not run.
    fn before_tool<'a>(
        &'a self,
        _invocation: &'a Invocation,
    ) -> BoxFuture<'a, Verdict<ToolResultOutput>> {
        Box::pin(ready(Verdict::Pass))
    }

    /// After a tool ran. `Retry` runs it again with the same idempotency key, unless it is effectful.
    fn after_tool<'a>(
        &'a self,
        _invocation: &'a Invocation,
        _output: &'a ToolResultOutput,
    ) -> BoxFuture<'a, Verdict<ToolResultOutput>> {
        Box::pin(ready(Verdict::Pass))
    }
}

impl<T> Verdict<T> {
    /// The stronger of two; this one, if they are equally strong.
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

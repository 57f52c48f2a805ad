//! One turn of the loop: at most one model call and the tool calls that it asked for.
//!
//! `Agent::run_turn` is the only way in: the CLI, servers, tests and embedders all call it, and loop while the outcome is
//! `NeedsMoreTurns`. Inside, a short pipeline of steps runs; each takes values and returns values.

mod outcome;

pub use outcome::{
    AgentInput, Budget, CONTINUATION_VERSION, Continuation, ContinuationKind, Decision, Outcome,
    PendingCall, ToolRuntime, TurnError, TurnSummary,
};

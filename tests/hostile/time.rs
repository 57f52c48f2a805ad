//! Section B: guests that take time and stack.

use super::{
    case::{Case, Ends},
    table,
};
use agent_host_core::failure::ToolErrorCode;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::file(
            'B',
            "loop.wat",
            Ends::Failed(ToolErrorCode::Timeout, "300 ms"),
        )
        .limits("deadline-ms = 300"),
        Case::file(
            'B',
            "loop.wat",
            Ends::Failed(ToolErrorCode::Timeout, "300 ms"),
        )
        .named("side by side, with no place left for two of three")
        .limits("deadline-ms = 300")
        .config("[sandbox]\nconcurrent-calls = 1\nqueued-calls = 0")
        .and(Ends::Failed(ToolErrorCode::Busy, "Too many calls"))
        .and(Ends::Failed(ToolErrorCode::Busy, "Too many calls")),
        Case::file(
            'B',
            "recursion.wat",
            Ends::Failed(ToolErrorCode::StackOverflow, "too deep"),
        ),
        Case::file(
            'B',
            "trap.wat",
            Ends::Failed(ToolErrorCode::Trap, "`unreachable`"),
        ),
    ]
}

#[test]
fn time_and_stack() {
    table::run(&cases());
}

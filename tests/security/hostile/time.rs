//! Section B: guests that use up time and stack.

use super::{
    case::{Case, Ends},
    table,
};
use agent_host_types::failure::ToolErrorCode::{
    self, Busy, ResourceLimit, StackOverflow, Timeout, Trap,
};
use serde_json::json;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = [
        "loop.wat",
        "loop-in-post-return.wat",
        "loop-in-realloc.wat",
        "loop-of-tail-calls.wat",
        "loop-of-fills.wat",
        "flood-of-host-calls.wat",
        "flood-of-clock.wat",
        "flood-of-progress.wat",
        "flood-of-wakes.wat",
        "sleep.wat",
        "sleep-without-end.wat",
    ]
    .into_iter()
    .map(|file| Case::file('B', file, Ends::Failed(Timeout, "300 ms")).limits("deadline-ms = 300"))
    .collect();
    let others: [(&str, ToolErrorCode, &str); 6] = [
        ("recursion.wat", StackOverflow, "too deep"),
        ("recursion-in-realloc.wat", StackOverflow, "too deep"),
        ("recursion-through-table.wat", StackOverflow, "too deep"),
        ("pollables.wat", ResourceLimit, "`open-resources`"),
        ("trap.wat", Trap, "`unreachable`"),
        ("exit.wat", Trap, "exit code 1"),
    ];
    cases.extend(others.map(|(file, code, says)| Case::file('B', file, Ends::Failed(code, says))));
    cases.push(
        Case::file('B', "loop.wat", Ends::Failed(Timeout, "300 ms"))
            .named("side by side, with no place left for two of three")
            .limits("deadline-ms = 300")
            .config("[sandbox]\nconcurrent-calls = 1\nqueued-calls = 0")
            .and(Ends::Failed(Busy, "not started"))
            .and(Ends::Failed(Busy, "not started")),
    );
    let mut crowd = Case::file('B', "loop.wat", Ends::Failed(Timeout, "300 ms"))
        .named("sixteen in one reply")
        .limits("deadline-ms = 300");
    for _ in 1..16 {
        crowd = crowd.and(Ends::Failed(Timeout, "300 ms"));
    }
    cases.push(crowd);
    // Its stdin ends at once, whatever the program's own is.
    cases.push(Case::file(
        'B',
        "read-stdin.wat",
        Ends::Returned(json!({"type": "text", "value": "11"})),
    ));
    cases
}

#[test]
fn time_and_stack() {
    table::run(&cases());
}

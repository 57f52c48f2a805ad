use super::*;
use futures_util::FutureExt as _;
use pretty_assertions::assert_eq;

/// Reserves at once, or returns `None` if that has to wait.
fn now(tool: &ToolResults, bytes: usize) -> Option<Result<ResultPermit, ToolFailure>> {
    tool.reserve(bytes).now_or_never()
}

#[test]
fn result_waits_until_others_have_ended() {
    let budget = ResultBudget::new(8 * UNIT);
    let (one, other, third) = (budget.tool(), budget.tool(), budget.tool());
    let first = now(&one, 4 * UNIT).unwrap().unwrap();
    let second = now(&other, 3 * UNIT + 1).unwrap().unwrap();
    assert!(now(&third, 1).is_none());
    drop(second);
    assert!(now(&third, 4 * UNIT).is_some());
    drop(first);
}

#[test]
fn tool_holds_at_most_half_at_once() {
    let budget = ResultBudget::new(8 * UNIT);
    let (flood, other) = (budget.tool(), budget.tool());
    let held = now(&flood, 3 * UNIT).unwrap().unwrap();
    // Waits for its own share, and takes nothing of the rest.
    let mut waiting = Box::pin(flood.reserve(2 * UNIT));
    assert!((&mut waiting).now_or_never().is_none());
    assert!(now(&other, 4 * UNIT).unwrap().is_ok());
    drop(held);
    assert!(waiting.now_or_never().unwrap().is_ok());
}

#[test]
fn result_larger_than_the_budget_is_refused() {
    let tool = ResultBudget::new(8 * UNIT).tool();
    assert!(now(&tool, 8 * UNIT).unwrap().is_ok());
    let failure = now(&tool, 8 * UNIT + 1).unwrap().err().unwrap();
    assert_eq!(failure.code, ToolErrorCode::OutputTooLarge);
    assert_eq!(
        failure.message(),
        "Converting the tool's result can take 8193 bytes of memory, and the limit for all results together is 8192 \
         (limit `result-memory-bytes`). Ask it for less, such as one part at a time."
    );
}

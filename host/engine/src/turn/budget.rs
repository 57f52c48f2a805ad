//! Checks the budgets against the usage of a session.

use crate::session::{SessionState, Spent};
use agent_host_types::{
    budget::{Budget, Budgets},
    id::Digest,
};
use std::time::Duration;

/// Returns the budget that is used up, so that no model is called. `elapsed` is the duration of the
/// turn so far.
pub(super) fn exceeded(
    budgets: &Budgets,
    state: &SessionState,
    elapsed: Duration,
) -> Option<Budget> {
    let spent = state.spent();
    if spent.turns >= budgets.turns {
        return Some(Budget::Turns {
            limit: budgets.turns,
        });
    }
    let used = spent
        .usage
        .input_tokens
        .saturating_add(spent.usage.output_tokens);
    if let Some(limit) = budgets.tokens.filter(|limit| used >= *limit) {
        return Some(Budget::Tokens { limit, used });
    }
    if let Some(budget) = budgets.usd {
        let known = spent.usage.cost_micros;
        let used_micros = known.unwrap_or_else(|| budget.price.micros(spent.usage));
        if used_micros >= budget.micros {
            return Some(Budget::Usd {
                limit_micros: budget.micros,
                used_micros,
            });
        }
    }
    let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    let used_ms = spent.wall_ms.saturating_add(elapsed_ms);
    budgets
        .wall_ms
        .filter(|limit_ms| used_ms >= *limit_ms)
        .map(|limit_ms| Budget::WallClock { limit_ms, used_ms })
}

/// Returns the budget that a call would exceed, after the `admitted` calls of the same batch.
pub(super) fn refusing(
    budgets: &Budgets,
    spent: &Spent,
    call: &(String, Digest),
    admitted: &[(String, Digest)],
) -> Option<Budget> {
    let further = admitted.len() as u64;
    if let Some(limit) = budgets
        .tool_calls
        .filter(|limit| spent.calls + further >= *limit)
    {
        return Some(Budget::ToolCalls { limit });
    }
    let same = admitted.iter().filter(|other| *other == call).count() as u64;
    budgets
        .repeats
        .filter(|limit| spent.repeats(call) + same >= *limit)
        .map(|limit| Budget::Repeats {
            tool: call.0.clone(),
            limit,
        })
}

/// Returns the result of a call that this budget refused.
pub(super) fn refusal(budget: &Budget) -> String {
    match budget {
        Budget::ToolCalls { limit } => format!(
            "This call did not run: the budget of {limit} tool calls for one message is used up. Answer with what you have."
        ),
        Budget::Repeats { tool, limit } => format!(
            "This call did not run: `{tool}` already ran {limit} times with exactly these arguments. Change the arguments, or answer with what you have."
        ),
        _ => "This call did not run: a budget of this run is used up.".to_owned(),
    }
}

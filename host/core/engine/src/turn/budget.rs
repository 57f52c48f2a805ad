//! Checks the budgets against the usage of a session.

use crate::session::SessionState;
use agent_host_types::budget::{Budget, Budgets, Price, UsdBudget};
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

/// An even share of what is left of the budgets, for each agent of a group. An absent one does not
/// bound.
#[derive(Clone, Debug, Default)]
pub(super) struct Share {
    tokens: Option<u64>,
    usd: Option<UsdBudget>,
    wall_ms: Option<u64>,
    tool_calls: Option<u64>,
}

/// Divides what is left of the budgets by the number of agents, besides what others hold. Time is
/// not divided: they run side by side.
pub(super) fn share(
    budgets: &Budgets,
    state: &SessionState,
    agents: usize,
    others: &[&Share],
) -> Share {
    let spent = state.spent();
    let agents = (agents as u64).max(1);
    let held = |of: fn(&Share) -> Option<u64>| others.iter().filter_map(|other| of(other)).sum();
    let left = |limit: u64, used: u64, of| {
        let held: u64 = held(of);
        limit.saturating_sub(used).saturating_sub(held) / agents
    };
    let tokens = spent
        .usage
        .input_tokens
        .saturating_add(spent.usage.output_tokens);
    let known_cost = spent.usage.cost_micros;
    Share {
        tokens: budgets
            .tokens
            .map(|limit| left(limit, tokens, |share| share.tokens)),
        usd: budgets.usd.map(|budget| {
            let used = known_cost.unwrap_or_else(|| budget.price.micros(spent.usage));
            UsdBudget {
                micros: left(budget.micros, used, |share| share.usd.map(|usd| usd.micros)),
                ..budget
            }
        }),
        wall_ms: budgets
            .wall_ms
            .map(|limit| limit.saturating_sub(spent.wall_ms)),
        tool_calls: budgets
            .tool_calls
            .map(|limit| left(limit, spent.calls, |share| share.tool_calls)),
    }
}

impl Share {
    /// Returns the budgets of an agent with budgets of its own and a model of this price. Where the
    /// price is not known, that of the model which starts it counts.
    pub(super) fn within(&self, own: &Budgets, price: Option<Price>) -> Budgets {
        let least = |own: Option<u64>, share: Option<u64>| match (own, share) {
            (Some(own), Some(share)) => Some(own.min(share)),
            (own, share) => own.or(share),
        };
        let usd = match (own.usd, self.usd) {
            (Some(own), Some(share)) => Some(UsdBudget {
                micros: own.micros.min(share.micros),
                ..own
            }),
            (None, Some(share)) => Some(UsdBudget {
                price: price.unwrap_or(share.price),
                ..share
            }),
            (own, None) => own,
        };
        Budgets {
            turns: own.turns,
            tokens: least(own.tokens, self.tokens),
            usd,
            wall_ms: least(own.wall_ms, self.wall_ms),
            tool_calls: least(own.tool_calls, self.tool_calls),
            repeats: own.repeats,
        }
    }
}

/// Returns the budget that one more call of a tool would exceed, after `calls` calls, `repeats` of
/// them of this tool with the same arguments.
pub(super) fn refusing(budgets: &Budgets, calls: u64, tool: &str, repeats: u64) -> Option<Budget> {
    if let Some(limit) = budgets.tool_calls.filter(|limit| calls >= *limit) {
        return Some(Budget::ToolCalls { limit });
    }
    budgets
        .repeats
        .filter(|limit| repeats >= *limit)
        .map(|limit| Budget::Repeats {
            tool: tool.to_owned(),
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

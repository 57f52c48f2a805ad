//! What one message of the person may cost before the loop stops and asks whether it is to go on.
//!
//! Every budget counts from the person's last message. Model calls and their cost are held to it before a model is asked,
//! calls before they run. What waits for a person costs no time.

use crate::{
    model::Usage,
    session::{SessionState, Spent},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The budgets of a run. An absent one does not bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// The model's replies. A final answer on the last one is an answer.
    pub turns: u64,
    /// The tokens that the model reads and writes.
    pub tokens: Option<u64>,
    /// What the model costs.
    pub usd: Option<UsdBudget>,
    /// The time of all turns, in milliseconds.
    pub wall_ms: Option<u64>,
    /// The tool calls that run.
    pub tool_calls: Option<u64>,
    /// How often the same tool runs with the same arguments.
    pub repeats: Option<u64>,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            turns: 50,
            tokens: None,
            usd: None,
            wall_ms: None,
            tool_calls: None,
            repeats: None,
        }
    }
}

/// A budget of money, with what the model costs. Both are whole millionths of a US dollar, so that sums are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsdBudget {
    /// What may be spent, in millionths of a dollar.
    pub micros: u64,
    /// What tokens cost.
    pub price: Price,
}

/// What a model costs for a million tokens of each kind, in millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// Tokens read that were not in the provider's cache.
    pub input_micros: u64,
    /// Tokens read from the provider's cache.
    pub cached_input_micros: u64,
    /// Tokens written.
    pub output_micros: u64,
}

impl Price {
    /// What these tokens cost, in millionths of a dollar, rounded up: a budget is never passed by rounding.
    #[must_use]
    pub fn micros(&self, usage: Usage) -> u64 {
        let fresh = usage.input_tokens.saturating_sub(usage.cached_input_tokens);
        let cost = |tokens: u64, micros: u64| u128::from(tokens) * u128::from(micros);
        let sum = cost(fresh, self.input_micros)
            .saturating_add(cost(usage.cached_input_tokens, self.cached_input_micros))
            .saturating_add(cost(usage.output_tokens, self.output_micros));
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// Which budget ended a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Budget {
    /// [`Budgets::turns`].
    Turns {
        /// How many are allowed.
        limit: u64,
    },
    /// [`Budgets::tokens`].
    Tokens {
        /// How many are allowed.
        limit: u64,
        /// How many were used.
        used: u64,
    },
    /// [`Budgets::usd`].
    Usd {
        /// What may be spent, in millionths of a dollar.
        limit_micros: u64,
        /// What was spent, in millionths of a dollar.
        used_micros: u64,
    },
    /// [`Budgets::wall_ms`].
    WallClock {
        /// How long the turns may take, in milliseconds.
        limit_ms: u64,
        /// How long they took, in milliseconds.
        used_ms: u64,
    },
    /// [`Budgets::tool_calls`]. The calls beyond it were answered without running.
    ToolCalls {
        /// How many are allowed.
        limit: u64,
    },
    /// [`Budgets::repeats`]. The repetition was answered without running.
    Repeats {
        /// The tool that was called again with the same arguments.
        tool: String,
        /// How often it may run with them.
        limit: u64,
    },
}

impl Budgets {
    /// The budget that is used up, so that no model is asked. `elapsed` is the time of the turn so far.
    pub(super) fn exceeded(&self, state: &SessionState, elapsed: Duration) -> Option<Budget> {
        let spent = state.spent();
        if spent.turns >= self.turns {
            return Some(Budget::Turns { limit: self.turns });
        }
        let used = spent
            .usage
            .input_tokens
            .saturating_add(spent.usage.output_tokens);
        if let Some(limit) = self.tokens.filter(|limit| used >= *limit) {
            return Some(Budget::Tokens { limit, used });
        }
        if let Some(budget) = self.usd {
            let used_micros = budget.price.micros(spent.usage);
            if used_micros >= budget.micros {
                return Some(Budget::Usd {
                    limit_micros: budget.micros,
                    used_micros,
                });
            }
        }
        let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        let used_ms = spent.wall_ms.saturating_add(elapsed_ms);
        self.wall_ms
            .filter(|limit_ms| used_ms >= *limit_ms)
            .map(|limit_ms| Budget::WallClock { limit_ms, used_ms })
    }

    /// The budget that a call would pass, after `admitted` further calls of which `same` were just like it.
    pub(super) fn refuses(
        &self,
        spent: &Spent,
        call: &(String, crate::id::Digest),
        admitted: &[(String, crate::id::Digest)],
    ) -> Option<Budget> {
        let further = admitted.len() as u64;
        if let Some(limit) = self
            .tool_calls
            .filter(|limit| spent.calls + further >= *limit)
        {
            return Some(Budget::ToolCalls { limit });
        }
        let same = admitted.iter().filter(|other| *other == call).count() as u64;
        self.repeats
            .filter(|limit| spent.repeats(call) + same >= *limit)
            .map(|limit| Budget::Repeats {
                tool: call.0.clone(),
                limit,
            })
    }
}

impl Budget {
    /// What the model reads of a call that this budget kept from running.
    pub(super) fn refusal(&self) -> String {
        match self {
            Self::ToolCalls { limit } => format!(
                "This call did not run: the budget of {limit} tool calls for one message is used up. Answer with what you have."
            ),
            Self::Repeats { tool, limit } => format!(
                "This call did not run: `{tool}` already ran {limit} times with exactly these arguments. Change the arguments, or answer with what you have."
            ),
            Self::Turns { .. }
            | Self::Tokens { .. }
            | Self::Usd { .. }
            | Self::WallClock { .. } => {
                "This call did not run: a budget of this run is used up.".to_owned()
            }
        }
    }
}

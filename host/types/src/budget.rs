//! What one message of the person may cost before the loop stops and asks whether it is to go on.
//!
//! Every budget counts from the person's last message. Model calls and their cost are held to it before a model is asked,
//! calls before they run. What waits for a person costs no time.

use crate::model::Usage;
use serde::{Deserialize, Serialize};

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

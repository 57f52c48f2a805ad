//! The budgets of a run: bounds on the cost of one message of the user.
//!
//! Every budget counts from the user's last message. Tokens, money, time and model calls are
//! checked before a model call, tool calls before they run. Time spent waiting for the user is not
//! counted.

use crate::model::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The budgets of a run; an absent one does not bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budgets {
    /// The model's replies. The last one may still be the final answer.
    pub turns: u64,
    /// The tokens that the model reads and writes.
    pub tokens: Option<u64>,
    /// The cost of the model.
    pub usd: Option<UsdBudget>,
    /// The duration of all turns, in milliseconds.
    pub wall_ms: Option<u64>,
    /// The tool calls that run.
    pub tool_calls: Option<u64>,
    /// The runs of one tool with the same arguments.
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

/// A budget of money, with the model's price. Both are whole millionths of a US dollar, so that
/// sums are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsdBudget {
    /// The budget, in millionths of a dollar.
    pub micros: u64,
    /// The price of tokens whose cost was not known when they were used.
    pub price: Price,
}

/// The price of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The price of tokens.
    pub tokens: TokenPrices,
    /// That of all tokens of a long request; absent where they have the same.
    pub long_context: Option<LongContext>,
}

/// The price of long requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongContext {
    /// The number of read tokens above which it holds.
    pub above_tokens: u64,
    /// The price of tokens.
    pub tokens: TokenPrices,
}

/// The price of a million tokens of each kind, in millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenPrices {
    /// Tokens read that were neither read from the provider's cache nor written to it.
    pub input_micros: u64,
    /// Tokens read from the provider's cache.
    pub cached_input_micros: u64,
    /// Tokens written to the provider's cache.
    pub cache_write_micros: u64,
    /// Tokens written.
    pub output_micros: u64,
}

impl Price {
    /// Returns the cost of a request and its reply in millionths of a dollar, rounded up, so that
    /// rounding never exceeds a budget.
    #[must_use]
    pub fn micros(&self, usage: Usage) -> u64 {
        let long = self
            .long_context
            .filter(|long| usage.input_tokens > long.above_tokens);
        long.map_or(self.tokens, |long| long.tokens).micros(usage)
    }

    /// Returns a price that neither exceeds.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        let long = |price: Self| {
            let above_tokens = price
                .long_context
                .map_or(u64::MAX, |long| long.above_tokens);
            (
                above_tokens,
                price.long_context.map_or(price.tokens, |long| long.tokens),
            )
        };
        let ((above, tokens), (other_above, other_tokens)) = (long(self), long(other));
        Self {
            tokens: self.tokens.max(other.tokens),
            long_context: self
                .long_context
                .or(other.long_context)
                .map(|_| LongContext {
                    above_tokens: above.min(other_above),
                    tokens: tokens.max(other_tokens),
                }),
        }
    }
}

impl TokenPrices {
    fn max(self, other: Self) -> Self {
        Self {
            input_micros: self.input_micros.max(other.input_micros),
            cached_input_micros: self.cached_input_micros.max(other.cached_input_micros),
            cache_write_micros: self.cache_write_micros.max(other.cache_write_micros),
            output_micros: self.output_micros.max(other.output_micros),
        }
    }

    fn micros(&self, usage: Usage) -> u64 {
        let (cached, stored) = (usage.cached_input_tokens, usage.cache_write_tokens);
        let fresh = usage.input_tokens.saturating_sub(cached);
        let fresh = fresh.saturating_sub(stored);
        let cost = |tokens: u64, micros: u64| u128::from(tokens) * u128::from(micros);
        let sum = cost(fresh, self.input_micros)
            .saturating_add(cost(cached, self.cached_input_micros))
            .saturating_add(cost(stored, self.cache_write_micros))
            .saturating_add(cost(usage.output_tokens, self.output_micros));
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// The budget that ended a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Budget {
    /// [`Budgets::turns`].
    Turns {
        /// The allowed number.
        limit: u64,
    },
    /// [`Budgets::tokens`].
    Tokens {
        /// The allowed number.
        limit: u64,
        /// The used number.
        used: u64,
    },
    /// [`Budgets::usd`].
    Usd {
        /// The budget, in millionths of a dollar.
        limit_micros: u64,
        /// The amount spent, in millionths of a dollar.
        used_micros: u64,
    },
    /// [`Budgets::wall_ms`].
    WallClock {
        /// The allowed duration, in milliseconds.
        limit_ms: u64,
        /// The duration of the turns, in milliseconds.
        used_ms: u64,
    },
    /// [`Budgets::tool_calls`]. The calls beyond it were answered without running.
    ToolCalls {
        /// The allowed number.
        limit: u64,
    },
    /// [`Budgets::repeats`]. The repetition was answered without running.
    Repeats {
        /// The tool of the repeated call.
        tool: String,
        /// The allowed number of runs.
        limit: u64,
    },
}

impl Budget {
    /// Returns the name, as in JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

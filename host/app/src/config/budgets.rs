//! `max-turns`, `[budgets]`, and their options of the command line.

use super::{
    ConfigError, ModelConfig, Overrides,
    model::Chosen,
    prices::{Prices, micros, not_an_amount},
    problem::{config_error, resolve_steps},
    section::section,
};
use agent_host_types::budget::{Budgets, Price, UsdBudget};

section! {
    /// `[budgets]`, each of one user message.
    #[derive(Copy, Default)]
    #[serde(default)]
    pub(super) struct RawBudgets {
        /// Tokens that the model reads and writes.
        tokens [Lower, Variable("AGENT_HOST_MAX_TOTAL_TOKENS"), Number]: Option<u64> => pinned;
        /// US dollars.
        usd [Lower, Variable("AGENT_HOST_MAX_USD"), Number]: Option<f64> => pinned;
        /// The time of all turns, excluding waits for approval.
        wall_clock_seconds [Lower]: Option<u64>, in seconds => pinned;
        /// Tool calls that run.
        tool_calls [Lower]: Option<u64> => pinned;
        /// Calls of one tool with the same arguments.
        identical_repeats [Lower]: Option<u64> => pinned;
    }
}

/// Resolves the budgets of a run with these models, any of which may answer.
pub(super) fn resolve(
    max_turns: u64,
    raw: RawBudgets,
    prices: &Prices,
    overrides: &Overrides,
    models: &Chosen<'_>,
) -> Result<Budgets, ConfigError> {
    resolve_steps! {
        turns = turns(overrides.max_turns, max_turns);
        tokens = count("--max-total-tokens", overrides.max_total_tokens, raw.tokens, "tokens");
        usd = usd_budget(overrides.max_usd, raw.usd, prices, models);
        wall_seconds = count("", None, raw.wall_clock_seconds, "wall-clock-seconds");
        tool_calls = count("--max-tool-calls", overrides.max_tool_calls, raw.tool_calls, "tool-calls");
        repeats = count("", None, raw.identical_repeats, "identical-repeats");
    }
    Ok(Budgets {
        turns,
        tokens,
        usd,
        wall_ms: wall_seconds.map(|seconds| seconds.saturating_mul(1000)),
        tool_calls,
        repeats,
    })
}

fn turns(flag: Option<u64>, key: u64) -> Result<u64, ConfigError> {
    match flag.unwrap_or(key) {
        0 => Err(config_error!(
            flag.map_or("max-turns", |_| "--max-turns"),
            "`max-turns` is 0, so the model would never be called",
            "set it to at least 1, or leave it out"
        )
        .with_value(0)),
        number => Ok(number),
    }
}

/// Returns the number of the command line, or else that of `[budgets]`.
fn count(
    option: &str,
    flag: Option<u64>,
    key: Option<u64>,
    name: &str,
) -> Result<Option<u64>, ConfigError> {
    match flag.or(key) {
        Some(0) => {
            let fix = "set it to at least 1, or leave it out";
            Err(used_up(option, flag.is_some(), name, fix))
        }
        number => Ok(number),
    }
}

fn used_up(option: &str, is_flag: bool, name: &str, fix: &str) -> ConfigError {
    let key = if is_flag {
        option.to_owned()
    } else {
        format!("budgets.{name}")
    };
    config_error!(
        &key,
        "the budget `{name}` is 0, which would be used up at once",
        "{fix}"
    )
    .with_value(0)
}

fn usd_budget(
    flag: Option<f64>,
    key: Option<f64>,
    prices: &Prices,
    models: &Chosen<'_>,
) -> Result<Option<UsdBudget>, ConfigError> {
    let Some(dollars) = flag.or(key) else {
        return Ok(None);
    };
    let place = flag.map_or("budgets.usd", |_| "--max-usd");
    let micros = match micros(dollars) {
        Some(0) => {
            let fix = "set it to an amount, or leave it out";
            return Err(used_up("--max-usd", flag.is_some(), "usd", fix));
        }
        Some(micros) => micros,
        None => return Err(not_an_amount(place, dollars, "the budget `usd`")),
    };
    let price = highest_price(place, prices, models)?;
    Ok(Some(UsdBudget { micros, price }))
}

/// Returns a price that none of the models exceeds, so that a budget holds whichever answers. `key`
/// is that of the budget.
fn highest_price(key: &str, prices: &Prices, models: &Chosen<'_>) -> Result<Price, ConfigError> {
    models
        .iter()
        .try_fold(Price::default(), |highest, (name, model)| {
            Ok(highest.max(price(key, prices, name, *model)?))
        })
}

/// Returns the price of a model. Scripts cost nothing unless a price says so.
fn price(
    key: &str,
    prices: &Prices,
    name: &str,
    model: Option<&ModelConfig>,
) -> Result<Price, ConfigError> {
    match prices.of(name, model) {
        Some(price) => Ok(price),
        None if name.starts_with("script:") => Ok(Price::default()),
        None => {
            let name = name.escape_debug();
            Err(config_error!(
                key,
                "there is a budget in US dollars but no price for the model `{name}`, so the budget could not be \
                 enforced",
                "add [prices.\"{name}\"] with `input` and `output`, in US dollars per million tokens, or remove the \
                 budget"
            ))
        }
    }
}

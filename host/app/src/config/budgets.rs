//! `max-turns`, `[budgets]`, `[prices]`, and their options of the command line.

use super::{
    ConfigError, Overrides, patterns,
    problem::{Problems, config_error, key_path, resolve_steps},
    raw::{RawBudgets, RawPrice},
};
use agent_host_types::budget::{Budgets, Price, UsdBudget};
use std::collections::BTreeMap;

/// The decimal places of a dollar that count.
const USD_PLACES: usize = 6;

/// Prices by model names, or by beginnings of names and a `*`.
type Prices = BTreeMap<String, Price>;

/// Resolves the budgets of a run with these models, `PROVIDER:NAME`, any of which may answer.
pub(super) fn resolve(
    max_turns: Option<u64>,
    raw: RawBudgets,
    raw_prices: BTreeMap<String, RawPrice>,
    overrides: &Overrides,
    models: &[String],
) -> Result<Budgets, ConfigError> {
    resolve_steps! {
        turns = turns(overrides.max_turns, max_turns);
        tokens = count("--max-total-tokens", overrides.max_total_tokens, raw.tokens, "tokens");
        usd = prices(raw_prices)
            .and_then(|prices| usd_budget(overrides.max_usd, raw.usd, &prices, models));
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

fn turns(flag: Option<u64>, key: Option<u64>) -> Result<u64, ConfigError> {
    match flag.or(key) {
        Some(0) => Err(config_error!(
            flag.map_or("max-turns", |_| "--max-turns"),
            "`max-turns` is 0, which would never ask the model",
            "set it to at least 1, or leave it out"
        )
        .with_value(0)),
        number => Ok(number.unwrap_or(Budgets::default().turns)),
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
        "the budget `{name}` is 0, which is used up before anything is done",
        "{fix}"
    )
    .with_value(0)
}

fn usd_budget(
    flag: Option<f64>,
    key: Option<f64>,
    prices: &Prices,
    models: &[String],
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

fn not_an_amount(key: &str, dollars: f64, what: &str) -> ConfigError {
    config_error!(
        key,
        "{what} is {dollars}, which is not an amount of US dollars",
        "write a number that is not negative, with at most {USD_PLACES} decimal places"
    )
    .with_value(dollars)
}

/// Returns dollars in millionths, of which sums are exact; none for what is not a whole number of
/// them.
fn micros(dollars: f64) -> Option<u64> {
    // The shortest decimal form of the number: what was written.
    let text = dollars.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    if fraction.len() > USD_PLACES {
        return None;
    }
    format!("{whole}{fraction:0<USD_PLACES$}").parse().ok()
}

/// Returns a price that none of the models exceeds, so that a budget holds whichever answers. `key`
/// is that of the budget.
fn highest_price(key: &str, prices: &Prices, models: &[String]) -> Result<Price, ConfigError> {
    models.iter().try_fold(Price::default(), |highest, model| {
        let price = price(key, prices, model)?;
        Ok(Price {
            input_micros: highest.input_micros.max(price.input_micros),
            cached_input_micros: highest.cached_input_micros.max(price.cached_input_micros),
            cache_write_micros: highest.cache_write_micros.max(price.cache_write_micros),
            output_micros: highest.output_micros.max(price.output_micros),
        })
    })
}

/// Returns the price of a model: its own, or else that of the longest matching pattern. Scripts
/// cost nothing unless a price says so.
fn price(key: &str, prices: &Prices, model: &str) -> Result<Price, ConfigError> {
    match patterns::longest_match(prices, model) {
        Some((_, price)) => Ok(*price),
        None if model.starts_with("script:") => Ok(Price::default()),
        None => {
            let model = model.escape_debug();
            Err(config_error!(
                key,
                "there is a budget of US dollars and no price of the model `{model}`, so that \
                 nothing would enforce it",
                "add [prices.\"{model}\"] with `input` and `output`, in US dollars for a million \
                 tokens, or remove the budget"
            ))
        }
    }
}

/// Resolves every price, also of models that are not used now.
fn prices(raw: BTreeMap<String, RawPrice>) -> Result<Prices, ConfigError> {
    let mut problems = Problems::default();
    let mut prices = Prices::new();
    for (name, price) in raw {
        let key = format!("prices.{}", key_path(&name));
        problems.take(patterns::check(&name, "prices").map_err(|error| error.with_key(&key)));
        let price = problems.take(resolve_price(&name, price));
        prices.extend(price.map(|price| (name, price)));
    }
    problems.or(prices)
}

fn resolve_price(name: &str, raw: RawPrice) -> Result<Price, ConfigError> {
    let micros = |dollars, key: &str| {
        micros(dollars).ok_or_else(|| {
            let what = format!("`{key}` of [prices.\"{}\"]", name.escape_debug());
            not_an_amount(&format!("prices.{}.{key}", key_path(name)), dollars, &what)
        })
    };
    let input_micros = micros(raw.input, "input")?;
    let cache_write_micros = match raw.cache_write {
        Some(dollars) => micros(dollars, "cache-write")?,
        // 1.25 times the input, which is Anthropic's price of the five minutes that are the default
        // ("Prompt caching" in its documentation). No other provider counts such tokens.
        None => input_micros.saturating_add(input_micros.div_ceil(4)),
    };
    Ok(Price {
        input_micros,
        cache_write_micros,
        cached_input_micros: micros(raw.cached_input.unwrap_or(raw.input), "cached-input")?,
        output_micros: micros(raw.output, "output")?,
    })
}

//! `max-turns`, `[budgets]` and `[prices]`, and what the command line says of them.

use super::{ConfigError, Overrides, RawBudgets, RawConfig, RawPrice};
use agent_host_types::budget::{Budgets, Price, UsdBudget};
use toml::Spanned;

/// The decimal places of a dollar that count.
const USD_PLACES: usize = 6;

/// The budgets of a run with these models, `PROVIDER:NAME`, any of which may answer.
pub(super) fn resolve(
    raw: &RawConfig,
    overrides: &Overrides,
    models: &[String],
) -> Result<Budgets, ConfigError> {
    let span = raw.budgets.as_ref().map(Spanned::span);
    of_table(raw, overrides, models).map_err(|error| match span {
        Some(span) => error.at(&span),
        None => error,
    })
}

fn of_table(
    raw: &RawConfig,
    overrides: &Overrides,
    models: &[String],
) -> Result<Budgets, ConfigError> {
    let RawBudgets {
        tokens,
        usd,
        wall_clock_seconds,
        tool_calls,
        identical_repeats,
    } = raw
        .budgets
        .as_ref()
        .map(|raw| *raw.get_ref())
        .unwrap_or_default();
    let wall_clock_seconds = count(None, wall_clock_seconds, "wall-clock-seconds")?;
    Ok(Budgets {
        turns: max_turns(overrides.max_turns.or(raw.max_turns))?,
        tokens: count(overrides.max_total_tokens, tokens, "tokens")?,
        usd: match overrides.max_usd.or(usd) {
            Some(dollars) => Some(UsdBudget {
                micros: amount(dollars, "the budget `usd`")?,
                price: highest_price(raw, models)?,
            }),
            None => None,
        },
        wall_ms: wall_clock_seconds.map(|seconds| seconds.saturating_mul(1000)),
        tool_calls: count(overrides.max_tool_calls, tool_calls, "tool-calls")?,
        repeats: count(None, identical_repeats, "identical-repeats")?,
    })
}

fn max_turns(number: Option<u64>) -> Result<u64, ConfigError> {
    match number {
        Some(0) => Err(ConfigError::new(
            "`max-turns` is 0, which would never ask the model; set it to at least 1, or leave it out",
        )),
        Some(number) => Ok(number),
        None => Ok(Budgets::default().turns),
    }
}

/// The number of the command line, or else that of `[budgets]`.
fn count(flag: Option<u64>, key: Option<u64>, name: &str) -> Result<Option<u64>, ConfigError> {
    match flag.or(key) {
        Some(0) => Err(ConfigError::new(format!(
            "the budget `{name}` is 0, which is used up before anything is done; set it to at least 1, or leave it out"
        ))),
        number => Ok(number),
    }
}

/// An amount of money that is not nothing.
fn amount(dollars: f64, what: &str) -> Result<u64, ConfigError> {
    match micros(dollars) {
        Some(0) => Err(ConfigError::new(format!(
            "{what} is 0, which is used up before anything is done; set it to an amount, or leave it out"
        ))),
        Some(micros) => Ok(micros),
        None => Err(no_amount(dollars, what)),
    }
}

/// A price, which may be nothing.
fn price_of(dollars: f64, name: &str, model: &str) -> Result<u64, ConfigError> {
    micros(dollars).ok_or_else(|| {
        let model = model.escape_debug();
        no_amount(dollars, &format!("`{name}` of [prices.\"{model}\"]"))
    })
}

fn no_amount(dollars: f64, what: &str) -> ConfigError {
    ConfigError::new(format!(
        "{what} is {dollars}, which is no amount of US dollars; write a number that is not negative, with at most \
         {USD_PLACES} decimal places"
    ))
}

/// Dollars in whole millionths, of which sums are exact; nothing for what is not a whole number of those.
fn micros(dollars: f64) -> Option<u64> {
    // The shortest decimal form of the number: what was written.
    let text = dollars.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    if fraction.len() > USD_PLACES {
        return None;
    }
    format!("{whole}{fraction:0<USD_PLACES$}").parse().ok()
}

/// What none of the models exceeds, so that a budget holds whichever answers.
fn highest_price(raw: &RawConfig, models: &[String]) -> Result<Price, ConfigError> {
    models.iter().try_fold(Price::default(), |highest, model| {
        let price = price(raw, model)?;
        Ok(Price {
            input_micros: highest.input_micros.max(price.input_micros),
            cached_input_micros: highest.cached_input_micros.max(price.cached_input_micros),
            output_micros: highest.output_micros.max(price.output_micros),
        })
    })
}

/// What the model costs: its own price, or else that of the longest pattern that it fits. Scripts cost nothing unless a price
/// says so.
fn price(raw: &RawConfig, model: &str) -> Result<Price, ConfigError> {
    let exact = raw.prices.get_key_value(model);
    let by_pattern = || {
        let fits = |pattern: &String| {
            pattern
                .strip_suffix('*')
                .is_some_and(|beginning| model.starts_with(beginning))
        };
        let fitting = raw.prices.iter().filter(|(pattern, _)| fits(pattern));
        fitting.max_by_key(|(pattern, _)| pattern.len())
    };
    match exact.or_else(by_pattern) {
        Some((name, price)) => resolve_price(name, price),
        None if model.starts_with("script:") => Ok(Price::default()),
        None => Err(ConfigError::new(format!(
            "there is a budget of US dollars and no price of the model `{0}`, so that nothing would hold it; add \
             [prices.\"{0}\"] with `input` and `output`, in US dollars for a million tokens, or remove the budget",
            model.escape_debug()
        ))),
    }
}

/// Checks every price, also of models that are not used now.
pub(super) fn check_prices(raw: &RawConfig) -> Result<(), ConfigError> {
    for (name, price) in &raw.prices {
        resolve_price(name, price)?;
        let beginning = name.strip_suffix('*').unwrap_or(name);
        if beginning.contains('*') || !beginning.contains(':') {
            return Err(ConfigError::new(format!(
                "`{}` in [prices] is no model; write it like \"openai-compat:llama3.2\", or \"openai-compat:*\" for every \
                 model whose name begins so",
                name.escape_debug()
            ))
            .at(&price.span()));
        }
    }
    Ok(())
}

fn resolve_price(name: &str, raw: &Spanned<RawPrice>) -> Result<Price, ConfigError> {
    let RawPrice {
        input,
        cached_input,
        output,
    } = *raw.get_ref();
    let micros = |dollars, key| price_of(dollars, key, name).map_err(|error| error.at(&raw.span()));
    Ok(Price {
        input_micros: micros(input, "input")?,
        cached_input_micros: micros(cached_input.unwrap_or(input), "cached-input")?,
        output_micros: micros(output, "output")?,
    })
}

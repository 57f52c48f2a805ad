//! `[prices]`, and the prices and windows of known models.

use super::{
    ConfigError, ModelConfig, patterns,
    problem::{Problems, config_error, key_path},
    review::{Danger, Review, quoted},
    section::section,
};
use agent_host_types::budget::{LongContext, Price, TokenPrices};
use serde::Deserialize;
use std::{collections::BTreeMap, fmt};

/// The prices and windows of current models, written by `data/update-models`.
const KNOWN: &str = include_str!("../../data/models.toml");

/// The decimal places of a dollar that count.
pub(super) const USD_PLACES: usize = 6;

section! {
    /// One of `[prices]`, in US dollars per million tokens.
    #[derive(Copy)]
    pub(super) struct RawPrice {
        /// Tokens read.
        input: f64 => together;
        /// Tokens read from the provider's cache; absent for the price of `input`.
        cached_input: Option<f64> => together;
        /// Tokens written to the provider's cache; absent for 1.25 times the price of `input`.
        cache_write: Option<f64> => together;
        /// Tokens written.
        output: f64 => together;
        /// The price of long requests.
        long_context: Option<RawLongContext> => together;
    }
}

section! {
    /// `long-context` of one of `[prices]`.
    #[derive(Copy)]
    pub(super) struct RawLongContext {
        /// The number of input tokens above which these prices apply.
        above_tokens: u64 => together;
        /// Tokens read.
        input: f64 => together;
        /// Tokens read from the provider's cache; absent for the price of `input`.
        cached_input: Option<f64> => together;
        /// Tokens written to the provider's cache; absent for 1.25 times the price of `input`.
        cache_write: Option<f64> => together;
        /// Tokens written.
        output: f64 => together;
    }
}

impl RawLongContext {
    /// Returns these prices as those of all requests.
    fn tokens(self) -> RawPrice {
        RawPrice {
            input: self.input,
            cached_input: self.cached_input,
            cache_write: self.cache_write,
            output: self.output,
            long_context: None,
        }
    }
}

/// Demands every price: budgets of money count with it.
pub(super) fn demand(raw: &BTreeMap<String, RawPrice>, _: &str, review: &mut Review<'_>) {
    for (model, price) in raw {
        let (model, tokens) = (quoted(model), token_prices(price));
        let long = price.long_context.map_or(String::new(), |long| {
            let (tokens, above) = (token_prices(&long.tokens()), long.above_tokens);
            format!(", and for requests above {above} tokens, {tokens}")
        });
        review.demand(
            Danger::Other,
            format!("sets the price of {model} in budgets to {tokens} US dollars per million tokens{long}"),
        );
    }
}

fn token_prices(raw: &RawPrice) -> String {
    let (input, output) = (raw.input, raw.output);
    let cached = raw.cached_input.unwrap_or(input);
    let stored = raw
        .cache_write
        .map_or(String::new(), |price| format!(", cache write {price}"));
    format!("{input} (cached {cached}{stored}, output {output})")
}

/// The prices of models.
#[derive(Clone, Debug, Default)]
pub(super) struct Prices {
    /// Those of `[prices]`, by model names, or by beginnings of names and a `*`.
    configured: BTreeMap<String, Price>,
    known: KnownModels,
}

/// The file of known models.
#[derive(Clone, Default, Deserialize)]
struct KnownModels {
    /// The day on which the prices were checked, `YYYY-MM-DD`.
    #[expect(dead_code, reason = "for readers of the file")]
    date: String,
    /// The models of each service, by their names.
    #[serde(flatten)]
    services: BTreeMap<String, BTreeMap<String, KnownModel>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct KnownModel {
    /// In tokens.
    window: Option<u64>,
    price: RawPrice,
}

impl fmt::Debug for KnownModels {
    /// Shows the number of services alone: the table is the same in every configuration.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownModels")
            .field("services", &self.services.len())
            .finish_non_exhaustive()
    }
}

impl KnownModels {
    fn read() -> Result<Self, ConfigError> {
        toml::from_str(KNOWN).map_err(|error| {
            config_error!("", "cannot read the table of models: {error}", "report it")
        })
    }

    /// Returns a model at its service's own address; another may have other prices.
    fn find(&self, model: &ModelConfig) -> Option<&KnownModel> {
        let ModelConfig::Served { name, provider, .. } = model else {
            return None;
        };
        if !provider.has_default_address() {
            return None;
        }
        let models = self.services.get(provider.preset.name)?;
        models
            .get(name.as_str())
            .or_else(|| models.get(without_date(name)?))
    }
}

/// Returns the name of a model without the date of its snapshot, such as `-20260416` or
/// `-2026-04-16`.
fn without_date(name: &str) -> Option<&str> {
    let digits =
        |part: &str, count| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
    let (start, last) = name.rsplit_once('-')?;
    if digits(last, 8) {
        return Some(start);
    }
    let (start, month) = start.rsplit_once('-')?;
    let (start, year) = start.rsplit_once('-')?;
    (digits(last, 2) && digits(month, 2) && digits(year, 4)).then_some(start)
}

/// Returns the services that have a model of this name, as far as their models are known.
pub(super) fn services_of(name: &str) -> Vec<String> {
    let services = KnownModels::read().unwrap_or_default().services;
    let has = |models: &BTreeMap<String, KnownModel>| {
        models.contains_key(name)
            || without_date(name).is_some_and(|name| models.contains_key(name))
    };
    let with_it = services.into_iter().filter(|(_, models)| has(models));
    with_it.map(|(service, _)| service).collect()
}

impl Prices {
    /// Returns the price of a model: a configured one, by the name with which it was chosen, or
    /// else a known one.
    pub(super) fn of(&self, chosen: &str, model: Option<&ModelConfig>) -> Option<Price> {
        let configured = patterns::longest_match(&self.configured, chosen);
        let known = || resolve_price("", self.known.find(model?)?.price).ok();
        configured.map(|(_, price)| *price).or_else(known)
    }

    /// Returns the window of a model in tokens, if it is known.
    pub(super) fn window(&self, model: &ModelConfig) -> Option<u64> {
        self.known.find(model)?.window
    }
}

/// Resolves every price, also of models that are not used now.
pub(super) fn resolve(raw: BTreeMap<String, RawPrice>) -> Result<Prices, ConfigError> {
    let mut problems = Problems::default();
    let mut configured = BTreeMap::new();
    for (name, price) in raw {
        let key = format!("prices.{}", key_path(&name));
        problems.take(patterns::check(&name, "prices").map_err(|error| error.with_key(&key)));
        let price = problems.take(resolve_price(&name, price));
        configured.extend(price.map(|price| (name, price)));
    }
    let known = problems.take(KnownModels::read());
    let known = known.unwrap_or_default();
    problems.or(Prices { configured, known })
}

/// Resolves the price of the model `name`.
fn resolve_price(name: &str, raw: RawPrice) -> Result<Price, ConfigError> {
    let long_context = raw.long_context.map(|long| {
        let tokens = resolve_tokens(name, "long-context.", long.tokens())?;
        Ok(LongContext {
            above_tokens: long.above_tokens,
            tokens,
        })
    });
    Ok(Price {
        tokens: resolve_tokens(name, "", raw)?,
        long_context: long_context.transpose()?,
    })
}

/// Resolves the prices of tokens in `table`, which is empty or ends with a dot.
fn resolve_tokens(name: &str, table: &str, raw: RawPrice) -> Result<TokenPrices, ConfigError> {
    let micros = |dollars, key: &str| {
        micros(dollars).ok_or_else(|| {
            let what = format!("`{table}{key}` of [prices.\"{}\"]", name.escape_debug());
            not_an_amount(
                &format!("prices.{}.{table}{key}", key_path(name)),
                dollars,
                &what,
            )
        })
    };
    let input_micros = micros(raw.input, "input")?;
    let cache_write_micros = match raw.cache_write {
        Some(dollars) => micros(dollars, "cache-write")?,
        // 1.25 times the input, which is the price at Anthropic and OpenAI ("Prompt caching" in the
        // documentation of each). No other provider counts such tokens.
        None => input_micros.saturating_add(input_micros.div_ceil(4)),
    };
    Ok(TokenPrices {
        input_micros,
        cache_write_micros,
        cached_input_micros: micros(raw.cached_input.unwrap_or(raw.input), "cached-input")?,
        output_micros: micros(raw.output, "output")?,
    })
}

/// Returns dollars in millionths, of which sums are exact; none for what is not a whole number of
/// them.
pub(super) fn micros(dollars: f64) -> Option<u64> {
    // The shortest decimal form of the number: what was written.
    let text = dollars.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    if fraction.len() > USD_PLACES {
        return None;
    }
    format!("{whole}{fraction:0<USD_PLACES$}").parse().ok()
}

pub(super) fn not_an_amount(key: &str, dollars: f64, what: &str) -> ConfigError {
    config_error!(
        key,
        "{what} is {dollars}, which is not an amount of US dollars",
        "write a number that is not negative, with at most {USD_PLACES} decimal places"
    )
    .with_value(dollars)
}

//! `[settings]`: the settings of models' replies, and `--effort`.

use super::{
    ConfigError, ModelConfig, ModelsConfig, Overrides,
    headers::{self, Headers},
    model::ModelSections,
    paths::Scope,
    patterns,
    problem::{Problems, config_error, key_path, resolve_map},
    provider::check_header,
    review::{Danger, Review, quoted},
    section::{Section as _, section, values},
};
use agent_host_models::{
    CacheLifetime, Effort, HOST_FIELDS, ModelSettings, ReasoningTags, ServiceTier, Thinking,
    ToolChoice, Verbosity,
};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The most texts that end a reply, which every provider takes (`stop` in OpenAI's documentation).
const MAX_STOPS: usize = 4;

/// The highest seed that every provider takes: Gemini's is a signed number of 32 bits.
const MAX_SEED: u32 = i32::MAX.unsigned_abs();

section! {
    /// `[settings]`, and each of `[settings.models]`.
    #[derive(Default)]
    #[serde(default)]
    pub(super) struct RawSettings {
        /// How much the model reasons, writes and calls.
        effort [Variable("AGENT_HOST_EFFORT")]: Option<Effort> => by(demand_effort);
        /// Whether the model thinks before it answers.
        // Thoughts count as tokens of the reply.
        #[schemars(schema_with = "thinking")]
        thinking [Replaceable]: Option<Thinking> => harmless;
        /// Whether to request and show summaries of the reasoning.
        reasoning_summary [Replaceable]: Option<bool> => harmless;
        /// Whether tags in the text of a reply, such as `<think>`, mark reasoning.
        reasoning_tags [Replaceable]: Option<ReasoningTags> => harmless;
        /// The randomness of the choice of words.
        temperature [Replaceable]: Option<f64> => harmless;
        /// The share of probability from which words are chosen.
        top_p [Replaceable]: Option<f64> => harmless;
        /// The seed of random choices.
        seed [Replaceable]: Option<u32> => harmless;
        /// The texts that end a reply.
        stop [Replaceable]: Option<Vec<String>> => harmless;
        /// Whether the model calls tools.
        // A call passes the policy whether the model was made to make it or not.
        tool_choice [Replaceable]: Option<ToolChoice> => harmless;
        /// The length of answers.
        verbosity [Replaceable]: Option<Verbosity> => harmless;
        /// The provider's service tier.
        service_tier: Option<ServiceTier> =>
            asks(Other, "buys the service tier {value} for {who}");
        /// How long the provider keeps the prompt in its cache.
        cache_lifetime: Option<CacheLifetime> =>
            asks(Other, "caches prompts of {who} for {value}");
        /// The key of the requests that share a cached prompt.
        prompt_cache_key: Option<String> =>
            asks(Other, "shares cached prompts of {who} under the key {value}");
        /// Fields to merge into the request.
        extra_body [Secret]: Map<String, Value> => by(demand_fields);
        /// Headers of requests, by name.
        headers [Source, Secret]: BTreeMap<String, String> =>
            asks(Network, "sends the header {name} with the requests of {who}: {value}");
        /// The settings of models, by `PROVIDER:NAME`, or by the beginning of that and a `*`.
        models: BTreeMap<String, RawSettings> => together;
    }
}

values!(
    Effort,
    Thinking,
    ReasoningTags,
    ToolChoice,
    Verbosity,
    ServiceTier,
    CacheLifetime
);

/// Returns the schema of `thinking`.
fn thinking(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            { "enum": ["adaptive", "off"] },
            { "type": "integer", "minimum": 0, "maximum": u32::MAX },
        ]
    })
}

/// Demands settings that cost more or go around the other keys.
pub(super) fn demand(raw: &RawSettings, _: &str, review: &mut Review<'_>) {
    raw.demand_keys("[settings]", review);
    for (model, settings) in &raw.models {
        settings.demand_keys(&format!("the model {}", quoted(model)), review);
    }
}

fn demand_effort(effort: &Option<Effort>, of: &str, review: &mut Review<'_>) {
    if let Some(effort) = effort.filter(|effort| *effort > Effort::High) {
        let text = format!("raises the effort of {of} to \"{}\"", effort.name());
        review.demand(Danger::Other, text);
    }
}

fn demand_fields(fields: &Map<String, Value>, of: &str, review: &mut Review<'_>) {
    if !fields.is_empty() {
        let names: Vec<&str> = fields.keys().map(String::as_str).collect();
        let names = quoted(&names.join(", "));
        let text = format!("adds the fields {names} to the requests of {of}");
        review.demand(Danger::Other, text);
    }
}

/// The settings and the headers of requests.
type SettingsAndHeaders = (ModelSettings, Headers);

/// The settings of all models.
#[derive(Debug)]
struct SettingsConfig {
    general: SettingsAndHeaders,
    models: BTreeMap<String, SettingsAndHeaders>,
    /// That of the command line.
    effort: Option<Effort>,
}

/// Resolves the models with their settings. The second value is that of [`ModelsConfig::resolve`].
pub(super) fn resolve_models(
    settings: &RawSettings,
    sections: ModelSections<'_>,
    overrides: &Overrides,
    scope: Scope<'_>,
) -> Result<(ModelsConfig, Vec<String>), ConfigError> {
    let mut problems = Problems::default();
    let settings = problems.take(resolve(settings.clone(), overrides, scope));
    let models = problems.take(ModelsConfig::resolve(sections, overrides, scope));
    match (settings, models) {
        (Some(settings), Some((models, names))) => Ok((apply(&settings, models)?, names)),
        _ => Err(problems.into_error()),
    }
}

/// Checks every setting, also of models that are not used now.
fn resolve(
    mut raw: RawSettings,
    overrides: &Overrides,
    scope: Scope<'_>,
) -> Result<SettingsConfig, ConfigError> {
    let mut problems = Problems::default();
    let of_models = std::mem::take(&mut raw.models);
    let general = problems
        .take(resolve_one(raw, "of [settings]", scope).map_err(|error| error.within("settings")));
    let models = resolve_map("settings.models", of_models, |name, raw| {
        patterns::check(name, "settings.models")?;
        let of = format!("of [settings.models.\"{}\"]", name.escape_debug());
        resolve_one(raw, &of, scope)
    });
    let models = problems.take(models).unwrap_or_default();
    let general = general.unwrap_or_default();
    problems.or(SettingsConfig {
        general,
        models,
        effort: overrides.effort,
    })
}

/// Sets the settings of the models that may be asked.
fn apply(settings: &SettingsConfig, mut models: ModelsConfig) -> Result<ModelsConfig, ConfigError> {
    let mut problems = Problems::default();
    for model in models.all_mut() {
        let full_name = model.to_string();
        if let ModelConfig::Served {
            name,
            provider,
            settings: target,
            ..
        } = model
        {
            let (of_model, headers) = settings.of(&full_name);
            **target = of_model;
            provider.add_headers(&headers);
            let report = target.check(provider.preset.provider, name, provider.capabilities);
            for (setting, why) in report.refused {
                let key = settings.key_of(&full_name, setting);
                let shown = full_name.escape_debug();
                problems.take::<()>(Err(config_error!(
                    &key,
                    "`{setting}` does not work with the model `{shown}`: {why}",
                    "change it, or set a different value in [settings.models.\"{shown}\"]"
                )));
            }
        }
    }
    problems.or(models)
}

impl SettingsConfig {
    /// Returns the settings of a model: its own over the general ones. The effort of the command
    /// line replaces all that was said of reasoning.
    fn of(&self, model: &str) -> SettingsAndHeaders {
        let (general, mut headers) = self.general.clone();
        let own = patterns::longest_match(&self.models, model);
        let (own, own_headers) = own.map(|(_, own)| own.clone()).unwrap_or_default();
        headers.extend(own_headers);
        let settings = own.over(general);
        let settings = match self.effort {
            Some(_) => ModelSettings {
                effort: self.effort,
                thinking: None,
                ..settings
            },
            None => settings,
        };
        (settings, headers)
    }

    /// Returns the key of a setting that holds for a model.
    fn key_of(&self, model: &str, setting: &str) -> String {
        let own = patterns::longest_match(&self.models, model);
        let has_own = |settings: &ModelSettings| {
            serde_json::to_value(settings).is_ok_and(|value| value.get(setting).is_some())
        };
        match own.filter(|(_, (settings, _))| has_own(settings)) {
            Some((name, _)) => format!("settings.models.{}.{setting}", key_path(name)),
            None => format!("settings.{setting}"),
        }
    }
}

/// Checks one table, which is named `of` in messages. Keys of problems begin in it.
fn resolve_one(
    raw: RawSettings,
    of: &str,
    scope: Scope<'_>,
) -> Result<SettingsAndHeaders, ConfigError> {
    let mut problems = problems_of_values(&raw);
    let headers = problems.take(headers::resolve(&raw.headers, of, check_header, scope));
    let settings = ModelSettings {
        effort: raw.effort,
        thinking: raw.thinking,
        reasoning_summary: raw.reasoning_summary,
        reasoning_tags: raw.reasoning_tags,
        temperature: raw.temperature,
        top_p: raw.top_p,
        seed: raw.seed,
        stop: raw.stop,
        tool_choice: raw.tool_choice,
        verbosity: raw.verbosity,
        service_tier: raw.service_tier,
        cache_lifetime: raw.cache_lifetime,
        prompt_cache_key: raw.prompt_cache_key,
        extra_body: raw.extra_body,
    };
    problems.or((settings, headers.unwrap_or_default()))
}

/// Checks the values that a provider would refuse.
fn problems_of_values(raw: &RawSettings) -> Problems {
    let mut problems = Problems::default();
    let mut check = |is_right: bool, key: &str, wrong: &str, fix: &str| {
        if !is_right {
            let reason = format!("`{key}` {wrong}");
            problems.take::<()>(Err(ConfigError::new(key, reason, fix)));
        }
    };
    let or_out = "or leave it out";
    check(
        raw.models.is_empty(),
        "models",
        "is in the settings of a model, which cannot contain models",
        "move it to [settings]",
    );
    check(
        raw.thinking != Some(Thinking::Budget(0)),
        "thinking",
        "is 0 tokens",
        "write \"off\", or the maximum number of thinking tokens",
    );
    check(
        raw.temperature
            .is_none_or(|value| (0.0..=2.0).contains(&value)),
        "temperature",
        "is not between 0 and 2",
        &format!("write a number like 0.2, {or_out}"),
    );
    check(
        raw.top_p.is_none_or(|value| value > 0.0 && value <= 1.0),
        "top-p",
        "is not above 0 and up to 1",
        &format!("write a number like 0.9, {or_out}"),
    );
    check(
        raw.seed.is_none_or(|seed| seed <= MAX_SEED),
        "seed",
        "is larger than some providers accept",
        &format!("write a number up to {MAX_SEED}, {or_out}"),
    );
    let is_stop = |stops: &Vec<String>| {
        (1..=MAX_STOPS).contains(&stops.len()) && !stops.iter().any(String::is_empty)
    };
    check(
        raw.stop.as_ref().is_none_or(is_stop),
        "stop",
        "is empty, or has an empty string or too many strings",
        &format!("write 1 to {MAX_STOPS} strings, {or_out}"),
    );
    for field in raw
        .extra_body
        .keys()
        .filter(|key| HOST_FIELDS.contains(&key.as_str()))
    {
        check(
            false,
            &format!("extra-body.{field}"),
            "would replace a field that the host relies on",
            "remove it",
        );
    }
    problems
}

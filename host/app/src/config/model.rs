//! Model selection: by `PROVIDER:NAME`, or where no model is named, by the only key.

use super::{
    ConfigError, Overrides, ProviderConfig,
    hints::nearest,
    paths::Scope,
    prices::{self, Prices},
    problem::{Problems, config_error, resolve_all},
    provider::RawProvider,
    review::{Danger, Review, quoted},
};
use agent_host_models::{ModelSettings, Preset, Provider};
use agent_host_types::budget::Price;
use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

/// The pseudo provider of scripts.
const SCRIPT: &str = "script";

/// The pseudo provider of recordings.
const REPLAY: &str = "replay";

/// The model where none is named and there is no key.
const TOUR: &str = "script:tour";

/// The models of a configuration.
#[derive(Clone, Debug)]
pub struct ModelsConfig {
    /// The first model; absent for the scripted tour.
    pub first: Option<ModelConfig>,
    /// The models that are asked in this order where the one before fails for a reason of its
    /// service.
    pub fallback: Vec<ModelConfig>,
    /// Further models that may be chosen for a session.
    pub choices: Vec<ModelConfig>,
    /// The model for questions of the loop itself, unless the others answer them.
    pub small: Option<ModelConfig>,
    /// The source of the key that selected the first model; absent where the user named it.
    pub chosen_by: Option<String>,
    /// Why no model was selected although there are keys. Asking a model fails with this error;
    /// listing sessions does not need to.
    pub selection_error: Option<ConfigError>,
    /// The file to record the exchanges with model servers in.
    pub record: Option<PathBuf>,
    /// Every provider.
    pub providers: Vec<ProviderConfig>,
}

/// The parts of a file that models are resolved from.
#[derive(Clone, Copy)]
pub(super) struct ModelSections<'a> {
    pub(super) model: Option<&'a String>,
    pub(super) fallback: &'a [String],
    pub(super) choices: &'a [String],
    pub(super) small: Option<&'a String>,
    /// Those of the providers' own services, in the order of [`Provider::ALL`].
    pub(super) own: [Option<&'a RawProvider>; 5],
    pub(super) named: &'a [RawProvider],
    /// The configured window.
    pub(super) window_tokens: Option<u64>,
}

/// The models that may be asked, by the names with which they were chosen; one without a
/// configuration is the scripted tour.
pub(super) type Chosen<'a> = [(&'a str, Option<&'a ModelConfig>)];

/// A selected model.
#[derive(Clone, Debug)]
pub enum ModelConfig {
    /// A built-in script, by its name.
    BuiltinScript(String),
    /// A script in a file.
    Script(PathBuf),
    /// A recording in a file.
    Replay(PathBuf),
    /// A model behind a server.
    Served {
        /// Its name on the server.
        name: String,
        /// The provider of the server.
        provider: Box<ProviderConfig>,
        /// The settings of its replies.
        settings: Box<ModelSettings>,
        /// The price of its tokens, if it is known.
        price: Option<Price>,
    },
}

impl ModelsConfig {
    /// Resolves the models of the file and of the command line. The second value has their names as
    /// they were written, for prices.
    pub(super) fn resolve(
        raw: ModelSections<'_>,
        overrides: &Overrides,
        scope: Scope<'_>,
    ) -> Result<(Self, Vec<String>), ConfigError> {
        let environment = scope.environment;
        let providers = all_providers(raw, scope)?;
        let mut chosen_by = None;
        let mut selection_error = None;
        let argument_scope = Scope {
            base: &environment.cwd,
            ..scope
        };
        let named = match (&overrides.model, raw.model) {
            (Some(text), _) => Some(("--model", text.clone(), argument_scope)),
            (None, Some(text)) => Some(("model", text.clone(), scope)),
            (None, None) => match by_key(&providers) {
                Ok(chosen) => chosen.map(|(text, source)| {
                    chosen_by = Some(source);
                    ("model", text, scope)
                }),
                Err(error) => {
                    selection_error = Some(error);
                    None
                }
            },
        };
        let first = named
            .as_ref()
            .map(|(key, text, scope)| {
                ModelConfig::resolve(text, &providers, *scope)
                    .map_err(|error| error.with_key(key).with_value(text))
            })
            .transpose()?;
        let resolve = |key, texts: &[String]| {
            resolve_all(key, texts.iter().collect(), |text| {
                ModelConfig::resolve(text, &providers, scope)
                    .map_err(|error| error.with_value(text))
            })
        };
        let others = resolve("fallback", raw.fallback)?;
        let offered = resolve("model-choices", raw.choices)?;
        let small = raw.small.map(std::slice::from_ref).unwrap_or_default();
        let small = resolve("small-model", small)?.pop();
        let mut names = vec![named.map_or_else(|| TOUR.to_owned(), |(_, text, _)| text)];
        let mut fallback = Vec::new();
        // A recording has its own; no other model is asked in its place.
        let is_replay = matches!(first, Some(ModelConfig::Replay(_)));
        for (text, other) in raw.fallback.iter().zip(others) {
            // A model that is named twice is asked once.
            if !names.contains(text) && !is_replay {
                fallback.push(other);
                names.push(text.clone());
            }
        }
        let mut choices = Vec::new();
        for (text, choice) in raw.choices.iter().zip(offered) {
            if !names.contains(text) {
                choices.push(choice);
                names.push(text.clone());
            }
        }
        let small = small.filter(|_| !is_replay);
        names.extend(small.as_ref().and(raw.small).cloned());
        let record = overrides.record.as_ref();
        let models = Self {
            first,
            fallback,
            choices,
            small,
            chosen_by,
            selection_error,
            record: record.map(|path| environment.cwd.join(path)),
            providers,
        };
        Ok((models, names))
    }

    /// Returns the models with the names of [`Self::resolve`].
    pub(super) fn chosen<'a>(
        &'a self,
        names: &'a [String],
    ) -> Vec<(&'a str, Option<&'a ModelConfig>)> {
        let others = self.fallback.iter().chain(&self.choices);
        let others = others.chain(&self.small);
        let models = std::iter::once(self.first.as_ref()).chain(others.map(Some));
        names.iter().map(String::as_str).zip(models).collect()
    }

    /// Sets the prices of the models with the names of [`Self::resolve`].
    pub(super) fn set_prices(&mut self, names: &[String], prices: &Prices) {
        let found: Vec<Option<Price>> = self
            .chosen(names)
            .into_iter()
            .map(|(name, model)| prices.of(name, model))
            .collect();
        let others = self.fallback.iter_mut().chain(&mut self.choices);
        let others = others.chain(&mut self.small);
        let models = std::iter::once(self.first.as_mut()).chain(others.map(Some));
        for (model, found) in models.zip(found) {
            if let Some(ModelConfig::Served { price, .. }) = model {
                *price = found;
            }
        }
    }

    /// Returns the models that are asked unless a session has another one, in order.
    pub fn all(&self) -> impl Iterator<Item = &ModelConfig> {
        self.first.iter().chain(&self.fallback)
    }

    /// Returns all models, also those that sessions may choose, and the small one.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut ModelConfig> {
        let others = self.fallback.iter_mut().chain(&mut self.choices);
        self.first.iter_mut().chain(others).chain(&mut self.small)
    }

    /// Returns the names of the models that a session may choose, as `PROVIDER:NAME`; the first one
    /// is that of a session without a choice.
    #[must_use]
    pub fn offered(&self) -> Vec<String> {
        let first = self
            .first
            .as_ref()
            .map_or_else(|| TOUR.to_owned(), ToString::to_string);
        let others = self.fallback.iter().chain(&self.choices);
        let names = std::iter::once(first).chain(others.map(ToString::to_string));
        names.collect()
    }

    /// Returns the files of scripts, recordings and keys, which no guest may reach.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let scripts = self.all().chain(&self.choices).chain(&self.small);
        let scripts = scripts.filter_map(|model| match model {
            ModelConfig::Script(path) | ModelConfig::Replay(path) => Some(path.as_path()),
            ModelConfig::BuiltinScript(_) | ModelConfig::Served { .. } => None,
        });
        let keys = self.providers.iter().flat_map(ProviderConfig::key_files);
        scripts.chain(keys).chain(self.record.as_deref())
    }
}

/// Resolves all providers, whichever is selected: a key in the file is a problem in any case.
fn all_providers(
    raw: ModelSections<'_>,
    scope: Scope<'_>,
) -> Result<Vec<ProviderConfig>, ConfigError> {
    let mut problems = Problems::default();
    let window = raw.window_tokens;
    let named = resolve_providers(raw.named, window, scope);
    let named = problems.take(named).unwrap_or_default();
    let own = Provider::ALL.into_iter().zip(raw.own);
    let own =
        own.map(|(provider, section)| ProviderConfig::resolve(provider, section, window, scope));
    let services = Preset::all()
        .filter(|preset| !preset.is_own() && named.iter().all(|named| named.name != preset.name));
    let services = services.map(|preset| ProviderConfig::of_preset(preset, None, window, scope));
    let providers: Vec<ProviderConfig> = own
        .chain(services)
        .filter_map(|provider| problems.take(provider))
        .collect();
    let mut providers = problems.or(providers)?;
    providers.extend(named);
    Ok(providers)
}

impl fmt::Display for ModelConfig {
    /// Writes the form of `--model`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltinScript(name) => write!(f, "{SCRIPT}:{name}"),
            Self::Script(path) => write!(f, "{SCRIPT}:{}", path.display()),
            Self::Replay(path) => write!(f, "{REPLAY}:{}", path.display()),
            Self::Served { name, provider, .. } => write!(f, "{}:{name}", provider.name),
        }
    }
}

impl ModelConfig {
    /// Resolves `PROVIDER:NAME`.
    fn resolve(
        text: &str,
        providers: &[ProviderConfig],
        scope: Scope<'_>,
    ) -> Result<Self, ConfigError> {
        let Some((kind, name)) = text.split_once(':').filter(|(_, name)| !name.is_empty()) else {
            let reason = format!(
                "the model `{}` does not name both a provider and a model",
                text.escape_debug()
            );
            return Err(ConfigError::new("", reason, qualified(text)));
        };
        if let Some(provider) = providers.iter().find(|known| known.name == kind) {
            return Ok(Self::Served {
                name: name.to_owned(),
                provider: Box::new(provider.clone()),
                settings: Box::default(),
                price: None,
            });
        }
        match kind {
            SCRIPT if is_path(name) => scope.resolve_path("", name).map(Self::Script),
            SCRIPT => Ok(Self::BuiltinScript(name.to_owned())),
            REPLAY => scope.resolve_path("", name).map(Self::Replay),
            _ => {
                let mut known: Vec<&str> =
                    providers.iter().map(|known| known.name.as_str()).collect();
                known.extend([SCRIPT, REPLAY]);
                let reason = format!("unknown model provider `{}`", kind.escape_debug());
                let fix = match nearest(kind, &known) {
                    Some(near) => format!("did you mean `{near}:{}`?", name.escape_debug()),
                    None => format!("the providers are `{}`", known.join("`, `")),
                };
                Err(ConfigError::new("", reason, fix))
            }
        }
    }
}

/// Returns what to write instead of a model's name without a provider.
fn qualified(name: &str) -> String {
    /// The beginnings of names of models that only one provider makes.
    const MAKERS: [(&str, Provider); 5] = [
        ("claude-", Provider::Anthropic),
        ("gpt-", Provider::OpenAi),
        ("o3", Provider::OpenAi),
        ("o4", Provider::OpenAi),
        ("gemini-", Provider::Gemini),
    ];
    let mut services = prices::services_of(name);
    if services.is_empty() {
        let maker = MAKERS.iter().find(|(start, _)| name.starts_with(start));
        services.extend(maker.map(|(_, provider)| provider.name().to_owned()));
    }
    let name = name.escape_debug();
    let named: Vec<String> = services
        .iter()
        .map(|service| format!("`{service}:{name}`"))
        .collect();
    match named.as_slice() {
        [] => "write it like `ollama:llama3.2` or `script:tour`; `agent-host models` lists what your providers have".to_owned(),
        named => format!("did you mean {}?", named.join(" or ")),
    }
}

/// Resolves every `[[provider]]`; no two have the same name.
fn resolve_providers(
    raw: &[RawProvider],
    window: Option<u64>,
    scope: Scope<'_>,
) -> Result<Vec<ProviderConfig>, ConfigError> {
    let mut names = BTreeSet::new();
    resolve_all("provider", raw.iter().collect(), |raw| {
        let provider = ProviderConfig::named(raw, window, scope)?;
        if names.insert(provider.name.clone()) {
            return Ok(provider);
        }
        let name = &provider.name;
        Err(config_error!(
            "name",
            "two [[provider]] are named `{name}`",
            "rename one of them"
        )
        .with_value(name))
    })
}

/// Returns the default model of a provider: neither the largest nor the smallest of its general
/// ones.
fn default_model(provider: Provider) -> Option<&'static str> {
    match provider {
        // The newest Sonnet of `types/model_param.py` in Anthropic's SDK for Python, 2.12.0.
        Provider::Anthropic => Some("claude-sonnet-5-5"),
        // What the README of OpenAI's SDK for Python, 3.54.0, asks.
        Provider::OpenAi => Some("gpt-5.5"),
        // Google's name for the newest Flash, in the README of its SDK for Python, 3.4.0.
        Provider::Gemini => Some("gemini-flash-latest"),
        // These have the models that their operators installed.
        Provider::OpenAiCompat | Provider::Ollama => None,
    }
}

/// Returns the default model of the only provider with a key, and the source of the key; none where
/// there is no key.
///
/// # Errors
/// There are several keys, or one of a provider without a default model.
fn by_key(providers: &[ProviderConfig]) -> Result<Option<(String, String)>, ConfigError> {
    let choose = "choose one with `--model PROVIDER:NAME`, or with `model = \"PROVIDER:NAME\"` in agent.toml";
    let with_key = |is_own: bool| -> Vec<&ProviderConfig> {
        let with_key = providers.iter().filter(|known| known.has_key());
        with_key
            .filter(|known| (known.name == known.preset.provider.name()) == is_own)
            .collect()
    };
    // A key of a gateway beside that of a provider does not make the choice ambiguous.
    let mut with_key_of = with_key(true);
    if with_key_of.is_empty() {
        with_key_of = with_key(false);
    }
    let with_key = with_key_of;
    let only = match with_key.as_slice() {
        [] => return Ok(None),
        [only] => only,
        several => {
            let keys: Vec<String> = several
                .iter()
                .map(|known| format!("`{}` ({})", known.name, known.key_source()))
                .collect();
            let keys = keys.join(", ");
            return Err(config_error!(
                "model",
                "no model is set, and there are keys for several providers: {keys}",
                "{choose}"
            ));
        }
    };
    let (name, source) = (&only.name, only.key_source());
    let is_own = *name == only.preset.provider.name();
    match default_model(only.preset.provider).filter(|_| is_own) {
        Some(model) => Ok(Some((format!("{name}:{model}"), source))),
        None => Err(config_error!(
            "model",
            "no model is set, and {source} is for `{name}`, whose models are unknown",
            "{choose}"
        )),
    }
}

/// True for the path of a script; the name of a built-in one is a plain word.
fn is_path(name: &str) -> bool {
    name.contains(['/', '.', '~'])
}

/// Demands the scripts and recordings in files, which would answer in place of a model.
pub(super) fn demand<'m>(
    models: impl IntoIterator<Item = &'m String>,
    _: &str,
    review: &mut Review<'_>,
) {
    for model in models.into_iter().filter(|model| is_file(model)) {
        if let Some((_, path)) = model.split_once(':') {
            review.reach(path);
        }
        let text = format!("answers as a model from {}", quoted(model));
        review.demand(Danger::Other, text);
    }
}

/// True for a model, `PROVIDER:NAME`, that is a script or a recording in a file.
pub(super) fn is_file(model: &str) -> bool {
    match model.split_once(':') {
        Some((SCRIPT, name)) => is_path(name),
        Some((kind, _)) => kind == REPLAY,
        None => false,
    }
}

//! Which models answer: from `PROVIDER:NAME`, or where nobody names one, from the key that is there.

use super::{
    ConfigError, Environment, Overrides, ProviderConfig, RawConfig, parse::nearest, paths::place,
};
use agent_host_models::Provider;
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// The provider of scripts, which is not one that is asked.
const SCRIPT: &str = "script";

/// The provider of recordings, of which none is asked either.
const REPLAY: &str = "replay";

/// What answers where no model is named and no key is there.
const TOUR: &str = "script:tour";

/// The models of a configuration.
#[derive(Clone, Debug)]
pub struct ModelsConfig {
    /// The one that is asked; absent where nothing names one, which means the scripted tour.
    pub first: Option<ModelConfig>,
    /// Those that are asked in its place, in order, where it does not answer for a reason of its service.
    pub fallback: Vec<ModelConfig>,
    /// Where the key is that chose the first one; absent where a person named it.
    pub chosen_by: Option<String>,
    /// Why none was chosen although keys are there. Whoever is about to ask a model ends with this error; listing sessions does
    /// not need to.
    pub unchosen: Option<ConfigError>,
    /// Where what goes between the models and this program is written down.
    pub record: Option<PathBuf>,
    /// What is known of each provider.
    pub providers: Vec<ProviderConfig>,
}

/// A model that was chosen.
#[derive(Clone, Debug)]
pub enum ModelConfig {
    /// A script in the program, by its name.
    BuiltinScript(String),
    /// A script in a file.
    Script(PathBuf),
    /// A recording of a run.
    Replay(PathBuf),
    /// A model behind a server.
    Served {
        /// Its name at the server.
        name: String,
        /// Where the server is, and what it takes.
        provider: Box<ProviderConfig>,
    },
}

impl ModelsConfig {
    /// What the configuration and the command line name, as values and as they were written, for the prices. `base` is where paths of
    /// the configuration begin.
    pub(super) fn resolve(
        raw: &RawConfig,
        overrides: &Overrides,
        base: &Path,
        environment: &Environment,
    ) -> Result<(Self, Vec<String>), ConfigError> {
        // Read whichever model is chosen: a key in the file is a fault in any case.
        let window = raw
            .context
            .as_ref()
            .and_then(|context| context.get_ref().window_tokens);
        let providers = Provider::ALL
            .into_iter()
            .map(|provider| {
                let section = raw.provider(provider);
                ProviderConfig::resolve(provider, section, window, base, environment)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut chosen_by = None;
        let mut unchosen = None;
        let named = match (&overrides.model, &raw.model) {
            (Some(text), _) => Some((text.clone(), environment.cwd.as_path())),
            (None, Some(text)) => Some((text.clone(), base)),
            (None, None) => match by_key(&providers) {
                Ok(chosen) => chosen.map(|(text, source)| {
                    chosen_by = Some(source);
                    (text, base)
                }),
                Err(error) => {
                    unchosen = Some(error);
                    None
                }
            },
        };
        let model = |text: &str, base| ModelConfig::resolve(text, base, &providers, environment);
        let first = named
            .as_ref()
            .map(|(text, base)| model(text, base))
            .transpose()?;
        let first_name = named.map_or_else(|| TOUR.to_owned(), |(text, _)| text);
        let mut names = vec![first_name];
        let mut fallback = Vec::new();
        // A recording has its own; nobody else is asked in its place.
        let is_replay = matches!(first, Some(ModelConfig::Replay(_)));
        for text in &raw.fallback {
            let other = model(text, base)?;
            // Nobody is asked again because somebody is named twice.
            if !names.contains(text) && !is_replay {
                fallback.push(other);
                names.push(text.clone());
            }
        }
        let models = Self {
            first,
            fallback,
            chosen_by,
            unchosen,
            record: overrides
                .record
                .as_ref()
                .map(|path| environment.cwd.join(path)),
            providers,
        };
        Ok((models, names))
    }

    /// All models that may be asked.
    pub fn all(&self) -> impl Iterator<Item = &ModelConfig> {
        self.first.iter().chain(&self.fallback)
    }

    /// The files that the models are read from, which no guest may reach.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let scripts = self.all().filter_map(|model| match model {
            ModelConfig::Script(path) | ModelConfig::Replay(path) => Some(path.as_path()),
            ModelConfig::BuiltinScript(_) | ModelConfig::Served { .. } => None,
        });
        let keys = self.providers.iter().filter_map(ProviderConfig::key_file);
        scripts.chain(keys).chain(self.record.as_deref())
    }
}

impl fmt::Display for ModelConfig {
    /// As in `--model`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltinScript(name) => write!(f, "{SCRIPT}:{name}"),
            Self::Script(path) => write!(f, "{SCRIPT}:{}", path.display()),
            Self::Replay(path) => write!(f, "{REPLAY}:{}", path.display()),
            Self::Served { name, provider } => write!(f, "{}:{name}", provider.provider.name()),
        }
    }
}

impl ModelConfig {
    /// Reads `PROVIDER:NAME`. `base` is where the path of a script or a recording begins.
    fn resolve(
        text: &str,
        base: &Path,
        providers: &[ProviderConfig],
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let Some((kind, name)) = text.split_once(':').filter(|(_, name)| !name.is_empty()) else {
            return Err(ConfigError::new(format!(
                "the model `{}` does not name a provider and a model; write it like `openai-compat:llama3.2` or `script:tour`",
                text.escape_debug()
            )));
        };
        if let Some(provider) = providers.iter().find(|known| known.provider.name() == kind) {
            return Ok(Self::Served {
                name: name.to_owned(),
                provider: Box::new(provider.clone()),
            });
        }
        match kind {
            SCRIPT if is_path(name) => Ok(Self::Script(place(name, base, environment)?)),
            SCRIPT => Ok(Self::BuiltinScript(name.to_owned())),
            REPLAY => Ok(Self::Replay(place(name, base, environment)?)),
            _ => {
                let mut known: Vec<&str> = Provider::ALL.map(Provider::name).to_vec();
                known.extend([SCRIPT, REPLAY]);
                let advice = match nearest(kind, &known) {
                    Some(near) => format!("did you mean `{near}:{}`?", name.escape_debug()),
                    None => format!("there are {}", in_code(&known)),
                };
                Err(ConfigError::new(format!(
                    "there is no model provider `{}`; {advice}",
                    kind.escape_debug()
                )))
            }
        }
    }
}

/// The model that a provider is asked for where only its key is there: neither the largest nor the smallest of its general ones.
fn default_model(provider: Provider) -> Option<&'static str> {
    match provider {
        // The newest Sonnet of `types/model_param.py` in Anthropic's SDK for Python, 2.12.0.
        Provider::Anthropic => Some("claude-sonnet-5-5"),
        // What the README of OpenAI's SDK for Python, 3.54.0, asks.
        Provider::OpenAi => Some("gpt-5.5"),
        // Google's name for the newest Flash, in the README of its SDK for Python, 3.4.0.
        Provider::Gemini => Some("gemini-flash-latest"),
        // These have the models that somebody gave them.
        Provider::OpenAiCompat | Provider::Ollama => None,
    }
}

/// The model of the only provider whose key is there, and where the key is; none where there is no key.
///
/// # Errors
/// Several keys, or one of a provider whose models are not known.
fn by_key(providers: &[ProviderConfig]) -> Result<Option<(String, String)>, ConfigError> {
    let with_key: Vec<&ProviderConfig> = providers.iter().filter(|known| known.has_key()).collect();
    let choose = "choose one with `--model PROVIDER:NAME`, or with `model = \"PROVIDER:NAME\"` in agent.toml";
    match with_key.as_slice() {
        [] => Ok(None),
        [only] => match default_model(only.provider) {
            Some(model) => Ok(Some((
                format!("{}:{model}", only.provider.name()),
                only.key_source(),
            ))),
            None => Err(ConfigError::new(format!(
                "no model is named, and {} is for `{}`, whose models are not known; {choose}",
                only.key_source(),
                only.provider.name()
            ))),
        },
        several => {
            let keys: Vec<String> = several
                .iter()
                .map(|known| format!("`{}` ({})", known.provider.name(), known.key_source()))
                .collect();
            Err(ConfigError::new(format!(
                "no model is named, and there are keys for several providers: {}; {choose}",
                keys.join(", ")
            )))
        }
    }
}

fn in_code(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// A script's name in the program is one plain word; whatever looks like a file is one.
pub(super) fn is_path(name: &str) -> bool {
    name.contains(['/', '.', '~'])
}

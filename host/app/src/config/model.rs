//! Which model answers: from `PROVIDER:NAME` and `[openai-compat]`. Nothing is asked, and no key is read, before
//! [`EndpointConfig::open`].

use super::{
    ConfigError, Environment, RawOpenAiCompat,
    parse::nearest,
    paths::place,
    source::{Purpose, Source},
};
use agent_host_models::{Capabilities, Endpoint, Provider, Timeouts};
use std::path::{Path, PathBuf};

/// Where the server is, when the configuration does not say.
const URL_VARIABLE: &str = "OPENAI_COMPAT_BASE_URL";
/// The server's key, when the configuration does not say where it is.
pub(super) const KEY_VARIABLE: &str = "OPENAI_COMPAT_API_KEY";

/// The providers.
const PROVIDERS: [&str; 2] = ["openai-compat", "script"];

/// A model that was chosen.
#[derive(Clone, Debug)]
pub enum ModelConfig {
    /// A script in the program, by its name.
    BuiltinScript(String),
    /// A script in a file.
    Script(PathBuf),
    /// A server that speaks OpenAI's Chat Completions.
    OpenAiCompat {
        /// The model's name at the server.
        name: String,
        /// Where the server is.
        endpoint: EndpointConfig,
        /// What it can take.
        capabilities: Capabilities,
    },
}

/// A server and its key, before either was needed: listing sessions needs neither.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    base_url: Option<String>,
    /// Absent where there is none; a server without keys needs none.
    key: Option<Source>,
}

impl EndpointConfig {
    /// Reads the key, which may open a file or run a command, and takes up to a minute. Dropping the future ends the command.
    ///
    /// # Errors
    /// When no base URL is known, or the key is not where it should be.
    pub async fn open(&self) -> Result<Endpoint, ConfigError> {
        let base_url = self.base_url.clone().ok_or_else(|| {
            ConfigError::new(format!(
                "it is not known where the model server of `openai-compat` is; set `base-url` under [openai-compat] in \
                 agent.toml, or the variable {URL_VARIABLE}, to an address like http://127.0.0.1:11434/v1"
            ))
        })?;
        let key = match &self.key {
            Some(source) => Some(source.read().await?),
            None => None,
        };
        Ok(Endpoint {
            base_url,
            key,
            key_source: self
                .key
                .as_ref()
                .map_or_else(|| KEY_VARIABLE.to_owned(), Source::name),
            timeouts: Timeouts::default(),
        })
    }

    /// What `[openai-compat]` says, and where it is silent, the environment. `base` is where the path of a key's file begins.
    pub(super) fn resolve(
        server: &RawOpenAiCompat,
        base: &Path,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let purpose = || Purpose {
            what: "the model server's key".to_owned(),
            setting: "api-key",
            of: "under [openai-compat]".to_owned(),
        };
        let key = match server.api_key.as_deref() {
            Some(text) => Some(Source::parse(text, purpose(), base, environment)?),
            None => environment
                .variable(KEY_VARIABLE)
                .map(|_| Source::variable(KEY_VARIABLE, purpose(), environment)),
        };
        let base_url = server.base_url.clone();
        let base_url = base_url.or_else(|| environment.variable(URL_VARIABLE).map(str::to_owned));
        Ok(Self { base_url, key })
    }

    /// The file with the key, which no guest may see.
    pub(super) fn key_file(&self) -> Option<&Path> {
        self.key.as_ref()?.file()
    }
}

impl ModelConfig {
    /// Reads `PROVIDER:NAME`. `base` is where the path of a script begins.
    pub(super) fn resolve(
        text: &str,
        base: &Path,
        server: &RawOpenAiCompat,
        endpoint: EndpointConfig,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        match text.split_once(':') {
            Some((_, "")) | None => Err(ConfigError::new(format!(
                "the model `{}` does not name a provider and a model; write it like `openai-compat:llama3.2` or `script:tour`",
                text.escape_debug()
            ))),
            Some(("script", name)) if is_path(name) => {
                Ok(Self::Script(place(name, base, environment)?))
            }
            Some(("script", name)) => Ok(Self::BuiltinScript(name.to_owned())),
            Some(("openai-compat", name)) => {
                let default = Provider::OpenAiCompat.capabilities();
                let capabilities = Capabilities {
                    vision: server.vision.unwrap_or(default.vision),
                    documents: server.documents.unwrap_or(default.documents),
                    ..default
                };
                Ok(Self::OpenAiCompat {
                    name: name.to_owned(),
                    endpoint,
                    capabilities,
                })
            }
            Some((other, name)) => {
                let advice = match nearest(other, &PROVIDERS) {
                    Some(near) => format!("did you mean `{near}:{}`?", name.escape_debug()),
                    None => "there are `openai-compat:NAME` and `script:NAME`".to_owned(),
                };
                Err(ConfigError::new(format!(
                    "there is no model provider `{}`; {advice}",
                    other.escape_debug()
                )))
            }
        }
    }
}

/// A script's name in the program is one plain word; whatever looks like a file is one.
fn is_path(name: &str) -> bool {
    name.contains(['/', '.', '~'])
}

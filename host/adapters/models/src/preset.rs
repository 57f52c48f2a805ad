//! The table of model services: the address, key variables and key header of each, before
//! configuration. A `[[provider]]` of a configuration starts from one of them.

#[cfg(test)]
mod conversations;
#[cfg(test)]
mod tests;

use crate::{provider::Provider, send::SendSettings};

/// A model service before configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name in `--model NAME:MODEL` and in `kind`.
    pub name: &'static str,
    /// The wire format.
    pub provider: Provider,
    /// The base URL; absent where each customer has another.
    pub base_url: Option<&'static str>,
    /// The environment variables with the key; the first that is set counts.
    pub key_variables: &'static [&'static str],
    /// True if the service refuses every request without a key.
    pub wants_key: bool,
    /// The header with the bare key; absent for the header of the wire format.
    pub key_header: Option<&'static str>,
    /// The fields and rules of its requests that differ from those of the wire format.
    pub send: SendSettings,
}

/// Returns a service with the wire format of OpenAI's Chat Completions that wants a key.
const fn service(
    name: &'static str,
    base_url: &'static str,
    key_variables: &'static [&'static str],
) -> Preset {
    Preset {
        name,
        provider: Provider::OpenAiCompat,
        base_url: Some(base_url),
        key_variables,
        wants_key: true,
        key_header: None,
        send: SendSettings::NONE,
    }
}

/// Returns a server on this machine, at its default port, that needs no key unless it was started
/// with one.
const fn local(
    name: &'static str,
    base_url: &'static str,
    key_variables: &'static [&'static str],
) -> Preset {
    Preset {
        wants_key: false,
        ..service(name, base_url, key_variables)
    }
}

/// The services besides the five wire formats' own.
const SERVICES: [Preset; 9] = [
    // https://openrouter.ai/docs/quickstart
    service(
        "openrouter",
        "https://openrouter.ai/api/v1",
        &["OPENROUTER_API_KEY"],
    ),
    // https://api-docs.deepseek.com
    service(
        "deepseek",
        "https://api.deepseek.com",
        &["DEEPSEEK_API_KEY"],
    ),
    // https://console.groq.com/docs/openai
    service("groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"]),
    // https://docs.mistral.ai/api: it counts tokens unasked, and refuses other ids
    // (https://mistralai.github.io/mistral-common/usage/tools/) and a user message directly after
    // the results of tools (code 3230).
    Preset {
        send: SendSettings {
            stream_options: Some(false),
            nine_character_ids: Some(true),
            user_after_tool: Some(false),
            ..SendSettings::NONE
        },
        ..service("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"])
    },
    // https://docs.together.ai/docs/openai-api-compatibility
    service(
        "together",
        "https://api.together.xyz/v1",
        &["TOGETHER_API_KEY"],
    ),
    // https://learn.microsoft.com/azure/ai-services/openai/reference: the resource of the customer
    // is in the address, and the key in a header of its own. Its models that reason refuse
    // `max_tokens`, and the others take both names.
    Preset {
        base_url: None,
        key_header: Some("api-key"),
        send: SendSettings {
            max_completion_tokens: Some(true),
            ..SendSettings::NONE
        },
        ..service("azure", "", &["AZURE_OPENAI_API_KEY"])
    },
    // https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
    local("vllm", "http://localhost:8000/v1", &["VLLM_API_KEY"]),
    // https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
    local("llama-cpp", "http://localhost:8080/v1", &["LLAMA_API_KEY"]),
    // https://lmstudio.ai/docs/developer/openai-compat
    local("lm-studio", "http://localhost:1234/v1", &["LM_API_TOKEN"]),
];

impl Preset {
    /// Returns the provider's own service.
    #[must_use]
    pub fn for_provider(provider: Provider) -> Self {
        Self {
            name: provider.name(),
            provider,
            base_url: provider.default_base_url(),
            key_variables: provider.key_variables(),
            wants_key: provider.wants_key(),
            key_header: None,
            send: SendSettings::NONE,
        }
    }

    /// Returns every service: first those of [`Provider::ALL`], then the others.
    pub fn all() -> impl Iterator<Item = Self> {
        Provider::ALL
            .map(Self::for_provider)
            .into_iter()
            .chain(SERVICES)
    }

    /// Returns the service with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|preset| preset.name == name)
    }

    /// True if this is the provider's own service, which has the provider's name.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.name == self.provider.name()
    }
}

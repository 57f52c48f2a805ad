//! The providers, and what is known of each before it is asked: its names in the environment, its address, its wire.

#[cfg(test)]
mod tests;

use crate::{
    anthropic::Anthropic,
    gemini::Gemini,
    ollama::Ollama,
    openai_chat::OpenAiChat,
    openai_responses::OpenAiResponses,
    wire::{Capabilities, Wire},
};

/// A provider of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provider {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    OpenAi,
    /// OpenAI's Chat Completions, as many servers speak it.
    OpenAiCompat,
    /// Google's Gemini.
    Gemini,
    /// Ollama's own wire.
    Ollama,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Anthropic,
        Self::OpenAi,
        Self::OpenAiCompat,
        Self::Gemini,
        Self::Ollama,
    ];

    /// Its name in `--model PROVIDER:NAME`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenAiCompat => "openai-compat",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// The provider with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|provider| provider.name() == name)
    }

    /// The variables that its own SDK reads the key from; the first that is set counts. `openai-compat` has no SDK and a variable
    /// of ours.
    #[must_use]
    pub fn key_variables(self) -> &'static [&'static str] {
        match self {
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::OpenAi => &["OPENAI_API_KEY"],
            Self::OpenAiCompat => &["OPENAI_COMPAT_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Self::Ollama => &["OLLAMA_API_KEY"],
        }
    }

    /// The variable with the address of its server. Gemini's SDK has none, and `openai-compat` has no SDK: theirs are ours.
    #[must_use]
    pub fn base_url_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::OpenAi => "OPENAI_BASE_URL",
            Self::OpenAiCompat => "OPENAI_COMPAT_BASE_URL",
            Self::Gemini => "GEMINI_BASE_URL",
            Self::Ollama => "OLLAMA_HOST",
        }
    }

    /// The address of its server where nothing says otherwise, as its SDK has it: OpenAI's with the version, the others' without.
    #[must_use]
    pub fn default_base_url(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::OpenAi => Some("https://api.openai.com/v1"),
            Self::OpenAiCompat => None,
            Self::Gemini => Some("https://generativelanguage.googleapis.com"),
            Self::Ollama => Some("http://127.0.0.1:11434"),
        }
    }

    /// Whether its own servers refuse every request without a key.
    #[must_use]
    pub fn wants_key(self) -> bool {
        match self {
            Self::Anthropic | Self::OpenAi | Self::Gemini => true,
            Self::OpenAiCompat | Self::Ollama => false,
        }
    }

    /// What its models can take, as far as that can be said of all of them. Images are tried with servers of unknown models, since
    /// one that cannot take them is found out.
    #[must_use]
    pub fn capabilities(self) -> Capabilities {
        let native = matches!(self, Self::Anthropic | Self::OpenAi | Self::Gemini);
        Capabilities {
            vision: true,
            documents: native,
            files_in_results: native,
            parallel_calls: true,
            denied_is_error: false,
            max_output_tokens: None,
            window_tokens: None,
        }
    }

    /// Whether its models are unknown, so that a failure may be due to an image in the request.
    pub(crate) fn may_be_blind(self) -> bool {
        matches!(self, Self::OpenAiCompat | Self::Ollama)
    }

    /// How it is spoken to.
    pub(crate) fn wire(self) -> Box<dyn Wire> {
        match self {
            Self::Anthropic => Box::new(Anthropic),
            Self::OpenAi => Box::new(OpenAiResponses),
            Self::OpenAiCompat => Box::new(OpenAiChat),
            Self::Gemini => Box::new(Gemini),
            Self::Ollama => Box::new(Ollama),
        }
    }
}

//! The table of providers, and what is known of each before it is asked.

#[cfg(test)]
mod tests;

use crate::wire::{self, Capabilities, Wire};

/// Declares the enum of providers with the wire of each.
macro_rules! providers {
    ($($(#[$doc:meta])* $name:ident: $module:ident,)*) => {
        /// A provider of models.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Provider {
            $($(#[$doc])* $name,)*
        }

        impl Provider {
            /// All providers.
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];

            /// Returns the provider's names, server and wire format.
            pub(crate) fn wire(self) -> &'static Wire {
                match self {
                    $(Self::$name => &wire::$module::WIRE,)*
                }
            }
        }
    };
}

providers! {
    /// Anthropic's Messages.
    Anthropic: anthropic,
    /// OpenAI's Responses.
    OpenAi: openai_responses,
    /// OpenAI's Chat Completions, as many servers implement it.
    OpenAiCompat: openai_chat,
    /// Google's Gemini.
    Gemini: gemini,
    /// Ollama's own wire.
    Ollama: ollama,
}

impl Provider {
    /// Returns its name in `--model PROVIDER:NAME`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.wire().name
    }

    /// Returns the provider with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|provider| provider.name() == name)
    }

    /// Returns the environment variables that its own SDK reads the key from; the first that is set
    /// counts.
    #[must_use]
    pub fn key_variables(self) -> &'static [&'static str] {
        self.wire().key_variables
    }

    /// Returns the environment variable with the base URL of its server, as texts name it.
    #[must_use]
    pub fn base_url_variable(self) -> &'static str {
        self.wire().base_url_variable
    }

    /// Returns the environment variables with the base URL of its server; the first that is set
    /// counts.
    pub fn base_url_variables(self) -> impl Iterator<Item = &'static str> {
        let wire = self.wire();
        let own = [wire.base_url_variable];
        wire.sdk_base_url_variable.into_iter().chain(own)
    }

    /// Returns the base URL of its server that its SDK uses by default: OpenAI's with the version,
    /// the others without.
    #[must_use]
    pub fn default_base_url(self) -> Option<&'static str> {
        self.wire().default_base_url
    }

    /// True if its own servers refuse every request without a key.
    #[must_use]
    pub fn wants_key(self) -> bool {
        self.wire().wants_key
    }

    /// Returns what its models accept, as far as that holds for all of them. Images are tried with
    /// servers of unknown models, since a model that cannot take them is found out.
    #[must_use]
    pub fn capabilities(self) -> Capabilities {
        self.wire().capabilities
    }
}

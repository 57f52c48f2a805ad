//! Settings of a model's replies, the same for every provider. `DESIGN.md` has the field of each on
//! each wire; a `settings.rs` of the wire sets it.

use crate::{
    provider::Provider,
    wire::{Capabilities, settings},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};
use std::{fmt, str::FromStr};

/// The settings of a model's replies. An absent one is not sent, so that the model's own default
/// holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ModelSettings {
    /// How much the model reasons, writes and calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Whether the model thinks before it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// True if summaries of the reasoning are asked for; false if none is asked for or shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_summary: Option<bool>,
    /// Whether tags in the text of a reply mark reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tags: Option<ReasoningTags>,
    /// The randomness of the choice of words, from 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The share of probability from which words are chosen, above 0 and up to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The seed of random choices, from 0 to 2147483647.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// The texts that end a reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Vec<String>>,
    /// Whether the model calls tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The length of answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<Verbosity>,
    /// The provider's service tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<ServiceTier>,
    /// How long the provider keeps the prompt in its cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_lifetime: Option<CacheLifetime>,
    /// The key of the requests that share a cached prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_cache_key: Option<String>,
    /// Fields that are merged over the request, object by object.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra_body: Map<String, Value>,
}

/// Declares an enum of words of the configuration.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident: $($(#[$case_doc:meta])* $case:ident = $word:literal,)*) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        pub enum $name {
            $($(#[$case_doc])* #[serde(rename = $word)] $case,)*
        }

        impl $name {
            /// Returns its word in the configuration.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$case => $word,)*
                }
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                match text {
                    $($word => Ok(Self::$case),)*
                    _ => Err(UnknownWord(&[$($word,)*])),
                }
            }
        }
    };
}

/// Text that is not a word of a setting, with the words that are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write one of `{}`", .0.join("`, `"))]
pub struct UnknownWord(&'static [&'static str]);

words! {
    /// How much a model reasons, writes and calls. Wires with fewer levels get the nearest one.
    Effort:
    /// No reasoning.
    None = "none",
    /// Hardly any.
    Minimal = "minimal",
    /// Little.
    Low = "low",
    /// The middle.
    Medium = "medium",
    /// Much.
    High = "high",
    /// Very much.
    XHigh = "xhigh",
    /// As much as the model can.
    Max = "max",
}

words! {
    /// Whether tags in the text of a reply, such as `<think>`, mark reasoning. Servers of local
    /// models that know a model's template send reasoning apart from the text.
    ReasoningTags:
    /// Those at the start of the text, and a closing one on a line of its own.
    Auto = "auto",
    /// The text up to the first closing tag: the template writes the opening one.
    Closing = "closing",
    /// None.
    Off = "off",
}

words! {
    /// The length of answers.
    Verbosity:
    /// Short.
    Low = "low",
    /// The default of the models that have this setting.
    Medium = "medium",
    /// Long.
    High = "high",
}

words! {
    /// A service tier: its price and its speed.
    ServiceTier:
    /// The tier of the project's settings at the provider.
    Auto = "auto",
    /// The ordinary tier.
    Standard = "standard",
    /// Slower and cheaper.
    Flex = "flex",
    /// Faster and dearer.
    Priority = "priority",
}

words! {
    /// How long a provider keeps the prompt in its cache.
    CacheLifetime:
    /// Five minutes.
    Minutes5 = "5m",
    /// One hour.
    Hour1 = "1h",
    /// One day.
    Day1 = "24h",
}

/// Whether a model thinks before it answers: `"adaptive"`, `"off"`, or a number of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// The model decides when and how much.
    Adaptive,
    /// Up to this many tokens.
    Budget(u32),
    /// Not at all.
    Off,
}

/// Whether a model calls tools: `"auto"`, `"required"`, `"none"`, or `{ tool = "NAME" }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// It calls at least one, before it answers a user message.
    Required,
    /// It calls none.
    None,
    /// It calls this one, before it answers a user message.
    Tool(String),
}

/// The form of [`Thinking`] in messages.
const THINKING_FORMS: &str = "\"adaptive\", \"off\" or a number of tokens";

impl Serialize for Thinking {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Adaptive => serializer.serialize_str("adaptive"),
            Self::Budget(tokens) => serializer.serialize_u32(*tokens),
            Self::Off => serializer.serialize_str("off"),
        }
    }
}

impl<'de> Deserialize<'de> for Thinking {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Thinking;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(THINKING_FORMS)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Thinking, E> {
                match text {
                    "adaptive" => Ok(Thinking::Adaptive),
                    "off" => Ok(Thinking::Off),
                    _ => Err(E::unknown_variant(text, &["adaptive", "off"])),
                }
            }

            fn visit_i64<E: de::Error>(self, tokens: i64) -> Result<Thinking, E> {
                let tokens = u32::try_from(tokens);
                let invalid = |_| E::custom(format!("the value is not {THINKING_FORMS}"));
                tokens.map(Thinking::Budget).map_err(invalid)
            }

            fn visit_u64<E: de::Error>(self, tokens: u64) -> Result<Thinking, E> {
                self.visit_i64(i64::try_from(tokens).unwrap_or(i64::MAX))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl ModelSettings {
    /// Returns these settings, with those of `base` for absent ones. Extra fields of both are
    /// merged, and these win.
    #[must_use]
    pub fn over(self, base: Self) -> Self {
        let mut extra_body = Value::Object(base.extra_body);
        settings::merge(&mut extra_body, &self.extra_body);
        Self {
            effort: self.effort.or(base.effort),
            thinking: self.thinking.or(base.thinking),
            reasoning_summary: self.reasoning_summary.or(base.reasoning_summary),
            reasoning_tags: self.reasoning_tags.or(base.reasoning_tags),
            temperature: self.temperature.or(base.temperature),
            top_p: self.top_p.or(base.top_p),
            seed: self.seed.or(base.seed),
            stop: self.stop.or(base.stop),
            tool_choice: self.tool_choice.or(base.tool_choice),
            verbosity: self.verbosity.or(base.verbosity),
            service_tier: self.service_tier.or(base.service_tier),
            cache_lifetime: self.cache_lifetime.or(base.cache_lifetime),
            prompt_cache_key: self.prompt_cache_key.or(base.prompt_cache_key),
            extra_body: match extra_body {
                Value::Object(fields) => fields,
                _ => Map::new(),
            },
        }
    }

    /// True if no setting is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the settings that a model of this provider does not take.
    #[must_use]
    pub fn check(
        &self,
        provider: Provider,
        model: &str,
        capabilities: Capabilities,
    ) -> SettingsReport {
        settings::check(provider.wire(), model, self, capabilities)
    }
}

/// The settings that a model does not take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsReport {
    /// The settings that are left out, each with the reason; a run may go on without them.
    pub lost: Vec<(&'static str, String)>,
    /// The settings without which the meaning would be another, each with the reason.
    pub refused: Vec<(&'static str, String)>,
}

/// The fields of a request that the host relies on; extra fields do not replace them. They are
/// those of all wires, so that a change of the model changes nothing.
pub const HOST_FIELDS: [&str; 12] = [
    "contents",
    "include",
    "input",
    "instructions",
    "messages",
    "model",
    "store",
    "stream",
    // The token counts, on which budgets rely.
    "stream_options",
    "system",
    "systemInstruction",
    "tools",
];

//! Anthropic's Messages, and servers that imitate it.

mod reasoning;
mod request;
mod settings;
mod stream;
#[cfg(test)]
mod tests;

use super::{Capabilities, Framing, ImageLimits, KeyHeader, Wire, schema::SchemaDialect};

/// The provider and its wire.
pub(crate) static WIRE: Wire = Wire {
    name: "anthropic",
    key_variables: &["ANTHROPIC_API_KEY"],
    base_url_variable: "ANTHROPIC_BASE_URL",
    sdk_base_url_variable: None,
    default_base_url: Some("https://api.anthropic.com"),
    wants_key: true,
    capabilities: Capabilities::NATIVE,
    may_be_blind: false,
    // "Vision" in Anthropic's documentation: 5 MB of base64 per image; 8000 pixels, and 2000 in a
    // request of more than 20 images, which a conversation may become. Its servers scale larger
    // ones to about 1568 pixels.
    image_limits: ImageLimits {
        max_bytes: 5 * 1024 * 1024 / 4 * 3,
        max_side: 2000,
    },
    reply_path: |_| "v1/messages".to_owned(),
    list_path: "v1/models?limit=1000",
    key_header: KeyHeader::Named("x-api-key"),
    // The version of the SDK's types.
    headers: &[("anthropic-version", "2026-10-21")],
    schema_dialect: SchemaDialect::Anthropic,
    has_tagged_reasoning: false,
    framing: Framing::Events,
    encode: request::encode,
    fields: settings::FIELDS,
    settings: settings::map,
    answer: settings::answer,
    decoder: |model, history| Box::new(stream::Decoder::new(model, history)),
};

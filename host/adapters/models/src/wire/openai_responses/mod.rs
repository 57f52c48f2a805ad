//! OpenAI's Responses. The conversation stays on this side: nothing is stored at OpenAI, and
//! reasoning comes back encrypted and is sent again.

mod reasoning;
mod request;
mod settings;
mod stream;
#[cfg(test)]
mod tests;

use super::{Capabilities, Framing, ImageLimits, KeyHeader, Wire, schema::SchemaDialect};

/// The separator between two messages, or two parts of reasoning, of one reply.
const SEPARATOR: &str = "\n\n";

/// The provider and its wire.
pub(crate) static WIRE: Wire = Wire {
    name: "openai",
    key_variables: &["OPENAI_API_KEY"],
    base_url_variable: "OPENAI_BASE_URL",
    sdk_base_url_variable: None,
    default_base_url: Some("https://api.openai.com/v1"),
    wants_key: true,
    capabilities: Capabilities::NATIVE,
    may_be_blind: false,
    image_limits: ImageLimits::OPENAI,
    reply_path: |_| "responses".to_owned(),
    list_path: "models",
    key_header: KeyHeader::Bearer,
    headers: &[],
    schema_dialect: SchemaDialect::Responses,
    has_tagged_reasoning: false,
    framing: Framing::Events,
    encode: request::encode,
    fields: settings::FIELDS,
    settings: settings::map,
    answer: settings::answer,
    decoder: |model, history| Box::new(stream::Decoder::new(model, history)),
};

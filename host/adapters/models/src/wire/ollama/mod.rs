//! Ollama's own wire. Calls have no ids, files no URLs and results no error mark; a response is one
//! line of JSON per piece.

mod request;
mod settings;
mod stream;
#[cfg(test)]
mod tests;

use super::{Capabilities, Framing, ImageLimits, KeyHeader, Wire, schema::SchemaDialect};

/// The metadata key of the model's reasoning: models that reason while they call tools want it
/// back.
const THINKING: &str = "thinking";

/// The provider and its wire.
pub(crate) static WIRE: Wire = Wire {
    name: "ollama",
    key_variables: &["OLLAMA_API_KEY"],
    base_url_variable: "OLLAMA_HOST",
    sdk_base_url_variable: None,
    default_base_url: Some("http://127.0.0.1:11434"),
    wants_key: false,
    capabilities: Capabilities {
        documents: false,
        audio: false,
        files_in_results: false,
        ..Capabilities::NATIVE
    },
    may_be_blind: true,
    // Ollama documents nothing, and its models see fewer pixels.
    image_limits: ImageLimits::OPENAI,
    reply_path: |_| "api/chat".to_owned(),
    list_path: "api/tags",
    key_header: KeyHeader::Bearer,
    headers: &[],
    schema_dialect: SchemaDialect::Ollama,
    has_tagged_reasoning: true,
    framing: Framing::Lines,
    encode: request::encode,
    fields: settings::FIELDS,
    settings: settings::map,
    answer: settings::answer,
    decoder: |model, history| Box::new(stream::Decoder::new(model, history)),
};

//! Google's Gemini, by its own API.

mod reasoning;
mod request;
mod settings;
mod stream;
#[cfg(test)]
mod tests;

use super::{Capabilities, Framing, ImageLimits, KeyHeader, Wire, schema::SchemaDialect};

/// The provider and its wire.
pub(crate) static WIRE: Wire = Wire {
    name: "gemini",
    // In the order of its SDK, google-genai.
    key_variables: &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
    base_url_variable: "GEMINI_BASE_URL",
    sdk_base_url_variable: Some("GOOGLE_GEMINI_BASE_URL"),
    default_base_url: Some("https://generativelanguage.googleapis.com"),
    wants_key: true,
    capabilities: Capabilities {
        audio: true,
        ..Capabilities::NATIVE
    },
    may_be_blind: false,
    // "Image understanding" in Google's documentation: 7 MB per inline file; larger images than
    // 3072 pixels are scaled to that by its servers.
    image_limits: ImageLimits {
        max_bytes: 7 * 1024 * 1024 / 4 * 3,
        max_side: 3072,
    },
    reply_path,
    list_path: "v1beta/models?pageSize=1000",
    key_header: KeyHeader::Named("x-goog-api-key"),
    headers: &[],
    schema_dialect: SchemaDialect::Gemini,
    has_tagged_reasoning: false,
    framing: Framing::Events,
    encode: request::encode,
    fields: settings::FIELDS,
    settings: settings::map,
    answer: settings::answer,
    decoder: |model, history| Box::new(stream::Decoder::new(model, history)),
};

fn reply_path(model: &str) -> String {
    // The name of a tuned model includes its collection.
    let collection = if model.contains('/') { "" } else { "models/" };
    let model = model
        .replace('%', "%25")
        .replace('?', "%3F")
        .replace('#', "%23");
    format!("v1beta/{collection}{model}:streamGenerateContent?alt=sse")
}

/// True for models of the third generation or later, which reason, sign their reasoning and take
/// files in results. A name without a number, such as `gemini-flash-latest`, stands for the newest
/// model.
fn is_third_generation(model: &str) -> bool {
    let name = model.strip_prefix("models/").unwrap_or(model);
    let Some(name) = name.strip_prefix("gemini-") else {
        return false;
    };
    let number: String = name.chars().take_while(char::is_ascii_digit).collect();
    number.is_empty() || number.parse().is_ok_and(|number: u32| number >= 3)
}

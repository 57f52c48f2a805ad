//! OpenAI's Chat Completions, as many servers implement it: vLLM, llama.cpp, gateways, OpenAI
//! itself.

mod reasoning;
mod request;
mod settings;
mod stream;
#[cfg(test)]
mod tests;

use super::{Capabilities, Framing, ImageLimits, KeyHeader, Wire, schema::SchemaDialect};

/// The provider and its wire.
pub(crate) static WIRE: Wire = Wire {
    name: "openai-compat",
    // It has no SDK of its own: both variables are ours.
    key_variables: &["OPENAI_COMPAT_API_KEY"],
    base_url_variable: "OPENAI_COMPAT_BASE_URL",
    sdk_base_url_variable: None,
    default_base_url: None,
    wants_key: false,
    capabilities: Capabilities {
        documents: false,
        audio: false,
        files_in_results: false,
        ..Capabilities::NATIVE
    },
    may_be_blind: true,
    // Compatible servers document nothing; OpenAI's own limits hold for the server that they
    // imitate.
    image_limits: ImageLimits::OPENAI,
    reply_path: |_| "chat/completions".to_owned(),
    list_path: "models",
    key_header: KeyHeader::Bearer,
    headers: &[],
    schema_dialect: SchemaDialect::Chat,
    has_tagged_reasoning: true,
    framing: Framing::Events,
    encode: request::encode,
    fields: settings::FIELDS,
    settings: settings::map,
    // Compatible servers refuse `response_format`, ignore it, or apply it to calls as well.
    answer: |_, _, _| None,
    decoder: |model, history| Box::new(stream::Decoder::new(model, history)),
};

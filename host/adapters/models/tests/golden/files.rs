//! The golden files, and the models and metadata that produce them.

use super::{cases, settings};
use agent_host_models::{Endpoint, HttpModel, Provider, Timeouts};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Returns the directory with the bodies of a provider's wire.
pub(crate) fn directory(provider: Provider) -> PathBuf {
    let wire = match provider {
        Provider::Anthropic => "anthropic",
        Provider::OpenAi => "openai_responses",
        Provider::OpenAiCompat => "openai_chat",
        Provider::Gemini => "gemini",
        Provider::Ollama => "ollama",
    };
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("src/wire")
        .join(wire)
        .join("golden")
}

/// The bodies of all conversations, and of one with all settings, by the names of their files.
pub(crate) fn bodies(provider: Provider) -> Vec<(&'static str, Value)> {
    let plain = model(provider);
    let conversations = cases::all(&metadata(provider)).into_iter();
    let conversations = conversations.map(|(name, request)| (name, plain.body(&request)));
    let with_settings = settings::all().into_iter().map(|(name, settings)| {
        let model = model(provider).with_settings(settings);
        (name, model.body(&settings::request()))
    });
    let answer = (
        "answer-schema",
        structured_model(provider).body(&settings::structured_request()),
    );
    conversations.chain(with_settings).chain([answer]).collect()
}

/// A model with all capabilities of its provider.
pub(crate) fn model(provider: Provider) -> HttpModel {
    // Gemini takes files in results from its third generation on.
    let name = match provider {
        Provider::Gemini => "gemini-3-pro",
        _ => "m",
    };
    named(provider, name)
}

/// A model that has structured output where its provider has it.
fn structured_model(provider: Provider) -> HttpModel {
    match provider {
        Provider::Anthropic => named(provider, "claude-sonnet-5-5"),
        _ => model(provider),
    }
}

fn named(provider: Provider, name: &str) -> HttpModel {
    let endpoint = Endpoint {
        base_url: "http://127.0.0.1:1".to_owned(),
        key: None,
        key_source: "THE_KEY".to_owned(),
        extras: agent_host_models::RequestExtras::default(),
        timeouts: Timeouts::default(),
    };
    HttpModel::new(provider, name, endpoint, provider.capabilities()).expect("it can be made")
}

/// The metadata of a reply, as the provider's decoder stores it.
pub(crate) fn metadata(provider: Provider) -> Map<String, Value> {
    match provider {
        Provider::Anthropic => {
            let blocks = json!([
                {"type": "thinking", "thinking": "It is short.", "signature": "c2lnbmVk"},
                {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"},
                {"type": "text", "bytes": 7},
                {"type": "tool_use"},
            ]);
            let stored = json!({"model": "m", "blocks": blocks});
            Map::from_iter([(provider.name().to_owned(), stored)])
        }
        Provider::OpenAi => {
            let items = json!([
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b3BhcXVl"},
                {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary",
                 "content": [{"type": "output_text", "text": "I read.", "annotations": []}]},
                {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"a\"}",
                 "status": "completed"},
            ]);
            let stored = json!({"model": "m", "items": items});
            Map::from_iter([(provider.name().to_owned(), stored)])
        }
        Provider::Gemini => {
            let parts = json!([
                {"type": "thought", "text": "It is short.", "signature": "dGhvdWdodA=="},
                {"type": "text", "bytes": 7},
                {"type": "call", "signature": "c2lnbmVk"},
            ]);
            let stored = json!({"model": "gemini-3-pro", "parts": parts});
            Map::from_iter([(provider.name().to_owned(), stored)])
        }
        Provider::Ollama => Map::from_iter([(
            provider.name().to_owned(),
            json!({"thinking": "I should read."}),
        )]),
        Provider::OpenAiCompat => Map::new(),
    }
}

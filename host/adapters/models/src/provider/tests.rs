use super::*;
use crate::{Endpoint, HttpModel, Timeouts};
use agent_host_engine::model::Model as _;
use agent_host_types::model::Provenance;
use pretty_assertions::assert_eq;
use std::collections::HashSet;

#[test]
fn provider_is_found_by_its_name() {
    for provider in Provider::ALL {
        assert_eq!(Provider::from_name(provider.name()), Some(provider));
    }
    for name in ["", "OpenAI", "anthropic ", "script"] {
        assert_eq!(Provider::from_name(name), None, "{name:?}");
    }
}

#[test]
fn environment_variables_are_distinct() {
    let variables = Provider::ALL.into_iter().flat_map(|provider| {
        let keys = provider.key_variables().iter().copied();
        keys.chain(provider.base_url_variables())
    });
    let all: Vec<&str> = variables.collect();
    let distinct: HashSet<&str> = all.iter().copied().collect();
    assert_eq!(all.len(), distinct.len());
}

#[test]
fn gemini_variables_are_in_the_order_of_its_sdk() {
    let provider = Provider::Gemini;
    let base_urls: Vec<&str> = provider.base_url_variables().collect();
    assert_eq!(base_urls, ["GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"]);
    let keys = ["GOOGLE_API_KEY", "GEMINI_API_KEY"];
    assert_eq!(provider.key_variables(), keys);
}

/// Where a request goes, from the address that the provider's own SDK takes.
#[test]
fn request_url_matches_provider() {
    let table = [
        (Provider::Anthropic, "https://api.anthropic.com/v1/messages"),
        (Provider::OpenAi, "https://api.openai.com/v1/responses"),
        (
            Provider::Gemini,
            "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
        ),
        (Provider::Ollama, "http://127.0.0.1:11434/api/chat"),
        (
            Provider::OpenAiCompat,
            "http://127.0.0.1:1/v1/chat/completions",
        ),
    ];
    for (provider, expected) in table {
        let base_url = provider
            .default_base_url()
            .unwrap_or("http://127.0.0.1:1/v1/");
        let endpoint = Endpoint {
            base_url: base_url.to_owned(),
            key: None,
            key_source: "THE_KEY".to_owned(),
            extras: crate::RequestExtras::default(),
            timeouts: Timeouts::default(),
        };
        let model = HttpModel::new(provider, "m", endpoint, provider.capabilities()).unwrap();
        assert_eq!(model.url(), expected);
        let provenance = Provenance {
            provider: provider.name().to_owned(),
            model: "m".to_owned(),
        };
        assert_eq!(model.provenance(), provenance);
    }
}

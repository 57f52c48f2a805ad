//! `[[provider]]` and the services that need none.

use super::{Tree, finish};
use crate::config::{ConfigError, ModelConfig, Overrides};
use agent_host_models::{Endpoint, SendSettings};
use pretty_assertions::assert_eq;
use secrecy::ExposeSecret;

/// The endpoint of the selected model.
fn open(tree: &Tree, toml: &str) -> Result<Endpoint, ConfigError> {
    let config = tree.load(toml, &Overrides::default())?;
    let Some(ModelConfig::Served { provider, .. }) = config.models.first else {
        panic!("another model");
    };
    finish(provider.open())
}

/// The names and values, the latter readable.
fn pairs(pairs: &[(String, secrecy::SecretString)]) -> Vec<(&str, &str)> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| (name.as_str(), value.expose_secret()))
        .collect()
}

#[test]
fn service_without_a_section_has_its_address_and_key() {
    let mut tree = Tree::new();
    for (service, variable, base_url, key_header) in [
        (
            "openrouter",
            "OPENROUTER_API_KEY",
            "https://openrouter.ai/api/v1",
            None,
        ),
        (
            "groq",
            "GROQ_API_KEY",
            "https://api.groq.com/openai/v1",
            None,
        ),
        ("vllm", "VLLM_API_KEY", "http://localhost:8000/v1", None),
    ] {
        let toml = format!("model = \"{service}:vendor/m:free\"");
        let config = tree.load(&toml, &Overrides::default()).unwrap();
        let first = config.models.first.map(|model| model.to_string());
        assert_eq!(first, Some(format!("{service}:vendor/m:free")));
        let without_key = open(&tree, &toml).map(|endpoint| endpoint.key.is_none());
        match (service, without_key) {
            ("vllm", without_key) => assert!(without_key.unwrap()),
            (_, without_key) => assert_eq!(
                tree.portable(&without_key.unwrap_err()),
                format!(
                    "there is no key for `{service}`; set the variable {variable}, or `api-key` of a [[provider]] `{service}` \
                     in agent.toml"
                )
            ),
        }
        tree.set(variable, "the-key");
        // The address of another server is not for this one.
        tree.set("OPENAI_COMPAT_BASE_URL", "http://other/v1");
        let endpoint = open(&tree, &toml).unwrap();
        assert_eq!(endpoint.base_url, base_url);
        assert_eq!(endpoint.key.unwrap().expose_secret(), "the-key");
        assert_eq!(endpoint.key_source, variable);
        assert_eq!(endpoint.extras.key_header.as_deref(), key_header);
    }
}

#[test]
fn named_provider_overrides_its_kind() {
    let mut tree = Tree::new();
    tree.set("AZURE_OPENAI_API_KEY", "azure-key");
    tree.set("TEAM", "team-secret");
    let toml = "model = \"work:gpt\"\nfallback = [\"home:m\"]\n[context]\nwindow-tokens = 9000\n\
        [[provider]]\nname = \"work\"\nkind = \"azure\"\nbase-url = \"https://r.openai.azure.com/openai/v1\"\n\
        headers = { x-team = \"env:TEAM\", x-app = \"mine\" }\nquery = { api-version = \"preview\" }\nvision = false\n\
        [[provider]]\nname = \"home\"\nkind = \"anthropic\"\nbase-url = \"http://127.0.0.1:9\"\n\
        key-header = \"authorization\"\n";
    let endpoint = open(&tree, toml).unwrap();
    assert_eq!(endpoint.base_url, "https://r.openai.azure.com/openai/v1");
    assert_eq!(endpoint.key.unwrap().expose_secret(), "azure-key");
    assert_eq!(endpoint.extras.key_header.as_deref(), Some("api-key"));
    let headers = [("x-app", "mine"), ("x-team", "team-secret")];
    assert_eq!(pairs(&endpoint.extras.headers), headers);
    assert_eq!(pairs(&endpoint.extras.query), [("api-version", "preview")]);
    let config = tree.load(toml, &Overrides::default()).unwrap();
    let printed = format!("{config:?}");
    for secret in ["team-secret", "azure-key", "mine\"", "preview"] {
        assert!(!printed.contains(secret), "{secret}: {printed}");
    }
    let all: Vec<_> = config.models.all().collect();
    let [
        ModelConfig::Served { provider: work, .. },
        ModelConfig::Served { provider: home, .. },
    ] = all.as_slice()
    else {
        panic!("{all:?}");
    };
    assert!(!work.capabilities.vision);
    assert_eq!(work.capabilities.window_tokens, Some(9000));
    let wire = home.preset.provider.name();
    assert_eq!((home.name.as_str(), wire), ("home", "anthropic"));
    let home = finish(home.open()).unwrap();
    assert_eq!(home.extras.key_header.as_deref(), Some("authorization"));
}

#[test]
fn key_of_a_gateway_leaves_the_choice_of_a_provider() {
    let mut tree = Tree::new();
    tree.set("OPENROUTER_API_KEY", "key");
    let config = tree.load("", &Overrides::default()).unwrap();
    assert_eq!(
        config.models.selection_error.unwrap().to_string(),
        "no model is set, and OPENROUTER_API_KEY is for `openrouter`, whose models are unknown; choose one with \
         `--model PROVIDER:NAME`, or with `model = \"PROVIDER:NAME\"` in agent.toml"
    );
    tree.set("OPENAI_API_KEY", "key");
    let config = tree.load("", &Overrides::default()).unwrap();
    assert_eq!(config.models.chosen_by.as_deref(), Some("OPENAI_API_KEY"));
}

#[test]
fn provider_of_an_invalid_form_is_refused() {
    let tree = Tree::new();
    let named = |lines: &str| format!("[[provider]]\nname = \"a\"\nkind = \"groq\"\n{lines}");
    for (toml, expected) in [
        (
            "[[provider]]\nkind = \"groq\"".to_owned(),
            "invalid [[provider]] name ``; write `name` with at most 32 of a-z, 0-9, `-`, `_` and `.`",
        ),
        (
            "[[provider]]\nname = \"a:b\"\nkind = \"groq\"".to_owned(),
            "invalid [[provider]] name `a:b`; write `name` with at most 32 of a-z, 0-9, `-`, `_` and `.`",
        ),
        (
            "[[provider]]\nname = \"openai\"\nkind = \"groq\"".to_owned(),
            "`openai` is built in, so a [[provider]] cannot have that name; choose another name, or set the keys \
             under [openai] if it is a provider",
        ),
        (
            "[[provider]]\nname = \"a\"\nkind = \"grog\"".to_owned(),
            "unknown [[provider]] `kind` `grog`; did you mean `groq`?",
        ),
        (
            named("[[provider]]\nname = \"a\"\nkind = \"vllm\""),
            "two [[provider]] are named `a`; rename one of them",
        ),
        (
            named("headers = { Authorization = \"sk-live-123\" }"),
            "cannot set the header `Authorization` of the [[provider]] `a`: it is not a header name, or the host \
             sets it; put a key in `api-key`, and its header in `key-header`; remove it",
        ),
        (
            named("headers = { \"a b\" = \"sk-live-123\" }"),
            "cannot set the header `a b` of the [[provider]] `a`: it is not a header name, or the host sets it; put \
             a key in `api-key`, and its header in `key-header`; remove it",
        ),
        (
            named("key-header = \"a b\""),
            "`key-header` of the [[provider]] `a` is not a header name; write it like `api-key`, or `authorization` \
             for a bearer token",
        ),
        (
            "[openai]\nkind = \"groq\"".to_owned(),
            "`kind` cannot be used under [openai], which is the provider `openai` itself; remove it, or write the \
             section as [[provider]] with `name` and `kind`",
        ),
    ] {
        assert_eq!(
            tree.problem(&toml, &Overrides::default()),
            expected,
            "{toml}"
        );
    }
}

/// A key under `send` replaces that of the preset, and the others of the preset stay.
#[test]
fn send_settings_are_merged_over_the_preset() {
    let mut tree = Tree::new();
    tree.set("MISTRAL_API_KEY", "key");
    let toml = "model = \"mistral:m\"\n[[provider]]\nname = \"mistral\"\nkind = \"mistral\"\n\
        send = { stream_options = true, strict = false }\n";
    let config = tree.load(toml, &Overrides::default()).unwrap();
    let Some(ModelConfig::Served { provider, .. }) = config.models.first else {
        panic!("another model");
    };
    let expected = SendSettings {
        stream_options: Some(true),
        strict: Some(false),
        nine_character_ids: Some(true),
        user_after_tool: Some(false),
        ..SendSettings::NONE
    };
    assert_eq!(provider.capabilities.send, expected);
}

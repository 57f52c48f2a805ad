//! The settings of models' replies: which ones hold, and which are refused.

use super::Tree;
use crate::config::{Config, ModelConfig, Overrides};
use agent_host_models::{Effort, ModelSettings, Thinking, ToolChoice};
use pretty_assertions::assert_eq;
use secrecy::ExposeSecret as _;
use serde_json::json;

/// The settings of the first model and of the fallback models.
fn settings(config: &Config) -> Vec<ModelSettings> {
    let of = |model: &ModelConfig| match model {
        ModelConfig::Served { settings, .. } => (**settings).clone(),
        other => panic!("{other}"),
    };
    config.models.all().map(of).collect()
}

const LAYERS: &str = r#"
model = "openai-compat:gpt-x"
fallback = ["ollama:m", "anthropic:claude-opus-4-6"]
[settings]
effort = "high"
temperature = 0.25
extra-body = { top_k = 40, options = { a = 1 } }
[settings.models."openai-compat:*"]
effort = "low"
seed = 7
[settings.models."openai-compat:gpt-*"]
effort = "medium"
extra-body = { options = { b = 2 } }
[settings.models."anthropic:claude-opus-4-6"]
thinking = 2048
tool-choice = "none"
"#;

#[test]
fn settings_of_longest_match_win_over_general_ones() {
    let tree = Tree::new();
    let general = ModelSettings {
        effort: Some(Effort::High),
        temperature: Some(0.25),
        extra_body: fields(&json!({"top_k": 40, "options": {"a": 1}})),
        ..ModelSettings::default()
    };
    let config = tree.load(LAYERS, &Overrides::default()).unwrap();
    let expected = vec![
        ModelSettings {
            effort: Some(Effort::Medium),
            extra_body: fields(&json!({"top_k": 40, "options": {"a": 1, "b": 2}})),
            ..general.clone()
        },
        general.clone(),
        ModelSettings {
            thinking: Some(Thinking::Budget(2048)),
            tool_choice: Some(ToolChoice::None),
            ..general
        },
    ];
    assert_eq!(settings(&config), expected);
}

/// Those of the settings go out with those of the server, and the model's own after them.
#[tokio::test]
async fn headers_of_the_model_follow_the_others() {
    let mut tree = Tree::new();
    tree.set("TEAM", "team-secret");
    let toml = "model = \"openai-compat:gpt-x\"\n[openai-compat]\nbase-url = \"http://127.0.0.1:9\"\n\
        headers = { x-app = \"server\" }\n[settings]\nheaders = { x-beta = \"all\", X-Team = \"env:TEAM\" }\n\
        [settings.models.\"openai-compat:gpt-*\"]\nheaders = { x-beta = \"gpt\" }";
    let config = tree.load(toml, &Overrides::default()).unwrap();
    let Some(ModelConfig::Served { provider, .. }) = config.models.first else {
        panic!("no model");
    };
    let headers = provider.open().await.unwrap().extras.headers;
    let shown: Vec<(&str, &str)> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose_secret()))
        .collect();
    assert_eq!(
        shown,
        [
            ("x-app", "server"),
            ("X-Team", "team-secret"),
            ("x-beta", "all"),
            ("x-beta", "gpt")
        ]
    );
}

#[test]
fn effort_of_the_command_line_replaces_effort_and_thinking() {
    let tree = Tree::new();
    let overrides = Overrides {
        effort: Some(Effort::Max),
        ..Overrides::default()
    };
    let config = tree.load(LAYERS, &overrides).unwrap();
    let reasoning = settings(&config)
        .into_iter()
        .map(|settings| (settings.effort, settings.thinking));
    assert_eq!(
        reasoning.collect::<Vec<_>>(),
        [(Some(Effort::Max), None); 3]
    );
}

fn fields(value: &serde_json::Value) -> serde_json::Map<String, serde_json::Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn unusable_settings_are_refused_with_their_line() {
    let tree = Tree::new();
    for (toml, expected) in [
        (
            "[settings]\neffort = \"hihg\"",
            "line 2, column 10: invalid value `hihg`; did you mean `high`?",
        ),
        (
            "[settings]\nthinking = \"of\"",
            "line 2, column 12: invalid value `of`; did you mean `off`?",
        ),
        (
            "[settings]\nthinking = -1",
            "line 2, column 12: the value is not \"adaptive\", \"off\" or a number of tokens; correct it",
        ),
        (
            "[settings]\nthinking = 0",
            "line 2, column 12: `thinking` is 0 tokens; write \"off\", or the maximum number of thinking tokens",
        ),
        (
            "[settings]\ntemperature = 2.5",
            "line 2, column 15: `temperature` is not between 0 and 2; write a number like 0.2, or leave it out",
        ),
        (
            "[settings]\ntemperature = nan",
            "line 2, column 15: `temperature` is not between 0 and 2; write a number like 0.2, or leave it out",
        ),
        (
            "[settings]\ntop-p = 0.0",
            "line 2, column 9: `top-p` is not above 0 and up to 1; write a number like 0.9, or leave it out",
        ),
        (
            "[settings]\nseed = 2147483648",
            "line 2, column 8: `seed` is larger than some providers accept; write a number up to 2147483647, or \
             leave it out",
        ),
        (
            "[settings]\nstop = [\"\"]",
            "line 2, column 8: `stop` is empty, or has an empty string or too many strings; write 1 to 4 strings, or leave it out",
        ),
        (
            "[settings.models.\"openai:*\".extra-body]\nstream = false",
            "line 2, column 10: `extra-body.stream` would replace a field that the host relies on; remove it",
        ),
        (
            "[settings]\nheaders = { host = \"a\" }",
            "line 2, column 20: cannot set the header `host` of [settings]: it is not a header name, or the host \
             sets it; put a key in `api-key`, and its header in `key-header`; remove it",
        ),
        (
            "[settings.models.\"openai:*\"]\nheaders = { x-api-token = \"sk-live-123\" }",
            "line 2, column 27: cannot set the header `x-api-token` of [settings.models.\"openai:*\"]: its name says \
             that it is a secret, which does not belong in a file that is shared and committed; write `env:NAME`, \
             `file:PATH` or `cmd:COMMAND` (and change the exposed value)",
        ),
        (
            "[settings.models.gpt]\nseed = 1",
            "line 1, column 1: `gpt` in [settings.models] is not a model; write it like \"openai-compat:llama3.2\", \
             or \"openai-compat:*\" for every model with that prefix",
        ),
        (
            "[settings.models.\"a:b\".models.\"c:d\"]\nseed = 1",
            "`models` is in the settings of a model, which cannot contain models; move it to [settings]",
        ),
        (
            "model = \"ollama:m\"\n[settings]\ntool-choice = \"required\"",
            "line 3, column 15: `tool-choice` does not work with the model `ollama:m`: Ollama cannot force a model \
             to call a tool; change it, or set a different value in [settings.models.\"ollama:m\"]",
        ),
        (
            "model = \"anthropic:m\"\n[settings]\nthinking = 64\n[settings.models.\"anthropic:*\"]\nthinking = 32000",
            "line 5, column 12: `thinking` does not work with the model `anthropic:m`: Anthropic's models accept at \
             least 1024 tokens and fewer than `max-output-tokens`, which is 32000; change it, or set a different \
             value in [settings.models.\"anthropic:m\"]",
        ),
    ] {
        let refusal = tree.refusal(toml, &Overrides::default());
        assert!(refusal.contains(expected), "{toml}\n{refusal}\n{expected}");
    }
}

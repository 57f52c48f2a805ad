//! Which models are chosen, and by what.

use super::Tree;
use crate::config::{Config, ModelConfig, Overrides};
use pretty_assertions::assert_eq;

/// The first model, those in its place, and where the key is that chose it.
fn chosen(config: &Config) -> (Option<String>, Vec<String>, Option<&str>) {
    let models = &config.models;
    (
        models.first.as_ref().map(ToString::to_string),
        models.fallback.iter().map(ToString::to_string).collect(),
        models.chosen_by.as_deref(),
    )
}

#[test]
fn model_is_selected_by_the_only_key() {
    let several = "no model is set, and there are keys for several providers: `anthropic` (ANTHROPIC_API_KEY), \
        `gemini` (GOOGLE_API_KEY); choose one with `--model PROVIDER:NAME`, or with `model = \"PROVIDER:NAME\"` in \
        agent.toml";
    let unknown = "no model is set, and OPENAI_COMPAT_API_KEY is for `openai-compat`, whose models are unknown; \
                   choose one with `--model PROVIDER:NAME`, or with `model = \"PROVIDER:NAME\"` in agent.toml";
    type Case = (
        &'static [&'static str],
        Result<Option<(&'static str, &'static str)>, &'static str>,
    );
    let cases: [Case; 8] = [
        (&[], Ok(None)),
        // An address alone chooses nothing.
        (&["OLLAMA_HOST", "OPENAI_BASE_URL"], Ok(None)),
        (
            &["ANTHROPIC_API_KEY"],
            Ok(Some(("anthropic:claude-sonnet-5-5", "ANTHROPIC_API_KEY"))),
        ),
        (
            &["OPENAI_API_KEY"],
            Ok(Some(("openai:gpt-5.5", "OPENAI_API_KEY"))),
        ),
        (
            &["GEMINI_API_KEY"],
            Ok(Some(("gemini:gemini-flash-latest", "GEMINI_API_KEY"))),
        ),
        // Two variables of one provider are one key; the SDK's own order counts.
        (
            &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Ok(Some(("gemini:gemini-flash-latest", "GOOGLE_API_KEY"))),
        ),
        (&["ANTHROPIC_API_KEY", "GOOGLE_API_KEY"], Err(several)),
        (&["OPENAI_COMPAT_API_KEY"], Err(unknown)),
    ];
    for (variables, expected) in cases {
        let mut tree = Tree::new();
        for name in variables {
            tree.set(name, "value");
        }
        // Listing sessions needs no model, so loading works in any case.
        let config = tree.load("", &Overrides::default()).unwrap();
        let selection_error = config
            .models
            .selection_error
            .as_ref()
            .map(ToString::to_string);
        let (first, _, chosen_by) = chosen(&config);
        let found = match selection_error {
            Some(error) => Err(error),
            None => Ok(first.zip(chosen_by.map(str::to_owned))),
        };
        let expected = expected
            .map(|chosen| chosen.map(|(model, by)| (model.to_owned(), by.to_owned())))
            .map_err(str::to_owned);
        assert_eq!(found, expected, "{variables:?}");
        // A named model ignores keys.
        let named = tree
            .load("model = \"ollama:m\"", &Overrides::default())
            .unwrap();
        assert_eq!(
            (chosen(&named), named.models.selection_error.is_none()),
            ((Some("ollama:m".to_owned()), Vec::new(), None), true)
        );
    }
}

/// A key that the configuration knows of chooses like one of the environment.
#[test]
fn model_is_selected_by_configured_key() {
    let tree = Tree::new();
    let toml = "[openai]\napi-key = \"cmd:pass show openai\"";
    let config = tree.load(toml, &Overrides::default()).unwrap();
    assert_eq!(
        chosen(&config),
        (
            Some("openai:gpt-5.5".to_owned()),
            Vec::new(),
            Some("the command in `api-key`")
        )
    );
}

/// Models that a session may choose are resolved as the others, and none is offered twice.
#[test]
fn model_choices_are_offered_behind_the_fallback() {
    let toml = "model = \"anthropic:a\"\nfallback = [\"ollama:b\"]\n\
        model-choices = [\"ollama:c\", \"ollama:b\", \"anthropic:a\", \"ollama:c\"]\n";
    let config = Tree::new().load(toml, &Overrides::default()).unwrap();
    assert_eq!(
        config.models.offered(),
        ["anthropic:a", "ollama:b", "ollama:c"]
    );
    let toml = "model-choices = [\"opnai:x\"]";
    assert_eq!(
        Tree::new().problem(toml, &Overrides::default()),
        "unknown model provider `opnai`; did you mean `openai:x`?"
    );
}

/// The small model is behind a server as the others, is not offered, and is not asked in a replay.
#[test]
fn small_model_is_resolved_beside_the_others() {
    let small = |toml: &str| {
        let config = Tree::new().load(toml, &Overrides::default()).unwrap();
        let offered = config.models.offered();
        (
            config.models.small.map(|small| small.to_string()),
            offered.len(),
        )
    };
    let of_file = "model = \"anthropic:a\"\nsmall-model = \"ollama:b\"\n";
    assert_eq!(small(of_file), (Some("ollama:b".to_owned()), 1));
    let of_recording = "model = \"replay:./r\"\nsmall-model = \"ollama:b\"\n";
    assert_eq!(small(of_recording), (None, 1));
    let of_agent =
        format!("{of_file}[[agent]]\nname = \"a\"\ndescription = \"d\"\nmodel = \"openai:c\"\n");
    let config = Tree::new().load(&of_agent, &Overrides::default()).unwrap();
    let own = config.agent_definitions[0].models.as_ref().unwrap();
    let small = own.small.as_ref().map(ToString::to_string);
    assert_eq!(small.as_deref(), Some("ollama:b"));
    assert_eq!(
        Tree::new().problem("small-model = \"opnai:x\"", &Overrides::default()),
        "unknown model provider `opnai`; did you mean `openai:x`?"
    );
}

#[test]
fn fallback_models_are_resolved_in_order() {
    let tree = Tree::new();
    let toml = "model = \"anthropic:a\"\nfallback = [\"ollama:b\", \"anthropic:a\", \"script:./s.toml\", \"ollama:b\"]";
    let script = format!("script:{}", tree.cwd().join("./s.toml").display());
    let all = |first: &str, others: &[&str]| {
        let others = others.iter().map(|&other| other.to_owned()).collect();
        (Some(first.to_owned()), others, None)
    };
    let config = tree.load(toml, &Overrides::default()).unwrap();
    assert_eq!(chosen(&config), all("anthropic:a", &["ollama:b", &script]));
    // They stand in for a model of the command line, too.
    let overrides = Overrides {
        model: Some("ollama:b".to_owned()),
        ..Overrides::default()
    };
    let config = tree.load(toml, &overrides).unwrap();
    assert_eq!(chosen(&config), all("ollama:b", &["anthropic:a", &script]));
    let script = tree.cwd().join("s.toml");
    assert!(config.protected_paths().contains(&script), "{script:?}");
}

#[test]
fn provider_has_its_own_section() {
    let tree = Tree::new();
    let toml = "model = \"gemini:m\"\n[anthropic]\nvision = false\n[gemini]\ndocuments = false\n";
    let config = tree.load(toml, &Overrides::default()).unwrap();
    let Some(ModelConfig::Served { provider, .. }) = &config.models.first else {
        panic!("{:?}", config.models);
    };
    assert_eq!(
        (
            provider.capabilities.vision,
            provider.capabilities.documents
        ),
        (true, false)
    );
    let configured = config.models.providers.iter();
    let configured = configured.filter(|provider| provider.is_configured());
    let names: Vec<&str> = configured.map(|known| known.name.as_str()).collect();
    assert_eq!(names, ["anthropic", "gemini"]);
}

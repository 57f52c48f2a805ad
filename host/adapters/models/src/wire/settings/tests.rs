//! The settings that each wire has no field for, and those of one request.

use super::{apply, check, map};
use crate::{
    provider::Provider,
    settings::{
        CacheLifetime, Effort, ModelSettings, ReasoningTags, ServiceTier, SettingsReport, Thinking,
        ToolChoice, Verbosity,
    },
};
use agent_host_types::{
    message::{Message, Role},
    model::ModelRequest,
    tool::{Effect, ToolCall, ToolDefinition},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Every setting.
fn everything() -> ModelSettings {
    ModelSettings {
        effort: Some(Effort::Low),
        thinking: Some(Thinking::Budget(2048)),
        reasoning_summary: Some(true),
        reasoning_tags: Some(ReasoningTags::Auto),
        temperature: Some(0.25),
        top_p: Some(0.5),
        seed: Some(7),
        stop: Some(vec!["END".to_owned()]),
        tool_choice: Some(ToolChoice::Required),
        verbosity: Some(Verbosity::Low),
        service_tier: Some(ServiceTier::Flex),
        cache_lifetime: Some(CacheLifetime::Minutes5),
        prompt_cache_key: Some("agent".to_owned()),
        ..ModelSettings::default()
    }
}

/// The names of the settings that are left out, and of those that are refused.
fn report(provider: Provider, model: &str, settings: &ModelSettings) -> [Vec<&'static str>; 2] {
    let report = check(provider.wire(), model, settings, provider.capabilities());
    [report.lost, report.refused].map(|list| list.into_iter().map(|(name, _)| name).collect())
}

#[test]
fn settings_without_a_field_are_reported() {
    let lost = |names: &[&'static str]| [names.to_vec(), Vec::new()];
    let refused =
        |names: &[&'static str], refused: &[&'static str]| [names, refused].map(<[_]>::to_vec);
    for (provider, model, expected) in [
        (
            Provider::Anthropic,
            "claude-opus-4-6",
            refused(
                &[
                    "reasoning-tags",
                    "temperature",
                    "top-p",
                    "seed",
                    "verbosity",
                    "prompt-cache-key",
                    "service-tier",
                ],
                &["tool-choice"],
            ),
        ),
        (
            Provider::OpenAi,
            "gpt-5.5",
            lost(&[
                "reasoning-tags",
                "seed",
                "stop",
                "thinking",
                "temperature",
                "top-p",
                "cache-lifetime",
            ]),
        ),
        (
            Provider::OpenAi,
            "gpt-4.1",
            lost(&[
                "reasoning-tags",
                "seed",
                "stop",
                "effort",
                "reasoning-summary",
                "thinking",
                "cache-lifetime",
            ]),
        ),
        (
            Provider::OpenAiCompat,
            "m",
            lost(&["thinking", "cache-lifetime"]),
        ),
        (
            Provider::Gemini,
            "gemini-3-pro",
            lost(&[
                "reasoning-tags",
                "verbosity",
                "cache-lifetime",
                "prompt-cache-key",
                "effort",
            ]),
        ),
        (
            Provider::Gemini,
            "gemini-2.0-flash",
            lost(&[
                "reasoning-tags",
                "verbosity",
                "cache-lifetime",
                "prompt-cache-key",
                "thinking",
                "effort",
            ]),
        ),
        (
            Provider::Ollama,
            "m",
            refused(
                &[
                    "verbosity",
                    "service-tier",
                    "cache-lifetime",
                    "prompt-cache-key",
                    "thinking",
                ],
                &["tool-choice"],
            ),
        ),
    ] {
        assert_eq!(report(provider, model, &everything()), expected, "{model}");
        let nothing = ModelSettings::default();
        assert_eq!(report(provider, model, &nothing), lost(&[]), "{model}");
    }
}

/// A setting without a row and without code would be dropped silently.
#[test]
fn every_setting_of_a_wire_is_sent_or_reported() {
    let request = ModelRequest {
        system: Some("Be brief.".to_owned()),
        messages: Vec::new(),
        tools: Vec::new(),
        answer_schema: None,
    };
    let all = json!(everything());
    for (provider, model, silent) in [
        (Provider::Anthropic, "claude-opus-4-6", &[][..]),
        (Provider::OpenAi, "gpt-5.5", &[]),
        (
            Provider::OpenAiCompat,
            "m",
            &["reasoning-summary", "reasoning-tags"],
        ),
        // Its requests ask for summaries without a setting.
        (Provider::Gemini, "gemini-3-pro", &["reasoning-summary"]),
        (
            Provider::Ollama,
            "m",
            &["reasoning-summary", "reasoning-tags"],
        ),
    ] {
        let wire = provider.wire();
        let encoded = (wire.encode)(model, &request, provider.capabilities()).body;
        let dropped = all.as_object().unwrap().iter().filter(|(name, value)| {
            let settings = serde_json::from_value(json!({*name: value})).unwrap();
            let mut body = encoded.clone();
            let report = map(wire, model, &settings, &mut body);
            body == encoded && report == SettingsReport::default()
        });
        let dropped: Vec<_> = dropped.map(|(name, _)| name).collect();
        assert_eq!(dropped, silent, "{model}");
    }
}

#[test]
fn anthropic_budget_is_checked_against_reply() {
    for (tokens, refused) in [
        (1_023, true),
        (1_024, false),
        (31_999, false),
        (32_000, true),
    ] {
        let settings = ModelSettings {
            thinking: Some(Thinking::Budget(tokens)),
            ..ModelSettings::default()
        };
        let [_, found] = report(Provider::Anthropic, "claude-sonnet-4-5", &settings);
        assert_eq!(found == ["thinking"], refused, "{tokens}");
    }
}

/// The fields that settings add to an empty request of Gemini.
fn gemini(model: &str, settings: &ModelSettings) -> Value {
    let request = ModelRequest {
        system: None,
        messages: Vec::new(),
        tools: Vec::new(),
        answer_schema: None,
    };
    let mut body = json!({});
    apply(
        Provider::Gemini.wire(),
        model,
        settings,
        &request,
        &mut body,
    );
    body["generationConfig"]["thinkingConfig"].take()
}

#[test]
fn gemini_thinks_by_level_or_by_budget() {
    let with = |effort, thinking| ModelSettings {
        effort,
        thinking,
        ..ModelSettings::default()
    };
    let (adaptive, off) = (Some(Thinking::Adaptive), Some(Thinking::Off));
    for (model, settings, expected) in [
        (
            "gemini-3-pro",
            with(Some(Effort::Max), adaptive),
            json!({"thinkingLevel": "HIGH"}),
        ),
        (
            "gemini-3-pro",
            with(Some(Effort::High), off),
            json!({"thinkingLevel": "LOW"}),
        ),
        ("gemini-3-pro", with(None, adaptive), json!(null)),
        (
            "gemini-2.5-pro",
            with(Some(Effort::Medium), None),
            json!({"thinkingBudget": 8192}),
        ),
        (
            "gemini-2.5-pro",
            with(None, adaptive),
            json!({"thinkingBudget": -1}),
        ),
        (
            "gemini-2.5-flash",
            with(Some(Effort::None), None),
            json!({"thinkingBudget": 0}),
        ),
        (
            "gemini-2.0-flash",
            with(Some(Effort::None), None),
            json!(null),
        ),
    ] {
        assert_eq!(gemini(model, &settings), expected, "{model} {settings:?}");
    }
}

#[test]
fn tool_choice_forces_once_for_each_user_message() {
    let user = || Message::text(Role::User, "Look.");
    let called = || Message {
        tool_calls: vec![ToolCall::parse(
            agent_host_types::id::CallId("c".to_owned()),
            "read".to_owned(),
            "{}".to_owned(),
        )],
        ..Message::text(Role::Assistant, "")
    };
    let tool = ToolDefinition {
        name: "read".to_owned(),
        title: None,
        description: String::new(),
        input_schema: json!({"type": "object"}),
        output_schema: None,
        effect: Effect::ReadOnly,
    };
    let choice = |messages: Vec<Message>, tools: Vec<ToolDefinition>, choice| {
        let request = ModelRequest {
            system: None,
            messages,
            tools,
            answer_schema: None,
        };
        let settings = ModelSettings {
            tool_choice: Some(choice),
            ..ModelSettings::default()
        };
        let mut body = json!({});
        let wire = Provider::OpenAiCompat.wire();
        apply(wire, "m", &settings, &request, &mut body);
        body["tool_choice"].take()
    };
    let tools = || vec![tool.clone()];
    let required = || ToolChoice::Required;
    assert_eq!(choice(vec![user()], tools(), required()), "required");
    assert_eq!(
        choice(vec![user(), called()], tools(), required()),
        json!(null)
    );
    let again = vec![user(), called(), user()];
    assert_eq!(choice(again, tools(), required()), "required");
    assert_eq!(choice(vec![user()], vec![], required()), json!(null));
    let none = choice(vec![user(), called()], tools(), ToolChoice::None);
    assert_eq!(none, "none");
}

#[test]
fn extra_fields_are_merged_except_those_of_the_host() {
    let extra = json!({"options": {"mirostat": 1}, "model": "other", "messages": [], "stream": false, "stream_options": {}, "systemInstruction": {}});
    let settings = ModelSettings {
        temperature: Some(0.5),
        extra_body: extra.as_object().unwrap().clone(),
        ..ModelSettings::default()
    };
    let request = ModelRequest {
        system: None,
        messages: Vec::new(),
        tools: Vec::new(),
        answer_schema: None,
    };
    let mut body = json!({"model": "m", "stream": true});
    apply(Provider::Ollama.wire(), "m", &settings, &request, &mut body);
    let expected =
        json!({"model": "m", "stream": true, "options": {"temperature": 0.5, "mirostat": 1}});
    assert_eq!(body, expected);
}

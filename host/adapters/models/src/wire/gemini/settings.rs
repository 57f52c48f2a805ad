//! The fields of settings, from `types.py` (`GenerationConfig`, `ThinkingConfig`, `ToolConfig`) and
//! `models.py` in Google's SDK for Python, 3.4.0.

use super::is_third_generation;
use crate::{
    settings::{Effort, ModelSettings, ServiceTier, Thinking, ToolChoice},
    wire::{
        answer::AnswerForm,
        settings::{
            Field::{Lost, Sent},
            Mapping, SettingFields,
        },
    },
};
use serde_json::{Value, json};

/// The settings that are one field, or none.
pub(super) const FIELDS: SettingFields = &[
    ("temperature", Sent("generationConfig.temperature")),
    ("top-p", Sent("generationConfig.topP")),
    ("seed", Sent("generationConfig.seed")),
    ("stop", Sent("generationConfig.stopSequences")),
    ("verbosity", Lost("Gemini has no such setting")),
    (
        "cache-lifetime",
        Lost("Gemini caches prompts automatically"),
    ),
    (
        "prompt-cache-key",
        Lost("Gemini caches prompts automatically"),
    ),
];

/// Sets the others.
pub(super) fn map(model: &str, settings: &ModelSettings, request: &mut Mapping<'_>) {
    thinking(model, settings, request);
    request.put(
        "toolConfig.functionCallingConfig",
        settings.tool_choice.as_ref().map(|choice| match choice {
            ToolChoice::Auto => json!({"mode": "AUTO"}),
            ToolChoice::Required => json!({"mode": "ANY"}),
            ToolChoice::None => json!({"mode": "NONE"}),
            ToolChoice::Tool(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
        }),
    );
    match settings.service_tier {
        // It is the default.
        Some(ServiceTier::Auto) | None => {}
        Some(tier) => request.put("serviceTier", Some(tier.name())),
    }
}

/// Sets `thinkingConfig`: levels from the third generation on, and budgets in generation 2.5. The
/// wire refuses both at once.
fn thinking(model: &str, settings: &ModelSettings, request: &mut Mapping<'_>) {
    let config = "generationConfig.thinkingConfig";
    let is_third = is_third_generation(model);
    if !is_third && !model.contains("gemini-2.5") {
        let why = "this model does not reason";
        let off = [Some(Thinking::Off), None].contains(&settings.thinking);
        request.lost("thinking", &settings.thinking.filter(|_| !off), why);
        let effort = settings.effort.filter(|effort| *effort != Effort::None);
        return request.lost("effort", &effort, why);
    }
    let summary = settings.reasoning_summary;
    request.put(&format!("{config}.includeThoughts"), summary);
    let off = settings.effort == Some(Effort::None) && settings.thinking.is_none();
    let thinking = if off {
        Some(Thinking::Off)
    } else {
        settings.thinking
    };
    let budget = format!("{config}.thinkingBudget");
    match (thinking, settings.effort) {
        (Some(Thinking::Budget(tokens)), effort) => {
            request.put(&budget, Some(tokens));
            let why = "Gemini accepts either it or a number of tokens, and the latter is set";
            request.lost("effort", &effort, why);
        }
        (Some(Thinking::Off), _) if is_third => {
            request.put(&format!("{config}.thinkingLevel"), Some("LOW"));
            let why = "this model always thinks, so the minimum is requested";
            request.lost("thinking", &thinking, why);
        }
        (Some(Thinking::Off), _) => request.put(&budget, Some(0)),
        (_, Some(effort)) if is_third => {
            request.put(&format!("{config}.thinkingLevel"), Some(level(effort)));
        }
        (_, Some(effort)) => request.put(&budget, Some(tokens(effort))),
        (Some(Thinking::Adaptive), None) if !is_third => request.put(&budget, Some(-1)),
        (Some(Thinking::Adaptive), None) | (None, None) => {}
    }
}

/// The nearest level of `ThinkingLevel` that "Gemini thinking" in Google's documentation has.
fn level(effort: Effort) -> &'static str {
    match effort {
        Effort::None | Effort::Minimal => "MINIMAL",
        Effort::Low => "LOW",
        Effort::Medium => "MEDIUM",
        Effort::High | Effort::XHigh | Effort::Max => "HIGH",
    }
}

/// The budget of an effort, in tokens ("OpenAI compatibility" in Google's documentation).
fn tokens(effort: Effort) -> i32 {
    match effort {
        Effort::None => 0,
        Effort::Minimal | Effort::Low => 1_024,
        Effort::Medium => 8_192,
        Effort::High | Effort::XHigh | Effort::Max => 24_576,
    }
}

/// The fields of structured output. Models take them beside tools from the third generation on
/// ("Structured outputs" in Google's documentation).
pub(super) fn answer(model: &str, form: &AnswerForm, has_tools: bool) -> Option<Value> {
    let config = json!({
        "responseMimeType": "application/json",
        "responseJsonSchema": form.schema,
    });
    (!has_tools || is_third_generation(model)).then(|| json!({"generationConfig": config}))
}

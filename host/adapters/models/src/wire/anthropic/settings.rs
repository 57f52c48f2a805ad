//! The fields of settings, from `types/message_create_params.py` in Anthropic's SDK for Python,
//! 2.12.0, and the types that it names.

use crate::{
    settings::{CacheLifetime, Effort, ModelSettings, ServiceTier, Thinking, ToolChoice},
    wire::{
        answer::AnswerForm,
        request::token,
        settings::{
            Field::{Lost, Sent},
            Mapping, SettingFields,
        },
    },
};
use serde_json::{Value, json};

/// The least budget of thinking, in tokens (`ThinkingConfigEnabledParam`).
const LEAST_BUDGET: u32 = 1024;

/// "API version 2026-10-21": the version that this wire asks for refuses them at any value, and the
/// SDK has them no longer.
const NO_SAMPLING: &str = "Anthropic's API has had no such setting since version 2026-10-21";

/// The settings that are one field, or none.
pub(super) const FIELDS: SettingFields = &[
    ("temperature", Lost(NO_SAMPLING)),
    ("top-p", Lost(NO_SAMPLING)),
    ("seed", Lost("Anthropic's models have no such setting")),
    ("stop", Sent("stop_sequences")),
    ("verbosity", Lost("Anthropic's models have no such setting")),
    (
        "prompt-cache-key",
        Lost("Anthropic's cache has no such setting"),
    ),
];

/// Sets the others.
pub(super) fn map(_: &str, settings: &ModelSettings, request: &mut Mapping<'_>) {
    let effort = settings.effort;
    request.put("output_config.effort", effort.and_then(level));
    let off = (effort == Some(Effort::None)).then_some(Thinking::Off);
    let thinking = settings.thinking.or(off);
    set_thinking(thinking, settings.reasoning_summary, request);
    if let Some(choice) = &settings.tool_choice {
        tool_choice(choice, thinking, request);
    }
    match settings.service_tier {
        Some(ServiceTier::Auto) => request.put("service_tier", Some("auto")),
        Some(ServiceTier::Standard) => request.put("service_tier", Some("standard_only")),
        tier @ (Some(ServiceTier::Flex | ServiceTier::Priority) | None) => {
            let why = "Anthropic accepts `auto` and `standard`";
            request.lost("service-tier", &tier, why);
        }
    }
    match settings.cache_lifetime {
        lifetime @ Some(CacheLifetime::Day1) => {
            let why = "Anthropic accepts `5m` and `1h`";
            request.lost("cache-lifetime", &lifetime, why);
        }
        Some(lifetime) => cache_marks(request.body, lifetime.name()),
        None => {}
    }
}

/// The nearest level of `OutputConfigParam`; no effort is thinking that is disabled.
fn level(effort: Effort) -> Option<&'static str> {
    match effort {
        Effort::None => None,
        Effort::Minimal => Some("low"),
        Effort::Low | Effort::Medium | Effort::High | Effort::XHigh | Effort::Max => {
            Some(effort.name())
        }
    }
}

/// Sets `thinking`. Without it the model's own default holds. A summary needs a kind of thinking,
/// and adaptive is the one of all newer models.
fn set_thinking(thinking: Option<Thinking>, summary: Option<bool>, request: &mut Mapping<'_>) {
    let thinking = thinking.or((summary == Some(true)).then_some(Thinking::Adaptive));
    let kind = match thinking {
        None => return,
        Some(Thinking::Off) => return request.put("thinking", Some(json!({"type": "disabled"}))),
        Some(Thinking::Adaptive) => json!({"type": "adaptive"}),
        Some(Thinking::Budget(tokens)) => {
            let most = request.body["max_tokens"].as_u64().unwrap_or_default();
            if tokens < LEAST_BUDGET || u64::from(tokens) >= most {
                request.refused(
                    "thinking",
                    &format!(
                        "Anthropic's models accept at least {LEAST_BUDGET} tokens and fewer than \
                         `max-output-tokens`, which is {most}"
                    ),
                );
            }
            json!({"type": "enabled", "budget_tokens": tokens})
        }
    };
    request.put("thinking", Some(kind));
    let display = summary.map(|summary| if summary { "summarized" } else { "omitted" });
    request.put("thinking.display", display);
}

/// Sets the kind of tool choice and leaves its other members. Models that think refuse to be
/// forced.
fn tool_choice(choice: &ToolChoice, thinking: Option<Thinking>, request: &mut Mapping<'_>) {
    let is_thinking = matches!(thinking, Some(Thinking::Adaptive | Thinking::Budget(_)));
    let (kind, name) = match choice {
        ToolChoice::Auto => ("auto", None),
        ToolChoice::Required => ("any", None),
        ToolChoice::None => ("none", None),
        ToolChoice::Tool(name) => ("tool", Some(token(name))),
    };
    if is_thinking && matches!(choice, ToolChoice::Required | ToolChoice::Tool(_)) {
        let why = "Anthropic's models cannot be forced to call a tool while thinking";
        return request.refused("tool-choice", why);
    }
    if kind == "none" {
        // It has no other members.
        request.body["tool_choice"] = json!({});
    }
    request.put("tool_choice.type", Some(kind));
    request.put("tool_choice.name", name);
}

/// Sets the lifetime of every mark that the encoder set.
fn cache_marks(body: &mut Value, lifetime: &str) {
    for key in ["system", "tools", "messages"] {
        let blocks = body.get_mut(key).and_then(Value::as_array_mut);
        for block in blocks.into_iter().flatten() {
            mark(block, lifetime);
            let content = block.get_mut("content").and_then(Value::as_array_mut);
            for block in content.into_iter().flatten() {
                mark(block, lifetime);
            }
        }
    }
}

fn mark(block: &mut Value, lifetime: &str) {
    if let Some(mark) = block.get_mut("cache_control") {
        mark["ttl"] = json!(lifetime);
    }
}

/// The fields of structured output, which models have from version 4.5 on. Beside tools, models end
/// their turn instead of calling them
/// (<https://github.com/anthropics/anthropic-sdk-python/issues/1204>).
pub(super) fn answer(model: &str, form: &AnswerForm, has_tools: bool) -> Option<Value> {
    let is_able = version(model).is_some_and(|version| version >= (4, 5)) && !has_tools;
    let format = json!({"type": "json_schema", "schema": form.schema});
    is_able.then(|| json!({"output_config": {"format": format}}))
}

/// The version of a model by its name: `claude-opus-4-7`, `claude-sonnet-4-20250514`.
fn version(model: &str) -> Option<(u32, u32)> {
    let name = model.rsplit('/').next()?.strip_prefix("claude-")?;
    let mut parts = name.split(['-', '.', '@']).map(|part| part.parse().ok());
    let major = parts.find_map(|part| part)?;
    // A date may follow instead of a second number.
    let minor = parts.next().flatten().filter(|number| *number < 100);
    Some((major, minor.unwrap_or(0)))
}

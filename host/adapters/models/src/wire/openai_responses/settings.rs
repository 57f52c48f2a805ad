//! The fields of settings, from `types/responses/response_create_params.py` in OpenAI's SDK for
//! Python, 3.54.0, and the types that it names.

use super::request::reasons;
use crate::{
    settings::{CacheLifetime, Effort, ModelSettings, ToolChoice},
    wire::{
        answer::AnswerForm,
        settings::{Mapping, budget, openai_tier, single_effort},
    },
};
use serde_json::{Value, json};

pub(super) fn map(model: &str, settings: &ModelSettings, request: &mut Mapping<'_>) {
    let ModelSettings {
        effort: _,
        thinking: _,
        reasoning_summary,
        temperature,
        top_p,
        seed,
        stop,
        tool_choice,
        verbosity,
        service_tier,
        cache_lifetime,
        prompt_cache_key,
        reasoning_tags,
        extra_body: _,
    } = settings;
    let why = "the server sends reasoning separately from the text";
    request.lost("reasoning-tags", reasoning_tags, why);
    let effort = single_effort(settings);
    let summary = reasoning_summary.filter(|is_asked_for| *is_asked_for);
    if reasons(model) {
        request.put("reasoning.effort", effort);
        request.put("reasoning.summary", summary.map(|_| "auto"));
    } else {
        let asked_for = effort.filter(|effort| *effort != Effort::None);
        request.lost("effort", &asked_for, "this model does not reason");
        request.lost("reasoning-summary", &summary, "this model does not reason");
    }
    let why = "OpenAI's models accept `effort` but not a number of tokens";
    request.lost("thinking", &budget(settings), why);
    // "Using GPT-5.5" in OpenAI's documentation: only without reasoning.
    if reasons(model) && effort != Some(Effort::None) {
        let why = "OpenAI's models accept none while reasoning";
        request.lost("temperature", temperature, why);
        request.lost("top-p", top_p, why);
    } else {
        request.put("temperature", *temperature);
        request.put("top_p", *top_p);
    }
    request.lost("seed", seed, "OpenAI's Responses have none");
    request.lost("stop", stop, "OpenAI's Responses have none");
    request.put(
        "tool_choice",
        tool_choice.as_ref().map(|choice| match choice {
            ToolChoice::Auto => json!("auto"),
            ToolChoice::Required => json!("required"),
            ToolChoice::None => json!("none"),
            ToolChoice::Tool(name) => json!({"type": "function", "name": name}),
        }),
    );
    request.put("text.verbosity", *verbosity);
    request.put("service_tier", service_tier.map(openai_tier));
    match cache_lifetime {
        Some(CacheLifetime::Day1) => request.put("prompt_cache_retention", Some("24h")),
        _ => request.lost("cache-lifetime", cache_lifetime, "OpenAI accepts `24h`"),
    }
    request.put("prompt_cache_key", prompt_cache_key.as_ref());
}

/// The fields of structured output, which all models have but those before GPT-4o.
pub(super) fn answer(model: &str, form: &AnswerForm, _: bool) -> Option<Value> {
    let is_old = model.starts_with("gpt-3") || model == "gpt-4" || model.starts_with("gpt-4-");
    let format = json!({
        "type": "json_schema",
        "name": "answer",
        "schema": form.schema,
        "strict": form.is_strict,
    });
    (!is_old).then(|| json!({"text": {"format": format}}))
}

//! The fields of settings, from `types/responses/response_create_params.py` in OpenAI's SDK for
//! Python, 3.54.0, and the types that it names.

use super::request::reasons;
use crate::{
    settings::{Effort, ModelSettings},
    wire::{
        answer::AnswerForm,
        settings::{
            Field::{Lost, Sent},
            Mapping, SettingFields, budget, openai, single_effort,
        },
    },
};
use serde_json::{Value, json};

/// The settings that are one field, or none.
pub(super) const FIELDS: SettingFields = &[
    ("seed", Lost("OpenAI's Responses API has no such setting")),
    ("stop", Lost("OpenAI's Responses API has no such setting")),
    ("verbosity", Sent("text.verbosity")),
    ("prompt-cache-key", Sent("prompt_cache_key")),
];

/// Sets the others.
pub(super) fn map(model: &str, settings: &ModelSettings, request: &mut Mapping<'_>) {
    let effort = single_effort(settings);
    let summary = settings.reasoning_summary.filter(|summary| *summary);
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
        let why = "OpenAI's models do not accept it while reasoning";
        request.lost("temperature", &settings.temperature, why);
        request.lost("top-p", &settings.top_p, why);
    } else {
        request.put("temperature", settings.temperature);
        request.put("top_p", settings.top_p);
    }
    let function = |name: &str| json!({"type": "function", "name": name});
    openai(settings, function, request);
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

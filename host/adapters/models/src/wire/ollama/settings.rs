//! The fields of settings, from `ChatRequest` and `Options` in `_types.py` of Ollama's client for
//! Python, 0.6.3.

use crate::{
    settings::{Effort, ModelSettings, Thinking, ToolChoice},
    wire::{
        answer::AnswerForm,
        settings::{
            Field::{Lost, Sent},
            Mapping, SettingFields, budget, single_effort,
        },
    },
};
use serde_json::{Value, json};

/// The settings that are one field, or none.
pub(super) const FIELDS: SettingFields = &[
    ("temperature", Sent("options.temperature")),
    ("top-p", Sent("options.top_p")),
    ("seed", Sent("options.seed")),
    ("stop", Sent("options.stop")),
    ("verbosity", Lost("Ollama has no such setting")),
    ("service-tier", Lost("Ollama has no such setting")),
    ("cache-lifetime", Lost("Ollama has no such setting")),
    ("prompt-cache-key", Lost("Ollama has no such setting")),
];

/// Sets the others. The server sends its reasoning unasked.
pub(super) fn map(_: &str, settings: &ModelSettings, request: &mut Mapping<'_>) {
    let think = single_effort(settings).map(think);
    let thinking = settings.thinking;
    let think = think.or(thinking.map(|thinking| json!(thinking != Thinking::Off)));
    request.put("think", think);
    let why = "Ollama accepts `effort` but not a number of tokens";
    request.lost("thinking", &budget(settings), why);
    match settings.tool_choice {
        Some(ToolChoice::Required | ToolChoice::Tool(_)) => {
            let why = "Ollama cannot force a model to call a tool";
            request.refused("tool-choice", why);
        }
        Some(ToolChoice::None) => {
            // The wire has no field for it, and a model cannot call what it does not see.
            request
                .body
                .as_object_mut()
                .map(|body| body.remove("tools"));
        }
        Some(ToolChoice::Auto) | None => {}
    }
}

/// The nearest level that the server has ("Thinking" in Ollama's documentation).
fn think(effort: Effort) -> Value {
    match effort {
        Effort::None => json!(false),
        Effort::Minimal | Effort::Low => json!("low"),
        Effort::Medium => json!("medium"),
        Effort::High | Effort::XHigh | Effort::Max => json!("high"),
    }
}

/// The field of structured output. The server applies it to every text of a model, so that a model
/// with tools could call none.
pub(super) fn answer(_: &str, form: &AnswerForm, has_tools: bool) -> Option<Value> {
    (!has_tools).then(|| json!({"format": form.schema}))
}

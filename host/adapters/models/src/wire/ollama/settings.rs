//! The fields of settings, from `ChatRequest` and `Options` in `_types.py` of Ollama's client for
//! Python, 0.6.3.

use crate::{
    settings::{Effort, ModelSettings, Thinking, ToolChoice},
    wire::{
        answer::AnswerForm,
        settings::{Mapping, budget, single_effort},
    },
};
use serde_json::{Value, json};

pub(super) fn map(_: &str, settings: &ModelSettings, request: &mut Mapping<'_>) {
    let ModelSettings {
        effort: _,
        thinking,
        // The server sends its reasoning unasked.
        reasoning_summary: _,
        temperature,
        top_p,
        seed,
        stop,
        tool_choice,
        verbosity,
        service_tier,
        cache_lifetime,
        prompt_cache_key,
        // Of the reply.
        reasoning_tags: _,
        extra_body: _,
    } = settings;
    let think = single_effort(settings).map(think);
    let think = think.or(thinking.map(|thinking| json!(thinking != Thinking::Off)));
    request.put("think", think);
    let why = "Ollama accepts `effort` but not a number of tokens";
    request.lost("thinking", &budget(settings), why);
    request.put("options.temperature", *temperature);
    request.put("options.top_p", *top_p);
    request.put("options.seed", *seed);
    request.put("options.stop", stop.as_ref());
    match tool_choice {
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
    let why = "Ollama has none";
    request.lost("verbosity", verbosity, why);
    request.lost("service-tier", service_tier, why);
    request.lost("cache-lifetime", cache_lifetime, why);
    request.lost("prompt-cache-key", prompt_cache_key, why);
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

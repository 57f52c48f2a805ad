//! The fields of settings, from `types/chat/completion_create_params.py` in OpenAI's SDK for
//! Python, 3.54.0. Compatible servers take a part of them; most ignore the others.

use crate::{
    settings::{CacheLifetime, ModelSettings, ToolChoice},
    wire::settings::{Mapping, budget, openai_tier, single_effort},
};
use serde_json::json;

pub(super) fn map(_: &str, settings: &ModelSettings, request: &mut Mapping<'_>) {
    let ModelSettings {
        effort: _,
        thinking: _,
        // Servers that send reasoning send it unasked.
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
    request.put("reasoning_effort", single_effort(settings));
    let why = "Chat Completions accept `effort` but not a number of tokens; set a server-specific field in \
        `extra-body`";
    request.lost("thinking", &budget(settings), why);
    request.put("temperature", *temperature);
    request.put("top_p", *top_p);
    request.put("seed", *seed);
    request.put("stop", stop.as_ref());
    request.put(
        "tool_choice",
        tool_choice.as_ref().map(|choice| match choice {
            ToolChoice::Auto => json!("auto"),
            ToolChoice::Required => json!("required"),
            ToolChoice::None => json!("none"),
            ToolChoice::Tool(name) => json!({"type": "function", "function": {"name": name}}),
        }),
    );
    request.put("verbosity", *verbosity);
    request.put("service_tier", service_tier.map(openai_tier));
    match cache_lifetime {
        Some(CacheLifetime::Day1) => request.put("prompt_cache_retention", Some("24h")),
        _ => request.lost("cache-lifetime", cache_lifetime, "OpenAI accepts `24h`"),
    }
    request.put("prompt_cache_key", prompt_cache_key.as_ref());
}

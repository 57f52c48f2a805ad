//! The fields of settings, from `types/chat/completion_create_params.py` in OpenAI's SDK for
//! Python, 3.54.0. Compatible servers take a part of them; most ignore the others.

use crate::{
    settings::ModelSettings,
    wire::settings::{Field::Sent, Mapping, SettingFields, budget, openai, single_effort},
};
use serde_json::json;

/// The settings that are one field, or none.
pub(super) const FIELDS: SettingFields = &[
    ("temperature", Sent("temperature")),
    ("top-p", Sent("top_p")),
    ("seed", Sent("seed")),
    ("stop", Sent("stop")),
    ("verbosity", Sent("verbosity")),
    ("prompt-cache-key", Sent("prompt_cache_key")),
];

/// Sets the others. Servers that send reasoning send it unasked.
pub(super) fn map(_: &str, settings: &ModelSettings, request: &mut Mapping<'_>) {
    request.put("reasoning_effort", single_effort(settings));
    let why = "Chat Completions accept `effort` but not a number of tokens; set a server-specific field in \
        `extra-body`";
    request.lost("thinking", &budget(settings), why);
    let function = |name: &str| json!({"type": "function", "function": {"name": name}});
    openai(settings, function, request);
}

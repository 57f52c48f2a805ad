//! Settings whose requests are golden files, and the conversation that they are sent with.

use super::cases;
use agent_host_models::{
    CacheLifetime, Effort, ModelSettings, ServiceTier, Thinking, ToolChoice, Verbosity,
};
use agent_host_types::{
    message::{Message, Role},
    model::ModelRequest,
};
use serde_json::json;

/// All of them, by the names of their files.
pub(crate) fn all() -> Vec<(&'static str, ModelSettings)> {
    let none = ModelSettings::default;
    vec![
        (
            "settings-effort",
            ModelSettings {
                effort: Some(Effort::High),
                reasoning_summary: Some(true),
                ..none()
            },
        ),
        (
            "settings-thinking-adaptive",
            ModelSettings {
                thinking: Some(Thinking::Adaptive),
                reasoning_summary: Some(false),
                ..none()
            },
        ),
        (
            "settings-thinking-budget",
            ModelSettings {
                thinking: Some(Thinking::Budget(2048)),
                ..none()
            },
        ),
        (
            "settings-thinking-off",
            ModelSettings {
                thinking: Some(Thinking::Off),
                ..none()
            },
        ),
        (
            "settings-sampling",
            ModelSettings {
                effort: Some(Effort::None),
                temperature: Some(0.25),
                top_p: Some(0.5),
                seed: Some(7),
                stop: Some(vec!["END".to_owned()]),
                ..none()
            },
        ),
        ("settings-required-tool", with_choice(ToolChoice::Required)),
        (
            "settings-one-tool",
            with_choice(ToolChoice::Tool("read".to_owned())),
        ),
        ("settings-no-tool", with_choice(ToolChoice::None)),
        (
            "settings-service",
            ModelSettings {
                verbosity: Some(Verbosity::Low),
                service_tier: Some(ServiceTier::Standard),
                cache_lifetime: Some(CacheLifetime::Hour1),
                ..none()
            },
        ),
        (
            "settings-cache",
            ModelSettings {
                cache_lifetime: Some(CacheLifetime::Day1),
                prompt_cache_key: Some("agent".to_owned()),
                ..none()
            },
        ),
    ]
}

fn with_choice(choice: ToolChoice) -> ModelSettings {
    ModelSettings {
        tool_choice: Some(choice),
        ..ModelSettings::default()
    }
}

/// A user message to a model with a tool.
pub(crate) fn request() -> ModelRequest {
    cases::conversation(
        vec![Message::text(Role::User, "Look.")],
        vec![cases::definition()],
    )
}

/// A user message to a model without tools, whose answer has a schema.
pub(crate) fn structured_request() -> ModelRequest {
    let schema = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "size": {"type": "integer", "minimum": 0}},
        "required": ["name", "size"],
    });
    ModelRequest {
        answer_schema: Some(schema),
        ..cases::conversation(vec![Message::text(Role::User, "Look.")], vec![])
    }
}

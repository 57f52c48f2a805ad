//! Schemas of answers that providers can enforce, and those that they cannot.

use super::AnswerForm;
use crate::{
    provider::Provider,
    settings::ModelSettings,
    wire::{schema::SchemaDialect, settings::apply},
};
use agent_host_types::{
    model::ModelRequest,
    tool::{Effect, ToolDefinition},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

#[test]
fn enforceable_schema_is_closed_and_without_other_keywords() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "Its name."},
            "sizes": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 3},
            "of": {"$ref": "#/$defs/of"},
        },
        "required": ["name", "sizes", "of"],
        "$defs": {"of": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}},
    });
    let expected = AnswerForm {
        schema: json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Its name."},
                "sizes": {"type": "array", "items": {"type": "integer"}},
                "of": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]},
            },
            "required": ["name", "sizes", "of"],
            "additionalProperties": false,
        }),
        is_strict: true,
    };
    let form = AnswerForm::from_schema(&schema, SchemaDialect::Responses);
    assert_eq!(form, Some(expected));
}

#[test]
fn absent_property_makes_a_form_that_is_not_strict() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let form = AnswerForm::from_schema(&schema, SchemaDialect::Anthropic).unwrap();
    assert!(!form.is_strict);
    assert_eq!(form.schema["required"], json!([]));
}

#[test]
fn schemas_that_no_provider_enforces_have_no_form() {
    let many: Vec<String> = (0..25).map(|number| format!("p{number}")).collect();
    let many: serde_json::Map<String, Value> = many
        .into_iter()
        .map(|name| (name, json!({"type": "string"})))
        .collect();
    for schema in [
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"type": "string"}),
        json!({"type": "object"}),
        json!(true),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "properties": {"a": {}}}),
        json!({"type": "object", "properties": {"a": {"type": "array"}}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]}),
        json!({"type": "object", "properties": many}),
    ] {
        for dialect in [SchemaDialect::Anthropic, SchemaDialect::Responses] {
            assert_eq!(AnswerForm::from_schema(&schema, dialect), None, "{schema}");
        }
    }
}

#[test]
fn answer_schema_is_sent_where_model_and_tools_allow_it() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let field = |provider: Provider, model: &str, with_tool: bool| {
        let request = ModelRequest {
            system: None,
            messages: Vec::new(),
            tools: with_tool.then(tool).into_iter().collect(),
            answer_schema: Some(schema.clone()),
        };
        let mut body = json!({});
        apply(
            provider.wire(),
            model,
            &ModelSettings::default(),
            &request,
            &mut body,
        );
        body != json!({})
    };
    for (provider, model, without_tools, with_tools) in [
        (Provider::Anthropic, "claude-sonnet-4-5", true, false),
        (Provider::Anthropic, "claude-opus-5", true, false),
        (
            Provider::Anthropic,
            "claude-sonnet-4-20250514",
            false,
            false,
        ),
        (Provider::Anthropic, "m", false, false),
        (Provider::OpenAi, "gpt-5.5", true, true),
        (Provider::OpenAi, "gpt-4-turbo", false, false),
        (Provider::OpenAi, "gpt-4o", true, true),
        (Provider::OpenAiCompat, "m", false, false),
        (Provider::Gemini, "gemini-3-pro", true, true),
        (Provider::Gemini, "gemini-2.5-pro", true, false),
        (Provider::Ollama, "m", true, false),
    ] {
        let sent = [false, true].map(|with_tool| field(provider, model, with_tool));
        assert_eq!(sent, [without_tools, with_tools], "{model}");
    }
}

fn tool() -> ToolDefinition {
    ToolDefinition {
        name: "read".to_owned(),
        title: None,
        description: String::new(),
        input_schema: json!({"type": "object"}),
        output_schema: None,
        effect: Effect::ReadOnly,
    }
}

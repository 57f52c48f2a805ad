mod bounds;
mod cases;
mod properties;

use super::*;
use agent_host_types::{
    id::CallId,
    message::{Message, Role},
    model::StopReason,
    tool::Effect,
};
use pretty_assertions::assert_eq;
use serde_json::json;

/// All dialects.
const DIALECTS: [SchemaDialect; 5] = [
    SchemaDialect::Anthropic,
    SchemaDialect::Responses,
    SchemaDialect::Chat,
    SchemaDialect::Gemini,
    SchemaDialect::Ollama,
];

/// One line per result: the case, the dialects that share it, and the schema.
const FITTED: &str = include_str!("tests/fitted.txt");

#[test]
fn schema_is_fitted_to_each_dialect() {
    let mut checked = 0;
    for line in FITTED.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let (_, schema) = cases::all()
            .into_iter()
            .find(|(name, _)| *name == fields[0])
            .unwrap();
        for dialect in DIALECTS {
            if fields[1]
                .split(' ')
                .any(|name| name == format!("{dialect:?}"))
            {
                let expected: Value = serde_json::from_str(fields[2]).unwrap();
                assert_eq!(
                    fit_schema(dialect, &schema).0,
                    expected,
                    "{} for {dialect:?}",
                    fields[0]
                );
                checked += 1;
            }
        }
    }
    assert_eq!(checked, cases::all().len() * DIALECTS.len());
}

#[test]
fn fitted_schema_is_fitted_no_further() {
    for (name, schema) in cases::all() {
        for dialect in DIALECTS {
            let (fitted, _) = fit_schema(dialect, &schema);
            let (again, map) = fit_schema(dialect, &fitted);
            assert_eq!(
                (again, map),
                (fitted, ArgumentMap::default()),
                "{name} for {dialect:?}"
            );
        }
    }
}

fn tool(schema: Value) -> ToolDefinition {
    ToolDefinition {
        name: "do".to_owned(),
        title: None,
        description: "Does it.".to_owned(),
        input_schema: schema,
        output_schema: None,
        effect: Effect::ReadOnly,
    }
}

fn call(arguments: &str) -> ToolCall {
    ToolCall::parse(
        CallId("c1".to_owned()),
        "do".to_owned(),
        arguments.to_owned(),
    )
}

#[test]
fn arguments_are_converted_to_the_tool_and_back() {
    let union = json!({"type": "object", "anyOf": [
        {"properties": {"Due Date": {"type": "string"}}, "required": ["Due Date"]},
        {"properties": {"sub": {"type": "array", "items": {"type": "object", "properties": {"per page": {}}}}}},
        {"additionalProperties": {"type": "object", "properties": {"a/b": {}}}},
    ]});
    let plain = json!({"type": "object", "properties": {"a": {}}});
    for (schema, model, own) in [
        (
            &union,
            r#"{"arguments":{"Due_Date":"x"}}"#,
            r#"{"Due Date":"x"}"#,
        ),
        (
            &union,
            r#"{"arguments":{"sub":[{"per_page":1},2]}}"#,
            r#"{"sub":[{"per page":1},2]}"#,
        ),
        (
            &union,
            r#"{"arguments":{"other":{"a_b":{"per_page":1}}}}"#,
            r#"{"other":{"a/b":{"per_page":1}}}"#,
        ),
        (&union, r#"{"arguments":{}}"#, "{}"),
        // Text that is the same for both sides stays as the model wrote it.
        (&plain, r#"{"a" : 1}"#, r#"{"a" : 1}"#),
        (&union, "[1]", "[1]"),
    ] {
        let request = ModelRequest {
            system: None,
            messages: Vec::new(),
            tools: vec![tool(schema.clone())],
            answer_schema: None,
        };
        let (_, maps) = fit_request(SchemaDialect::Anthropic, &request);
        let mut reply = ModelReply {
            tool_calls: vec![call(model)],
            stop_reason: Some(StopReason::ToolUse),
            ..ModelReply::default()
        };
        maps.restore(&mut reply);
        assert_eq!(reply.tool_calls, [call(own)]);

        let mut message = Message::text(Role::Assistant, "");
        message.tool_calls = reply.tool_calls;
        let request = ModelRequest {
            messages: vec![message],
            ..request
        };
        let (fitted, _) = fit_request(SchemaDialect::Anthropic, &request);
        assert_eq!(fitted.messages[0].tool_calls, [call(model)]);
    }
}

#[test]
fn arguments_without_the_wrapper_are_the_tools() {
    let schema =
        json!({"type": "object", "oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]});
    let (_, map) = fit_schema(SchemaDialect::Gemini, &schema);
    for written in [
        json!({"a": 1}),
        json!({"arguments": 1}),
        json!({"arguments": {}, "a": 1}),
    ] {
        let written = written.as_object().unwrap();
        assert_eq!(map.for_tool(written.clone()), *written);
    }
}

#[test]
fn description_of_an_ollama_root_is_the_tools() {
    let schema = json!({"type": "object", "properties": {}, "description": "One of two.", "minProperties": 1});
    let request = ModelRequest {
        system: None,
        messages: Vec::new(),
        tools: vec![tool(schema)],
        answer_schema: None,
    };
    let (fitted, _) = fit_request(SchemaDialect::Ollama, &request);
    let expected = ToolDefinition {
        description: "Does it.\nOne of two.\nProperties: at least 1.".to_owned(),
        ..tool(json!({"type": "object", "properties": {}}))
    };
    assert_eq!(fitted.tools, [expected]);
}

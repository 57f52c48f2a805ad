use super::*;
use agent_host_types::tool::Effect;
use pretty_assertions::assert_eq;
use serde_json::json;

fn tool(name: &str, description: &str, input: Value, output: Option<Value>) -> ToolDefinition {
    ToolDefinition {
        name: name.into(),
        title: None,
        description: description.into(),
        input_schema: input,
        output_schema: output,
        effect: Effect::ReadOnly,
    }
}

#[test]
fn schema_is_declared_as_its_type() {
    let cases = [
        (json!({"type": "string"}), "string"),
        (json!({"type": ["string", "null"]}), "string | null"),
        (json!({"enum": ["a", 1, null]}), r#""a" | 1 | null"#),
        (json!({"const": true}), "true"),
        (
            json!({"type": "array", "items": {"type": "integer"}}),
            "number[]",
        ),
        (
            json!({"type": "array", "items": {"enum": ["a", "b"]}}),
            r#"("a" | "b")[]"#,
        ),
        (json!({"type": "array"}), "unknown[]"),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "string"}]}),
            "string",
        ),
        (json!({"type": "object"}), "Record<string, unknown>"),
        (
            json!({"type": "object", "additionalProperties": {"type": "number"}}),
            "Record<string, number>",
        ),
        (
            json!({"type": "object", "additionalProperties": false}),
            "Record<string, never>",
        ),
        (
            json!({
                "type": "object",
                "properties": {
                    "a": {"type": "string", "description": "The\nfirst."},
                    "b-c": {"$ref": "#/$defs/b"},
                },
                "required": ["a"],
                "$defs": {"b": {"type": "boolean"}},
            }),
            r#"{ /** The first. */ a: string; "b-c"?: boolean }"#,
        ),
        (json!({"$ref": "#/$defs/missing"}), "unknown"),
        (json!({"$ref": "https://example.com/a"}), "unknown"),
        (json!({"$ref": "#"}), "unknown"),
        (json!(true), "unknown"),
        (json!({"type": 7}), "unknown"),
        (json!({"enum": []}), "unknown"),
        (json!({"enum": [{"a": 1}]}), "unknown"),
    ];
    for (schema, expected) in cases {
        assert_eq!(type_of(&schema, &schema, 0), expected, "{schema}");
    }
}

/// Nothing of a definition gets out of its place: names are quoted, and comments do not end early.
#[test]
fn hostile_definition_stays_in_its_place() {
    let hostile = tool(
        "a\"]; evil(); //",
        "*/ evil(); /*",
        json!({"type": "object", "properties": {"x): void; evil(": {"description": "*/ }"}}}),
        Some(json!({"const": "`\u{202e}*/"})),
    );
    assert_eq!(
        declarations(&[&hostile], MAX_DECLARATIONS_BYTES),
        concat!(
            "declare const tools: {\n",
            "  /** * / evil(); /* */\n",
            "  \"a\\\"]; evil(); //\"(input: { /** * / } */ \"x): void; evil(\"?: unknown }): ",
            "Promise<\"`\u{fffd}*/\">;\n",
            "};\n"
        )
    );
}

#[test]
fn tools_beyond_the_bound_are_named_alone() {
    let many: Vec<ToolDefinition> = (0..100)
        .map(|n| {
            tool(
                &format!("t{n}"),
                "Does it.",
                json!({"type": "object"}),
                None,
            )
        })
        .collect();
    let all: Vec<&ToolDefinition> = many.iter().collect();
    let text = declarations(&all, 300);
    assert_eq!(text.matches("Does it.").count(), 3);
    assert!(text.contains("there are too many: t3, t4, t5,"), "{text}");
    assert!(text.len() < 300 + 100 * 6 + 200);
}

//! Hostile schemas: the result is bounded, whatever they are.

use super::*;
use pretty_assertions::assert_eq;

/// The most bytes of a fitted schema as JSON: twice the limit of copied parts, for punctuation.
const MAX_RESULT_BYTES: usize = 2 * 1024 * 1024;

fn hostile() -> Vec<(&'static str, Value)> {
    let doubling = |last: Value| {
        let mut parts = Map::from_iter([("d40".to_owned(), last)]);
        for index in 0..40 {
            let next = json!({"$ref": format!("#/$defs/d{}", index + 1)});
            let part = json!({"type": "object", "properties": {"a": next, "b": next}, "anyOf": [next, next], "allOf": [next, next]});
            parts.insert(format!("d{index}"), part);
        }
        json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": parts})
    };
    let mut nested = json!({"type": "string"});
    for _ in 0..120 {
        nested = json!({"allOf": [{"type": "object", "properties": {"a": nested}}]});
    }
    let long = "x".repeat(2 * 1024 * 1024);
    let many = |value: fn(usize) -> (String, Value)| -> Map<String, Value> {
        (0..50_000).map(value).collect()
    };
    vec![
        (
            "doubling",
            doubling(
                json!({"type": "string", "description": long, "pattern": long, "enum": [long]}),
            ),
        ),
        (
            "doubling values",
            doubling(
                json!({"enum": vec!["y"; 100_000], "required": vec![json!(1); 100_000], "type": vec!["string"; 100_000]}),
            ),
        ),
        (
            "nested",
            json!({"type": "object", "properties": {"a": nested}}),
        ),
        ("itself", json!({"$ref": "#"})),
        (
            "circle",
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        ),
        (
            "long",
            json!({"type": "object", "description": long, "properties": {&long: {"default": long}}, "required": [long], "anyOf": [{"$ref": format!("#/{long}")}]}),
        ),
        (
            "many properties",
            json!({"type": "object", "properties": many(|index| (format!("a b{index}"), json!({"type": "string"})))}),
        ),
        (
            "many alike",
            json!({"type": "object", "properties": many(|index| ("é".repeat(60) + &index.to_string(), json!({})))}),
        ),
        (
            "many lists",
            json!({"type": "object", "dependentRequired": many(|index| (index.to_string(), json!(["a"])))}),
        ),
        (
            "many parts",
            json!({"type": "object", "anyOf": vec![json!({"required": ["a"]}); 50_000]}),
        ),
        ("no object", json!("text")),
    ]
}

#[test]
fn result_is_bounded_for_hostile_schemas() {
    for (name, schema) in hostile() {
        for dialect in DIALECTS {
            let (fitted, _) = fit_schema(dialect, &schema);
            assert_eq!(fitted["type"], "object", "{name} for {dialect:?}");
            let bytes = fitted.to_string().len();
            assert!(
                bytes < MAX_RESULT_BYTES,
                "{name} for {dialect:?}: {bytes} bytes"
            );
            let text = fitted.to_string();
            assert!(
                serde_json::from_str::<Value>(&text).is_ok(),
                "{name} for {dialect:?}: too deep"
            );
        }
    }
}

#[test]
fn omitted_part_is_mentioned() {
    let (_, schema) = hostile()
        .into_iter()
        .find(|(name, _)| *name == "many properties")
        .unwrap();
    let (fitted, _) = fit_schema(SchemaDialect::Responses, &schema);
    let count = fitted["properties"].as_object().unwrap().len();
    assert_eq!(
        (count, &fitted["description"]),
        (
            4_999,
            &json!("The schema is too large to be shown whole; a part is left out here.")
        )
    );
}

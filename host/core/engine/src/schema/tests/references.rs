//! References within a schema: by identifiers, anchors, encoded pointers, and recursive ones. The
//! official test suite has many more; these are the kinds that tools use.

use super::*;
use pretty_assertions::assert_eq;

#[test]
fn reference_within_the_schema_is_followed() {
    let old = |draft: u8| format!("http://json-schema.org/draft-0{draft}/schema#");
    let cases = [
        (
            "an identifier of a part, relative to that of the whole",
            json!({
                "$id": "https://tools.example/root/", "items": {"$ref": "point"},
                "$defs": {"p": {"$id": "point", "type": "number"}},
            }),
        ),
        (
            "a pointer within a part with an identifier",
            json!({
                "items": {"$ref": "urn:x:part#/$defs/n"},
                "$defs": {"p": {"$id": "urn:x:part", "$defs": {"n": {"type": "number"}}}},
            }),
        ),
        (
            "an anchor",
            json!({"items": {"$ref": "#n"}, "$defs": {"p": {"$anchor": "n", "type": "number"}}}),
        ),
        (
            "an encoded pointer",
            json!({
                "items": {"$ref": "#/$defs/a%20b%25~1%C3%BC"},
                "$defs": {"a b%/\u{fc}": {"type": "number"}},
            }),
        ),
        (
            "a dynamic reference with one target",
            json!({
                "items": {"$dynamicRef": "#n"},
                "$defs": {"p": {"$dynamicAnchor": "n", "type": "number"}},
            }),
        ),
        (
            "an identifier of draft 4",
            json!({
                "$schema": old(4), "items": {"$ref": "#n"},
                "definitions": {"p": {"id": "#n", "type": "number"}},
            }),
        ),
        (
            "a bound of draft 4",
            json!({
                "$schema": old(4),
                "items": {"type": "number", "maximum": 5, "exclusiveMaximum": true},
            }),
        ),
        (
            "a reference beside which draft 7 ignores all keywords",
            json!({
                "$schema": old(7),
                "items": {"$ref": "#/definitions/n", "type": "array", "items": {"$ref": "nowhere"}},
                "definitions": {"n": {"type": "number"}},
            }),
        ),
        (
            "data that looks like a reference",
            json!({
                "items": {"type": "number", "default": {"$ref": "nowhere"}},
                "const": [4], "examples": [{"$id": "http://["}],
            }),
        ),
    ];
    for (kind, schema) in cases {
        let schema = OutputSchema::compile(&schema).unwrap_or_else(|error| {
            panic!("{kind}: {error}");
        });
        assert_eq!(schema.validate(&json!([4])), Ok(()), "{kind}");
        assert!(schema.validate(&json!(["x"])).is_err(), "{kind}");
    }
}

#[test]
fn reference_to_one_of_several_dynamic_targets_is_refused() {
    let tree = |anchor: &str, reference: &str| {
        json!({
            "$id": "https://tools.example/strict", anchor: true, "unevaluatedProperties": false,
            "$ref": "tree",
            "$defs": {"tree": {"$id": "tree", anchor: true, "properties": {"next": {reference: "#"}}}},
        })
    };
    let mut recursive = tree("$recursiveAnchor", "$recursiveRef");
    recursive["$schema"] = json!("https://json-schema.org/draft/2019-09/schema");
    let mut dynamic = tree("$dynamicAnchor", "$dynamicRef");
    for at in ["", "/$defs/tree"] {
        dynamic.pointer_mut(at).unwrap()["$dynamicAnchor"] = json!("node");
    }
    dynamic["$defs"]["tree"]["properties"]["next"]["$dynamicRef"] = json!("#node");
    for (schema, reference) in [(recursive, "#"), (dynamic, "#node")] {
        let error = OutputSchema::compile(&schema).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the reference `{reference}` is ambiguous; refer to one part, with `$ref` and `#/$defs/NAME`"
            )
        );
    }
}

/// A value with this many levels of `{"any": [..]}`.
fn tree(levels: usize) -> Value {
    (0..levels).fold(json!({"is": "x"}), |inner, _| json!({"any": [inner]}))
}

#[test]
fn recursive_schema_checks_each_level() {
    let schema = json!({
        "type": "object",
        "properties": {"filter": {"$ref": "#/$defs/filter"}},
        "$defs": {"filter": {
            "type": "object",
            "properties": {
                "is": {"type": "string"},
                "any": {"type": "array", "items": {"$ref": "#/$defs/filter"}},
            },
            "additionalProperties": false,
        }},
    });
    let schema = InputSchema::compile(&schema).unwrap();
    for levels in [0, 1, 30] {
        let good = json!({"filter": tree(levels)});
        assert_eq!(schema.validate(&input(&good)), Ok(()), "{levels}");
    }
    let bad = json!({"filter": {"any": [{"any": [{"is": 1}]}]}});
    assert_eq!(
        schema.validate(&input(&bad)).unwrap_err().message(),
        "The arguments do not fit the tool's schema; the tool did not run. `/filter/any/0/any/0/is`: 1 is not of type \"string\""
    );
}

/// Each level of the value is checked twice, so 30 levels would take a billion checks.
#[test]
fn recursion_that_doubles_with_each_level_is_bounded() {
    let node = json!({"properties": {"any": {"items": {"$ref": "#/$defs/node"}}}});
    for keyword in ["anyOf", "allOf", "oneOf"] {
        let schema = json!({
            "type": "object", "$ref": "#/$defs/node",
            "$defs": {"node": {keyword: [node, node], "unevaluatedProperties": false}},
        });
        let schema = InputSchema::compile(&schema).unwrap();
        let failure = schema.validate(&input(&tree(30))).unwrap_err();
        assert_eq!(
            failure.message(),
            "The arguments do not fit the tool's schema; the tool did not run. the arguments: too large or too deep to be checked against this schema; send less",
            "{keyword}"
        );
    }
}

/// The mismatches of every choice at every level would take seconds and hundreds of megabytes.
#[test]
fn mismatches_of_nested_choices_are_not_collected() {
    let choice =
        |name: &str| json!({"properties": {"a": {"$ref": "#/$defs/node"}}, "required": [name]});
    let schema = json!({
        "$ref": "#/$defs/node", "$defs": {"node": {"anyOf": [choice("x"), choice("y")]}},
    });
    let schema = OutputSchema::compile(&schema).unwrap();
    let value = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({"a": inner}));
    let cases = [
        (
            2,
            r#"the result: {"a":{"a":{}}} is not valid under any of the schemas listed in the 'anyOf' keyword"#,
        ),
        (
            15,
            "the result: a part does not match, and there are too many choices to say which; send less",
        ),
        (
            18,
            "the result: too large or too deep to be checked against this schema; send less",
        ),
    ];
    for (levels, fault) in cases {
        let failure = schema.validate(&value(levels)).unwrap_err();
        assert_eq!(
            failure.message(),
            format!(
                "The tool ran, but its result does not match the schema that it declares. {fault}"
            )
        );
    }
}

/// A pointer repeats the keys on its way, so short anchors could become long pointers.
#[test]
fn rewritten_references_are_bounded_in_size() {
    let properties: Map<String, Value> = (0..50)
        .map(|n| (n.to_string(), json!({"$ref": "#a"})))
        .collect();
    let with_key = |bytes: usize| json!({"properties": properties, "$defs": {"k".repeat(bytes): {"$anchor": "a"}}});
    assert!(OutputSchema::compile(&with_key(1_000)).is_ok());
    let error = OutputSchema::compile(&with_key(10_000)).unwrap_err();
    assert!(matches!(error, SchemaError::TooLarge), "{error}");
}

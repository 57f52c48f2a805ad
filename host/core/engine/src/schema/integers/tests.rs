use super::*;
use crate::schema::InputSchema;
use pretty_assertions::assert_eq;
use serde_json::json;

fn object(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

#[test]
fn integers_are_written_as_their_schema_has_them() {
    let integer = json!({"type": "integer"});
    let defs = json!({"N": {"type": "integer"}, "List": {
        "type": ["object", "null"],
        "properties": {"n": {"$ref": "#/$defs/N"}, "next": {"$ref": "#/$defs/List"}},
    }});
    let variant = json!({"oneOf": [
        {"properties": {"tag": {"const": "count"}, "value": {"type": "integer"}}, "required": ["tag", "value"]},
        {"properties": {"tag": {"const": "name"}, "value": {"type": "string"}}, "required": ["tag", "value"]},
    ]});
    for (schema, value, expected) in [
        (integer.clone(), "5.0", "5"),
        (integer.clone(), "5e0", "5"),
        (integer.clone(), "-0.0", "0"),
        (integer.clone(), "9007199254740991.0", "9007199254740991"),
        (integer.clone(), "9007199254740993.0", "9007199254740992.0"),
        (integer.clone(), "1e30", "1e30"),
        (integer.clone(), "5.5", "5.5"),
        (integer.clone(), "7", "7"),
        (integer.clone(), "\"9007199254740993\"", "9007199254740993"),
        (
            integer.clone(),
            "\"18446744073709551615\"",
            "18446744073709551615",
        ),
        (integer.clone(), "\"-5\"", "-5"),
        (
            integer.clone(),
            "\"18446744073709551616\"",
            "\"18446744073709551616\"",
        ),
        (integer.clone(), "\"05\"", "\"05\""),
        (integer.clone(), "\"5.0\"", "\"5.0\""),
        (integer.clone(), "\"\"", "\"\""),
        (json!({"type": "number"}), "5.0", "5.0"),
        (json!({"type": ["integer", "number"]}), "5.0", "5.0"),
        (json!({"type": ["integer", "string"]}), "\"5\"", "\"5\""),
        (json!({"type": ["integer", "null"]}), "\"5\"", "5"),
        (json!({"type": "string"}), "\"5\"", "\"5\""),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            "5.0",
            "5",
        ),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
            "\"5\"",
            "\"5\"",
        ),
        (
            json!({"anyOf": [{"type": "integer"}, {}]}),
            "\"5\"",
            "\"5\"",
        ),
        (json!({"$ref": "#/$defs/N"}), "5.0", "5"),
        (json!({"$ref": "#/$defs/Missing"}), "5.0", "5.0"),
        (
            json!({"allOf": [{"$ref": "#/$defs/N"}, {"minimum": 1}]}),
            "5.0",
            "5",
        ),
        (
            json!({"type": "array", "items": integer}),
            "[1.0, \"2\", 3]",
            "[1, 2, 3]",
        ),
        (
            json!({"prefixItems": [{"type": "string"}], "items": integer}),
            "[\"1\", 2.0]",
            "[\"1\", 2]",
        ),
        (
            json!({"additionalProperties": integer}),
            r#"{"a": 1.0}"#,
            r#"{"a": 1}"#,
        ),
        (
            json!({"$ref": "#/$defs/List"}),
            r#"{"n": 1.0, "next": {"n": "2"}}"#,
            r#"{"n": 1, "next": {"n": 2}}"#,
        ),
        (
            variant.clone(),
            r#"{"tag": "count", "value": "5"}"#,
            r#"{"tag": "count", "value": 5}"#,
        ),
        (
            variant,
            r#"{"tag": "name", "value": "5"}"#,
            r#"{"tag": "name", "value": "5"}"#,
        ),
        (json!({}), "5.0", "5.0"),
        (json!(true), "5.0", "5.0"),
    ] {
        let whole = json!({"type": "object", "properties": {"v": schema}, "$defs": defs});
        let value: Value = serde_json::from_str(value).unwrap();
        let expected: Value = serde_json::from_str(expected).unwrap();
        let input = with_integers(&whole, object(json!({"v": value})));
        assert_eq!(
            Value::Object(input),
            json!({"v": expected}),
            "{schema} {value}"
        );
    }
}

#[test]
fn number_that_would_lose_digits_is_named() {
    let schema = json!({"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": "object", "properties": {"a/b": {"type": "integer"}}}},
    }});
    let schema = InputSchema::compile(&schema).unwrap();
    for (number, is_error) in [
        ("1e30", true),
        ("99999999999999999999", true),
        ("-9007199254740992.0", true),
        ("5.0", false),
        ("18446744073709551615", false),
    ] {
        let input = format!(r#"{{"list": [{{}}, {{"a/b": {number}}}]}}"#);
        let checked = schema.validate(&serde_json::from_str(&input).unwrap());
        let message = checked.err().map(|failure| failure.message().to_owned());
        let shown: Value = serde_json::from_str(number).unwrap();
        let expected = is_error.then(|| {
            format!(
                "The arguments do not fit the tool's schema; the tool did not run. `/list/1/a~1b`: {shown} may have \
                 lost digits, but an integer is expected; send it as an integer of at most 64 bits, without fraction \
                 or exponent"
            )
        });
        assert_eq!(message, expected, "{number}");
    }
}

/// A schema that unfolds without end costs a bounded number of steps.
#[test]
fn hostile_schemas_cost_bounded_steps() {
    let choices: Vec<Value> = (0..50).map(|_| json!({"$ref": "#"})).collect();
    let schema = json!({"anyOf": choices, "additionalProperties": {"$ref": "#"}});
    let input = object(json!({"a": {"b": {"c": 1.0}}}));
    assert_eq!(with_integers(&schema, input.clone()), input);
}

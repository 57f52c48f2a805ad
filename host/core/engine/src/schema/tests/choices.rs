//! Values that fit no choice of a `oneOf` or `anyOf`.

use super::super::Schema;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Checks values of `v`, each with the messages about it.
fn check(schema: &Value, defs: &Value, cases: &[(Value, &[&str])]) {
    let schema = json!({
        "type": "object", "properties": { "v": schema }, "required": ["v"], "$defs": defs,
    });
    let compiled = Schema::compile(&schema).unwrap();
    for (value, expected) in cases {
        let error = compiled
            .check(&json!({ "v": value }), "the arguments")
            .unwrap_err();
        assert_eq!(error.to_string(), expected.join("; "), "{schema} {value}");
    }
}

/// A case as the sandbox describes those of WIT types.
fn case(tag: &str, val: Option<&Value>) -> Value {
    let mut properties = json!({ "tag": { "const": tag } });
    let mut required = vec!["tag"];
    if let Some(val) = val {
        properties["val"] = val.clone();
        required.push("val");
    }
    json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    })
}

#[test]
fn value_of_no_tagged_case_names_cases_and_difference() {
    let float = json!({ "anyOf": [{ "type": "number" }, { "enum": ["NaN", "Infinity"] }] });
    let inner =
        json!({ "oneOf": [case("some", Some(&json!({ "type": "boolean" }))), case("none", None)] });
    let shape = json!({ "oneOf": [
        case("point", None),
        case("circle", Some(&float)),
        case("maybe", Some(&inner)),
    ] });
    let cases: [(Value, &[&str]); 9] = [
        (
            json!({ "tag": "square" }),
            &[r#"`/v/tag`: "square" is not "point", "circle" or "maybe""#],
        ),
        (
            json!({ "val": 1 }),
            &[r#"`/v`: "tag" is a required property; it is "point", "circle" or "maybe""#],
        ),
        (
            json!("point"),
            &[r#"`/v`: "point" is not an object whose "tag" is "point", "circle" or "maybe""#],
        ),
        (
            json!({ "tag": "circle" }),
            &[
                r#"`/v`: "val" is a required property (in the case "circle" of "point", "circle" or "maybe")"#,
            ],
        ),
        (
            json!({ "tag": "circle", "val": "1" }),
            &[
                r#"`/v/val`: "1" is not a number, "NaN" or "Infinity" (in the case "circle" of "point", "circle" or "maybe")"#,
            ],
        ),
        (
            json!({ "tag": "point", "val": 1 }),
            &[
                r#"`/v`: Additional properties are not allowed ('val' was unexpected) (in the case "point" of "point", "circle" or "maybe")"#,
            ],
        ),
        (
            json!({ "tag": "maybe", "val": { "tag": "some", "val": 1 } }),
            &[
                r#"`/v/val/val`: 1 is not of type "boolean" (in the case "some" of "some" or "none") (in the case "maybe" of "point", "circle" or "maybe")"#,
            ],
        ),
        (
            json!({ "tag": "maybe", "val": { "tag": "all" } }),
            &[
                r#"`/v/val/tag`: "all" is not "some" or "none" (in the case "maybe" of "point", "circle" or "maybe")"#,
            ],
        ),
        (
            json!({ "tag": 7 }),
            &[r#"`/v/tag`: 7 is not "point", "circle" or "maybe""#],
        ),
    ];
    check(&shape, &json!({}), &cases);
    // The same by references, as other generators of schemas write it.
    let defs = json!({ "shape": shape, "circle": case("circle", Some(&float)), "point": case("point", None) });
    let referring: Value = json!({ "$ref": "#/$defs/shape" });
    check(&referring, &defs, &cases[..2]);
    let choices = json!({ "anyOf": [{ "$ref": "#/$defs/point" }, { "$ref": "#/$defs/circle" }] });
    check(
        &choices,
        &defs,
        &[
            (
                json!({ "tag": "square" }),
                &[r#"`/v/tag`: "square" is not "point" or "circle""#],
            ),
            (
                json!({ "tag": "circle", "val": true }),
                &[
                    r#"`/v/val`: true is not a number, "NaN" or "Infinity" (in the case "circle" of "point" or "circle")"#,
                ],
            ),
        ],
    );
}

#[test]
fn value_of_no_choice_names_its_types() {
    let count = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
    check(
        &json!({ "anyOf": [count, { "type": "null" }] }),
        &json!({}),
        &[
            (json!("1"), &[r#"`/v`: "1" is not an integer or null"#]),
            (
                json!(256),
                &["`/v`: 256 is greater than the maximum of 255"],
            ),
            (json!(1.5), &["`/v`: 1.5 is not an integer or null"]),
        ],
    );
    let object = json!({ "type": "object", "properties": { "a": count }, "required": ["a"] });
    check(
        &json!({ "oneOf": [{ "type": ["string", "boolean"] }, object, { "const": 5 }] }),
        &json!({}),
        &[
            (
                json!(6),
                &["`/v`: 6 is not a boolean, a string, an object or 5"],
            ),
            (
                json!({ "a": "x" }),
                &[r#"`/v/a`: "x" is not of type "integer""#],
            ),
        ],
    );
    // Two choices may be meant, and nothing says which.
    let other = json!({ "type": "object", "required": ["b"] });
    check(
        &json!({ "oneOf": [object, other] }),
        &json!({}),
        &[(
            json!({}),
            &[r#"`/v`: {} is not valid under any of the schemas listed in the 'oneOf' keyword"#],
        )],
    );
}

#[test]
fn many_choices_are_named_up_to_a_bound() {
    let all: Vec<Value> = (0..25).map(|at| case(&format!("c{at}"), None)).collect();
    let named: Vec<String> = (0..20).map(|at| format!("\"c{at}\"")).collect();
    let expected = format!("`/v/tag`: \"x\" is not {} or 5 others", named.join(", "));
    check(
        &json!({ "oneOf": all }),
        &json!({}),
        &[(json!({ "tag": "x" }), &[expected.as_str()])],
    );
}

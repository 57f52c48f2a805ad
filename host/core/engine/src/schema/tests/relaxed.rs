//! Input schemas with patterns that cannot be run here, of servers that check their input.

use super::*;
use pretty_assertions::assert_eq;

#[test]
fn relaxed_schema_keeps_everything_but_unusable_patterns() {
    let schema = json!({
        "type": "object",
        "properties": {
            "secret": {"type": "string", "pattern": "^(?=.*[0-9]).{8,}$"},
            "name": {"type": "string", "pattern": "^[a-z]+$"},
            "pattern": {"const": {"pattern": "(?!a)"}},
        },
        "patternProperties": {"^(?!x)": {"type": "integer"}, "^y": {"type": "integer"}},
        "additionalProperties": false,
    });
    let (schema, removed) = InputSchema::compile_relaxed(&schema, 10).unwrap();
    assert_eq!(removed, ["^(?!x)", "^(?=.*[0-9]).{8,}$"]);
    // The data counts, too.
    assert_eq!(schema.patterns(), 3);
    let cases = [
        (json!({"secret": "short", "name": "a", "z": "x"}), true),
        (json!({"pattern": {"pattern": "(?!a)"}}), true),
        (json!({"secret": 1}), false),
        (json!({"name": "A"}), false),
        (json!({"y": "x"}), false),
        (json!({"pattern": {}}), false),
    ];
    for (value, fits) in cases {
        assert_eq!(schema.validate(&input(&value)).is_ok(), fits, "{value}");
    }
}

/// Without its pattern, `not` would refuse everything.
#[test]
fn unusable_pattern_under_a_reversing_keyword_is_refused() {
    for keyword in ["not", "if", "contains", "unevaluatedItems"] {
        let schema = json!({
            "type": "object", "properties": {"a": {keyword: {"pattern": "(?=a)b"}}},
        });
        let error = InputSchema::compile_relaxed(&schema, 10).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the pattern `(?=a)b` is not supported: look-around, back-references and very large patterns take \
             unbounded time",
            "{keyword}"
        );
    }
}

#[test]
fn relaxed_schema_keeps_at_most_the_given_patterns() {
    let any: Vec<Value> = (0..4).map(|n| json!({"pattern": n.to_string()})).collect();
    let schema = json!({"type": "object", "properties": {"a": {"anyOf": any}}});
    let (schema, removed) = InputSchema::compile_relaxed(&schema, 3).unwrap();
    assert_eq!((schema.patterns(), removed), (3, vec!["3".to_owned()]));
}

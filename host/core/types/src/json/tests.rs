use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn depth_bound_is_exact_for_arrays_and_objects() {
    let arrays = |levels: usize| (0..levels).fold(json!("x"), |inner, _| json!([inner]));
    let objects = |levels: usize| (0..levels).fold(json!("x"), |inner, _| json!({"k": inner}));
    let cases = [
        (0, false),
        (1, false),
        (MAX_DEPTH, false),
        (MAX_DEPTH + 1, true),
        (120, true),
    ];
    for (levels, expected) in cases {
        assert_eq!(is_too_deep(&arrays(levels)), expected, "{levels} arrays");
        assert_eq!(is_too_deep(&objects(levels)), expected, "{levels} objects");
        if let Value::Object(object) = objects(levels) {
            assert_eq!(
                is_object_too_deep(&object),
                expected,
                "{levels} levels as an object"
            );
        }
    }
    assert!(
        is_too_deep(&json!([1, {"a": []}, arrays(MAX_DEPTH)])),
        "the deepest branch counts"
    );
}

#[test]
fn numbers_are_compared_by_value() {
    let table = [
        ("1", "1.0", true),
        ("-0.0", "0", true),
        ("1e2", "100", true),
        ("9007199254740993", "9007199254740993", true),
        // The nearest float is one less.
        ("9007199254740993", "9007199254740993.0", false),
        ("9007199254740992", "9007199254740992.0", true),
        ("18446744073709551615", "18446744073709551614", false),
        ("18446744073709551615", "1.8446744073709552e19", false),
        ("-9223372036854775808", "-9223372036854775808.0", true),
        ("0.1", "0.10000000000000001", true),
        ("0.1", "0.2", false),
        ("1", "1.5", false),
        ("1", "\"1\"", false),
        ("[1, {\"a\": 2.0}]", "[1.0, {\"a\": 2}]", true),
        ("[1]", "[1, 2]", false),
        ("{\"a\": 1}", "{\"a\": 1, \"b\": null}", false),
        ("{\"a\": null}", "{\"b\": null}", false),
        ("null", "false", false),
    ];
    for (one, other, expected) in table {
        let [one, other] = [one, other].map(|text| serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(is_equal(&one, &other), expected, "{one} and {other}");
        assert_eq!(is_equal(&other, &one), expected, "{other} and {one}");
    }
}

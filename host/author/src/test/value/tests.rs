use super::{from_toml, same};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

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
        assert_eq!(same(&one, &other), expected, "{one} and {other}");
        assert_eq!(same(&other, &one), expected, "{other} and {one}");
    }
}

#[test]
fn toml_is_converted_to_json() {
    let table: toml::Table = toml::from_str(
        "text = 'a'\nwhole = -9223372036854775808\nfloat = 0.1\ntruth = true\nlist = [1, 'b', []]\n[table]\ninner = {}",
    )
    .unwrap();
    assert_eq!(
        from_toml(toml::Value::Table(table)).unwrap(),
        json!({
            "text": "a", "whole": i64::MIN, "float": 0.1, "truth": true, "list": [1, "b", []], "table": {"inner": {}},
        })
    );
}

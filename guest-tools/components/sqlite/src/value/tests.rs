use pretty_assertions::assert_eq;
use rusqlite::types::{Value as SqlValue, ValueRef};
use serde_json::{Value, json};

use super::{MAX_BLOB_BYTES, MAX_TEXT_BYTES, Remark, from_json, to_json};

#[test]
fn value_is_shown_exactly_or_with_a_remark() {
    let long = "ä".repeat(MAX_TEXT_BYTES);
    let blob = vec![0; MAX_BLOB_BYTES + 1];
    let cases = [
        (ValueRef::Null, Value::Null, None),
        (ValueRef::Integer(-5), json!(-5), None),
        (
            ValueRef::Integer(1 << 53),
            json!(9_007_199_254_740_992_i64),
            None,
        ),
        (
            ValueRef::Integer((1 << 53) + 1),
            json!("9007199254740993"),
            Some(Remark::LargeInteger),
        ),
        (
            ValueRef::Integer(i64::MIN),
            json!("-9223372036854775808"),
            Some(Remark::LargeInteger),
        ),
        (ValueRef::Real(0.1), json!(0.1), None),
        (ValueRef::Real(f64::INFINITY), json!("inf"), None),
        (ValueRef::Text(b"a"), json!("a"), None),
        (
            ValueRef::Text(b"a\xff"),
            json!("a\u{fffd}"),
            Some(Remark::NoUtf8),
        ),
        (
            ValueRef::Text(long.as_bytes()),
            json!("ä".repeat(MAX_TEXT_BYTES / 2) + "…"),
            Some(Remark::CutText),
        ),
        (
            ValueRef::Blob(b"\0\x01"),
            json!({ "base64": "AAE=", "bytes": 2 }),
            None,
        ),
        (
            ValueRef::Blob(&blob),
            json!({ "bytes": 2_049 }),
            Some(Remark::LargeBlob),
        ),
    ];
    for (value, expected, remark) in cases {
        assert_eq!(to_json(value), (expected, remark));
    }
}

#[test]
fn parameter_is_a_value_or_an_error() {
    let cases = [
        (json!(null), Ok(SqlValue::Null)),
        (json!(true), Ok(SqlValue::Integer(1))),
        (json!(i64::MIN), Ok(SqlValue::Integer(i64::MIN))),
        (
            json!(u64::MAX),
            Err("an integer is larger than SQLite's; give it as text"),
        ),
        (json!(0.5), Ok(SqlValue::Real(0.5))),
        (json!("a"), Ok(SqlValue::Text("a".to_owned()))),
        (json!({ "base64": "AAE=" }), Ok(SqlValue::Blob(vec![0, 1]))),
        (json!({ "base64": "?" }), Err("a blob is not in base64")),
        (
            json!({ "base64": "AAE=", "bytes": 2 }),
            Err("an object is no value but as `{\"base64\": \"..\"}`"),
        ),
        (
            json!([1]),
            Err("a list is no value; use json_each on its text"),
        ),
    ];
    for (value, expected) in cases {
        assert_eq!(from_json(&value), expected, "{value}");
    }
}

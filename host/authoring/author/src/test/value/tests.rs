use super::{MAX_TOML_LEVELS, from_toml, to_toml};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

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

#[test]
fn json_that_toml_has_comes_back_unchanged() {
    let nested = |levels| (1..levels).fold(json!([]), |inner: Value, _| json!([inner]));
    for (value, is_toml) in [
        (
            json!({"text": "a\n'''", "list": [1, -0.5, true, [], {"": {}}]}),
            true,
        ),
        (json!(i64::MIN), true),
        (json!(1.0), true),
        (json!(1e300), true),
        (json!(u64::MAX), false),
        (json!(null), false),
        (json!({"a": [null]}), false),
        (nested(MAX_TOML_LEVELS), true),
        (nested(MAX_TOML_LEVELS + 1), false),
    ] {
        let converted = to_toml(&value);
        assert_eq!(converted.is_some(), is_toml, "{value}");
        if let Some(converted) = converted {
            // As it is written, and read again.
            let written = format!("value = {converted}");
            let mut read: toml::Table = written.parse().unwrap();
            let read = from_toml(read.remove("value").unwrap()).unwrap();
            assert_eq!(read, value);
        }
    }
}

use super::from_toml;
use pretty_assertions::assert_eq;
use serde_json::json;

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

use super::*;
use crate::output::ToolResultOutput;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

fn parsed(json: &str) -> String {
    JsonText::parse(json).unwrap().to_string()
}

#[test]
fn text_is_normalized_as_a_tree_would_print_it() {
    let cases = [
        (" null ", "null"),
        ("[ 1 , -2, true,false ,[],{ } ]", "[1,-2,true,false,[],{}]"),
        // Integers beyond 64 bits are floats; all others are exact.
        (
            "[18446744073709551615,-9223372036854775808,18446744073709551616,1e3,0.1,-0.0,5e-324]",
            "[18446744073709551615,-9223372036854775808,1.8446744073709552e+19,1000.0,0.1,-0.0,5e-324]",
        ),
        (
            r#""\u0041\u00e9\ud83d\ude00\/\n\u001f""#,
            "\"Aé😀/\\n\\u001f\"",
        ),
        (
            r#"{"b":1,"a":{"d":[],"c":2},"":3}"#,
            r#"{"":3,"a":{"c":2,"d":[]},"b":1}"#,
        ),
        // The last of several equal keys stays, however they are written.
        (
            r#"{"x":{"k":1},"a":1,"\u0061":2,"b":0,"x":[]}"#,
            r#"{"a":2,"b":0,"x":[]}"#,
        ),
        // Keys are sorted by their bytes, not by the escapes of these.
        (
            r#"{"b":0,"a\n":1,"a\u001f":2,"a\"":3,"a\\":4,"aZ":5,"a":6,"a]":7,"a\t":8}"#,
            r#"{"a":6,"a\t":8,"a\n":1,"a\u001f":2,"a\"":3,"aZ":5,"a\\":4,"a]":7,"b":0}"#,
        ),
    ];
    for (json, expected) in cases {
        let tree: Value = serde_json::from_str(json).unwrap();
        assert_eq!(tree.to_string(), expected, "the case of {json}");
        assert_eq!(parsed(json), expected);
        assert_eq!(
            format!("{:#}", JsonText::parse(json).unwrap()),
            format!("{tree:#}")
        );
        assert_eq!(JsonText::parse(json).unwrap().to_value(), tree);
    }
}

#[test]
fn text_that_is_not_one_value_is_refused() {
    for json in [
        "",
        "{",
        "[1,]",
        "NaN",
        "1 2",
        "nul",
        "'a'",
        "1e999",
        r#""\ud800""#,
        "{1:2}",
        "\"\n\"",
    ] {
        let expected = serde_json::from_str::<Value>(json).unwrap_err();
        let error = JsonText::parse(json).unwrap_err();
        assert_eq!(error.to_string(), expected.to_string(), "{json}");
    }
}

#[test]
fn nesting_beyond_the_limits_is_refused() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let tree = |levels: usize| (1..levels).fold(json!([]), |inner, _| json!([inner]));
    for (levels, is_too_deep) in [(MAX_DEPTH, false), (MAX_DEPTH + 1, true), (127, true)] {
        let text = JsonText::parse(&nested(levels)).unwrap();
        assert_eq!(text.as_str(), nested(levels));
        assert_eq!(text.is_too_deep(), is_too_deep);
        assert_eq!(text.to_value(), tree(levels));
        assert_eq!(JsonText::try_from(&tree(levels)), Ok(text.clone()));
        let valid = ToolResultOutput::ErrorJson(text).validate();
        assert_eq!(
            valid,
            if is_too_deep {
                Err(TooDeep.into())
            } else {
                Ok(())
            }
        );
    }
    for levels in [128, 100_000] {
        assert!(JsonText::parse(&nested(levels)).is_err());
        assert!(serde_json::from_str::<JsonText>(&nested(levels)).is_err());
    }
    assert_eq!(JsonText::try_from(&tree(128)), Err(TooDeep));
    // Brackets in strings and side by side are no levels.
    for json in [
        format!("[{:?}]", "[{\\\"[".repeat(200)),
        format!("[{}[]]", "[],".repeat(200)),
    ] {
        assert!(!JsonText::parse(&json).unwrap().is_too_deep(), "{json}");
    }
    assert_eq!(
        ToolResultOutput::json(tree(128)),
        ToolFailure::from(TooDeep).into()
    );
}

#[test]
fn strings_are_mapped_in_keys_and_values() {
    let text = JsonText::parse(r#"{"a":["key",{"key":"a key"}],"key":1,"b":2}"#).unwrap();
    let map = |text: &str| text.contains("key").then(|| text.replace("key", "b"));
    // The mapped key replaces the earlier one that it becomes equal to.
    assert_eq!(
        text.map_strings(map).unwrap().as_str(),
        r#"{"a":["b",{"b":"a b"}],"b":1}"#
    );
    assert_eq!(text.map_strings(|_| None), None);
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c\"\\\\\\x00-\\x1f\\x7fé😀]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map("[a-c\"\\\\\\x00-\\x1f]{0,2}", inner, 0..6)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

/// Writes a value with the fields of its objects in reverse order, each after one of the same key.
fn disordered(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(disordered).collect();
            format!("[{}]", items.join(" ,"))
        }
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| {
                let key = json!(key);
                format!("{key}:[0], {key} : {}", disordered(value))
            };
            let fields: Vec<String> = fields.iter().rev().map(field).collect();
            format!("{{{}}}", fields.join(","))
        }
        other => other.to_string(),
    }
}

proptest! {
    #[test]
    fn every_value_has_one_text(value in any_value()) {
        let text = JsonText::try_from(&value).unwrap();
        prop_assert_eq!(text.as_str(), value.to_string());
        prop_assert_eq!(&JsonText::parse(&disordered(&value)).unwrap(), &text);
        prop_assert_eq!(&text.to_value(), &value);
        // As a part of other data, also where serde buffers.
        let output = ToolResultOutput::Json(text);
        let json = serde_json::to_string(&output).unwrap();
        prop_assert_eq!(&json, &format!(r#"{{"type":"json","value":{value}}}"#));
        prop_assert_eq!(&serde_json::to_value(&output).unwrap(), &json!({"type": "json", "value": value}));
        prop_assert_eq!(&serde_json::from_str::<ToolResultOutput>(&json).unwrap(), &output);
        let tree = serde_json::to_value(&output).unwrap();
        prop_assert_eq!(serde_json::from_value::<ToolResultOutput>(tree).unwrap(), output);
    }

    #[test]
    fn any_text_parses_like_a_tree(json in "[\\[\\]{}:,\"\\\\0-2ae.+ntrufls -]{0,24}") {
        let tree = serde_json::from_str::<Value>(&json).ok();
        let text = JsonText::parse(&json).ok();
        prop_assert_eq!(text.map(|text| text.to_string()), tree.map(|tree| tree.to_string()));
    }
}

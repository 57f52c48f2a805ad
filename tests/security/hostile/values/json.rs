//! JSON that is invalid or deceptive.

use super::{ERROR_JSON, JSON, fails, returning, returns};
use crate::hostile::case::Case;
use agent_host_test_guests::Body;
use agent_host_types::failure::ToolErrorCode::{InvalidOutput, OutputTooLarge};
use serde_json::{Value, json};

pub(super) fn cases() -> Vec<Case> {
    let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let mut cases: Vec<Case> = [
        ("JSON that is cut off", "{".to_owned()),
        ("JSON that is empty", String::new()),
        ("JSON with a byte order mark", "\u{feff}{}".to_owned()),
        ("JSON with something behind it", "{} {}".to_owned()),
        ("JSON with NaN", "[NaN]".to_owned()),
        ("JSON with Infinity", "[-Infinity]".to_owned()),
        ("JSON with 1e999", "[1e999]".to_owned()),
        ("JSON with half a character", r#"["\ud800"]"#.to_owned()),
        (
            "JSON with a raw line break in a string",
            "[\"a\nb\"]".to_owned(),
        ),
        ("JSON of 101 levels", nested(101)),
        ("JSON of 100,000 levels", nested(100_000)),
        (
            "JSON of 100,000 levels that never close",
            "[".repeat(100_000),
        ),
        ("JSON with a trailing comma", "[1,]".to_owned()),
        ("JSON with a comment", "/**/1".to_owned()),
    ]
    .into_iter()
    .map(|(name, text)| {
        fails(
            name,
            returning(Body::Text(JSON, text.as_bytes())),
            InvalidOutput,
            "JSON",
        )
    })
    .collect();
    let two_million = format!("[{}1]", "1,".repeat(2_000_000));
    let deep: Value = serde_json::from_str(&nested(100)).unwrap();
    cases.extend([
        fails(
            "JSON of two million values",
            returning(Body::Text(JSON, two_million.as_bytes())),
            OutputTooLarge,
            " values; the maximum is",
        ),
        fails(
            "an error of JSON that is none",
            returning(Body::Text(ERROR_JSON, b"{")),
            InvalidOutput,
            "JSON",
        ),
        returns(
            "JSON of 100 levels",
            Body::Text(JSON, nested(100).as_bytes()),
            json!({"type": "json", "value": deep}),
        ),
        returns(
            "JSON that looks like a result",
            Body::Text(JSON, br#"{"type":"error-text","value":"x"}"#),
            json!({"type": "json", "value": {"type": "error-text", "value": "x"}}),
        ),
        returns(
            "JSON with one key twice",
            Body::Text(JSON, br#"{"a":1,"a":2}"#),
            json!({"type": "json", "value": {"a": 2}}),
        ),
        returns(
            "JSON with a zero byte in a string",
            Body::Text(JSON, br#"["\u0000"]"#),
            json!({"type": "json", "value": ["\0"]}),
        ),
        returns(
            "JSON that is null",
            Body::Text(JSON, b"null"),
            json!({"type": "json", "value": null}),
        ),
        returns(
            "JSON with the smallest number and less",
            Body::Text(JSON, b"[1e-999]"),
            json!({"type": "json", "value": [0.0]}),
        ),
    ]);
    cases
}

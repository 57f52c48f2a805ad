use super::*;
use pretty_assertions::assert_eq;
use serde_json::Value;

#[test]
fn unpaired_surrogates_are_rewritten() {
    for (json, expected) in [
        (r#"{"a": "plain \n \\ud83d \" text"}"#, None),
        (r#"{"a": "\ud83d\ude00 \uD83D\uDE00 \u00e9"}"#, None),
        (r#"["x \ud83d y"]"#, Some("x \u{fffd} y")),
        (r#"["x \ude00 y"]"#, Some("x \u{fffd} y")),
        (r#"["\ude00\ud83d"]"#, Some("\u{fffd}\u{fffd}")),
        (r#"["\ud83d\ud83d\ude00"]"#, Some("\u{fffd}\u{1f600}")),
        (r#"["\"\ude00"]"#, Some("\"\u{fffd}")),
        (r#"["\ud83d\u0041"]"#, Some("\u{fffd}A")),
    ] {
        for may_continue in [false, true] {
            let rewritten = rewrite(json, may_continue);
            assert_eq!(
                matches!(rewritten, Cow::Owned(_)),
                expected.is_some(),
                "{json}"
            );
            let value: Value = serde_json::from_str(&join(&rewritten)).unwrap();
            if let Some(expected) = expected {
                assert_eq!(value[0], expected, "{json}");
            }
        }
    }
}

#[test]
fn halves_at_edges_of_strings_join() {
    let first = rewrite(r#"{"text":"a\ud83d"}"#, true).into_owned();
    let second = rewrite(r#"{"text":"\ude00b"}"#, true).into_owned();
    let text = |json: &str| -> String {
        let value: Value = serde_json::from_str(json).unwrap();
        value["text"].as_str().unwrap().to_owned()
    };
    let (first, second) = (text(&first), text(&second));
    let (shown, mark) = split_first_half(&first);
    assert_eq!((shown, mark.is_some()), ("a", true));
    assert_eq!(split_first_half(&second), (second.as_str(), None));
    assert_eq!(join(&[first.as_str(), &second].concat()), "a\u{1f600}b");
    assert_eq!(
        join(&[second.as_str(), &first].concat()),
        "\u{fffd}ba\u{fffd}"
    );
}

/// No text makes it panic, and none that has no unpaired surrogate is copied.
#[test]
fn truncated_escapes_are_left_alone() {
    let json = r#"{"a":"é\ud83d\ude00\"#;
    for begun in (0..=json.len()).filter_map(|end| json.get(..end)) {
        drop(rewrite(begun, true));
    }
    for json in ["\\", "\\u", "\\ud83", "\\u+d83", "\\ué00", "\"\\ud8é"] {
        assert!(matches!(rewrite(json, true), Cow::Borrowed(_)), "{json}");
    }
}

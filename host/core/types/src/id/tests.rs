use super::*;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[test]
fn digest_round_trips_through_text_and_json() {
    let digest = Digest::of(b"abc");
    assert_eq!(digest.to_string(), ABC);
    assert_eq!(format!("{digest:?}"), ABC);
    assert_eq!(Some(digest.hex().as_str()), ABC.strip_prefix("sha256:"));
    assert_eq!(ABC.parse::<Digest>().unwrap(), digest);
    assert_eq!(json!(digest), json!(ABC));
    assert_eq!(
        serde_json::from_value::<Digest>(json!(ABC)).unwrap(),
        digest
    );
}

#[test]
fn digest_of_another_form_is_refused() {
    let hex = ABC.trim_start_matches("sha256:");
    let cases = [
        String::new(),
        hex.to_owned(),
        format!("sha512:{hex}"),
        format!("SHA256:{hex}"),
        format!("sha256:{}", "a".repeat(63)),
        format!("sha256:{}", "a".repeat(62)),
        format!("{ABC}00"),
        format!("{ABC} "),
        ABC.replace('b', "g"),
    ];
    for text in cases {
        let error = text.parse::<Digest>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "a digest is `sha256:` and 64 hexadecimal digits",
            "{text}"
        );
        assert!(
            serde_json::from_value::<Digest>(json!(text)).is_err(),
            "{text}"
        );
    }
}

/// Fails if anything in the build turns on serde_json's `preserve_order`; digests of arguments
/// depend on it being off.
#[test]
fn json_digest_does_not_depend_on_key_order() {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let (one, other) = (
        read(r#"{"b": {"y": 1, "x": [1, {"q": 0, "p": 0}]}, "a": null}"#),
        read(r#"{"a": null, "b": {"x": [1, {"p": 0, "q": 0}], "y": 1}}"#),
    );
    assert_eq!(
        one.to_string(),
        r#"{"a":null,"b":{"x":[1,{"p":0,"q":0}],"y":1}}"#
    );
    assert_eq!(json_digest(&one), json_digest(&other));
    for different in [
        r#"{"a": null}"#,
        r#"{"a": null, "b": {"x": [{"p": 0, "q": 0}, 1], "y": 1}}"#,
    ] {
        assert_ne!(json_digest(&one), json_digest(&read(different)));
    }
}

#[test]
fn session_id_round_trips_and_sorts_by_time() {
    let (first, second) = (SessionId::new(), SessionId::new());
    assert_eq!(first.to_string().parse::<SessionId>().unwrap(), first);
    assert_eq!(json!(first), json!(first.to_string()));
    assert!(first < second);
    assert!("no id".parse::<SessionId>().is_err());
}

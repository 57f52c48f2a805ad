//! The text of a recording.

use super::Recording;
use pretty_assertions::assert_eq;

const BEGIN: &str = r#"{"type":"recording","version":1}"#;

#[test]
fn recording_text_round_trips() {
    let text = [
        BEGIN,
        r#"{"type":"exchange","request":{"method":"GET","url":"https://api.example/?q=secret%3A%2F%2Fkey"},"outcome":{"response":{"status":200,"headers":[["content-type","text/plain"],["x","1"],["x","2"]],"body":{"text":"hello"}}}}"#,
        r#"{"type":"exchange","request":{"method":"POST","url":"https://api.example/","body-sha256":"00"},"outcome":{"response":{"status":404,"headers":[],"body":{"base64":"/wA="}}}}"#,
        r#"{"type":"exchange","request":{"method":"GET","url":"https://gone.example/"},"outcome":{"error":"connection-refused"}}"#,
        "",
    ]
    .join("\n");
    assert_eq!(Recording::replay(&text).unwrap().text(), text);
    assert_eq!(Recording::empty().text(), format!("{BEGIN}\n"));
    assert_eq!(Recording::record().text(), format!("{BEGIN}\n"));
}

#[test]
fn invalid_recording_error_names_the_line() {
    let exchange = |outcome: &str| {
        format!(
            r#"{BEGIN}
{{"type":"exchange","request":{{"method":"GET","url":"https://api.example/"}},"outcome":{outcome}}}"#
        )
    };
    let table = [
        (
            String::new(),
            "it does not start like a recording; record it again",
        ),
        (
            "{}".to_owned(),
            "it does not start like a recording; record it again",
        ),
        (
            r#"{"type":"recording","version":2}"#.to_owned(),
            "its format has version 2, and this program reads version 1; record it again",
        ),
        (
            format!("{BEGIN}\n{BEGIN}"),
            "line 2: another recording begins here",
        ),
        (
            exchange(r#"{"response":{"status":99,"headers":[],"body":{"text":""}}}"#),
            "line 2: invalid status code",
        ),
        (
            exchange(r#"{"response":{"status":200,"headers":[["a b","c"]],"body":{"text":""}}}"#),
            "line 2: invalid HTTP header name",
        ),
        (
            exchange(r#"{"response":{"status":200,"headers":[["a","b\n"]],"body":{"text":""}}}"#),
            "line 2: failed to parse header value",
        ),
        (
            exchange(r#"{"response":{"status":200,"headers":[],"body":{"base64":"?"}}}"#),
            "line 2: the body is not base64",
        ),
    ];
    for (text, expected) in table {
        let error = Recording::replay(&text).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let error = Recording::replay(&exchange(r#"{"error":"on-fire"}"#)).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("line 2: unknown variant `on-fire`"),
        "{error}"
    );
}

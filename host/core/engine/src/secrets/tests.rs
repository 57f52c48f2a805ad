//! Values, their forms, and streams with every chunk border.

mod values;

use super::{Redaction, Secrets};
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    audit::{AuditRequest, FileAction},
    failure::ToolFailure,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE},
};
use pretty_assertions::assert_eq;
use secrecy::SecretString;
use serde_json::{Map, json};
use std::sync::Arc;
use values::{VALUE, forms};

fn secrets(values: &[(&str, &str)]) -> Arc<Secrets> {
    let values = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), SecretString::from(*value)))
        .collect();
    Arc::new(Secrets::new(values).unwrap())
}

/// Returns the redacted stream of these chunks.
fn streamed<'a>(secrets: &Arc<Secrets>, pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut redaction = Redaction::new(Arc::clone(secrets));
    let mut out = Vec::new();
    for piece in pieces {
        out.extend(redaction.push(piece));
    }
    out.extend(redaction.finish());
    String::from_utf8(out).unwrap()
}

#[test]
fn secret_forms_are_redacted_across_chunk_borders() {
    let secrets = secrets(&[("github", VALUE), ("other", "correct-horse")]);
    for form in forms() {
        let text = format!("<{form}|{form}>");
        let expected = "<[secret:github]|[secret:github]>";
        assert_eq!(secrets.text(&text), expected, "{form}");
        for at in 0..=text.len() {
            let (a, b) = text.as_bytes().split_at(at);
            assert_eq!(streamed(&secrets, [a, b]), expected, "{form} at {at}");
        }
        assert_eq!(
            streamed(&secrets, text.as_bytes().chunks(1)),
            expected,
            "{form}"
        );
    }
}

#[test]
fn base64_of_a_value_is_redacted_at_every_alignment() {
    let secrets = secrets(&[("github", VALUE)]);
    for user in ["", "a", "ab", "abc", "abcd"] {
        for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE] {
            let text = engine.encode(format!("{user}:{VALUE}:{user}"));
            let shown = secrets.text(&text).into_owned();
            let (before, after) = shown.split_once("[secret:github]").unwrap();
            // Letters with bits of a neighbour remain: at most one on each side.
            let neighbours = format!("{user}:").len();
            assert_eq!(before.len(), (neighbours * 8).div_ceil(6), "{text}");
            assert!(after.len() <= neighbours * 8 / 6 + 4, "{text}: {after}");
        }
    }
}

#[test]
fn longest_value_wins_and_other_text_is_unchanged() {
    let secrets = secrets(&[
        ("long", "abcdefgh-ijklmnop"),
        ("short", "abcdefgh"),
        ("again", "ababababab"),
    ]);
    let table = [
        ("abcdefgh-ijklmnop", "[secret:long]"),
        ("abcdefgh-ijklmno", "[secret:short]-ijklmno"),
        ("abcdefgh-abcdefgh-", "[secret:short]-[secret:short]-"),
        ("abcdefg abcdefgX", "abcdefg abcdefgX"),
        ("abcdefabcdefgh", "abcdef[secret:short]"),
        ("abababababab", "[secret:again]ab"),
        ("aababababab", "a[secret:again]"),
        ("\u{e9}abcdefgh\u{e9}", "\u{e9}[secret:short]\u{e9}"),
        ("", ""),
    ];
    for (text, expected) in table {
        assert_eq!(secrets.text(text), expected);
        for size in 1..=text.len().max(1) {
            let pieces = text.as_bytes().chunks(size);
            assert_eq!(streamed(&secrets, pieces), expected, "{text} by {size}");
        }
    }
}

/// Returns the length of each chunk of output; the last is the rest.
fn delivered(secrets: &Arc<Secrets>, text: &str, size: usize) -> Vec<usize> {
    let mut redaction = Redaction::new(Arc::clone(secrets));
    let pieces = text.as_bytes().chunks(size);
    let mut lengths: Vec<usize> = pieces.map(|piece| redaction.push(piece).len()).collect();
    lengths.push(redaction.finish().len());
    lengths
}

#[test]
fn head_of_a_value_is_delayed_like_other_text() {
    let secrets = secrets(&[("s", VALUE)]);
    for form in forms() {
        for length in 0..form.len() {
            let Some((head, _)) = form.split_at_checked(length) else {
                continue;
            };
            let (right, wrong) = (format!("<{head}"), format!("<{}", "#".repeat(length)));
            assert_eq!(streamed(&secrets, [right.as_bytes()]), right, "{form}");
            for size in 1..=right.len() {
                let both = [&right, &wrong].map(|text| delivered(&secrets, text, size));
                assert_eq!(both[0], both[1], "{right} by {size}");
            }
        }
    }
}

#[test]
fn stream_holds_back_its_tail_until_the_end() {
    // The longest form of `abcdefgh` is `%61%62..`, of 24 bytes.
    let secrets = secrets(&[("s", "abcdefgh")]);
    let mut redaction = Redaction::new(Arc::clone(&secrets));
    let long = "x".repeat(40);
    let pieces = [
        ("abcdefgh", String::new()),
        (&long, format!("[secret:s]{}", "x".repeat(8))),
        ("y", "x".to_owned()),
    ];
    for (piece, expected) in pieces {
        assert_eq!(
            redaction.push(piece.as_bytes()),
            expected.as_bytes(),
            "{piece}"
        );
    }
    let rest = format!("{}y", "x".repeat(31));
    assert_eq!(redaction.finish(), rest.as_bytes());
    assert_eq!(redaction.finish(), b"");
    let mut none = Redaction::new(Arc::default());
    assert_eq!(none.push(b"abcdefgh"), b"abcdefgh");
    assert_eq!(none.finish(), b"");
}

#[test]
fn selection_redacts_only_its_own_values() {
    let all = secrets(&[
        ("a", "abcdefgh"),
        ("ab", "abcdefghij"),
        ("c", "correct-horse"),
    ]);
    let text = "abcdefghij correct-horse";
    let table = [
        (&["a"][..], "[secret:a]ij correct-horse"),
        (&["ab"], "[secret:ab] correct-horse"),
        (&["c", "unknown"], "abcdefghij [secret:c]"),
        (&["a", "ab", "c"], "[secret:ab] [secret:c]"),
        (&[], text),
    ];
    for (names, expected) in table {
        let only = all.only(names.iter().copied());
        assert_eq!(only.text(text), expected, "{names:?}");
        let again = all.only(names.iter().copied());
        assert!(Arc::ptr_eq(&only, &again), "{names:?}");
    }
}

#[test]
fn value_that_cannot_be_a_secret_is_refused() {
    let table = [
        (
            "1234567".to_owned(),
            Some(
                "it is shorter than 8 bytes and could not be distinguished from other text in an answer",
            ),
        ),
        (
            String::new(),
            Some(
                "it is shorter than 8 bytes and could not be distinguished from other text in an answer",
            ),
        ),
        ("12345678".to_owned(), None),
        ("x".repeat(4_096), None),
        (
            "x".repeat(4_097),
            Some("it is longer than 4096 bytes, which is more than servers accept"),
        ),
        (
            "1234567\r\nx: y".to_owned(),
            Some("it has characters other than printable ASCII, which a header field cannot carry"),
        ),
        (
            "1234567\t".to_owned(),
            Some("it has characters other than printable ASCII, which a header field cannot carry"),
        ),
        (
            "1234567\u{e9}".to_owned(),
            Some("it has characters other than printable ASCII, which a header field cannot carry"),
        ),
    ];
    for (value, expected) in table {
        let found = Secrets::new([("s".to_owned(), value.clone().into())].into()).err();
        assert_eq!(found, expected.map(Into::into), "{value:?}");
    }
    let secrets = secrets(&[("github", VALUE), ("other", "correct-horse")]);
    assert_eq!(format!("{secrets:?}"), r#"{"github", "other"}"#);
    assert!(!secrets.is_empty() && Secrets::default().is_empty());
}

#[test]
fn report_parts_are_redacted() {
    let secrets = secrets(&[("s", "abcdefgh")]);
    let text = |text: &str| format!("<{text}>");
    let file = |data, name: &str| {
        ContentPart::File(FilePart {
            media_type: "text/plain".to_owned(),
            data,
            filename: Some(name.to_owned()),
        })
    };
    let outputs = |value: &str| {
        [
            ToolResultOutput::Text(text(value)),
            ToolResultOutput::ErrorText(text(value)),
            ToolResultOutput::json(json!({ (value): [1, null, { "a": text(value) }] })),
            ToolResultOutput::error_json(json!(value)),
            ToolResultOutput::ExecutionDenied(Some(text(value))),
            ToolResultOutput::ExecutionDenied(None),
            ToolResultOutput::Content(vec![
                ContentPart::Text { text: text(value) },
                file(FileData::Bytes(text(value).into_bytes()), value),
                file(FileData::Text(text(value)), value),
                file(FileData::Url(text(value)), value),
            ]),
        ]
    };
    for (output, expected) in outputs("abcdefgh").into_iter().zip(outputs("[secret:s]")) {
        let mut shown = output.clone();
        secrets.output(&mut shown);
        assert_eq!(shown, expected);
        let mut untouched = output.clone();
        Secrets::default().output(&mut untouched);
        assert_eq!(untouched, output);
    }
    let delta = |value: &str| Map::from_iter([(text(value), json!([text(value)]))]);
    let mut merged = delta("abcdefgh");
    secrets.object(&mut merged);
    assert_eq!(merged, delta("[secret:s]"));
    let failure = |value: &str| ToolFailure::invalid_output(text(value));
    assert_eq!(secrets.failure(failure("abcdefgh")), failure("[secret:s]"));
    let audit = |value: &str| AuditEntry {
        request: AuditRequest::file(FileAction::Read, text(value)),
        verdict: AuditVerdict::Denied,
        rule: text(value),
        count: 1,
        grant: Some(text(value)),
        status: None,
    };
    let mut told = [audit("abcdefgh")];
    secrets.audit(&mut told);
    assert_eq!(told, [audit("[secret:s]")]);
}

/// A value that is in two fields is in the text only, which is redacted as before.
#[test]
fn value_across_fields_of_an_audit_is_redacted() {
    let secrets = secrets(&[("s", "GET https://e/")]);
    let mut audit = [AuditEntry {
        request: AuditRequest::http("GET", "https://e/a"),
        verdict: AuditVerdict::Allowed,
        rule: "grants.http[0]".to_owned(),
        count: 1,
        grant: None,
        status: None,
    }];
    secrets.audit(&mut audit);
    let text = "[secret:s]a".to_owned();
    assert_eq!(audit[0].request, AuditRequest::Unrecognized { text });
}

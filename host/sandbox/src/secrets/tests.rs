//! Values, their forms, and streams that are cut anywhere.

use super::{Redaction, SecretError, Secrets};
use crate::gate::{Denial, Tally};
use agent_host_core::{
    accounting::{AuditEntry, Verdict},
    failure::ToolFailure,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE},
};
use bytes::Bytes;
use pretty_assertions::assert_eq;
use secrecy::SecretString;
use serde_json::{Map, json};
use std::sync::Arc;

/// A value with characters that each encoding treats in its own way.
pub(crate) const VALUE: &str = "gh?p~/To+k>e\"n 7*x";

pub(crate) fn secrets(values: &[(&str, &str)]) -> Arc<Secrets> {
    let values = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), SecretString::from(*value)))
        .collect();
    Arc::new(Secrets::new(values).unwrap())
}

/// Each form of [`VALUE`], written out by hand or by another road than the code takes.
pub(crate) fn forms() -> Vec<String> {
    let mut forms: Vec<String> = [
        VALUE,
        // Hexadecimal.
        "67683f707e2f546f2b6b3e65226e20372a78",
        "67683F707E2F546F2B6B3E65226E20372A78",
        // URL-encoded: RFC 3986, JavaScript, forms, what a parser does, every byte.
        "gh%3Fp~%2FTo%2Bk%3Ee%22n%207%2Ax",
        "gh%3fp~%2fTo%2bk%3ee%22n%207%2ax",
        "gh%3Fp~%2FTo%2Bk%3Ee%22n%207*x",
        "gh%3Fp%7E%2FTo%2Bk%3Ee%22n+7*x",
        "gh?p~/To+k%3Ee%22n%207*x",
        "%67%68%3F%70%7E%2F%54%6F%2B%6B%3E%65%22%6E%20%37%2A%78",
        "%67%68%3f%70%7e%2f%54%6f%2b%6b%3e%65%22%6e%20%37%2a%78",
        // JSON.
        "gh?p~/To+k>e\\\"n 7*x",
        "gh?p~\\/To+k>e\\\"n 7*x",
        // Lower-cased, as a server may do to a field.
        "gh?p~/to+k>e\"n 7*x",
    ]
    .map(str::to_owned)
    .into();
    // The parts of base64 that any neighbours leave alone: what is common to all of them.
    for before in 0..3 {
        for engine in [&STANDARD, &URL_SAFE] {
            let around = |byte: u8| {
                let bytes = [&vec![byte; before], VALUE.as_bytes(), &[byte; 3]].concat();
                engine.encode(bytes)
            };
            let (a, b) = (around(0), around(0xff));
            let common: String = a
                .chars()
                .zip(b.chars())
                // Both end in padding, which says nothing.
                .filter(|(a, b)| a == b && *a != '=')
                .map(|(a, _)| a)
                .collect();
            forms.push(common);
        }
    }
    forms
}

/// What comes out of a stream of these pieces.
fn streamed<'a>(secrets: &Arc<Secrets>, pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut redaction = Redaction::new(Arc::clone(secrets));
    let mut out = Vec::new();
    for piece in pieces {
        out.extend(redaction.push(Bytes::copy_from_slice(piece)));
    }
    out.extend(redaction.finish());
    String::from_utf8(out).unwrap()
}

#[test]
fn every_form_is_found_wherever_it_is_cut() {
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
fn credentials_in_base64_are_found_at_every_alignment() {
    let secrets = secrets(&[("github", VALUE)]);
    for user in ["", "a", "ab", "abc", "abcd"] {
        for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE] {
            let text = engine.encode(format!("{user}:{VALUE}:{user}"));
            let shown = secrets.text(&text).into_owned();
            let (before, after) = shown.split_once("[secret:github]").unwrap();
            // Letters that hold bits of a neighbour stay: at most one on each side.
            let neighbours = format!("{user}:").len();
            assert_eq!(before.len(), (neighbours * 8).div_ceil(6), "{text}");
            assert!(after.len() <= neighbours * 8 / 6 + 4, "{text}: {after}");
        }
    }
}

#[test]
fn the_longest_value_counts_and_nothing_else_is_touched() {
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

#[test]
fn only_what_may_become_a_value_is_held_back() {
    let mut redaction = Redaction::new(secrets(&[("s", "abcdefgh")]));
    let pieces = [
        ("hello", "hello"),
        ("helloab", "hello"),
        ("cdefg", ""),
        ("x", "abcdefgx"),
        ("abcdefgha", "[secret:s]"),
        ("-", "a-"),
        ("abcdefg", ""),
    ];
    for (piece, expected) in pieces {
        assert_eq!(redaction.push(Bytes::from(piece)), expected, "{piece}");
    }
    assert_eq!(redaction.finish(), "abcdefg");
    let mut none = Redaction::new(Arc::default());
    assert_eq!(none.push(Bytes::from("abcdefgh")), "abcdefgh");
    assert_eq!(none.finish(), "");
}

#[test]
fn values_that_cannot_be_secrets() {
    let table = [
        ("1234567".to_owned(), Some(SecretError::TooShort)),
        (String::new(), Some(SecretError::TooShort)),
        ("12345678".to_owned(), None),
        ("x".repeat(4_096), None),
        ("x".repeat(4_097), Some(SecretError::TooLong)),
        (
            "1234567\r\nx: y".to_owned(),
            Some(SecretError::NotPrintable),
        ),
        ("1234567\t".to_owned(), Some(SecretError::NotPrintable)),
        ("1234567\u{e9}".to_owned(), Some(SecretError::NotPrintable)),
    ];
    for (value, expected) in table {
        let found = Secrets::new([("s".to_owned(), value.clone().into())].into()).err();
        assert_eq!(found, expected, "{value:?}");
    }
    let secrets = secrets(&[("github", VALUE), ("other", "correct-horse")]);
    assert_eq!(format!("{secrets:?}"), r#"{"github", "other"}"#);
    assert!(!secrets.is_empty() && Secrets::default().is_empty());
}

#[test]
fn what_a_call_says_is_redacted_everywhere() {
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
            ToolResultOutput::Json(json!({ (value): [1, null, { "a": text(value) }] })),
            ToolResultOutput::ErrorJson(json!(value)),
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
    let tally = |value: &str| Tally {
        audit: vec![AuditEntry {
            request: text(value),
            verdict: Verdict::Denied,
            rule: text(value),
            count: 1,
            grant: Some(text(value)),
        }],
        first_denial: Some(Denial {
            sentence: text(value),
            is_limit: false,
        }),
        bytes_in: 1,
        bytes_out: 2,
        hosts: vec![text(value)],
    };
    assert_eq!(secrets.tally(tally("abcdefgh")), tally("[secret:s]"));
}

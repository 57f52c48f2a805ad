use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

/// The eight bytes with which every PNG file begins, and enough of its first chunk to be told.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

fn file(media_type: &str, data: wit::FileData) -> wit::ToolResultOutput {
    wit::ToolResultOutput::Content(vec![wit::ContentPart::File(wit::FilePart {
        media_type: media_type.to_owned(),
        data,
        filename: Some("f".to_owned()),
    })])
}

fn content(media_type: &str, data: FileData) -> ToolResultOutput {
    ToolResultOutput::Content(vec![ContentPart::File(FilePart {
        media_type: media_type.to_owned(),
        data,
        filename: Some("f".to_owned()),
    })])
}

#[test]
fn every_output_variant_converts() {
    let text = || "t".to_owned();
    let cases = [
        (
            wit::ToolResultOutput::Text(text()),
            ToolResultOutput::Text(text()),
        ),
        (
            wit::ToolResultOutput::Json(r#"{"type":"error-text"}"#.to_owned()),
            ToolResultOutput::json(json!({"type": "error-text"})),
        ),
        (
            wit::ToolResultOutput::Content(vec![wit::ContentPart::Text(text())]),
            ToolResultOutput::Content(vec![ContentPart::Text { text: text() }]),
        ),
        (
            file("image/png", wit::FileData::Bytes(PNG.to_vec())),
            content("image/png", FileData::Bytes(PNG.to_vec())),
        ),
        (
            file("image/png", wit::FileData::Url(text())),
            content("image/png", FileData::Url(text())),
        ),
        (
            file("text/plain", wit::FileData::Text(text())),
            content("text/plain", FileData::Text(text())),
        ),
        (
            wit::ToolResultOutput::ErrorText(text()),
            ToolResultOutput::ErrorText(text()),
        ),
        (
            wit::ToolResultOutput::ErrorJson("[1]".to_owned()),
            ToolResultOutput::error_json(json!([1])),
        ),
        (
            wit::ToolResultOutput::ExecutionDenied(None),
            ToolResultOutput::ExecutionDenied(None),
        ),
        (
            wit::ToolResultOutput::ExecutionDenied(Some(text())),
            ToolResultOutput::ExecutionDenied(Some(text())),
        ),
    ];
    for (guest, expected) in cases {
        assert_eq!(
            output(guest, &Redactors::default(), &Limits::default()),
            Ok(expected)
        );
    }
}

#[test]
fn invalid_output_is_refused() {
    let limits = Limits {
        output_bytes: 4_000_000,
        ..Limits::default()
    };
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let wide = format!("[{}0]", "0,".repeat(MAX_JSON_VALUES));
    let cases = [
        (
            wit::ToolResultOutput::Json("{".to_owned()),
            ToolErrorCode::InvalidOutput,
        ),
        (
            wit::ToolResultOutput::ErrorJson(String::new()),
            ToolErrorCode::InvalidOutput,
        ),
        (
            wit::ToolResultOutput::Json("NaN".to_owned()),
            ToolErrorCode::InvalidOutput,
        ),
        (
            wit::ToolResultOutput::Json(deep),
            ToolErrorCode::InvalidOutput,
        ),
        (
            wit::ToolResultOutput::Json(wide),
            ToolErrorCode::OutputTooLarge,
        ),
        (
            wit::ToolResultOutput::Text("x".repeat(4_000_001)),
            ToolErrorCode::OutputTooLarge,
        ),
        (
            wit::ToolResultOutput::Content(vec![wit::ContentPart::Text(String::new()); 100_000]),
            ToolErrorCode::OutputTooLarge,
        ),
        (
            file("image/png", wit::FileData::Bytes(b"GIF89a".to_vec())),
            ToolErrorCode::InvalidOutput,
        ),
        (
            file("not a type", wit::FileData::Text(String::new())),
            ToolErrorCode::InvalidOutput,
        ),
    ];
    for (guest, expected) in cases {
        let code = output(guest, &Redactors::default(), &limits).map_err(|failure| failure.code);
        assert_eq!(code, Err(expected));
    }
}

#[test]
fn output_of_exactly_the_limit_converts() {
    let limits = Limits {
        output_bytes: 10,
        ..Limits::default()
    };
    let text = "0123456789".to_owned();
    assert_eq!(
        output(
            wit::ToolResultOutput::Text(text.clone()),
            &Redactors::default(),
            &limits
        ),
        Ok(ToolResultOutput::Text(text))
    );
}

#[test]
fn json_values_are_counted_outside_strings() {
    let cases = [
        ("1", 1),
        (r#"",,[:""#, 1),
        (r#"["\",[",2]"#, 3),
        (r#"{"a":1,"b":[]}"#, 5),
    ];
    for (json, expected) in cases {
        assert_eq!(count_values(json), expected, "{json}");
    }
}

use super::{LoadedResult, load};
use crate::output::{ContentPart, FileData, FilePart, ToolResultOutput};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

fn output(stored: Value) -> ToolResultOutput {
    let LoadedResult { output, warnings } = load(stored).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    output
}

/// U4: only the flag of an old result decides whether it is an error, not its content.
#[test]
fn old_result_keeps_its_error_flag() {
    use ToolResultOutput::{ErrorText, Text};
    let table = [
        (
            json!({"result": "gone", "is_error": true}),
            ErrorText("gone".into()),
        ),
        (
            json!({"result": {"code": 7}, "is_error": true}),
            ToolResultOutput::error_json(json!({"code": 7})),
        ),
        (
            json!({"result": null, "is_error": true}),
            ToolResultOutput::error_json(Value::Null),
        ),
        (
            json!({"result": "fine", "is_error": false}),
            Text("fine".into()),
        ),
        (
            json!({"result": {"type": "error-text", "value": "x"}}),
            ToolResultOutput::json(json!({"type": "error-text", "value": "x"})),
        ),
        (
            json!({"type": "error-json", "value": 1}),
            ToolResultOutput::error_json(json!(1)),
        ),
        // A value of today's form may have any key.
        (
            json!({"type": "json", "value": {"result": 1, "is_error": true}}),
            ToolResultOutput::json(json!({"result": 1, "is_error": true})),
        ),
    ];
    for (stored, expected) in table {
        let is_error = expected.is_error();
        let loaded = output(stored);
        assert_eq!(loaded, expected);
        assert_eq!(loaded.is_error(), is_error);
    }
}

fn file(media_type: &str, data: FileData, filename: Option<&str>) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: media_type.into(),
        data,
        filename: filename.map(str::to_owned),
    })
}

/// U11: each deprecated kind is a file, and one sentence tells of it.
#[test]
fn deprecated_part_loads_as_a_file_with_a_warning() {
    let url = |url: &str| FileData::Url(url.into());
    let bytes = || FileData::Bytes(PNG.to_vec());
    let table = [
        (
            "file-data",
            json!({"data": "iVBORw0KGgo=", "media_type": "image/png", "filename": "a.png"}),
            vec![file("image/png", bytes(), Some("a.png"))],
        ),
        (
            "image-data",
            json!({"data": "iVBORw0KGgo=", "mediaType": "image/png"}),
            vec![file("image/png", bytes(), None)],
        ),
        (
            "image-data",
            json!({"data": "iVBORw0KGgo="}),
            vec![file("image/png", bytes(), None)],
        ),
        (
            "media",
            json!({"data": "iVBORw0KGgo=", "mediaType": "image/png"}),
            vec![file("image/png", bytes(), None)],
        ),
        (
            "image-file-id",
            json!({"fileId": "f1"}),
            vec![file("application/octet-stream", url("file-id:f1"), None)],
        ),
        (
            "file-data",
            json!({"data": "AAAA"}),
            vec![file(
                "application/octet-stream",
                FileData::Bytes(vec![0; 3]),
                None,
            )],
        ),
        (
            "file-url",
            json!({"url": "https://example.com/a.pdf"}),
            vec![file(
                "application/pdf",
                url("https://example.com/a.pdf"),
                None,
            )],
        ),
        (
            "image-url",
            json!({"url": "https://example.com/a", "media_type": "image/webp"}),
            vec![file("image/webp", url("https://example.com/a"), None)],
        ),
        (
            "file-id",
            json!({"file_id": "f1"}),
            vec![file("application/octet-stream", url("file-id:f1"), None)],
        ),
        (
            "file-id",
            json!({"fileId": {"one": "f1", "two": "f2"}}),
            vec![
                file("application/octet-stream", url("file-id:one/f1"), None),
                file("application/octet-stream", url("file-id:two/f2"), None),
            ],
        ),
    ];
    for (kind, mut part, expected) in table {
        part["type"] = kind.into();
        let text = json!({"type": "text", "text": "t"});
        let loaded = load(json!({"type": "content", "value": [text, part]})).unwrap();
        let mut parts = vec![ContentPart::Text { text: "t".into() }];
        parts.extend(expected);
        let warning = format!("part 1 is of the deprecated kind `{kind}`; it was read as a file");
        let expected = LoadedResult {
            output: ToolResultOutput::Content(parts),
            warnings: vec![warning],
        };
        assert_eq!(loaded, expected, "{kind}");
        assert_eq!(loaded.output.validate(), Ok(()), "{kind}");
    }
}

/// A value of unknown form is refused with the reason.
#[test]
fn value_of_unknown_form_is_refused() {
    let table = [
        (json!("text"), "invalid type"),
        (json!({}), "missing field `type`"),
        (
            json!({"result": 1, "type": "json"}),
            "unknown field `result`",
        ),
        (json!({"result": 1, "error": true}), "unknown field `error`"),
        (
            json!({"result": 1, "is_error": "yes"}),
            "invalid type: string",
        ),
        (
            json!({"type": "words", "value": 1}),
            "unknown variant `words`",
        ),
        (
            json!({"type": "content", "value": [{"type": "image-file", "data": ""}]}),
            "unknown variant `image-file`",
        ),
        (
            json!({"type": "content", "value": [{"type": "file-data", "data": "not base64"}]}),
            "Invalid symbol",
        ),
        (
            json!({"type": "content", "value": [], "is_error": true}),
            "unknown field `is_error`",
        ),
    ];
    for (stored, expected) in table {
        let error = load(stored.clone()).unwrap_err().to_string();
        assert!(error.contains(expected), "{stored}: {error}");
        assert!(
            error.starts_with("this is not a stored tool result: "),
            "{error}"
        );
    }
}

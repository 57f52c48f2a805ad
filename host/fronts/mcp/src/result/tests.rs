#![expect(
    clippy::needless_pass_by_value,
    reason = "a value that is written where it is used reads better without an `&` before it"
)]

mod round_trip;

use super::{Structured, StructuredAs, call_result};
use agent_host_types::{
    id::Digest,
    output::{BlobRef, ContentPart, FileData, FilePart, ToolResultOutput},
};
use pretty_assertions::assert_eq;
use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};

/// Returns the whole result as it is sent.
fn sent(output: ToolResultOutput, structured: Structured) -> Value {
    serde_json::to_value(call_result(output, structured, StructuredAs::Value)).unwrap()
}

fn success(tag: &str, content: Value) -> Value {
    json!({
        "resultType": "complete",
        "content": content,
        "isError": false,
        "_meta": { "agent-host/output": tag },
    })
}

fn error(tag: &str, content: Value) -> Value {
    let mut result = success(tag, content);
    result["isError"] = json!(true);
    result
}

fn structured(mut result: Value, value: Value) -> Value {
    result["structuredContent"] = value;
    result
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn file(media_type: &str, data: FileData, filename: Option<&str>) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: media_type.to_owned(),
        data,
        filename: filename.map(str::to_owned),
    })
}

#[test]
fn every_variant_has_its_result() {
    let denied = "Tool call execution denied.";
    let reason = "no one may (rule grants.dir[0])";
    let cases = [
        (
            ToolResultOutput::Text("hello".to_owned()),
            success("text", json!([text("hello")])),
        ),
        (
            // Text that looks like JSON stays text.
            ToolResultOutput::Text(r#"{"type":"json","value":1}"#.to_owned()),
            success("text", json!([text(r#"{"type":"json","value":1}"#)])),
        ),
        (
            ToolResultOutput::json(json!({ "b": [1, null], "a": "x" })),
            structured(
                success("json", json!([text(r#"{"a":"x","b":[1,null]}"#)])),
                json!({ "b": [1, null], "a": "x" }),
            ),
        ),
        (
            ToolResultOutput::Content(Vec::new()),
            success("content", json!([])),
        ),
        (
            ToolResultOutput::ErrorText("no such file".to_owned()),
            error("error-text", json!([text("no such file")])),
        ),
        (
            ToolResultOutput::error_json(json!({ "code": "timeout" })),
            error("error-json", json!([text(r#"{"code":"timeout"}"#)])),
        ),
        (
            ToolResultOutput::ExecutionDenied(None),
            error("execution-denied", json!([text(denied)])),
        ),
        (
            ToolResultOutput::ExecutionDenied(Some(reason.to_owned())),
            error(
                "execution-denied",
                json!([text(&format!("{denied} {reason}"))]),
            ),
        ),
    ];
    for (output, expected) in cases {
        for structured in [Structured::Objects, Structured::Any] {
            assert_eq!(sent(output.clone(), structured), expected, "{output:?}");
        }
    }
}

#[test]
fn non_object_is_structured_if_the_version_allows_it() {
    let values = [
        json!([1, 2]),
        json!("text"),
        json!(1.5),
        json!(true),
        Value::Null,
    ];
    for value in values {
        let content = json!([text(&value.to_string())]);
        let failed = ToolResultOutput::error_json(value.clone());
        for structured in [Structured::Objects, Structured::Any] {
            let expected = error("error-json", content.clone());
            assert_eq!(sent(failed.clone(), structured), expected);
        }
        let output = ToolResultOutput::json(value.clone());
        let expected = success("json", content);
        assert_eq!(sent(output.clone(), Structured::Objects), expected);
        assert_eq!(
            sent(output, Structured::Any),
            structured(expected, value.clone())
        );
    }
}

#[test]
fn each_kind_of_part_has_its_block() {
    let digest = Digest::of(b"x");
    let parts = vec![
        ContentPart::Text {
            text: "look".to_owned(),
        },
        file("image/png", FileData::Bytes(vec![1, 2, 3]), None),
        file("image/webp", FileData::Bytes(vec![4]), Some("a.webp")),
        file("audio/wav", FileData::Bytes(vec![5]), None),
        file("audio/mpeg", FileData::Bytes(vec![6]), Some("a.mp3")),
        file(
            "application/pdf",
            FileData::Bytes(vec![7]),
            Some("../ä b.pdf"),
        ),
        file("application/zip", FileData::Bytes(Vec::new()), None),
        file(
            "text/csv",
            FileData::Text("a,b".to_owned()),
            Some("data.csv"),
        ),
        file("image/svg+xml", FileData::Text("<svg/>".to_owned()), None),
        file(
            "text/html",
            FileData::Url("https://example.com/".to_owned()),
            None,
        ),
        file(
            "image/png",
            FileData::Url("https://example.com/a".to_owned()),
            Some("a.png"),
        ),
        file(
            "image/png",
            FileData::Blob(BlobRef { digest, size: 1 }),
            None,
        ),
    ];
    let resource = |resource: Value| json!({ "type": "resource", "resource": resource });
    let named = |mut block: Value, name: &str| {
        block["_meta"] = json!({ "agent-host/filename": name });
        block
    };
    let blob = format!("agent-host:///blobs/{digest}");
    let blocks = json!([
        text("look"),
        { "type": "image", "data": "AQID", "mimeType": "image/png" },
        named(
            json!({ "type": "image", "data": "BA==", "mimeType": "image/webp" }),
            "a.webp"
        ),
        { "type": "audio", "data": "BQ==", "mimeType": "audio/wav" },
        named(
            json!({ "type": "audio", "data": "Bg==", "mimeType": "audio/mpeg" }),
            "a.mp3"
        ),
        named(
            resource(json!({
                "uri": "agent-host:///parts/5/..%2F%C3%A4%20b.pdf",
                "mimeType": "application/pdf",
                "blob": "Bw==",
            })),
            "../ä b.pdf"
        ),
        resource(json!({
            "uri": "agent-host:///parts/6", "mimeType": "application/zip", "blob": "",
        })),
        named(
            resource(json!({
                "uri": "agent-host:///parts/7/data.csv", "mimeType": "text/csv", "text": "a,b",
            })),
            "data.csv"
        ),
        resource(json!({
            "uri": "agent-host:///parts/8", "mimeType": "image/svg+xml", "text": "<svg/>",
        })),
        {
            "type": "resource_link",
            "uri": "https://example.com/",
            "name": "https://example.com/",
            "mimeType": "text/html",
        },
        named(
            json!({
                "type": "resource_link",
                "uri": "https://example.com/a",
                "name": "a.png",
                "mimeType": "image/png",
            }),
            "a.png"
        ),
        {
            "type": "resource_link",
            "uri": blob,
            "name": blob,
            "mimeType": "image/png",
            "size": 1,
        },
    ]);
    let output = ToolResultOutput::Content(parts);
    assert_eq!(
        sent(output, Structured::Objects),
        success("content", blocks)
    );
}

#[test]
fn version_selects_what_may_be_structured() {
    let cases = [
        (None, Structured::Objects),
        (Some(ProtocolVersion::V_2024_11_05), Structured::Objects),
        (Some(ProtocolVersion::V_2025_11_25), Structured::Objects),
        (Some(ProtocolVersion::V_2026_07_28), Structured::Any),
    ];
    for (version, expected) in cases {
        assert_eq!(
            Structured::for_version(version.as_ref()),
            expected,
            "{version:?}"
        );
    }
}

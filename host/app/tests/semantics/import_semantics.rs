//! Section U, results of other formats: imported conversations keep flags, parts and warnings.

use super::{
    components::look,
    script::says,
    union_semantics::{PNG, file, url},
    world::*,
};
use agent_host_types::output::{ContentPart, FileData, FilePart, ToolResultOutput};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Results that the AI SDK stored, as the model sees them after an import of the conversation and a
/// restart, with the warnings of the import. Each has fields of a part of the kind `tool-result`.
async fn imported(results: &[Value]) -> (Vec<ToolResultOutput>, Vec<String>) {
    let (mut called, mut returned) = (Vec::new(), Vec::new());
    for (id, result) in results.iter().enumerate() {
        let part = |kind: &str| json!({"type": kind, "toolCallId": id.to_string(), "toolName": "look", "args": {}});
        called.push(part("tool-call"));
        let mut part = part("tool-result");
        let fields = part.as_object_mut().unwrap();
        fields.extend(result.as_object().unwrap().clone());
        returned.push(part);
    }
    let conversation = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": called},
        {"role": "tool", "content": returned},
    ]);
    let mut world = World::new(&[look()], vec![says("ok")]).await;
    let warnings = world.import(&conversation).await;
    let kept = world.results();
    let mut world = world.restart().await;
    assert_eq!(world.results(), kept);
    assert_eq!(kind(&world.resume().await), "done");
    assert_eq!((world.ran(), world.script.asked().len()), (vec![], 1));
    (
        world
            .shown()
            .into_iter()
            .map(|(_, output)| output)
            .collect(),
        warnings,
    )
}

/// Version 4 of the AI SDK stored a flag beside the result.
#[tokio::test]
async fn u04_old_result_keeps_its_error_flag() {
    let error = ToolResultOutput::error_json;
    let error_text = |text: &str| ToolResultOutput::ErrorText(text.into());
    let table = [
        (
            json!({"result": "disk gone", "isError": true}),
            error_text("disk gone"),
        ),
        (
            json!({"result": {"code": 7}, "isError": true}),
            error(json!({"code": 7})),
        ),
        (json!({"result": null, "isError": true}), error(json!(null))),
        // The flag decides, not the content.
        (
            json!({"result": {"type": "text", "value": "x"}, "isError": true}),
            error(json!({"type": "text", "value": "x"})),
        ),
        (
            json!({"result": {"isError": true}}),
            value(json!({"isError": true})),
        ),
        (json!({"result": "fine", "isError": false}), text("fine")),
        (json!({"result": "fine"}), text("fine")),
    ];
    let (stored, expected): (Vec<Value>, Vec<ToolResultOutput>) = table.into_iter().unzip();
    let (shown, warnings) = imported(&stored).await;
    assert_eq!((&shown, warnings), (&expected, vec![]));
    let flags: Vec<bool> = shown.iter().map(ToolResultOutput::is_error).collect();
    let stored: Vec<bool> = stored
        .iter()
        .map(|stored| stored["isError"] == true)
        .collect();
    assert_eq!(flags, stored);
}

/// Later versions of the AI SDK stored the union, with kinds of parts that are deprecated by now.
#[tokio::test]
async fn u11_deprecated_parts_load_as_files_with_a_warning() {
    let png = || file("image/png", FileData::Bytes(PNG.to_vec()));
    let base64 = STANDARD.encode(PNG);
    let address = "https://example.com/a.png";
    let id = |id: &str| url("application/octet-stream", &format!("file-id:{id}"));
    let named = ContentPart::File(FilePart {
        media_type: "image/png".into(),
        data: FileData::Bytes(PNG.to_vec()),
        filename: Some("a.png".into()),
    });
    let table = [
        (
            json!({"type": "file-data", "data": base64, "mediaType": "image/png", "filename": "a.png"}),
            named,
        ),
        (
            json!({"type": "image-data", "data": base64, "mediaType": "image/png"}),
            png(),
        ),
        (
            json!({"type": "file-url", "url": address}),
            url("image/png", address),
        ),
        (
            json!({"type": "image-url", "url": address}),
            url("image/png", address),
        ),
        (json!({"type": "file-id", "fileId": "f1"}), id("f1")),
        (
            json!({"type": "image-file-id", "fileId": {"one": "f1"}}),
            id("one/f1"),
        ),
        (
            json!({"type": "media", "data": base64, "mediaType": "image/png"}),
            png(),
        ),
    ];
    let (parts, expected): (Vec<Value>, Vec<ContentPart>) = table.into_iter().unzip();
    let words = || ContentPart::Text { text: "t".into() };
    let stored = parts.iter().map(|part| {
        let mut part = part.clone();
        part["providerOptions"] = json!({"openai": {"imageDetail": "low"}});
        json!({"output": {"type": "content", "value": [{"type": "text", "text": "t"}, part]}})
    });
    let (shown, warnings) = imported(&stored.collect::<Vec<_>>()).await;
    let expected = expected.into_iter();
    let expected = expected.map(|part| ToolResultOutput::Content(vec![words(), part]));
    assert_eq!(shown, expected.collect::<Vec<_>>());
    let told = parts.iter().enumerate().map(|(call, part)| {
        let kind = part["type"].as_str().unwrap();
        format!("result of call {call}: part 1 is of the deprecated kind `{kind}`; it was read as a file")
    });
    assert_eq!(warnings, told.collect::<Vec<_>>());
}

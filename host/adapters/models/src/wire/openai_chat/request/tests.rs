use super::*;
use agent_host_types::{
    id::{CallId, Digest},
    message::{Role, ToolResult},
    output::{BlobRef, FileData, FilePart, ToolResultOutput},
    tool::{Effect, ToolDefinition},
};
use pretty_assertions::assert_eq;

const SEEING: Capabilities = Capabilities {
    vision: true,
    documents: false,
    audio: false,
    files_in_results: false,
    parallel_calls: true,
    denied_is_error: false,
    max_output_tokens: None,
    window_tokens: None,
    send: crate::SendSettings::NONE,
};
const BLIND: Capabilities = Capabilities {
    vision: false,
    ..SEEING
};

fn file(media_type: &str, data: FileData, filename: Option<&str>) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: media_type.to_owned(),
        data,
        filename: filename.map(str::to_owned),
    })
}

fn text(text: &str) -> ContentPart {
    ContentPart::Text {
        text: text.to_owned(),
    }
}

fn calls(calls: &[(&str, &str, &str)]) -> Vec<ToolCall> {
    calls
        .iter()
        .map(|(id, name, arguments)| {
            ToolCall::parse(
                CallId((*id).to_owned()),
                (*name).to_owned(),
                (*arguments).to_owned(),
            )
        })
        .collect()
}

fn result(id: &str, name: &str, output: ToolResultOutput) -> ToolResult {
    ToolResult {
        call_id: CallId(id.to_owned()),
        name: name.to_owned(),
        output,
        whole: None,
    }
}

/// A conversation with everything in it: parallel calls, a multipart result, both errors, both
/// denials, a failed parse.
fn conversation() -> ModelRequest {
    let thumbnail = ToolResultOutput::Content(vec![
        text("640x480 -> 2x2"),
        file(
            "image/png",
            FileData::Bytes(b"PNG!".to_vec()),
            Some("a.png"),
        ),
        file("image/bmp", FileData::Bytes(vec![0; 7]), None),
        file(
            "image/jpeg",
            FileData::Url("https://example.com/b.jpg".to_owned()),
            None,
        ),
    ]);
    ModelRequest {
        system: Some("Be brief.".to_owned()),
        messages: vec![
            Message::text(Role::User, "Look."),
            Message {
                tool_calls: calls(&[
                    ("c1", "thumbnail", r#"{ "path":"a.png" }"#),
                    ("c2", "stat", ""),
                    ("c3", "read", r#"{"path": oops"#),
                ]),
                ..Message::parts(Role::Assistant, vec![])
            },
            Message::results(vec![
                result("c1", "thumbnail", thumbnail),
                result(
                    "c2",
                    "stat",
                    ToolResultOutput::json(json!({"type": "text", "size": 3})),
                ),
                result(
                    "c3",
                    "read",
                    ToolResultOutput::error_json(json!({"code": "invalid-input"})),
                ),
            ]),
            Message {
                tool_calls: calls(&[
                    ("c4", "read", "{}"),
                    ("c5", "read", "{}"),
                    ("c6", "read", "{}"),
                    ("c7", "read", "{}"),
                ]),
                ..Message::text(Role::Assistant, "Once more.")
            },
            Message::results(vec![
                result("c4", "read", ToolResultOutput::Text("plain".to_owned())),
                result(
                    "c5",
                    "read",
                    ToolResultOutput::ErrorText("no \"x\"".to_owned()),
                ),
                result("c6", "read", ToolResultOutput::ExecutionDenied(None)),
                result(
                    "c7",
                    "read",
                    ToolResultOutput::ExecutionDenied(Some("not granted".to_owned())),
                ),
            ]),
            Message::text(Role::Assistant, "Done."),
            Message::parts(
                Role::User,
                vec![
                    text("And this?"),
                    file("image/webp", FileData::Bytes(vec![1]), None),
                ],
            ),
        ],
        tools: vec![ToolDefinition {
            name: "read".to_owned(),
            title: Some("Read".to_owned()),
            description: "Reads a file.".to_owned(),
            input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
            output_schema: Some(json!({"type": "object"})),
            effect: Effect::ReadOnly,
        }],
        answer_schema: None,
    }
}

fn golden(results: &Value, images: &Value, last: &Value) -> Value {
    let mut messages = vec![
        json!({"role": "system", "content": "Be brief."}),
        json!({"role": "user", "content": "Look."}),
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "thumbnail", "arguments": "{ \"path\":\"a.png\" }"}},
            {"id": "c2", "type": "function", "function": {"name": "stat", "arguments": "{}"}},
            {"id": "c3", "type": "function", "function": {"name": "read",
                "arguments": "{\"invalid_arguments\":\"{\\\"path\\\": oops\"}"}},
        ]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": results}),
        json!({"role": "tool", "tool_call_id": "c2", "content": "{\"size\":3,\"type\":\"text\"}"}),
        json!({"role": "tool", "tool_call_id": "c3", "content": "{\"error\":{\"code\":\"invalid-input\"}}"}),
    ];
    if !images.is_null() {
        messages.push(json!({"role": "user", "content": images}));
    }
    let read = |id: &str| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}});
    messages.extend([
        json!({"role": "assistant", "content": "Once more.",
               "tool_calls": [read("c4"), read("c5"), read("c6"), read("c7")]}),
        json!({"role": "tool", "tool_call_id": "c4", "content": "plain"}),
        json!({"role": "tool", "tool_call_id": "c5", "content": "{\"error\":\"no \\\"x\\\"\"}"}),
        json!({"role": "tool", "tool_call_id": "c6", "content": "Tool call execution denied."}),
        json!({"role": "tool", "tool_call_id": "c7", "content": "not granted"}),
        json!({"role": "assistant", "content": "Done."}),
        json!({"role": "user", "content": last}),
    ]);
    json!({
        "model": "m",
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": {
            "name": "read",
            "description": "Reads a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        }}],
    })
}

#[test]
fn conversation_with_vision_is_encoded() {
    let encoded = encode("m", &conversation(), SEEING);
    let results = json!(
        "640x480 -> 2x2\n\
         [file 1: image/png, 4 bytes, `a.png`; it is in the user message after the tool results]\n\
         [image/bmp, 7 bytes; its content cannot be shown to this model]\n\
         [file 2: image/jpeg, at https://example.com/b.jpg; it is in the user message after the tool results]"
    );
    let images = json!([
        {"type": "text", "text": "[file 1, from the result of `thumbnail`, call c1]"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,UE5HIQ=="}},
        {"type": "text", "text": "[file 2, from the result of `thumbnail`, call c1]"},
        {"type": "image_url", "image_url": {"url": "https://example.com/b.jpg"}},
    ]);
    let last = json!([
        {"type": "text", "text": "And this?"},
        {"type": "image_url", "image_url": {"url": "data:image/webp;base64,AQ=="}},
    ]);
    assert_eq!(encoded.body, golden(&results, &images, &last));
    assert_eq!(encoded.images, 3);
}

#[test]
fn conversation_without_vision_is_encoded() {
    let encoded = encode("m", &conversation(), BLIND);
    let results = json!(
        "640x480 -> 2x2\n\
         [image/png, 4 bytes, `a.png`; its content cannot be shown to this model]\n\
         [image/bmp, 7 bytes; its content cannot be shown to this model]\n\
         [image/jpeg, at https://example.com/b.jpg; its content cannot be shown to this model]"
    );
    let last = json!("And this?\n[image/webp, 1 bytes; its content cannot be shown to this model]");
    assert_eq!(encoded.body, golden(&results, &Value::Null, &last));
    assert_eq!(encoded.images, 0);
}

#[test]
fn files_in_user_message_are_encoded() {
    let documents = Capabilities {
        documents: true,
        ..BLIND
    };
    let blob = FileData::Blob(BlobRef {
        digest: Digest::of(b""),
        size: 9,
    });
    let long = "x".repeat(agent_host_engine::spill::INLINE_TEXT_BYTES + 1);
    for (part, capabilities, expected) in [
        (
            file(
                "application/pdf",
                FileData::Bytes(b"%PDF".to_vec()),
                Some("a.pdf"),
            ),
            documents,
            json!([{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}}]),
        ),
        (
            file(
                "application/pdf",
                FileData::Bytes(b"%PDF".to_vec()),
                Some("a.pdf"),
            ),
            SEEING,
            json!("[application/pdf, 4 bytes, `a.pdf`; its content cannot be shown to this model]"),
        ),
        (
            file("text/css", FileData::Bytes(b"a{}".to_vec()), None),
            BLIND,
            json!("[text/css, 3 bytes]\na{}"),
        ),
        (
            file("text/css", FileData::Bytes(vec![255]), None),
            BLIND,
            json!("[text/css, 1 bytes; its content cannot be shown to this model]"),
        ),
        (
            file("application/x", FileData::Text("t".to_owned()), None),
            BLIND,
            json!("[application/x, 1 bytes]\nt"),
        ),
        (
            file("text/plain", FileData::Text(long), None),
            BLIND,
            json!("[text/plain, 51201 bytes; its content cannot be shown to this model]"),
        ),
        (
            file("image/png", blob, None),
            SEEING,
            json!("[image/png, 9 bytes; its content cannot be shown to this model]"),
        ),
        (
            file(
                "image/png",
                FileData::Url("file:///etc/passwd".to_owned()),
                None,
            ),
            SEEING,
            json!("[image/png, at file:///etc/passwd; its content cannot be shown to this model]"),
        ),
    ] {
        let request = ModelRequest {
            system: None,
            messages: vec![Message::parts(Role::User, vec![part])],
            tools: vec![],
            answer_schema: None,
        };
        assert_eq!(
            encode("m", &request, capabilities).body,
            json!({
                "model": "m",
                "messages": [{"role": "user", "content": expected}],
                "stream": true,
                "stream_options": {"include_usage": true},
            })
        );
    }
}

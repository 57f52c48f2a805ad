//! Conversations with everything in them that a wire has to carry.

use agent_host_types::{
    id::{CallId, Digest},
    message::{Message, Role, ToolResult},
    model::ModelRequest,
    output::{BlobRef, ContentPart, FileData, FilePart, ToolResultOutput},
    tool::{Effect, ToolCall, ToolDefinition},
};
use serde_json::{Map, Value, json};

/// All of them, by the names of their files. `metadata` is what this provider wants back with the
/// model's messages.
#[expect(clippy::too_many_lines, reason = "one literal for each case")]
pub(crate) fn all(metadata: &Map<String, Value>) -> Vec<(&'static str, ModelRequest)> {
    let union = ToolResultOutput::Content(vec![text("640x480 -> 2x2"), png("a.png")]);
    let several = ToolResultOutput::Content(vec![
        png("b.png"),
        file("image/bmp", FileData::Bytes(vec![0; 7]), None),
        file(
            "image/svg+xml",
            FileData::Text("<svg/>".to_owned()),
            Some("c.svg"),
        ),
        url("image/jpeg", "https://example.com/d.jpg"),
        pdf("e.pdf"),
        url("application/pdf", "https://example.com/f.pdf"),
        file(
            "text/csv",
            FileData::Bytes(b"a,b\n".to_vec()),
            Some("g.csv"),
        ),
        file("application/zip", FileData::Bytes(vec![0; 9]), None),
        file("image/png", blob(), None),
    ]);
    vec![
        (
            "text",
            conversation(vec![Message::text(Role::User, "Hello")], vec![]),
        ),
        (
            "result-text",
            answered(ToolResultOutput::Text("plain".to_owned())),
        ),
        (
            "result-text-empty",
            answered(ToolResultOutput::Text(String::new())),
        ),
        (
            "result-json",
            answered(ToolResultOutput::json(
                json!({"size": 3, "big": 9_007_199_254_740_993_u64}),
            )),
        ),
        (
            "result-json-list",
            answered(ToolResultOutput::json(json!([1, "two", null]))),
        ),
        (
            "result-json-reference",
            answered(ToolResultOutput::json(json!({"items": {"$ref": "#/a"}}))),
        ),
        ("result-image", answered(union.clone())),
        ("result-files", answered(several)),
        (
            "result-content-empty",
            answered(ToolResultOutput::Content(vec![])),
        ),
        (
            "result-error-text",
            answered(ToolResultOutput::ErrorText("no \"x\"".to_owned())),
        ),
        (
            "result-error-text-empty",
            answered(ToolResultOutput::ErrorText(String::new())),
        ),
        (
            "result-error-json",
            answered(ToolResultOutput::error_json(
                json!({"code": "invalid-input"}),
            )),
        ),
        (
            "result-denied",
            answered(ToolResultOutput::ExecutionDenied(None)),
        ),
        (
            "result-denied-reason",
            answered(ToolResultOutput::ExecutionDenied(Some(
                "not granted".to_owned(),
            ))),
        ),
        ("parallel", parallel(union)),
        (
            "user-files",
            conversation(
                vec![Message::parts(
                    Role::User,
                    vec![
                        text("And these?"),
                        png("a.png"),
                        url("image/webp", "https://example.com/b.webp"),
                        pdf("c.pdf"),
                    ],
                )],
                vec![],
            ),
        ),
        (
            "system-message",
            conversation(
                vec![
                    Message::text(Role::User, "Hello"),
                    Message::text(Role::System, "Answer in French."),
                    Message::text(Role::User, "Go on."),
                ],
                vec![],
            ),
        ),
        ("metadata", echoed(metadata)),
    ]
}

/// Several calls at once, with and without text, arguments that are no JSON, and results of
/// different kinds.
fn parallel(image: ToolResultOutput) -> ModelRequest {
    let calls = vec![
        call("c1", "thumbnail", r#"{ "path":"a.png" }"#),
        call("c2", "read", ""),
        call("c3", "read", r#"{"path": oops"#),
    ];
    let results = vec![
        result("c1", "thumbnail", image),
        result(
            "c2",
            "read",
            ToolResultOutput::json(json!({"type": "text"})),
        ),
        result(
            "c3",
            "read",
            ToolResultOutput::error_json(json!({"code": "invalid-input"})),
        ),
    ];
    let once_more = Message {
        tool_calls: vec![call("c4", "read", "{}"), call("c5", "read", "{}")],
        ..Message::text(Role::Assistant, "Once more.")
    };
    let denied = ToolResultOutput::ExecutionDenied(None);
    let messages = vec![
        Message::text(Role::User, "Look."),
        Message {
            tool_calls: calls,
            ..Message::parts(Role::Assistant, vec![])
        },
        Message::results(results),
        once_more,
        Message::results(vec![
            result("c4", "read", ToolResultOutput::Text("plain".to_owned())),
            result("c5", "read", denied),
        ]),
        Message::text(Role::Assistant, "Done."),
        Message::text(Role::User, "Thanks."),
    ];
    conversation(messages, vec![definition()])
}

/// One call and its result.
fn answered(output: ToolResultOutput) -> ModelRequest {
    let messages = vec![
        Message::text(Role::User, "Look."),
        Message {
            tool_calls: vec![call("c1", "read", r#"{"path":"a"}"#)],
            ..Message::parts(Role::Assistant, vec![])
        },
        Message::results(vec![result("c1", "read", output)]),
    ];
    conversation(messages, vec![definition()])
}

/// A reply of this provider, and one of another provider, whose metadata is not sent.
fn echoed(metadata: &Map<String, Value>) -> ModelRequest {
    let foreign = Map::from_iter([("another".to_owned(), json!({"thought": "secret"}))]);
    let messages = vec![
        Message::text(Role::User, "Think."),
        Message {
            metadata: foreign,
            ..Message::text(Role::Assistant, "I thought.")
        },
        Message::text(Role::User, "Think again."),
        Message {
            tool_calls: vec![call("c1", "read", r#"{"path":"a"}"#)],
            metadata: metadata.clone(),
            ..Message::text(Role::Assistant, "I read.")
        },
        Message::results(vec![result(
            "c1",
            "read",
            ToolResultOutput::Text("plain".to_owned()),
        )]),
    ];
    conversation(messages, vec![definition()])
}

pub(crate) fn conversation(messages: Vec<Message>, tools: Vec<ToolDefinition>) -> ModelRequest {
    ModelRequest {
        system: Some("Be brief.".to_owned()),
        messages,
        tools,
        answer_schema: None,
    }
}

pub(crate) fn definition() -> ToolDefinition {
    ToolDefinition {
        name: "read".to_owned(),
        title: Some("Read".to_owned()),
        description: "Reads a file.".to_owned(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        output_schema: Some(json!({"type": "object"})),
        effect: Effect::ReadOnly,
    }
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall::parse(CallId(id.to_owned()), name.to_owned(), arguments.to_owned())
}

fn result(id: &str, name: &str, output: ToolResultOutput) -> ToolResult {
    ToolResult {
        call_id: CallId(id.to_owned()),
        name: name.to_owned(),
        output,
        whole: None,
    }
}

fn text(text: &str) -> ContentPart {
    ContentPart::Text {
        text: text.to_owned(),
    }
}

fn file(media_type: &str, data: FileData, filename: Option<&str>) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: media_type.to_owned(),
        data,
        filename: filename.map(str::to_owned),
    })
}

fn png(name: &str) -> ContentPart {
    file("image/png", FileData::Bytes(b"PNG!".to_vec()), Some(name))
}

fn pdf(name: &str) -> ContentPart {
    file(
        "application/pdf",
        FileData::Bytes(b"%PDF".to_vec()),
        Some(name),
    )
}

fn url(media_type: &str, url: &str) -> ContentPart {
    file(media_type, FileData::Url(url.to_owned()), None)
}

fn blob() -> FileData {
    FileData::Blob(BlobRef {
        digest: Digest::of(b""),
        size: 9,
    })
}

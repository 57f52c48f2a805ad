use crate::context::estimate::{self, Measured};
use agent_host_types::{
    id::CallId,
    message::{Message, Role, ToolResult},
    model::Usage,
    output::{Blob, BlobRef, ContentPart, FileData, FilePart, ToolResultOutput},
    tool::{Effect, ToolCall, ToolDefinition},
};
use serde_json::{Map, Value, json};

fn file(media_type: &str, data: FileData) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: media_type.into(),
        data,
        filename: None,
    })
}

fn blob(size: u64) -> FileData {
    let digest = Blob::new(Vec::new()).digest;
    FileData::Blob(BlobRef { digest, size })
}

#[test]
fn message_estimate_counts_what_is_sent() {
    let said = |part| Message::parts(Role::User, vec![part]);
    let result = |output| {
        Message::results(vec![ToolResult {
            call_id: CallId("not counted".into()),
            name: "look".into(),
            output,
            whole: None,
        }])
    };
    let mut calling = Message::text(Role::Assistant, "12345678");
    calling.tool_calls = vec![ToolCall::parse(
        CallId("c".into()),
        "look".into(),
        r#"{"a":1}"#.into(),
    )];
    let mut reasoning = Message::parts(Role::Assistant, Vec::new());
    reasoning.metadata = Map::from_iter([("p".to_owned(), json!("12345678"))]);
    let table = [
        (Message::text(Role::User, ""), 4),
        (Message::text(Role::User, "12345"), 4 + 2),
        (calling, 4 + 2 + 4 + 3),
        // {"p":"12345678"} has 16 bytes.
        (reasoning, 4 + 4),
        (said(file("image/png", blob(9_000_000))), 4 + 1_600),
        (
            said(file("image/png", FileData::Bytes(vec![0; 10]))),
            4 + 1_600,
        ),
        (said(file("application/pdf", blob(50_000))), 4 + 4 + 2_000),
        (
            said(file("text/plain", FileData::Text("1234".into()))),
            4 + 4 + 1,
        ),
        (
            said(file("text/html", FileData::Url("https://a".into()))),
            4 + 1_600,
        ),
        (
            result(ToolResultOutput::Text("x".repeat(400))),
            4 + 4 + 1 + 100,
        ),
        (
            result(ToolResultOutput::json(json!({"a": [1, 2]}))),
            4 + 4 + 1 + 3,
        ),
        (
            result(ToolResultOutput::error_json(json!({"a": [1, 2]}))),
            4 + 4 + 1 + 3,
        ),
        (
            result(ToolResultOutput::ExecutionDenied(None)),
            4 + 4 + 1 + 4,
        ),
        (
            result(ToolResultOutput::Content(vec![
                file("image/png", blob(1)),
                ContentPart::Text {
                    text: "1234".into(),
                },
            ])),
            4 + 4 + 1 + 1_600 + 1,
        ),
    ];
    for (message, tokens) in table {
        assert_eq!(estimate::message(&message), tokens, "{message:?}");
    }
}

#[test]
fn tool_estimate_counts_its_definition() {
    let tool = |input_schema: Value| ToolDefinition {
        name: "look".into(),
        title: Some("No provider sends titles.".into()),
        description: "Looks.".into(),
        input_schema,
        output_schema: None,
        effect: Effect::ReadOnly,
    };
    let tools = [tool(json!({})), tool(json!({"type": "object"}))];
    assert_eq!(estimate::tools(&tools), (4 + 1 + 2 + 1) + (4 + 1 + 2 + 5));
}

/// The provider's count is the base; later changes are estimated. An implausibly low count is
/// ignored.
#[test]
fn provider_count_is_adjusted_by_estimated_changes() {
    let usage = |input_tokens| Usage {
        input_tokens,
        ..Usage::default()
    };
    // The provider's count, the estimate then, the estimate now, the size now.
    let table = [
        (1_000, 900, 900, 1_000),
        (1_000, 900, 1_400, 1_500),
        (1_000, 900, 400, 500),
        (1_000, 5_000, 100, 25),
        (11, 8_000, 8_400, 2_100),
        (u64::MAX, 0, 10, u64::MAX),
    ];
    for (counted, then, now, size) in table {
        let measured = Measured::from_usage(usage(counted), then).unwrap();
        assert_eq!(measured.now(now), size, "{measured:?}");
    }
    assert_eq!(Measured::from_usage(usage(0), 7), None);
}
